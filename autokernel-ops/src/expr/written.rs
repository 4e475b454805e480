//! A number as a file holds it: JSON has no infinite ones, which stand there by their names in Rust.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Number(f32),
    Name(String),
}

pub fn serialize<S: Serializer>(number: &f32, serializer: S) -> Result<S::Ok, S::Error> {
    let written = if number.is_finite() { Written::Number(*number) } else { Written::Name(number.to_string()) };
    written.serialize(serializer)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f32, D::Error> {
    match Written::deserialize(deserializer)? {
        Written::Number(number) => Ok(number),
        Written::Name(name) => name.parse().map_err(|_| de::Error::custom(format!("`{name}` is no number"))),
    }
}

#[cfg(test)]
mod tests {
    use crate::expr::Expr;

    #[test]
    fn every_number_is_read_back_as_it_was_written() {
        for number in [0.1, -0.0, f32::MAX, f32::MIN_POSITIVE, f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
            let text = serde_json::to_string(&Expr::Literal(number)).unwrap();
            let Expr::Literal(read) = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
            assert_eq!(read.to_bits(), number.to_bits(), "{text}");
        }
        assert!(serde_json::from_str::<Expr>(r#"{"literal": "much"}"#).is_err());
    }
}
