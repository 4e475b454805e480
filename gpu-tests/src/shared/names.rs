/// The names of products whose tiles clusters share, and of those whose tiles are whole: read by the build script and by tests.
pub const SHARED: &str = "shared tiles";
/// As [`SHARED`].
pub const WHOLE: &str = "whole tiles";
/// Those whose launches say how many blocks share a tile.
pub const SPLIT: &str = "split tiles";
