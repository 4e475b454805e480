//! Which sizes heads have: those whose products wgmma and mma.sync take without padding.

use super::problem::Class;

/// The depth of a product's step: heads have a multiple of so many elements.
pub const DIM_STEP: u32 = 16;
/// wgmma's widest tile.
pub const WIDEST_HEAD: u32 = 256;

/// Whether products take heads of so many elements.
pub fn is_size_of_head(dim: u32) -> bool {
    dim.is_multiple_of(DIM_STEP) && (DIM_STEP..=WIDEST_HEAD).contains(&dim)
}

/// Whether a class has heads and values that products take.
pub fn fit(class: &Class) -> bool {
    is_size_of_head(class.head_dim) && is_size_of_head(class.value_dim)
}

/// Why a class has not.
pub fn why_they_do_not_fit(class: &Class) -> String {
    let Class { head_dim, value_dim, .. } = class;
    let remedy = remedy(*head_dim.max(value_dim));
    format!("head_dim = {head_dim}, value_dim = {value_dim}; take multiples of {DIM_STEP} up to {WIDEST_HEAD}{remedy}")
}

/// What helps where heads have so many elements: none is narrower for zeros.
pub fn remedy(dim: u32) -> &'static str {
    if dim < WIDEST_HEAD { "; pad heads with zeros" } else { "" }
}
