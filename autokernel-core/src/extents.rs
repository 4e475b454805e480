//! The sizes of one problem, by the names of its dimensions.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use tinystr::TinyAsciiStr;

/// The name of a dimension, at most 8 ASCII letters: `m`, `rows`, `columns`.
pub type Dim = TinyAsciiStr<8>;

/// The dimension called `name`, for constants.
///
/// # Panics
/// In a constant, so when it is compiled: `name` is no ASCII or longer than 8 letters.
pub const fn dim(name: &str) -> Dim {
    match Dim::try_from_str(name) {
        Ok(dim) => dim,
        Err(_) => panic!("a dimension's name has at most 8 ASCII letters"),
    }
}

/// The most dimensions that a problem has.
pub const MAX_RANK: usize = 7;

/// The size of each dimension of a problem, in elements, in the order of its [`Signature`](crate::Signature).
#[derive(Clone, Copy)]
pub struct Extents {
    /// Beyond `rank` all are `UNUSED`.
    sizes: [(Dim, u32); MAX_RANK],
    rank: u8,
}

const UNUSED: (Dim, u32) = (dim("-"), 0);

impl Extents {
    /// Extents from names and sizes.
    ///
    /// # Panics
    /// In a constant, so when it is compiled: there are more than seven.
    pub const fn new<const RANK: usize>(dims: [(Dim, u32); RANK]) -> Self {
        assert!(RANK <= MAX_RANK, "a problem has at most seven dimensions");
        let mut sizes = [UNUSED; MAX_RANK];
        let mut at = 0;
        while at < RANK {
            sizes[at] = dims[at];
            at += 1;
        }
        Extents { sizes, rank: RANK as u8 }
    }

    /// Extents from names and sizes; `None` if there are more than seven or a name comes twice.
    pub fn collect(dims: impl IntoIterator<Item = (Dim, u32)>) -> Option<Self> {
        let mut extents = Extents::new([]);
        for (dim, size) in dims {
            if extents.get(dim).is_some() {
                return None;
            }
            *extents.sizes.get_mut(usize::from(extents.rank))? = (dim, size);
            extents.rank += 1;
        }
        Some(extents)
    }

    /// The size of `dim`, if the problem has it.
    pub fn get(&self, dim: Dim) -> Option<u32> {
        self.iter().find(|(name, _)| *name == dim).map(|(_, size)| size)
    }

    /// The size of the dimension with that number in the signature; 1 for one that is not there, which changes no
    /// product of sizes.
    pub fn size(&self, number: u8) -> u32 {
        self.as_slice().get(usize::from(number)).map_or(1, |(_, size)| *size)
    }

    /// Names and sizes, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Dim, u32)> + '_ {
        self.as_slice().iter().copied()
    }

    /// The sizes alone, in order.
    pub fn sizes(&self) -> impl Iterator<Item = u32> + '_ {
        self.iter().map(|(_, size)| size)
    }

    /// Reads `4096x1024x512`: a size for each of `dims`, each at least 1.
    ///
    /// # Errors
    /// There are more or fewer sizes, or one is no positive number; the message shows the form.
    pub fn parse(text: &str, dims: &[Dim]) -> Result<Self, ParseExtentsError> {
        let refused = || ParseExtentsError { text: text.to_owned(), dims: dims.to_vec() };
        let sizes: Option<Vec<u32>> =
            text.split('x').map(|size| size.trim().parse().ok().filter(|&size| size > 0)).collect();
        let sizes = sizes.filter(|sizes| sizes.len() == dims.len()).ok_or_else(refused)?;
        Extents::collect(dims.iter().copied().zip(sizes)).ok_or_else(refused)
    }

    /// Distance to the same dimensions of another problem: the Euclidean norm of the logarithms of the ratios. Twice as
    /// long in one dimension is ln 2 away. None if the dimensions are others.
    pub fn distance(&self, other: &Extents) -> Option<f64> {
        if self.rank != other.rank {
            return None;
        }
        let squares = self.iter().map(|(dim, size)| {
            let ratio = f64::from(size.max(1)).ln() - f64::from(other.get(dim)?.max(1)).ln();
            Some(ratio * ratio)
        });
        squares.sum::<Option<f64>>().map(f64::sqrt)
    }

    fn as_slice(&self) -> &[(Dim, u32)] {
        &self.sizes[..usize::from(self.rank)]
    }
}

