//! How the kernels of a matrix product are launched: the one place that says so. CUDA's argument struct and constants
//! are printed from it, and the runtime launches by it.

use autokernel_core::plan::Axis;
use autokernel_core::{
    Alignment, Arg, Coarse, Dim, Dimension, Dtype, Field, Numbers, OWN_AXIS, Operand, Passed, Role, Signature, Size,
};

use crate::body::{self, Kind};
use crate::matmul::body::{Body, BodyClass, Made};
use crate::matmul::extents::{BATCHED_DIMS, DIMS, GROUPED_DIMS};
use crate::matmul::many::Many;
use crate::matmul::problem::{Class, Layout, Problem};
use crate::matmul::schedule::{Raster, RasterOrder};
use crate::weights::{PACKED_BYTES, Scales, Weights};

// Dimensions, by their numbers in the signature.
pub(super) const M: u8 = 0;
pub(super) const N: u8 = 1;
pub(super) const K: u8 = 2;
pub(super) const BATCH: u8 = 3;

/// What TMA and 16-byte loads ask of addresses.
pub(super) const VECTOR_BYTES: u32 = 16;

/// The operands of a kernel, by their numbers in the signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operands {
    /// The factors.
    pub a: u8,
    /// The second factor.
    pub b: u8,
    /// That of another product with the same first one.
    pub b2: Option<u8>,
    /// The scales of groups or blocks of each second factor, if there are such.
    pub scales: Vec<u8>,
    /// The zero points of groups of each second factor, if there are such.
    pub zeros: Vec<u8>,
    /// The scales of blocks of the first factor.
    pub a_scales: Option<u8>,
    /// What the kernel stages and stores: the first matrix that is written; none where rows are reduced alone.
    pub c: Option<u8>,
    /// The fields of what a body takes beside them.
    pub others: Vec<Field>,
    /// Which products a launch computes.
    pub many: Many,
    /// Those of which each product has its own; none where there is one product.
    pub batched: Vec<u8>,
    /// What says where groups begin, or how many rows count.
    pub sizes: Option<u8>,
    /// What says which row of `a` each row of the result is of.
    pub gathers: Option<u8>,
    /// Reductions along rows.
    pub statistics: u32,
    /// What one number of each row comes to.
    pub folds: u32,
}

impl Operands {
    /// Those of a product with an epilogue alone.
    const PLAIN: Operands = Operands {
        a: 0,
        b: 1,
        b2: None,
        scales: Vec::new(),
        zeros: Vec::new(),
        a_scales: None,
        c: Some(2),
        others: Vec::new(),
        many: Many::One,
        batched: Vec::new(),
        sizes: None,
        gathers: None,
        statistics: 0,
        folds: 0,
    };

    /// Those of `problem`.
    pub fn of(problem: &Problem) -> Self {
        let of_body = |body: &Body| Operands {
            statistics: body.reductions().map(|_| 1).sum(),
            ..Operands::new(
                body.numbers_of_factors(),
                (body.a_scales(), body.scales(), body.zeros()),
                body.operands(),
                (body.many(), body.made(), body.gathers()),
            )
            .with_own_columns(body.operands(), &body.repeated())
        };
        problem.body.as_deref().map_or(Operands::PLAIN, of_body)
    }

    /// Those of problems of `class`, under names that tell nothing.
    pub fn of_class(class: &Class) -> Self {
        let of_body = |body: &BodyClass| Operands {
            statistics: body.statistics,
            ..Operands::new(
                (body.factors, body.other_factor),
                (body.a_scales, body.scales.clone(), body.zeros.clone()),
                &body.nameless_operands(),
                (body.many(), body.made, body.gathers),
            )
            .with_own_columns(&body.nameless_operands(), &body.repeated)
        };
        class.body.as_ref().map_or(Operands::PLAIN, of_body)
    }

    fn new(
        ([a, b], b2): ([u8; 2], Option<u8>),
        (a_scales, scales, zeros): (Option<u8>, Vec<u8>, Vec<u8>),
        operands: &[body::Operand],
        (many, made, gathers): (Many, Option<Made>, Option<u8>),
    ) -> Self {
        let numbered = || (0..).zip(operands);
        let output = numbered().find(|(_, operand)| (operand.role, operand.kind) == (Role::Output, Kind::Matrix));
        let c = made.map(|made| made.output).or(output.map(|(number, _)| number));
        let is_scales =
            |number: &u8| [&scales, &zeros].iter().any(|it| it.contains(number)) || a_scales == Some(*number);
        let is_other =
            |number: &u8| ![a, b].contains(number) && ![b2, c, gathers].contains(&Some(*number)) && !is_scales(number);
        let others = numbered().filter(|(number, _)| is_other(number));
        let batched = numbered().filter(|(_, operand)| operand.batched).map(|(number, _)| number).collect();
        let is_sizes =
            |(number, operand): &(u8, &body::Operand)| operand.kind == Kind::Index && gathers != Some(*number);
        let sizes = numbered().find(is_sizes).map(|(number, _)| number);
        let others = body::cuda::fields(others);
        let is_fold = |it: &&body::Operand| (it.role, it.kind) == (Role::Output, Kind::DeviceScalar);
        let folds = operands.iter().filter(is_fold).map(|_| 1).sum();
        Operands { a, b, b2, scales, zeros, a_scales, c, others, many, batched, sizes, gathers, statistics: 0, folds }
    }

