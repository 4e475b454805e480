//! From a statement to an instruction: one table of opcodes, one function a root.

mod arithmetic;
mod bits;
mod compare;
mod control;
mod convert;
mod copy;
mod matrix;
mod mbarrier;
mod memory;
mod moves;
mod statement;
mod warp;

pub(crate) use statement::{Refusal, Statement};

use super::instruction::Op;

type Decode = fn(&mut Statement<'_>) -> Result<Op, Refusal>;

/// The roots of the opcodes that the emulator executes.
const ROOTS: &[(&str, Decode)] = &[
    ("abs", arithmetic::abs),
    ("activemask", warp::active_mask),
    ("add", arithmetic::add),
    ("and", bits::and),
    ("atom", memory::atom),
    ("bar", control::bar),
    ("barrier", control::barrier),
    ("bfe", bits::bfe),
    ("bfi", bits::bfi),
    ("bra", control::bra),
    ("brev", bits::brev),
    ("clz", bits::clz),
    ("cnot", bits::cnot),
    ("copysign", arithmetic::copysign),
    ("cos", arithmetic::cos),
    ("cp", copy::cp),
    ("cvt", convert::cvt),
    ("cvta", moves::cvta),
    ("div", arithmetic::div),
    ("elect", warp::elect),
    ("ex2", arithmetic::ex2),
    ("exit", control::exit),
    ("fence", control::fence),
    ("fma", arithmetic::fma),
    ("getctarank", mbarrier::get_rank),
    ("griddepcontrol", control::grid_dependency),
    ("ld", memory::ld),
    ("ldmatrix", matrix::ldmatrix),
    ("lg2", arithmetic::lg2),
    ("lop3", bits::lop3),
    ("mad", arithmetic::mad),
    ("mapa", mbarrier::mapa),
    ("max", arithmetic::max),
    ("mbarrier", mbarrier::mbarrier),
    ("membar", control::membar),
    ("min", arithmetic::min),
    ("mma", matrix::mma),
    ("mov", moves::mov),
    ("mul", arithmetic::mul),
    ("nanosleep", control::nanosleep),
    ("neg", arithmetic::neg),
    ("not", bits::not),
    ("or", bits::or),
    ("popc", bits::popc),
    ("prefetch", memory::prefetch),
    ("prmt", bits::prmt),
    ("rcp", arithmetic::rcp),
    ("red", memory::red),
    ("redux", warp::redux),
    ("rem", arithmetic::rem),
    ("ret", control::exit),
    ("rsqrt", arithmetic::rsqrt),
    ("selp", moves::selp),
    ("setmaxnreg", control::setmaxnreg),
    ("setp", compare::setp),
    ("shf", bits::shf),
    ("shfl", warp::shfl),
    ("shl", bits::shl),
    ("shr", bits::shr),
    ("sin", arithmetic::sin),
    ("sqrt", arithmetic::sqrt),
    ("st", memory::st),
    ("stmatrix", matrix::stmatrix),
    ("sub", arithmetic::sub),
    ("tanh", arithmetic::tanh),
    ("trap", control::trap),
    ("vote", warp::vote),
    ("wgmma", matrix::wgmma),
    ("xor", bits::xor),
];

/// Decodes a whole statement. What it says and the emulator does not do is refused: nothing is skipped.
pub(crate) fn decode(mut statement: Statement<'_>) -> Result<Op, Refusal> {
    let root = statement.root();
    let found = ROOTS.binary_search_by_key(&root, |(name, _)| name).ok().and_then(|at| ROOTS.get(at));
    let (_, decode) = found.ok_or_else(|| Refusal::Unknown(format!("no opcode `{root}`")))?;
    let op = decode(&mut statement)?;
    statement.finish()?;
    Ok(op)
}

#[cfg(test)]
mod tests {
    use super::ROOTS;

    #[test]
    fn the_table_of_opcodes_is_sorted_for_the_binary_search() {
        assert!(ROOTS.is_sorted_by_key(|(name, _)| name));
    }
}
