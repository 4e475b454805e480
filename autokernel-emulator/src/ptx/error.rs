//! Why a text is not a module that can be run.

/// A text that is not PTX, or PTX that this crate does not know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("PTX line {line}: {kind}")]
pub struct ParseError {
    /// The line of the text, counted from 1.
    pub line: u32,
    /// What is wrong there.
    pub kind: ParseErrorKind,
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseErrorKind {
    /// Characters that begin no token.
    #[error("`{found}` is not PTX")]
    NotAToken {
        /// The characters.
        found: String,
    },
    /// A token out of place.
    #[error("expected {expected}, found `{found}`")]
    Expected {
        /// What may stand there.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// The text ends inside a statement or a body.
    #[error("the text ends where {expected} is expected")]
    Ended {
        /// What may stand there.
        expected: &'static str,
    },
    /// An instruction, or a form of one, that the emulator does not execute.
    #[error("the emulator does not know the instruction `{instruction}`: {reason}; add it to the table in isa/decode")]
    UnknownInstruction {
        /// Its opcode with all modifiers.
        instruction: String,
        /// Which part is not known.
        reason: String,
    },
    /// A directive that changes what a program means and that the emulator does not know.
    #[error("the emulator does not know the directive `{directive}`")]
    UnknownDirective {
        /// Its name.
        directive: String,
    },
    /// Operands that do not fit the instruction.
    #[error("`{instruction}` does not take these operands: {reason}")]
    Operands {
        /// Its opcode with all modifiers.
        instruction: String,
        /// Which one, and why.
        reason: String,
    },
    /// A name that nothing declares.
    #[error("`{name}` is not declared here")]
    Undeclared {
        /// The name.
        name: String,
    },
    /// Two declarations of one name in one scope.
    #[error("`{name}` is declared twice")]
    DeclaredTwice {
        /// The name.
        name: String,
    },
    /// More than the emulator is ready to hold.
    #[error("{what}: at most {limit} are supported")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The most there may be.
        limit: u64,
    },
}
