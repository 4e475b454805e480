//! What the setting, its kernels and their attributes are called.

/// The setting's name, and that of the kernel of gradients.
pub const SETTING: &str = "backward";
/// The kernel of the gradients of rows.
pub const OF_ROWS: &str = "backward_rows";

/// The attributes that declare kernels of gradients, and may ask for such.
pub const ROWS: &str = "rows";
pub const PRODUCTS: &str = "fused_matmul";
