//! What failed last, for a caller that sees pointers and numbers alone.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// What failed last on this thread; valid until the next call.
#[unsafe(no_mangle)]
pub extern "C" fn transformer_layer_error() -> *const c_char {
    LAST.with_borrow(|last| last.as_ptr())
}

fn keep(error: impl ToString) {
    let text = CString::new(error.to_string().replace('\0', " ")).unwrap_or_default();
    LAST.set(text);
}

/// A pointer to what was made, for good; null if it failed.
pub fn handed_out<T>(made: autokernel::Result<T>) -> *mut T {
    made.map_or_else(
        |error| {
            keep(error);
            std::ptr::null_mut()
        },
        |made| Box::into_raw(Box::new(made)),
    )
}

/// 0, or 1 if it failed.
pub fn status(done: autokernel::Result<()>) -> c_int {
    c_int::from(done.map_err(keep).is_err())
}
