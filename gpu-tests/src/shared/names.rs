/// The names of products whose tiles clusters share, and of those whose tiles are whole: read by the build script and by tests.
pub const SHARED: &str = "shared tiles";
/// As [`SHARED`].
pub const WHOLE: &str = "whole tiles";
