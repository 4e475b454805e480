//! What numbers in memory say of the rows of groups, drawn and read as kernels read them.

use std::ops::Range;

use autokernel::{Extents, matmul};
use autokernel_codegen::matmul::Many;
use rand::RngExt;
use rand::rngs::StdRng;

/// Which rows are of which product.
#[derive(Debug)]
pub struct Sizes {
    many: Many,
    /// Offsets, or counts; none where nothing is counted on the device.
    pub numbers: Vec<i32>,
    /// The rows of each group.
    groups: Vec<Range<usize>>,
    /// K.
    depth: usize,
}

impl Sizes {
    /// Groups of such a problem at those extents: in order, with empty ones among them, from the first row to the last or not; now and
    /// then any numbers.
    pub fn random(rng: &mut StdRng, many: Many, extents: &Extents) -> Self {
        let (rows, groups) = (rows(many, extents).cast_signed(), matmul::matrices(extents) as usize);
        let numbers = match many {
            Many::One | Many::Batch => Vec::new(),
            Many::Masked => counts(rng, groups, rows),
            Many::Groups | Many::GroupsAlongK => offsets(rng, groups, rows),
        };
        Sizes::of(many, extents, numbers)
    }

    /// Those that `numbers` tell, whatever they are.
    pub fn of(many: Many, extents: &Extents, numbers: Vec<i32>) -> Self {
        let (rows, [.., k]) = (rows(many, extents), matmul::sizes(extents));
        let inside = |number: i32| usize::try_from(number).unwrap_or(0).min(rows as usize);
        let mut end = numbers.first().copied().map_or(0, inside);
        let of_offset = |offset: &i32| {
            let begin = end;
            end = begin.max(inside(*offset));
            begin..end
        };
        let groups = match many {
            Many::One | Many::Batch => Vec::new(),
            Many::Masked => numbers.iter().map(|count| 0..inside(*count)).collect(),
            Many::Groups | Many::GroupsAlongK => numbers.iter().skip(1).map(of_offset).collect(),
        };
        Sizes { many, numbers, groups, depth: k as usize }
    }

    /// The product of row `row` of result number `number`, if it is of one: rows of none are left alone.
    pub fn product(&self, number: usize, row: usize) -> Option<usize> {
        match self.many {
            Many::One | Many::Batch | Many::GroupsAlongK => Some(number),
            Many::Masked => self.groups[number].contains(&row).then_some(number),
            Many::Groups => self.groups.iter().position(|rows| rows.contains(&row)),
        }
    }

    /// What a product sums.
    pub fn depth(&self, product: usize) -> Range<usize> {
        if self.many == Many::GroupsAlongK { self.groups[product].clone() } else { 0..self.depth }
    }

    /// Whether anything may depend on row `row` of matrix `number` of a factor that lies in rows of groups.
    pub fn is_read(&self, number: usize, row: usize) -> bool {
        match self.many {
            Many::One | Many::Batch => true,
            Many::Masked => self.groups[number].contains(&row),
            Many::Groups | Many::GroupsAlongK => self.groups.iter().any(|rows| rows.contains(&row)),
        }
    }
}

/// What groups are parts of.
fn rows(many: Many, extents: &Extents) -> u32 {
    let [m, _, k] = matmul::sizes(extents);
    if many == Many::GroupsAlongK { k } else { m }
}

fn offsets(rng: &mut StdRng, groups: usize, rows: i32) -> Vec<i32> {
    let mut offsets: Vec<i32> = (0..=groups).map(|_| rng.random_range(0..=rows)).collect();
    offsets.sort_unstable();
    match rng.random_range(0..5) {
        0 => offsets.iter_mut().for_each(|offset| *offset = rng.random_range(-3 * rows - 5..=3 * rows + 5)),
        1 => {}
        _ => {
            offsets[0] = 0;
            offsets[groups] = rows;
        }
    }
    offsets
}

fn counts(rng: &mut StdRng, groups: usize, rows: i32) -> Vec<i32> {
    let (least, most) = if rng.random_range(0..5) == 0 { (-rows - 5, 3 * rows + 5) } else { (0, rows) };
    let mut count = || match rng.random_range(0..4) {
        0 => 0,
        1 => rows,
        _ => rng.random_range(least..=most),
    };
    (0..groups).map(|_| count()).collect()
}
