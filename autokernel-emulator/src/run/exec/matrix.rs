//! `ldmatrix`, `stmatrix` and `mma.sync` (PTX ISA, "Warp-level Matrix Instructions").

use crate::fault::Access;
use crate::isa::instruction::MatrixOp;
use crate::isa::lanes::{Lanes, WARP};
use crate::isa::semantics::half::widen;
use crate::isa::types::{Space, Type};
use crate::isa::{Address, Register, Source};
use crate::run::access::{Lane, aligned};
use crate::run::cluster::Cluster;
use crate::run::place::Place;
use crate::run::stop::Exec;

/// Rows of an 8x8 matrix, and bytes of one: 8 elements of 16 bits.
const ROWS: usize = 8;
const ROW_BYTES: u32 = 16;
/// Columns of C in one `mma`, and its rows.
const MMA_N: usize = 8;
const MMA_M: usize = 16;
/// Of an operand a lane holds words, one of each 16 bytes along K; there are at most 32 elements.
const WORD_BYTES: usize = 4;
const UNIT_BYTES: usize = 16;
const MOST_OF_K: usize = 32;

/// An 8x8 matrix of 16-bit elements.
type Matrix = [[u16; ROWS]; ROWS];

impl Cluster<'_, '_> {
    pub fn matrix(&mut self, warp: usize, lanes: u32, pc: u32, op: &MatrixOp) -> Exec<()> {
        match op {
            MatrixOp::Load { d, space, address, transposed } => {
                self.load_matrices(warp, lanes, pc, d, *space, address, *transposed)
            }
            MatrixOp::Store { values, space, address, transposed } => {
                self.store_matrices(warp, lanes, pc, values, *space, address, *transposed)
            }
            MatrixOp::Multiply { k, types, d, a, b, c } => {
                self.use_registers(warp, lanes, &[a, b, c].map(|list| &**list).concat(), d)?;
                let [a, b, c] = [a, b, c].map(|list| list.iter().map(|s| self.value(warp, *s)).collect::<Vec<_>>());
                self.tally.counters.matrix_multiply_adds += (MMA_M * MMA_N) as u64 * u64::from(*k);
                for (register, values) in d.iter().zip(multiply(*types, &a, &b, &c)) {
                    self.set_register(warp, lanes, *register, &values);
                }
                Ok(())
            }
        }
    }

    /// The bytes of the row to which a lane points, checked.
    fn row(&mut self, by: Lane, space: Space, address: u64, access: Access) -> Exec<&mut [u8]> {
        aligned(by.lane, "shared", address, ROW_BYTES.into())?;
        let (block, index) = self.shared_place_of(by, space, address, ROW_BYTES, access)?;
        let event = self.threads.event(by.warp, by.lane, false, self.line(by.pc));
        self.reach(by, Place::Shared { block, index }, event, access, ROW_BYTES)
    }

    /// Counts the passes over the banks: each matrix is one of its own.
    fn count_matrices(&mut self, pc: u32, addresses: &Lanes, count: usize, access: Access) {
        let lanes = if count * ROWS >= WARP { u32::MAX } else { (1 << (count * ROWS)) - 1 };
        self.count_request(pc, lanes, Space::Shared, addresses, ROW_BYTES, access);
    }

