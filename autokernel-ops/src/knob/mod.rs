//! The knobs of schedules: a table for each family, from which schedules are read and written, and which the prompt and
//! docs/schedules.md print.

mod table;

use serde_json::Value;

use crate::search::Search;

pub(crate) use table::{schedule, with_group};

/// A knob of a kernel family. Its values are held as a number, whatever they are in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knob {
    /// Its name, in JSON and as a launch argument: `raster_group`.
    pub name: &'static str,
    /// Its place in the JSON of version 1, where knobs were nested: `raster.group`.
    pub path_v1: &'static str,
    /// When it is set.
    pub at: At,
    /// What its values are.
    pub kind: Kind,
    /// Its value in JSON that is older than the knob.
    pub absent: Option<u16>,
    /// The knob by which JSON that is older than a flag says whether it is set: it is where that one has another value than `absent`.
    pub told_by: Option<&'static str>,
    /// What it means; lines of a comment.
    pub meaning: &'static [&'static str],
    /// The values that the rules allow, in words.
    pub legal: &'static str,
    /// What measurements on earlier shapes suggest.
    pub advice: &'static str,
    /// How a search moves along it.
    pub search: Search,
}

/// When a knob is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// When the kernel is compiled: another value is another image.
    Image,
    /// When it is launched: another value costs no compile.
    Launch,
}

/// What the values of a knob are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number,
    /// `false` or `true`.
    Flag,
    /// One of some names.
    Choice(&'static [Choice]),
}

/// A named value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Its name in JSON.
    pub name: &'static str,
    /// What it means; lines of a comment.
    pub meaning: &'static [&'static str],
}

/// A type whose values a knob takes.
pub trait KnobValue: Copy {
    /// What its values are.
    const KIND: Kind;
    /// The number that stands for the value; the greatest for one that is too large, which no rule allows.
    fn code(self) -> u16;
    /// The value that the number stands for.
    fn from_code(code: u16) -> Option<Self>;
}

impl KnobValue for u32 {
    const KIND: Kind = Kind::Number;

    fn code(self) -> u16 {
        u16::try_from(self).unwrap_or(u16::MAX)
    }

    fn from_code(code: u16) -> Option<Self> {
        Some(code.into())
    }
}

impl KnobValue for bool {
    const KIND: Kind = Kind::Flag;

    fn code(self) -> u16 {
        self.into()
    }

    fn from_code(code: u16) -> Option<Self> {
        (code <= 1).then_some(code == 1)
    }
}

impl Knob {
    /// What it means, on as many lines as its comment has.
    pub fn meaning(&self) -> String {
        joined(self.meaning)
    }

    /// Its named values, if they have names.
    pub fn choices(&self) -> &'static [Choice] {
        match self.kind {
            Kind::Choice(choices) => choices,
            Kind::Number | Kind::Flag => &[],
        }
    }

    /// Whether it can have this value; the rules may still refuse it.
    pub fn takes(&self, code: u16) -> bool {
        match self.kind {
            Kind::Number => true,
            Kind::Flag => code <= 1,
            Kind::Choice(choices) => usize::from(code) < choices.len(),
        }
    }

    /// The value that stands for all in a schedule of which only the image counts.
    pub fn first(&self) -> u16 {
        self.absent.unwrap_or(match self.kind {
            Kind::Number => 1,
            Kind::Flag | Kind::Choice(_) => 0,
        })
    }

    /// A value in JSON. One that stands for nothing is its number.
    pub fn to_json(&self, code: u16) -> Value {
        match self.kind {
            Kind::Flag if code <= 1 => Value::Bool(code == 1),
            Kind::Choice(choices) => match choices.get(usize::from(code)) {
                Some(choice) => choice.name.into(),
                None => code.into(),
            },
            Kind::Number | Kind::Flag => code.into(),
        }
    }

    /// The value that JSON says, if it is one of this knob's.
    pub fn from_json(&self, value: &Value) -> Option<u16> {
        match self.kind {
            Kind::Number => value.as_u64().and_then(|number| u16::try_from(number).ok()),
            Kind::Flag => value.as_bool().map(u16::from),
            Kind::Choice(choices) => {
                let name = value.as_str()?;
                choices.iter().position(|choice| choice.name == name).and_then(|at| u16::try_from(at).ok())
            }
        }
    }
}

impl Choice {
    /// What it means, on as many lines as its comment has.
    pub fn meaning(&self) -> String {
        joined(self.meaning)
    }
}

fn joined(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join("\n")
}

/// An enum whose values a knob takes, with the words of its comments.
macro_rules! choices {
    ($(#[doc = $about:literal])+ $name:ident { $($(#[doc = $line:literal])+ $value:ident = $text:literal,)+ }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[doc = $line])+ $value,)+
        }

        impl $name {
            /// Its name in JSON.
            pub const fn name(self) -> &'static str {
                match self { $($name::$value => $text,)+ }
            }
        }

        impl $crate::knob::KnobValue for $name {
            const KIND: $crate::knob::Kind =
                $crate::knob::Kind::Choice(&[$($crate::knob::Choice { name: $text, meaning: &[$($line),+] },)+]);

            fn code(self) -> u16 {
                self as u16
            }

            fn from_code(code: u16) -> Option<Self> {
                [$($name::$value,)+].get(usize::from(code)).copied()
            }
        }
    };
}

pub(crate) use choices;
