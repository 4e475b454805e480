//! Integer instructions that Rust has no operator for (PTX ISA, "Integer Arithmetic Instructions", "Logic and Shift").

/// `prmt.b32` without a mode: bytes of `b:a` by four selectors, of which bit 3 repeats the byte's sign.
pub(crate) fn permute_bytes(a: u32, b: u32, selectors: u32) -> u32 {
    let source = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
    let byte = |at: u32| {
        let selector = selectors >> (4 * at);
        let byte = source[(selector & 7) as usize];
        if selector & 8 == 0 { byte } else { ((byte as i8) >> 7) as u8 }
    };
    u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])
}

/// `lop3`: bit by bit, `table` at index abc.
pub(crate) fn lookup(a: u32, b: u32, c: u32, table: u32) -> u32 {
    (0..8u32).filter(|index| table >> index & 1 == 1).fold(0, |result, index| {
        let pick = |x: u32, bit: u32| if index >> bit & 1 == 1 { x } else { !x };
        result | pick(a, 2) & pick(b, 1) & pick(c, 0)
    })
}

/// `bfe`: `length` bits of `a` from `start` on; signed, the sign of the field's last bit fills the rest.
pub(crate) fn extract(a: u64, start: u64, length: u64, bits: u32, signed: bool) -> u64 {
    let (start, length) = ((start & 0xff) as u32, (length & 0xff) as u32);
    let sign_at = start.saturating_add(length).saturating_sub(1).min(bits - 1);
    let sign = signed && length > 0 && a >> sign_at & 1 == 1;
    let field = if start < bits { a >> start } else { 0 };
    let kept = length.min(bits.saturating_sub(start));
    let low = if kept >= 64 { u64::MAX } else { (1 << kept) - 1 };
    let value = if sign { field & low | !low } else { field & low };
    if bits == 64 { value } else { value & u64::from(u32::MAX) }
}

/// `bfi`: `length` bits of `a` into `b` from `start` on.
pub(crate) fn insert(a: u64, b: u64, start: u64, length: u64, bits: u32) -> u64 {
    let (start, length) = ((start & 0xff) as u32, (length & 0xff) as u32);
    if start >= bits || length == 0 {
        return b;
    }
    let kept = length.min(bits - start);
    let low = if kept >= 64 { u64::MAX } else { (1 << kept) - 1 };
    b & !(low << start) | (a & low) << start
}

/// `shf.l` and `shf.r`: 32 bits of `b:a` shifted; `wrap` takes the count modulo 32, else it stops at 32.
pub(crate) fn funnel(a: u64, b: u64, count: u64, left: bool, wrap: bool) -> u64 {
    let count = if wrap { count & 31 } else { count.min(32) };
    let both = b << 32 | a;
    let shifted = if left { both << count >> 32 } else { both >> count };
    shifted & u64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_permuted_and_signs_repeated() {
        assert_eq!(permute_bytes(0x3322_1100, 0x7766_5580, 0x7654), 0x7766_5580);
        assert_eq!(permute_bytes(0x3322_1100, 0x7766_5580, 0x000c), 0x0000_00ff);
    }

    #[test]
    fn a_lookup_table_computes_any_function_of_three_bits() {
        let (a, b, c) = (0xf0f0_1234, 0xcccc_5678, 0xaaaa_9abc);
        assert_eq!(lookup(a, b, c, 0x80), a & b & c);
        assert_eq!(lookup(a, b, c, 0x96), a ^ b ^ c);
        assert_eq!(lookup(a, b, c, 0xca), (a & b) | (!a & c));
    }

    #[test]
    fn fields_are_extracted_and_inserted_at_the_edges_too() {
        assert_eq!(extract(0xabcd, 4, 8, 32, false), 0xbc);
        assert_eq!(extract(0xabcd, 4, 8, 32, true), 0xffff_ffbc);
        assert_eq!(extract(0xabcd, 40, 8, 32, false), 0);
        assert_eq!(extract(u64::MAX, 0, 64, 64, false), u64::MAX);
        assert_eq!(insert(0xff, 0, 28, 8, 32), 0xf000_0000);
        assert_eq!(insert(0xff, 0x1234, 0, 0, 32), 0x1234);
    }

    #[test]
    fn a_funnel_shift_takes_its_bits_from_both_words() {
        assert_eq!(funnel(0x1111_2222, 0x3333_4444, 16, false, true), 0x4444_1111);
        assert_eq!(funnel(0x1111_2222, 0x3333_4444, 16, true, true), 0x4444_1111);
        assert_eq!(funnel(0x1111_2222, 0x3333_4444, 32, false, false), 0x3333_4444);
        assert_eq!(funnel(0x1111_2222, 0x3333_4444, 32, false, true), 0x1111_2222);
    }
}
