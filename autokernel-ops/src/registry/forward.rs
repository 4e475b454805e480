//! What an enum of the registry passes on to the operation that it holds.

/// Declares methods of an enum, each of which the operation's own method of that name answers.
macro_rules! forward {
    ($table:tt $($(#[$line:meta])+ fn $name:ident(&self $(, $argument:ident: $ty:ty)*) -> $result:ty;)+) => {
        $(
            $(#[$line])+
            pub fn $name(&self $(, $argument: $ty)*) -> $result {
                $crate::registry::forward::forward!(@match self, $table, $name, ($($argument),*))
            }
        )+
    };
    (@match $this:ident, ($enum:ident as $face:tt: $($(#[$gate:meta])* $operation:ident,)+), $name:ident, $arguments:tt) => {
        match $this {
            $($(#[$gate])* $enum::$operation(held) => {
                $crate::registry::forward::forward!(@call $face, $name, held, $arguments)
            })+
        }
    };
    (@call ($($face:ident)::+), $name:ident, $held:ident, ($($argument:ident),*)) => {
        $($face)::+::$name($held $(, $argument)*)
    };
}

pub(super) use forward;
