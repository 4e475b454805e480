//! Why a declaration is no kernel, for those who decide by it.

use syn::Error;

/// What is said of a declaration that is no kernel.
#[derive(Debug)]
pub enum Refused {
    /// Something in it is wrong.
    Wrong(Error),
    /// Nothing is, but a thread has too few registers for all of it.
    TooLarge(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Refused::Wrong(error)
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Wrong(error) | Refused::TooLarge(error) => error,
        }
    }
}
