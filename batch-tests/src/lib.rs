//! Batches of products, held against what they give in fp64: operands with guards around and between their rows, of any strides,
//! broadcasts among them.

pub mod buffer;
pub mod carried;
pub mod catalogue;
pub mod changed;
pub mod check;
pub mod check_declared;
pub mod compiler;
pub mod contenders;
pub mod declared;
pub mod declared_gathered;
pub mod declared_types;
pub mod images;
pub mod picked;
pub mod place;
pub mod placed;
pub mod routes;
pub mod row_wise;
pub mod runs;
pub mod schedules;
pub mod sizes;
pub mod timed;
