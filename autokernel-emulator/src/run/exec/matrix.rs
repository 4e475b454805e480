//! `ldmatrix`, `stmatrix` and `mma.sync` (PTX ISA, "Warp-level Matrix Instructions").

use crate::fault::Access;
use crate::isa::instruction::MatrixOp;
use crate::isa::lanes::{Lanes, WARP};
use crate::isa::semantics::half::widen;
use crate::isa::types::{Kind, Space};
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
            MatrixOp::Multiply { k, ty, d, a, b, c } => {
                self.use_registers(warp, lanes, &[a, b, c].map(|list| &**list).concat(), d)?;
                let [a, b, c] = [a, b, c].map(|list| list.iter().map(|s| self.value(warp, *s)).collect::<Vec<_>>());
                self.tally.counters.matrix_multiply_adds += (MMA_M * MMA_N) as u64 * u64::from(*k);
                for (register, values) in d.iter().zip(multiply(ty.kind, *k as usize, &a, &b, &c)) {
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

/// Two 16-bit numbers of a fragment's register.
pub(super) fn pair(kind: Kind, bits: u64) -> [f32; 2] {
    [widen(kind, bits & 0xffff), widen(kind, bits >> 16 & 0xffff)]
}

/// Rows of A, 16 by `k`, of the fragment: register i holds rows 8 (i % 2) and columns 8 (i / 2) on.
pub(super) fn rows_of_a(kind: Kind, k: usize, a: &[Lanes]) -> [[f32; 16]; MMA_M] {
    let mut rows = [[0f32; 16]; MMA_M];
    for (number, register) in a.iter().enumerate().take(k / 4) {
        for (lane, bits) in register.iter().enumerate() {
            let (row, column) = (lane / 4 + number % 2 * 8, lane % 4 * 2 + number / 2 * 8);
            let [first, second] = pair(kind, *bits);
            (rows[row][column], rows[row][column + 1]) = (first, second);
        }
    }
    rows
}

/// D = A·B + C. The products are exact, their sum is rounded once: tensor cores truncate a little more.
fn multiply(kind: Kind, k: usize, a: &[Lanes], b: &[Lanes], c: &[Lanes]) -> [Lanes; 4] {
    let rows = rows_of_a(kind, k, a);
    let mut columns = [[0f32; 16]; MMA_N];
    for (number, register) in b.iter().enumerate() {
        for (lane, bits) in register.iter().enumerate() {
            let (column, row) = (lane / 4, lane % 4 * 2 + number * 8);
            let [first, second] = pair(kind, *bits);
            (columns[column][row], columns[column][row + 1]) = (first, second);
        }
    }
    std::array::from_fn(|number| {
        std::array::from_fn(|lane| {
            let (row, column) = (lane / 4 + number / 2 * 8, lane % 4 * 2 + number % 2);
            let start = f64::from(f32::from_bits(c[number][lane] as u32));
            let dot: f64 = rows[row].iter().zip(&columns[column]).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            u64::from(((start + dot) as f32).to_bits())
        })
    })
}
