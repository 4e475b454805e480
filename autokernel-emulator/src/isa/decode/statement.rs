//! An instruction as written, and what of it has not been understood yet.

use crate::isa::operand::{Address, Guard, Predicate, PredicateSource, Register, Source};
use crate::isa::types::{Kind, Space, Type};
use crate::isa::written::Operand;

/// Why a statement is not an instruction of the emulator.
pub(crate) enum Refusal {
    /// Its opcode or a modifier.
    Unknown(String),
    /// Its operands.
    Operands(String),
}

pub(super) type Decoded<T> = Result<T, Refusal>;

pub(super) fn unknown<T>(reason: impl Into<String>) -> Decoded<T> {
    Err(Refusal::Unknown(reason.into()))
}

fn bad<T>(reason: impl Into<String>) -> Decoded<T> {
    Err(Refusal::Operands(reason.into()))
}

/// The words of the opcode are taken one by one; one that is left was not understood.
pub(crate) struct Statement<'a> {
    root: &'a str,
    words: Vec<&'a str>,
    operands: Vec<Operand>,
    /// Operands that some call has looked at.
    used: usize,
}

impl<'a> Statement<'a> {
    pub(crate) fn new(mnemonic: &'a str, operands: Vec<Operand>) -> Self {
        let mut words = mnemonic.split('.');
        let root = words.next().unwrap_or_default();
        Statement { root, words: words.collect(), operands, used: 0 }
    }