impl PartialEq for Extents {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Extents {}

impl Hash for Extents {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl PartialOrd for Extents {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Extents {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl fmt::Debug for Extents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl fmt::Display for Extents {
    /// The sizes in order: `4096x1024x512`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, size) in self.sizes().enumerate() {
            write!(f, "{}{size}", if at == 0 { "" } else { "x" })?;
        }
        Ok(())
    }
}

impl Serialize for Extents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(usize::from(self.rank)))?;
        for (dim, size) in self.iter() {
            map.serialize_entry(dim.as_str(), &size)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Extents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Named;
        impl<'de> Visitor<'de> for Named {
            type Value = Extents;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "the sizes of at most seven dimensions by name, for example {\"m\": 16, \"n\": 4096, \"k\": 1024}",
                )
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Extents, A::Error> {
                let mut dims = Vec::new();
                while let Some((name, size)) = map.next_entry::<String, u32>()? {
                    let dim = Dim::try_from_str(&name)
                        .map_err(|_| A::Error::custom(format!("`{name}` is no name of a dimension")))?;
                    dims.push((dim, size));
                }
                Extents::collect(dims).ok_or_else(|| A::Error::custom("a dimension twice, or more than seven"))
            }
        }
        deserializer.deserialize_map(Named)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Extents {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Extents".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "object",
            "additionalProperties": { "type": "integer", "minimum": 0, "maximum": 4294967295u32 },
            "maxProperties": MAX_RANK,
            "description": "The size of each dimension in elements, by its name: m, n and k of a matrix product."
        })
    }
}

/// Text that does not say the sizes of some dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseExtentsError {
    text: String,
    dims: Vec<Dim>,
}

impl std::error::Error for ParseExtentsError {}

impl fmt::Display for ParseExtentsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form: Vec<String> = self.dims.iter().map(|dim| dim.as_str().to_uppercase()).collect();
        let example = vec!["4096"; self.dims.len()].join("x");
        let form = form.join("x");
        write!(f, "`{}` is not a shape; write {form} in elements, each at least 1, for example {example}", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MNK: [Dim; 3] = [dim("m"), dim("n"), dim("k")];

    #[test]
    fn extents_read_back_what_they_print() {
        let extents = Extents::new([(MNK[0], 1), (MNK[1], 22), (MNK[2], 333)]);
        assert_eq!(Extents::parse(&extents.to_string(), &MNK), Ok(extents));
        let json = serde_json::to_string(&extents).unwrap();
        assert_eq!(json, r#"{"m":1,"n":22,"k":333}"#);
        assert_eq!(serde_json::from_str::<Extents>(&json).unwrap(), extents);
    }

    #[test]
    fn text_that_names_other_sizes_is_refused_with_the_form() {
        for text in ["", "4096", "1x2", "1x2x3x4", "1x-2x3", "0x1x1", "axbxc"] {
            let message = Extents::parse(text, &MNK).unwrap_err().to_string();
            assert!(message.contains("MxNxK") && message.contains("4096x4096x4096"), "{message}");
        }
    }

    #[test]
    fn dimensions_that_cannot_be_are_refused() {
        for json in
            [r#"{"m":1,"m":2}"#, r#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1}"#, r#"{"dimension":1}"#, "[]"]
        {
            assert!(serde_json::from_str::<Extents>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn twice_as_long_in_one_dimension_is_the_logarithm_of_two_away() {
        let of = |m| Extents::new([(MNK[0], m), (MNK[1], 8)]);
        assert!((of(16).distance(&of(32)).unwrap() - 2f64.ln()).abs() < 1e-12);
        assert_eq!(of(16).distance(&of(16)), Some(0.0));
        assert_eq!(of(16).distance(&Extents::new([(MNK[0], 16), (MNK[2], 8)])), None);
    }
}
