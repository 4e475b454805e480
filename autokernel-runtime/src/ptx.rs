//! PTX as it is embedded.

/// PTX as text without the terminating zero that some tools leave; cudarc panics on a zero inside.
pub(crate) fn ptx_text(bytes: &[u8]) -> Result<&str, &'static str> {
    let text = std::str::from_utf8(bytes).map_err(|_| "PTX is text, and this is no UTF-8")?;
    let text = text.trim_end_matches('\0');
    if text.is_empty() {
        return Err("there is no PTX in it");
    }
    if text.contains('\0') {
        return Err("there is a zero byte inside the PTX");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_loses_its_terminating_zeros_and_nothing_else() {
        assert_eq!(ptx_text(b".version 8.0\n\0\0"), Ok(".version 8.0\n"));
    }

    #[test]
    fn bytes_that_are_no_ptx_are_refused_before_cudarc_sees_them() {
        for bytes in [&b""[..], b"\0", b".ver\0sion", b"\xff\xfe"] {
            assert!(ptx_text(bytes).is_err(), "{bytes:?}");
        }
    }
}