    /// The same with how many columns each of the numbered ones has of its own.
    fn with_own_columns(mut self, operands: &[body::Operand], numbers: &[u8]) -> Self {
        self.others.extend(numbers.iter().filter_map(|&operand| {
            let name = &operands.get(usize::from(operand))?.name;
            Some(field(&body::cuda::columns(name), Arg::Columns { operand }))
        }));
        self
    }

    /// Factors and C by their names in CUDA.
    fn named(&self) -> impl Iterator<Item = (&'static str, u8)> + Clone + use<> {
        let &Operands { a, b, b2, c, .. } = self;
        [("a", a), ("b", b)].into_iter().chain(b2.map(|b2| ("b2", b2))).chain(c.map(|c| ("c", c)))
    }

    /// How far apart the matrices of a batch lie, of factors, of C, and of scales and zero points.
    pub(super) fn batch_strides(&self) -> Vec<Field> {
        let of_a = self.a_scales.map(|operand| (A_SCALES, operand));
        let batched = self.named().chain(of_a).chain(self.tables());
        let batched = batched.filter(|(_, operand)| self.batched.contains(operand));
        batched.map(|(name, operand)| field(&format!("{name}_batch"), Arg::Stride { operand, axis: 0 })).collect()
    }

    /// The leading dimension of a factor or of C.
    pub(super) fn leading(&self, name: &str, operand: u8) -> Field {
        field(name, Arg::Stride { operand, axis: u8::from(self.batched.contains(&operand)) })
    }

    /// M, N, K, and the products of a batch, or groups.
    pub(super) fn extents(&self) -> Vec<Field> {
        let batch = match self.many {
            Many::One => None,
            // Groups along K are walked over as a batch is.
            Many::Batch | Many::Masked | Many::GroupsAlongK => Some(("batch", BATCH)),
            Many::Groups => Some(("groups", BATCH)),
        };
        let named = [("m", M), ("n", N), ("k", K)].into_iter().chain(batch);
        named.map(|(name, dim)| field(name, Arg::Extent { dim })).collect()
    }

    /// Clusters that cover that many rows and columns of C each, and of a batch one product. How many rows of groups ask for is
    /// known on the device alone: these are about as many, of rows that are counted at most as many.
    pub(super) fn tiles(&self, rows: u32, columns: u32) -> Vec<Axis> {
        let is_axis = matches!(self.many, Many::Batch | Many::Masked | Many::GroupsAlongK);
        let batch = is_axis.then_some(Axis { dim: BATCH, step: 1 });
        [Axis { dim: M, step: rows }, Axis { dim: N, step: columns }].into_iter().chain(batch).collect()
    }

    /// Each row of what is copied in pieces of 16 bytes begins at a multiple of that: of the factors, of scales of groups, and of
    /// scales of blocks those of the first factor.
    pub(super) fn aligned_rows(&self) -> Vec<Alignment> {
        let scales = self.a_scales.map_or_else(|| self.scales.clone(), |of_a| vec![of_a]);
        let factors = [self.a, self.b].into_iter().chain(self.b2).chain(scales).chain(self.zeros.iter().copied());
        factors.map(|operand| Alignment { operand, bytes: VECTOR_BYTES, rows: true }).collect()
    }

    /// Addresses and leading dimensions of the factors and of C, as kernels without tensor maps take them.
    pub(super) fn matrices(&self) -> Vec<Field> {
        let addresses = self.named().map(|(name, operand)| pointer(name, operand));
        let leading = self.named().map(|(name, operand)| self.leading(&format!("ld{name}"), operand));
        let of_a = self.a_scales.map(|operand| (A_SCALES, operand));
        let all = addresses.chain(leading).chain(self.addressed(of_a)).chain(self.addressed_scales());
        all.chain(self.gathered()).collect()
    }

    /// The index that says which row of `a` each row of the result is of, and how many rows `a` has.
    pub(super) fn gathered(&self) -> Vec<Field> {
        let of = |index| [pointer("a_index", index), field("a_rows", Arg::Rows { operand: self.a })];
        self.gathers.map(of).into_iter().flatten().collect()
    }

