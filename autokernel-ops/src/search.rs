//! What a search should know of a knob, whatever it means. Strategies read it, so that none of them names a knob.

/// How a search moves along a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// What it moves together with as one axis: knobs that mean little alone say the same word.
    pub axis: Option<&'static str>,
    /// Knobs whose effects depend on this one's: a search moves both at once, too.
    pub pairs: &'static [&'static str],
    /// How unwilling it is to follow a move along another axis, where the rules ask for that.
    pub reluctance: u32,
    /// Whether another value makes a variant of a schedule rather than one of another look. Seeds differ in their looks.
    pub is_variant: bool,
}

impl Search {
    /// What holds for a knob that says nothing of itself.
    pub const PLAIN: Search = Search { axis: None, pairs: &[], reluctance: 16, is_variant: false };
}