    pub(super) fn root(&self) -> &'a str {
        self.root
    }

    pub(super) fn finish(&self) -> Decoded<()> {
        if let Some(word) = self.words.first() {
            return unknown(format!("`.{word}`"));
        }
        if self.used < self.operands.len() {
            return bad(format!("{} operands, {} are taken", self.operands.len(), self.used));
        }
        Ok(())
    }

    // ---- the opcode's words ----

    /// Takes the modifier `word`, wherever it stands.
    pub(super) fn flag(&mut self, word: &str) -> bool {
        let at = self.words.iter().position(|&next| next == word);
        if let Some(at) = at {
            self.words.remove(at);
        }
        at.is_some()
    }

    /// Whether the modifier `word` stands there, which is left.
    pub(super) fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    /// Takes the first word that `meaning` knows.
    pub(super) fn pick<T>(&mut self, meaning: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (at, value) = self.words.iter().enumerate().find_map(|(at, word)| Some((at, meaning(word)?)))?;
        self.words.remove(at);
        Some(value)
    }

    /// Takes the first word of a table.
    pub(super) fn one_of<T: Copy>(&mut self, table: &[(&str, T)]) -> Option<T> {
        self.pick(|word| table.iter().find(|(name, _)| *name == word).map(|(_, value)| *value))
    }

    /// Takes every word of `words` that is there: modifiers that change only speed.
    pub(super) fn hints(&mut self, words: &[&str]) {
        self.words.retain(|word| !words.contains(word));
    }

    /// The first type among the words.
    pub(super) fn ty(&mut self) -> Decoded<Type> {
        self.pick(Type::from_word).map_or_else(|| unknown("no type"), Ok)
    }

    /// Bits of the first type among the words, which stays; 0 without one.
    pub(super) fn peek_bits(&self) -> u32 {
        self.words.iter().find_map(|word| Type::from_word(word)).map_or(0, |ty| ty.bits)
    }

    pub(super) fn space(&mut self) -> Option<Space> {
        self.pick(Space::from_word)
    }

    // ---- operands ----

    pub(super) fn operand_count(&self) -> usize {
        self.operands.len()
    }

    fn operand(&mut self, at: usize) -> Decoded<Operand> {
        self.used = self.used.max(at + 1);
        match self.operands.get(at) {
            Some(operand) => Ok(operand.clone()),
            None => bad(format!("operand {} is missing", at + 1)),
        }
    }

    /// A register that receives `bits` bits.
    pub(super) fn register(&mut self, at: usize, bits: u32) -> Decoded<Register> {
        match self.operand(at)? {
            Operand::Register(register) if register.bits == bits => Ok(register),
            Operand::Register(register) => bad(format!("operand {} has {} bits, not {bits}", at + 1, register.bits)),
            _ => bad(format!("operand {} is not a register", at + 1)),
        }
    }

    /// A register at least as wide as `ty`, as loads and stores take; none for `_`.
    fn wide_register(operand: &Operand, ty: Type) -> Decoded<Option<Register>> {
        match operand {
            Operand::Register(register) if register.bits >= ty.bits => Ok(Some(*register)),
            Operand::Sink => Ok(None),
            _ => bad("a destination is not a register of that size"),
        }
    }

    /// One or several destinations of a load.
    pub(super) fn destinations(&mut self, at: usize, count: usize, ty: Type) -> Decoded<Box<[Option<Register>]>> {
        match self.operand(at)? {
            Operand::Vector(operands) if operands.len() == count => {
                operands.iter().map(|operand| Self::wide_register(operand, ty)).collect()
            }
            operand if count == 1 => Ok(Box::new([Self::wide_register(&operand, ty)?])),
            _ => bad(format!("operand {} is not a vector of {count}", at + 1)),
        }
    }

    pub(super) fn source(&mut self, at: usize, ty: Type) -> Decoded<Source> {
        let operand = self.operand(at)?;
        Self::to_source(&operand, ty, false)
    }

    /// One or several values that a store takes from registers at least as wide.
    pub(super) fn values(&mut self, at: usize, count: usize, ty: Type) -> Decoded<Box<[Source]>> {
        match self.operand(at)? {
            Operand::Vector(operands) if operands.len() == count => {
                operands.iter().map(|operand| Self::to_source(operand, ty, true)).collect()
            }
            operand if count == 1 => Ok(Box::new([Self::to_source(&operand, ty, true)?])),
            _ => bad(format!("operand {} is not a vector of {count}", at + 1)),
        }
    }

    fn to_source(operand: &Operand, ty: Type, wider: bool) -> Decoded<Source> {
        match operand {
            Operand::Register(register) => {
                if register.bits == ty.bits.max(16) || (wider && register.bits > ty.bits) {
                    Ok(Source::Register(*register))
                } else {
                    bad(format!("a register of {} bits where {} are taken", register.bits, ty.bits))
                }
            }
            Operand::Source(Source::Constant(value)) => Ok(Source::Constant(constant(*value, ty))),
            Operand::Source(source) => Ok(*source),
            Operand::Single(bits) if ty.bits == 32 => Ok(Source::Constant((*bits).into())),
            Operand::Double(value) if ty == Type::F32 => Ok(Source::Constant((*value as f32).to_bits().into())),
            Operand::Double(value) if ty.bits == 64 => Ok(Source::Constant(value.to_bits())),
            Operand::Label(name) => bad(format!("`{name}` is not declared here")),
            _ => bad("an operand is neither a register nor a number"),
        }
    }

    /// A predicate that is read.
    pub(super) fn predicate(&mut self, at: usize) -> Decoded<PredicateSource> {
        match self.operand(at)? {
            Operand::Predicate(guard) => Ok(PredicateSource::Register(guard)),
            Operand::Source(Source::Constant(value)) => Ok(PredicateSource::Constant(value != 0)),
            _ => bad(format!("operand {} is not a predicate", at + 1)),
        }
    }

    /// A predicate that is written.
    pub(super) fn predicate_register(&mut self, at: usize) -> Decoded<Predicate> {
        match self.operand(at)? {
            Operand::Predicate(Guard { predicate, negated: false }) => Ok(predicate),
            _ => bad(format!("operand {} is not a predicate register", at + 1)),
        }
    }

    /// `%p` or `%p|%q`, each of which may be `_`.
    pub(super) fn predicate_pair(&mut self, at: usize) -> Decoded<(Option<Predicate>, Option<Predicate>)> {
        match self.operand(at)? {
            Operand::Predicate(Guard { predicate, negated: false }) => Ok((Some(predicate), None)),
            Operand::Predicates(first, second) => Ok((first, second)),
            Operand::Sink => Ok((None, None)),
            _ => bad(format!("operand {} is not a pair of predicates", at + 1)),
        }
    }

    /// `%r` or `%r|%p`; the register may be `_`.
    pub(super) fn register_and_predicate(&mut self, at: usize) -> Decoded<(Option<Register>, Option<Predicate>)> {
        match self.operand(at)? {
            Operand::Register(register) if register.bits == 32 => Ok((Some(register), None)),
            Operand::WithPredicate(register, predicate) if register.bits == 32 => Ok((Some(register), predicate)),
            Operand::Predicates(None, predicate) => Ok((None, predicate)),
            _ => bad(format!("operand {} is not a 32-bit register with a predicate", at + 1)),
        }
    }

    /// Whether the operand is a predicate, read.
    pub(super) fn is_predicate(&self, at: usize) -> bool {
        matches!(self.operands.get(at), Some(Operand::Predicate(_)))
    }

    pub(super) fn is_vector(&self, at: usize) -> bool {
        matches!(self.operands.get(at), Some(Operand::Vector(_)))
    }

    pub(super) fn is_address(&self, at: usize) -> bool {
        matches!(self.operands.get(at), Some(Operand::Address { .. }))
    }

    /// Elements of the first operand that is a vector.
    pub(super) fn vector_length(&self) -> usize {
        let length = |operand: &Operand| match operand {
            Operand::Vector(elements) => Some(elements.len()),
            _ => None,
        };
        self.operands.iter().find_map(length).unwrap_or(0)
    }

    /// A register, or none for `_`.
    pub(super) fn optional_register(&mut self, at: usize, bits: u32) -> Decoded<Option<Register>> {
        match self.operand(at)? {
            Operand::Sink => Ok(None),
            _ => self.register(at, bits).map(Some),
        }
    }

    pub(super) fn address(&mut self, at: usize) -> Decoded<Address> {
        match self.operand(at)? {
            Operand::Address { base, offset, at } if at.is_empty() => Ok(Address { base, offset }),
            _ => bad(format!("operand {} is not an address", at + 1)),
        }
    }

    /// `[map, {coordinates}]`.
    pub(super) fn tensor(&mut self, at: usize) -> Decoded<(Address, Box<[Source]>)> {
        let Operand::Address { base, offset, at: coordinates } = self.operand(at)? else {
            return bad(format!("operand {} is not a tensor's address", at + 1));
        };
        let sources: Decoded<Box<[Source]>> =
            coordinates.iter().map(|operand| Self::to_source(operand, Type::S32, false)).collect();
        Ok((Address { base, offset }, sources?))
    }

    /// The elements of a vector, all registers of 32 bits that are written.
    pub(super) fn vector_registers(&mut self, at: usize, count: usize) -> Decoded<Box<[Register]>> {
        let all = self.destinations(at, count, Type::B32)?;
        let registers: Option<Box<[Register]>> = all.iter().map(|d| d.filter(|d| d.bits == 32)).collect();
        registers.map_or_else(|| bad("a destination is not a 32-bit register"), Ok)
    }

    pub(super) fn constant(&mut self, at: usize) -> Decoded<u64> {
        match self.operand(at)? {
            Operand::Source(Source::Constant(value)) => Ok(value),
            _ => bad(format!("operand {} is not a constant", at + 1)),
        }
    }

    /// A constant that must be small.
    pub(super) fn small_constant(&mut self, at: usize, limit: u32) -> Decoded<u32> {
        let value = self.constant(at)?;
        match u32::try_from(value) {
            Ok(value) if value <= limit => Ok(value),
            _ => bad(format!("operand {} is {value}, at most {limit} is allowed", at + 1)),
        }
    }

    /// Whether the only operand is a label.
    pub(super) fn label(&mut self, at: usize) -> Decoded<()> {
        match self.operand(at)? {
            Operand::Label(_) => Ok(()),
            _ => bad(format!("operand {} is not a label", at + 1)),
        }
    }
}

/// An integer constant as an operand of type `ty`.
fn constant(value: u64, ty: Type) -> u64 {
    match ty.kind {
        Kind::Float if ty == Type::F32 => u64::from((value as i64 as f32).to_bits()),
        Kind::Float if ty == Type::F64 => (value as i64 as f64).to_bits(),
        _ => ty.truncate(value),
    }
}
