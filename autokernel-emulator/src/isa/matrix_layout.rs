//! Matrix descriptors of wgmma: where an operand's elements lie in shared memory (PTX ISA, "Matrix-Descriptor Format",
//! "Strides", "Shared Memory Matrix Layout").

/// A decoded descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descriptor {
    /// Offset of the first element in the block's window.
    start: u32,
    /// Leading dimension byte offset.
    leading: u32,
    /// Stride dimension byte offset.
    stride: u32,
    /// Bytes of a swizzled row: 16 for none.
    row: u32,
}

/// The offsets of a descriptor count units of this many bytes.
const UNIT: u32 = 16;
/// Rows after which a layout repeats.
const ROWS: usize = 8;

impl Descriptor {
    /// # Errors
    /// What the hardware would refuse, or the emulator does not do.
    pub fn decode(bits: u64) -> Result<Descriptor, &'static str> {
        let field = |shift: u32| (bits >> shift & 0x3fff) as u32 * UNIT;
        let row = match bits >> 62 {
            0 => UNIT,
            1 => 128,
            2 => 64,
            _ => 32,
        };
        if bits >> 49 & 7 != 0 {
            return Err("a base offset other than 0 is not emulated; align the matrix to its swizzle pattern");
        }
        let descriptor = Descriptor { start: field(0), leading: field(16), stride: field(32), row };
        if row > UNIT && descriptor.start % (ROWS as u32 * row) >= row {
            return Err("the matrix begins inside a swizzle pattern, not in its first row");
        }
        Ok(descriptor)
    }

    /// Where 16 bytes of the operand lie. K-major: of row or column `outer`, unit `unit` along K. M- or N-major: of
    /// depth `outer`, unit `unit` along M or N.
    pub fn address(&self, mn_major: bool, outer: usize, unit: usize) -> u32 {
        let (block, within) = ((outer / ROWS) as u32, (outer % ROWS) as u32);
        let unit = unit as u32;
        let rows = within * self.row;
        let offset = match (mn_major, self.row) {
            (false, UNIT) => block * self.stride + unit * self.leading + rows,
            (false, _) => block * self.stride + rows + unit * UNIT,
            (true, UNIT) => unit * self.stride + block * self.leading + rows,
            (true, row) => {
                let units = row / UNIT;
                unit / units * self.leading + block * self.stride + rows + unit % units * UNIT
            }
        };
        self.swizzled(self.start + offset)
    }

    fn swizzled(&self, address: u32) -> u32 {
        address ^ ((address >> 7 & (self.row / UNIT - 1)) * UNIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWIZZLED: u64 = 1 << 62 | (1024 / 16) << 32 | (8192 / 16) << 16;

    #[test]
    fn a_swizzled_k_major_operand_steps_by_rows_of_128_bytes() {
        let descriptor = Descriptor::decode(SWIZZLED | 0x400 >> 4).unwrap();
        assert_eq!(descriptor.address(false, 0, 0), 0x400);
        assert_eq!(descriptor.address(false, 1, 0), 0x480 + 16);
        assert_eq!(descriptor.address(false, 9, 1), 0x880, "row 9 is row 1 of the next eight, where 1 ^ 1 = 0");
    }

    #[test]
    fn a_swizzled_n_major_operand_goes_to_the_next_panel_after_64_columns() {
        let descriptor = Descriptor::decode(SWIZZLED | 0x400 >> 4).unwrap();
        assert_eq!(descriptor.address(true, 0, 8), 0x400 + 8192);
        assert_eq!(descriptor.address(true, 8, 1), 0x800 + 16);
    }

    #[test]
    fn a_matrix_that_begins_inside_a_pattern_is_refused() {
        assert!(Descriptor::decode(SWIZZLED | 0x480 >> 4).is_err());
        assert!(Descriptor::decode(SWIZZLED | 0x420 >> 4).is_ok(), "a step along K stays in the first row");
    }
}