    /// The scales of second factors and their zero points by their names in CUDA.
    pub(super) fn tables(&self) -> impl Iterator<Item = (&'static str, u8)> + use<'_> {
        let named = [(SCALES, &self.scales), (ZEROS, &self.zeros)];
        named.into_iter().flat_map(|(names, of)| names.into_iter().zip(of.iter().copied()))
    }

    /// Addresses and leading dimensions of the scales of second factors, and of their zero points.
    pub(super) fn addressed_scales(&self) -> Vec<Field> {
        let named = [(SCALES, &self.scales), (ZEROS, &self.zeros)];
        named.into_iter().flat_map(|(names, of)| self.addressed(names.into_iter().zip(of.iter().copied()))).collect()
    }

    fn addressed(&self, named: impl IntoIterator<Item = (&'static str, u8)>) -> Vec<Field> {
        let named: Vec<_> = named.into_iter().collect();
        let addresses = named.iter().map(|&(name, operand)| pointer(name, operand));
        let leading = named.iter().map(|&(name, operand)| self.leading(&format!("ld{name}"), operand));
        addresses.chain(leading).collect()
    }
}

/// Scales of second factors by their names in CUDA.
pub(super) const SCALES: [&str; 2] = ["scales", "scales2"];
/// Their zero points.
pub(super) const ZEROS: [&str; 2] = ["zeros", "zeros2"];
/// Those of the first factor.
pub(super) const A_SCALES: &str = "a_scales";

/// The dimensions, in order.
pub(super) const fn dims(many: Many) -> &'static [Dim] {
    match many {
        Many::One => &DIMS,
        Many::Batch | Many::Masked => &BATCHED_DIMS,
        Many::Groups | Many::GroupsAlongK => &GROUPED_DIMS,
    }
}

/// What a kernel for `problem` takes.
pub fn signature(problem: &Problem) -> Signature {
    let dims = dims(problem.many());
    let known = [None, problem.known_n, problem.known_k, None];
    Signature {
        dims: dims.iter().zip(known).map(|(&name, known)| Dimension { name, known }).collect(),
        operands: problem.body.as_ref().map_or_else(|| plain(problem), |body| of_body(problem, body)),
        coarse: coarse(problem),
        numbers: numbers(problem),
        ..Signature::default()
    }
}

/// What says where groups begin, or how many rows count, and what stands for 0 of numbers of 4 bits.
fn numbers(problem: &Problem) -> Vec<Numbers> {
    let Operands { a, sizes, gathers, zeros, .. } = Operands::of(problem);
    let along = |axis: u8| Size { operand: a, axis };
    // Groups are of rows of the result, which are as many as are gathered.
    let rows = gathers.map_or(along(0), |operand| Size { operand, axis: 0 });
    let of_sizes = |sizes: u8| match problem.many() {
        Many::One | Many::Batch => None,
        Many::Masked => Some(Numbers::count(sizes, along(1 + u8::from(problem.layout.transpose_a())))),
        // Rows of A as it lies: of a group those of C, or those that it sums.
        Many::Groups | Many::GroupsAlongK => Some(Numbers::bound(sizes, rows)),
    };
    let is_packed = problem.weights.is_some_and(|weights| weights.dtype == Dtype::I4x2);
    let of_zeros = zeros.into_iter().filter(|_| is_packed).map(Numbers::zeros);
    let picked = gathers.map(|index| Numbers::pick(index, along(0)));
    sizes.and_then(of_sizes).into_iter().chain(picked).chain(of_zeros).collect()
}

/// Where an element stands for several numbers: packed ones of second factors along K, and scales of groups and blocks.
fn coarse(problem: &Problem) -> Vec<Coarse> {
    let is_matrix = |body: &Body, number: u8| body.operands()[usize::from(number)].kind == Kind::Matrix;
    let made = problem.body.as_ref().and_then(|body| body.made().filter(|made| is_matrix(body, made.scales)));
    let made = made.map(|Made { scales, block, .. }| Coarse {
        operand: scales,
        axis: 1,
        indices: block,
        together: 1,
        is_ragged: true,
    });
    coarse_factors(problem).into_iter().chain(made).collect()
}

fn coarse_factors(problem: &Problem) -> Vec<Coarse> {
    if let Some(block) = problem.block {
        return of_blocks(&Operands::of(problem), block);
    }
    let Some(Weights { dtype, scales }) = problem.weights else { return Vec::new() };
    let Operands { b, b2, scales: operands, zeros, batched, .. } = Operands::of(problem);
    // Behind that of the batch, if there is one.
    let axis_of_rows = |operand: u8| u8::from(batched.contains(&operand));
    let packed = [b].into_iter().chain(b2).filter(|_| dtype.numbers() > 1).map(|operand| Coarse {
        operand,
        axis: axis_of_rows(operand) + 1,
        indices: dtype.numbers(),
        together: PACKED_BYTES,
        is_ragged: false,
    });
    let of_groups = scales.into_iter().flat_map(|Scales { group, .. }| {
        operands.iter().chain(&zeros).map(move |&operand| Coarse {
            operand,
            axis: axis_of_rows(operand),
            indices: group,
            together: 1,
            is_ragged: false,
        })
    });
    packed.chain(of_groups).collect()
}

/// The last block along an axis may be smaller.
fn of_blocks(Operands { a_scales, scales, batched, .. }: &Operands, indices: u32) -> Vec<Coarse> {
    // Behind that of the batch, if there is one.
    let coarse = |operand, axis| {
        let axis = axis + u8::from(batched.contains(&operand));
        Coarse { operand, axis, indices, together: 1, is_ragged: true }
    };
    let of_a = a_scales.map(|operand| coarse(operand, 1));
    of_a.into_iter().chain(scales.iter().flat_map(|&operand| [0, 1].map(|axis| coarse(operand, axis)))).collect()
}

fn axes_of_a(layout: Layout) -> Vec<u8> {
    if layout.transpose_a() { vec![K, M] } else { vec![M, K] }
}

fn axes_of_b(layout: Layout) -> Vec<u8> {
    if layout.transpose_b() { vec![N, K] } else { vec![K, N] }
}

fn plain(problem: &Problem) -> Vec<Operand> {
    let &Problem { input, output, layout, .. } = problem;
    let passed = Passed::ByAddress;
    let operand = |name: &str, role, dtype, axes| Operand { name: name.to_owned(), role, dtype, axes, passed };
    vec![
        operand("a", Role::Input, input, axes_of_a(layout)),
        operand("b", Role::Input, problem.of_b(), axes_of_b(layout)),
        operand("c", Role::Output, output, vec![M, N]),
    ]
}

fn of_body(problem: &Problem, body: &Body) -> Vec<Operand> {
    let (factors, repeated, gathers) = (body.factors(), body.repeated(), body.gathers());
    let (scales, zeros, a_scales) = (body.scales(), body.zeros(), body.a_scales());
    let columns = |number: u8| if repeated.contains(&number) { OWN_AXIS } else { N };
    let axes = |number: u8, kind: Kind| match (kind, factors.iter().position(|factor| *factor == number)) {
        (Kind::Matrix, Some(0)) if gathers.is_some() => vec![OWN_AXIS, K],
        (Kind::Matrix, Some(0)) => axes_of_a(problem.layout),
        (Kind::Matrix, Some(_)) => axes_of_b(problem.layout),
        (Kind::Matrix, None) if a_scales == Some(number) => vec![M, K],
        (Kind::Matrix, None) if scales.contains(&number) && problem.block.is_some() => vec![N, K],
        (Kind::Matrix, None) if scales.contains(&number) || zeros.contains(&number) => vec![K, N],
        (Kind::Matrix, None) => vec![M, columns(number)],
        (Kind::Row, _) => vec![columns(number)],
        (Kind::Column, _) => vec![M],
        (Kind::Index, _) if gathers == Some(number) => vec![M],
        (Kind::Index, _) => vec![BATCH],
        (Kind::Scalar | Kind::DeviceScalar, _) => Vec::new(),
    };
    let operand = |(number, operand): (u8, &body::Operand)| {
        let &body::Operand { ref name, kind, dtype, role, batched } = operand;
        let axes = batched.then_some(BATCH).into_iter().chain(axes(number, kind)).collect();
        let is_bounds = kind == Kind::Index && gathers != Some(number) && problem.many().has_offsets();
        let passed = if is_bounds { Passed::Bounds } else { kind.passed() };
        Operand { name: name.clone(), role, dtype, axes, passed }
    };
    (0..).zip(body.operands()).map(operand).collect()
}

pub(super) fn field(name: &str, arg: Arg) -> Field {
    Field { name: name.to_owned(), arg }
}

pub(super) fn pointer(name: &str, operand: u8) -> Field {
    field(name, Arg::Pointer { operand })
}

/// The order of tiles, as `raster_of` in raster.cuh reads it; a group is cut to its axis there.
pub(super) fn raster(raster: Raster) -> [Field; 2] {
    let order = match raster.order {
        RasterOrder::AlongM => 0,
        RasterOrder::AlongN => 1,
    };
    let group = i32::try_from(raster.group).unwrap_or(i32::MAX);
    [("raster_order", order), ("raster_group", group)].map(|(name, value)| field(name, Arg::Knob { value }))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
