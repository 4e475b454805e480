//! What autokernel's attributes and the types of its launches say of mistakes: see `tests/messages.rs`.