    #[allow(clippy::too_many_arguments)] // what the instruction says
    fn load_matrices(
        &mut self,
        warp: usize,
        lanes: u32,
        pc: u32,
        d: &[Register],
        space: Space,
        address: &Address,
        transposed: bool,
    ) -> Exec<()> {
        self.use_registers(warp, lanes, &[address.base], d)?;
        let addresses = self.addresses(warp, address);
        self.count_matrices(pc, &addresses, d.len(), Access::Read);
        for (number, register) in d.iter().enumerate() {
            let mut matrix = Matrix::default();
            for (row, elements) in matrix.iter_mut().enumerate() {
                let lane = number * ROWS + row;
                let bytes = self.row(Lane::weak(warp, lane, pc), space, addresses[lane], Access::Read)?;
                for (element, pair) in elements.iter_mut().zip(bytes.as_chunks::<2>().0) {
                    *element = u16::from_le_bytes(*pair);
                }
            }
            let pair = |lane: usize| {
                let (row, column) = (lane / 4, lane % 4 * 2);
                let at = |column: usize| if transposed { matrix[column][row] } else { matrix[row][column] };
                u64::from(at(column)) | u64::from(at(column + 1)) << 16
            };
            self.set_register(warp, lanes, *register, &std::array::from_fn(pair));
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)] // what the instruction says
    fn store_matrices(
        &mut self,
        warp: usize,
        lanes: u32,
        pc: u32,
        values: &[Source],
        space: Space,
        address: &Address,
        transposed: bool,
    ) -> Exec<()> {
        self.use_registers(warp, lanes, &[address.base], &[])?;
        self.use_registers(warp, lanes, values, &[])?;
        let addresses = self.addresses(warp, address);
        self.count_matrices(pc, &addresses, values.len(), Access::Write);
        for (number, source) in values.iter().enumerate() {
            let fragment = self.value(warp, *source);
            let mut matrix = Matrix::default();
            for (lane, pair) in fragment.iter().enumerate() {
                for (half, bits) in [*pair as u16, (*pair >> 16) as u16].into_iter().enumerate() {
                    let (row, column) = (lane / 4, lane % 4 * 2 + half);
                    if transposed { matrix[column][row] = bits } else { matrix[row][column] = bits }
                }
            }
            for (row, elements) in matrix.iter().enumerate() {
                let lane = number * ROWS + row;
                let bytes = self.row(Lane::weak(warp, lane, pc), space, addresses[lane], Access::Write)?;
                for (pair, element) in bytes.as_chunks_mut::<2>().0.iter_mut().zip(elements) {
                    *pair = element.to_le_bytes();
                }
            }
        }
        Ok(())
    }
}

/// The elements that a register of a fragment holds, and with which of its row or column they begin: register `number` of those along K has
/// a word of four bytes from each 16.
fn elements(ty: Type, number: usize, lane: usize, bits: u64) -> impl Iterator<Item = (usize, f32)> {
    let bytes = ty.bytes() as usize;
    let first = (number * UNIT_BYTES + lane % 4 * WORD_BYTES) / bytes;
    let mask = (1u64 << (8 * bytes)) - 1;
    (0..WORD_BYTES / bytes).map(move |at| (first + at, widen(ty.kind, bits >> (8 * bytes * at) & mask)))
}

/// Rows of A of the fragment: register i holds rows 8 (i % 2) and 16 bytes of K from the (i / 2)th on.
pub(super) fn rows_of_a(ty: Type, a: &[Lanes]) -> [[f32; MOST_OF_K]; MMA_M] {
    let mut rows = [[0f32; MOST_OF_K]; MMA_M];
    for (number, register) in a.iter().enumerate() {
        for (lane, bits) in register.iter().enumerate() {
            let row = &mut rows[lane / 4 + number % 2 * 8];
            elements(ty, number / 2, lane, *bits).for_each(|(at, value)| row[at] = value);
        }
    }
    rows
}

/// D = A·B + C. The products are exact, as are sums of whole numbers; others are rounded once: tensor cores truncate a little more.
fn multiply([ty, ty_b]: [Type; 2], a: &[Lanes], b: &[Lanes], c: &[Lanes]) -> [Lanes; 4] {
    let rows = rows_of_a(ty, a);
    let mut columns = [[0f32; MOST_OF_K]; MMA_N];
    for (number, register) in b.iter().enumerate() {
        for (lane, bits) in register.iter().enumerate() {
            let column = &mut columns[lane / 4];
            elements(ty_b, number, lane, *bits).for_each(|(at, value)| column[at] = value);
        }
    }
    let add = if ty == Type::S8 { add_whole } else { add_float };
    std::array::from_fn(|number| {
        std::array::from_fn(|lane| {
            let (row, column) = (lane / 4 + number / 2 * 8, lane % 4 * 2 + number % 2);
            let dot: f64 = rows[row].iter().zip(&columns[column]).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            u64::from(add(c[number][lane] as u32, dot))
        })
    })
}

/// The sum in fp32 of one that is kept so and what one instruction adds.
pub(super) fn add_float(sum: u32, added: f64) -> u32 {
    ((f64::from(f32::from_bits(sum)) + added) as f32).to_bits()
}

/// The same in whole numbers of 32 bits, without `.satfinite`.
pub(super) fn add_whole(sum: u32, added: f64) -> u32 {
    sum.wrapping_add_signed(added as i32)
}
