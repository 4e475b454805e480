//! Operands as written (PTX ISA, "Instruction Operands").

use super::body::Body;
use super::names::{Declared, special};
use crate::isa::written::Operand;
use crate::isa::{Guard, Source};
use crate::ptx::error::{ParseError, ParseErrorKind};
use crate::ptx::token::Token;

/// Operands nest one level deep in PTX.
const MAX_DEPTH: u32 = 2;

impl<'a> Body<'_, 'a> {
    /// Operands up to the `;`.
    pub(super) fn operands(&mut self) -> Result<Vec<Operand>, ParseError> {
        let mut operands = Vec::new();
        if self.cursor.accept(Token::Semicolon) {
            return Ok(operands);
        }
        loop {
            operands.push(self.operand(0)?);
            if self.cursor.accept(Token::Semicolon) {
                return Ok(operands);
            }
            self.cursor.expect(Token::Comma, "`,` or `;`")?;
        }
    }

    fn operand(&mut self, depth: u32) -> Result<Operand, ParseError> {
        if depth > MAX_DEPTH {
            return Err(self.cursor.unexpected("a simple operand"));
        }
        match self.cursor.peek() {
            Some(Token::OpenBracket) => self.address(depth),
            Some(Token::OpenBrace) => self.vector(depth).map(Operand::Vector),
            Some(Token::Not) => {
                self.cursor.next("`!`")?;
                let word = self.cursor.word("a predicate")?;
                match self.named(word)? {
                    Operand::Predicate(guard) => Ok(Operand::Predicate(Guard { negated: !guard.negated, ..guard })),
                    _ => Err(self.cursor.unexpected("a predicate")),
                }
            }
            Some(Token::Single(bits)) => {
                self.cursor.next("a number")?;
                Ok(Operand::Single(bits))
            }
            Some(Token::Double(value)) => {
                self.cursor.next("a number")?;
                Ok(Operand::Double(value))
            }
            Some(Token::Minus | Token::Integer(_)) => {
                Ok(Operand::Source(Source::Constant(self.cursor.signed("a number")?)))
            }
            _ => {
                let word = self.cursor.word("an operand")?;
                let first = self.named(word)?;
                if self.cursor.accept(Token::Bar) { self.pair(first) } else { Ok(first) }
            }
        }
    }

    fn named(&mut self, word: &str) -> Result<Operand, ParseError> {
        if word == "_" {
            return Ok(Operand::Sink);
        }
        if let Some(special) = special(word) {
            return Ok(Operand::Source(Source::Special(special)));
        }
        if word == "WARP_SZ" {
            return Ok(Operand::Source(Source::Constant(32)));
        }
        Ok(match self.find(word)? {
            Some(Declared::Register(register)) => Operand::Register(register),
            Some(Declared::Predicate(predicate)) => Operand::Predicate(Guard { predicate, negated: false }),
            Some(Declared::Symbol(symbol)) => Operand::Source(Source::Symbol(symbol)),
            Some(Declared::ModuleShared { .. }) | None => Operand::Label(word.to_owned()),
        })
    }

    /// What stands behind `|`.
    fn pair(&mut self, first: Operand) -> Result<Operand, ParseError> {
        let word = self.cursor.word("a predicate")?;
        let second = match self.named(word)? {
            Operand::Predicate(guard) => Some(guard.predicate),
            Operand::Sink => None,
            _ => return Err(self.cursor.unexpected("a predicate")),
        };
        match first {
            Operand::Register(register) => Ok(Operand::WithPredicate(register, second)),
            Operand::Predicate(guard) => Ok(Operand::Predicates(Some(guard.predicate), second)),
            Operand::Sink => Ok(Operand::Predicates(None, second)),
            _ => Err(self.cursor.unexpected("a register before `|`")),
        }
    }

    fn vector(&mut self, depth: u32) -> Result<Vec<Operand>, ParseError> {
        self.cursor.expect(Token::OpenBrace, "`{`")?;
        let mut elements = Vec::new();
        loop {
            elements.push(self.operand(depth + 1)?);
            if self.cursor.accept(Token::CloseBrace) {
                return Ok(elements);
            }
            self.cursor.expect(Token::Comma, "`,` or `}`")?;
        }
    }

    fn address(&mut self, depth: u32) -> Result<Operand, ParseError> {
        self.cursor.expect(Token::OpenBracket, "`[`")?;
        let base = match self.operand(depth + 1)? {
            Operand::Register(register) => Source::Register(register),
            Operand::Source(source) => source,
            Operand::Label(name) => return Err(self.cursor.error(ParseErrorKind::Undeclared { name })),
            _ => return Err(self.cursor.unexpected("a register, a name or a number as the base")),
        };
        let offset = match self.cursor.peek() {
            Some(Token::Plus) => {
                self.cursor.next("`+`")?;
                self.cursor.signed("an offset")?
            }
            Some(Token::Minus) => self.cursor.signed("an offset")?,
            _ => 0,
        };
        let at = if self.cursor.accept(Token::Comma) { self.vector(depth)? } else { Vec::new() };
        self.cursor.expect(Token::CloseBracket, "`]`")?;
        Ok(Operand::Address { base, offset: offset as i64, at })
    }
}
