//! What a block that reduces along columns takes of a multiprocessor, so that as many are launched as it holds.

use autokernel_core::Role;

use crate::body::Kind;
use crate::rows::problem::Class;
use crate::rows::sm80::schedule::Sm80Schedule;

/// Registers of a thread beside vectors and sums where one matrix is read as it is, and where expressions are computed.
const PLAIN: u32 = 28;
const COMPUTING: u32 = 36;
/// Registers more of a kernel that is compiled for GPUs before Hopper too.
const PORTABLE: u32 = 12;
/// Registers of a function that is more than an instruction, with its constants.
const FUNCTION: u32 = 32;
/// Registers of the places of one more vector of an operand.
const PLACE: u32 = 4;

/// Sums of a block: of each thread and output a vector.
pub fn sums(schedule: &Sm80Schedule, class: &Class) -> u32 {
    schedule.threads() * schedule.vector * outputs(class)
}

/// Registers of a thread, about and rather too many: the kernel is compiled for no more than leave room for as many blocks.
pub fn registers(schedule: &Sm80Schedule, class: &Class) -> u32 {
    let words = |bytes: u32| (schedule.vector * bytes).div_ceil(4);
    let matrices: Vec<u32> = class.read_matrices().map(|dtype| words(dtype.bytes())).collect();
    let rows: u32 = class.read_rows().map(|dtype| words(dtype.bytes())).sum();
    let of_rows = class.operands.iter().filter(|(kind, _, role)| is_of_row(*kind) && *role == Role::Input).count();
    let of_rows = u32::try_from(of_rows).unwrap_or(u32::MAX);
    let places = (schedule.vectors - 1) * PLACE * (matrices.len() as u32 + of_rows);
    let portable = if schedule.cluster == 0 { PORTABLE } else { 0 };
    let held = portable
        + schedule.vectors * (matrices.iter().sum::<u32>() + of_rows)
        + schedule.vector * outputs(class)
        + rows
        + places;
    let is_plain = matrices.len() == 1 && outputs(class) == 1 && of_rows == 0 && rows == 0;
    match class.cost.special_functions {
        0 if is_plain => held + PLAIN,
        0 => held + COMPUTING + class.cost.registers,
        _ => held + COMPUTING + FUNCTION + class.cost.registers + class.cost.constants(),
    }
}

fn outputs(class: &Class) -> u32 {
    u32::try_from(class.folds.len()).unwrap_or(u32::MAX)
}

fn is_of_row(kind: Kind) -> bool {
    matches!(kind, Kind::Column | Kind::Index)
}
