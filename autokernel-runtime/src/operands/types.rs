//! The types that memory holds, in one table: what holds any of them is declared and matched by it.

/// Hands the table to a rule of [`of_types`]: the name of each type among the [`Dtype`](crate::Dtype)s, in words, and itself.
macro_rules! for_each_type {
    ($rule:ident $($given:tt)*) => {
        $crate::operands::types::of_types! {
            $rule [
                Bf16 "`bf16`" half::bf16,
                F16 "`f16`" half::f16,
                F32 "`f32`" f32,
                E4m3 "`e4m3`" float8::F8E4M3,
                E5m2 "`e5m2`" float8::F8E5M2,
                I8 "`i8`" i8,
                I4x2 "`i4x2`" $crate::i4x2,
                I32 "`i32`: an index" i32,
            ]
            $($given)*
        }
    };
}

/// What is made of the table: an enum with a variant for each type, and matches of such an enum.
macro_rules! of_types {
    (declare [$($name:ident $words:literal $ty:ty,)+] $(#[$line:meta])* $vis:vis enum $any:ident<$a:lifetime> of $held:ident) => {
        $(#[$line])*
        $vis enum $any<$a> {
            $(#[doc = concat!("Of ", $words, ".")] $name($held<$a, $ty>),)+
        }
    };
    (dtype [$($name:ident $words:literal $ty:ty,)+] $any:ident, $of:expr) => {
        match $of { $($any::$name(_) => $crate::Dtype::$name,)+ }
    };
    (with [$($name:ident $words:literal $ty:ty,)+] $any:ident, $of:expr, $held:ident => $value:expr) => {
        match $of { $($any::$name($held) => $value,)+ }
    };
    (with [$($name:ident $words:literal $ty:ty,)+] $any:ident to $other:ident, $of:expr, ($held:ident, $to:ident) => $value:expr) => {
        match $of {
            $($any::$name($held) => {
                let $to = $other::$name;
                $value
            })+
        }
    };
}

/// `value` of what an enum of any type holds, whatever it is: `with_view!(AnyView, any, view => value)`. With `AnyView to Other` and
/// `(view, of)` also of the variant of `Other` for the same type.
macro_rules! with_view {
    ($($given:tt)*) => { $crate::operands::types::for_each_type!(with $($given)*) };
}

pub(crate) use {for_each_type, of_types, with_view};
