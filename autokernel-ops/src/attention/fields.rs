//! The fields of a launch's arguments, by what they are of.

use autokernel_core::{Alignment, Arg, Field, TileBox};

use super::panel::{PANEL, ROW_BYTES};
use super::print;
use super::problem::Class;
use super::score::Kind;
use super::sequences::{Keys, Locator};
use super::signature::{BATCH, FIRST, GROUPS, HEADS, K, KEYS, Q, QUERIES, V};

/// The operands of a class.
#[derive(Clone, Copy, Debug)]
pub struct Operands<'c> {
    pub class: &'c Class,
}

impl Operands<'_> {
    /// Where queries lie; `row` is what their axis is called.
    pub fn queries(&self, row: &str) -> Vec<Field> {
        strided(Q, "q", &self.axes_of_queries(&[row]))
    }

    /// Where keys and values lie.
    pub fn keys(&self) -> Vec<Field> {
        let axes: &[&str] = match self.class.sequences.keys {
            Keys::Packed => &["head", "row"],
            Keys::Paged(_) => &["page", "head", "row"],
            Keys::Whole | Keys::Counted => &["batch", "head", "row"],
        };
        [strided(K, "k", axes), strided(V, "v", axes)].concat()
    }

    /// What says where sequences are.
    pub fn locators(&self) -> Vec<Field> {
        let fields = |(operand, locator): (u8, Locator)| {
            let pointer = field(locator.name(), Arg::Pointer { operand });
            let of_table =
                [field("table_row", Arg::Stride { operand, axis: 0 }), field("pages", Arg::Columns { operand })];
            [pointer].into_iter().chain(of_table.into_iter().filter(move |_| locator == Locator::Table))
        };
        (FIRST..).zip(self.class.sequences.locators()).flat_map(fields).collect()
    }

    /// Whether a cache in pages has any, of keys and of values: without elements they have no tensor map.
    pub fn mapped_pages(&self) -> Vec<Field> {
        self.pages(|operand| Arg::IsMapped { operand })
    }

    /// How many pages a cache has, of keys and of values: without tensor maps a kernel bounds what a table says.
    pub fn counted_pages(&self) -> Vec<Field> {
        self.pages(|operand| Arg::Matrices { operand })
    }

    fn pages(&self, arg: impl Fn(u8) -> Arg) -> Vec<Field> {
        match self.class.sequences.keys {
            Keys::Paged(_) => vec![field("key_pages", arg(K)), field("value_pages", arg(V))],
            Keys::Whole | Keys::Counted | Keys::Packed => Vec::new(),
        }
    }

    /// Where results lie.
    pub fn results(&self, row: &str) -> Vec<Field> {
        let out = self.out();
        let mut fields = strided(out, "out", &self.axes_of_queries(&[row]));
        if self.class.log_sum_exp {
            fields.extend(strided(out + 1, "lse", &self.axes_of_queries(&[])));
        }
        fields
    }

    /// What a body reads.
    pub fn of_body(&self) -> Vec<Field> {
        let fields = |(number, kind): (u8, &Kind)| {
            let operand = self.first_of_body() + number;
            let of = |arg| field(&print::field(number), arg);
            match kind {
                Kind::Number => vec![of(Arg::Scalar { operand })],
                Kind::DeviceScalar | Kind::PerHead => vec![of(Arg::Pointer { operand })],
                Kind::PerDistance => vec![
                    of(Arg::Pointer { operand }),
                    field(&print::row_of(number), Arg::Stride { operand, axis: 0 }),
                    field(&print::columns_of(number), Arg::Columns { operand }),
                ],
            }
        };
        (0..).zip(self.class.score_operands()).flat_map(fields).collect()
    }

    /// The dimensions that count rows.
    pub fn rows(&self) -> impl Iterator<Item = u8> + use<> {
        let batch = if self.class.sequences.packed_queries { None } else { Some(BATCH) };
        [QUERIES, HEADS].into_iter().chain(batch)
    }

    fn axes_of_queries<'a>(&self, row: &[&'a str]) -> Vec<&'a str> {
        let batch = if self.class.sequences.packed_queries { None } else { Some("batch") };
        batch.into_iter().chain(["head"]).chain(row.iter().copied()).collect()
    }

    fn first_of_body(&self) -> u8 {
        FIRST + self.class.sequences.locators().count() as u8
    }

    /// The number of the output.
    fn out(&self) -> u8 {
        self.first_of_body() + self.class.score_operands().len() as u8
    }
}

/// TMA loads rows that begin at multiples of 16 bytes, and rows are stored by as many.
pub fn alignments(class: &Class) -> Vec<Alignment> {
    let operands = Operands { class };
    [Q, K, V, operands.out()].map(|operand| Alignment { operand, bytes: 16, rows: true }).to_vec()
}

/// The tensor map of an operand, of which one copy moves so many rows.
pub fn map(name: &str, operand: u8, rows: u32) -> Field {
    field(name, Arg::Map { operand, tile: TileBox { rows, columns: PANEL, swizzle: ROW_BYTES } })
}

/// The extents.
pub fn extents() -> [Field; 5] {
    [("batch", BATCH), ("heads", HEADS), ("groups", GROUPS), ("queries", QUERIES), ("keys", KEYS)]
        .map(|(name, dim)| field(name, Arg::Extent { dim }))
}

/// The address of an operand, and its strides along its first axes.
fn strided(operand: u8, name: &str, axes: &[&str]) -> Vec<Field> {
    let stride = |(axis, of): (u8, &&str)| field(&format!("{name}_{of}"), Arg::Stride { operand, axis });
    let pointer = field(name, Arg::Pointer { operand });
    [pointer].into_iter().chain((0..).zip(axes).map(stride)).collect()
}

/// A field.
pub fn field(name: &str, arg: Arg) -> Field {
    Field { name: name.to_owned(), arg }
}
