//! The constants of `f32` that Rust's core library names: `f32::NEG_INFINITY`, `std::f32::consts::PI`.

use std::f32::consts;

macro_rules! named {
    ($($of:ident: $($name:ident)*;)*) => {
        &[$((stringify!($of), &[$((stringify!($name), $of::$name)),*])),*]
    };
}

/// The last part of the path before the name, and the constants there.
const CONSTANTS: &[(&str, &[(&str, f32)])] = named! {
    f32: EPSILON INFINITY MAX MIN MIN_POSITIVE NAN NEG_INFINITY;
    consts: E FRAC_1_PI FRAC_1_SQRT_2 FRAC_2_PI FRAC_2_SQRT_PI FRAC_PI_2 FRAC_PI_3 FRAC_PI_4 FRAC_PI_6 FRAC_PI_8
        LN_10 LN_2 LOG10_2 LOG10_E LOG2_10 LOG2_E PI SQRT_2 TAU;
};

/// The value of the constant that a path names in full.
pub fn constant(path: &syn::Path) -> Option<f32> {
    let parts: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (of, name) = match *parts.as_slice() {
        ["f32", name] => ("f32", name),
        ["std" | "core", "f32", "consts", name] => ("consts", name),
        _ => return None,
    };
    let (_, constants) = CONSTANTS.iter().find(|(group, _)| *group == of)?;
    constants.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::constant;

    #[test]
    fn a_constant_has_its_value_by_each_full_path_and_by_no_other() {
        let value = |path: &str| constant(&syn::parse_str(path).unwrap());
        assert_eq!(value("f32::NEG_INFINITY"), Some(f32::NEG_INFINITY));
        assert_eq!(value("std::f32::consts::PI"), Some(std::f32::consts::PI));
        assert_eq!(value("::core::f32::consts::LN_2"), Some(std::f32::consts::LN_2));
        for other in ["PI", "consts::PI", "f32::PI", "f64::MAX", "std::f32::MAX", "std::f64::consts::PI", "f32::BITS"] {
            assert_eq!(value(other), None, "{other}");
        }
    }
}
