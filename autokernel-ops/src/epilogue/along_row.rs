//! The built-in epilogues in place on many elements: what the CPU backend applies to a row of sums. Compiled here, and not where a kernel is
//! declared, they are loops of vectors in a crate's dev build too, where dependencies are optimised. Wider vectors where the processor has them
//! give the same bits, as nothing is fused.

use super::builtin;

/// A function for each epilogue, of the elements and its parameters, and their names.
macro_rules! along_row {
    ($($name:ident($($parameter:ident),*);)*) => {
        $(
            #[doc = concat!("[`", stringify!($name), "`](builtin::", stringify!($name), ") of each element.")]
            pub fn $name(elements: &mut [f32] $(, $parameter: f32)*) {
                #[inline(always)]
                fn each(elements: &mut [f32] $(, $parameter: f32)*) {
                    elements.iter_mut().for_each(|element| *element = builtin::$name(*element $(, $parameter)*));
                }
                #[cfg(target_arch = "x86_64")]
                {
                    #[target_feature(enable = "avx2")]
                    fn eight_at_once(elements: &mut [f32] $(, $parameter: f32)*) {
                        each(elements $(, $parameter)*);
                    }
                    if std::arch::is_x86_feature_detected!("avx2") {
                        // SAFETY: the processor has what the function asks for.
                        return unsafe { eight_at_once(elements $(, $parameter)*) };
                    }
                }
                each(elements $(, $parameter)*);
            }
        )*

        #[cfg(test)]
        const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

along_row! {
    identity();
    relu();
    leaky_relu(negative_slope);
    gelu();
    gelu_tanh();
    silu();
    tanh();
    sigmoid();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epilogue::Epilogue;

    #[test]
    fn every_epilogue_is_there() {
        let mut known: Vec<String> = Epilogue::all().iter().map(|epilogue| epilogue.name().to_owned()).collect();
        let mut names = NAMES.to_vec();
        known.sort();
        names.sort_unstable();
        assert_eq!(names, known);
    }

    #[test]
    fn elements_of_a_row_are_those_of_the_function_bit_for_bit() {
        let x: Vec<f32> = (-4001..=4003).map(|step| step as f32 / 500.0).chain([f32::INFINITY, -0.0, 1e-40]).collect();
        for len in [0, 1, 3, 4, 7, 8, 31, x.len()] {
            let mut row = x[..len].to_vec();
            gelu(&mut row);
            assert!(row.iter().zip(&x).all(|(got, x)| got.to_bits() == builtin::gelu(*x).to_bits()), "gelu of {len}");
            let mut row = x[..len].to_vec();
            leaky_relu(&mut row, 0.2);
            let expected = |x: &f32| builtin::leaky_relu(*x, 0.2).to_bits();
            assert!(row.iter().zip(&x).all(|(got, x)| got.to_bits() == expected(x)), "leaky_relu of {len}");
        }
    }
}
