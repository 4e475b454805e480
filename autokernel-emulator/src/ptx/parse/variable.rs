//! Declarations of variables (PTX ISA, "Variables").

use super::names::Names;
use crate::isa::Type;
use crate::ptx::cursor::Cursor;
use crate::ptx::error::{ParseError, ParseErrorKind};
use crate::ptx::token::Token;

/// The most bytes of one variable, of all parameters, and of a thread's local memory.
const MAX_BYTES: u64 = 1 << 20;

/// A variable as declared, after its state space.
pub(super) struct Variable<'a> {
    pub name: &'a str,
    pub align: u32,
    /// None for an array whose size a launch gives.
    pub bytes: Option<u32>,
    pub initial: Vec<u8>,
}

/// `.align 4 .b8 name[16] = {1, 2}`.
pub(super) fn variable<'a>(cursor: &mut Cursor<'a>, names: &Names) -> Result<Variable<'a>, ParseError> {
    let mut align = None;
    let element = loop {
        let word = cursor.word("a type")?;
        match word {
            ".align" => {
                let value = cursor.integer("an alignment")?;
                let valid = value.is_power_of_two() && value <= 1024;
                align =
                    Some(if valid { value as u32 } else { return Err(cursor.unexpected("a power of two to 1024")) });
            }
            ".ptr" | ".global" | ".shared" | ".const" | ".local" => {}
            _ => {
                let ty = word.strip_prefix('.').and_then(Type::from_word);
                break ty.filter(|ty| ty.bits >= 8).ok_or_else(|| cursor.unexpected("a type"))?;
            }
        }
    };
    // `.u64 .ptr .global .align 16 name`: what a pointer parameter points to.
    while cursor.accept_word(".ptr") || cursor.accept_word(".global") || cursor.accept_word(".shared") {}
    if cursor.accept_word(".align") {
        cursor.integer("an alignment")?;
    }
    let name = cursor.word("a name")?;
    let bytes = array_bytes(cursor, element)?;
    let initial = if cursor.accept(Token::Equals) { initial(cursor, element, names)? } else { Vec::new() };
    if bytes.is_some_and(|bytes| initial.len() > bytes as usize) {
        return Err(cursor.unexpected("no more values than elements"));
    }
    Ok(Variable { name, align: align.unwrap_or(element.bytes()), bytes, initial })
}

fn array_bytes(cursor: &mut Cursor<'_>, element: Type) -> Result<Option<u32>, ParseError> {
    let mut bytes = u64::from(element.bytes());
    while cursor.accept(Token::OpenBracket) {
        if cursor.accept(Token::CloseBracket) {
            return Ok(None);
        }
        bytes = bytes.saturating_mul(cursor.integer("a number of elements")?);
        cursor.expect(Token::CloseBracket, "`]`")?;
    }
    match u32::try_from(bytes) {
        Ok(bytes) if u64::from(bytes) <= MAX_BYTES => Ok(Some(bytes)),
        _ => Err(cursor.error(ParseErrorKind::TooMany { what: "bytes of a variable", limit: MAX_BYTES })),
    }
}

fn initial(cursor: &mut Cursor<'_>, element: Type, _names: &Names) -> Result<Vec<u8>, ParseError> {
    let mut bytes = Vec::new();
    let braced = cursor.accept(Token::OpenBrace);
    loop {
        let value = match cursor.peek() {
            Some(Token::Single(bits)) => {
                cursor.next("a value")?;
                u64::from(bits)
            }
            Some(Token::Double(value)) => {
                cursor.next("a value")?;
                value.to_bits()
            }
            _ => cursor.signed("a value")?,
        };
        bytes.extend(value.to_le_bytes().iter().take(element.bytes() as usize));
        if !braced || cursor.accept(Token::CloseBrace) {
            return Ok(bytes);
        }
        cursor.expect(Token::Comma, "`,` or `}`")?;
    }
}

/// Places one variable behind another.
#[derive(Default)]
pub(super) struct Placement {
    end: u32,
    align: u32,
}

impl Placement {
    /// Where a variable of that size begins.
    pub(super) fn place(&mut self, bytes: u32, align: u32) -> Result<u32, ParseErrorKind> {
        let start = u64::from(self.end).next_multiple_of(u64::from(align.max(1)));
        let end = start + u64::from(bytes);
        if end > MAX_BYTES {
            return Err(ParseErrorKind::TooMany { what: "bytes of variables", limit: MAX_BYTES });
        }
        self.end = end as u32;
        self.align = self.align.max(align);
        Ok(start as u32)
    }

    /// The strictest alignment so far.
    pub(super) fn align(&self) -> u32 {
        self.align
    }

    pub(super) fn bytes(&self) -> u32 {
        self.end
    }
}
