//! The body of a kernel: declarations, labels and instructions.

use rustc_hash::FxHashMap;

use super::names::Declared;
use super::shared::Shared;
use super::variable::{self, Placement};
use crate::isa::decode::{self, Refusal, Statement};
use crate::isa::written::Operand;
use crate::isa::{Guard, Instruction, Op, Predicate, Register, Symbol, Type};
use crate::ptx::cursor::Cursor;
use crate::ptx::error::{ParseError, ParseErrorKind};
use crate::ptx::module::{Kernel, SourceLocation};
use crate::ptx::token::Token;

/// The most registers a kernel may declare: each takes memory in every warp.
const MAX_REGISTERS: u32 = 1 << 17;
/// How deep `{ }` may nest.
const MAX_SCOPES: usize = 64;

/// A `{ }`: labels are known inside it alone.
struct Scope {
    parent: Option<usize>,
    labels: FxHashMap<String, u32>,
}

/// A branch whose label may not have been read yet.
struct Jump {
    instruction: usize,
    scope: usize,
    label: String,
    line: u32,
}

pub(super) struct Body<'b, 'a> {
    pub(super) cursor: &'b mut Cursor<'a>,
    shared: &'b mut Shared,
    kernel: &'b mut Kernel,
    scopes: Vec<Scope>,
    open: Vec<usize>,
    jumps: Vec<Jump>,
    shared_memory: Placement,
    local_memory: Placement,
    mnemonics: FxHashMap<&'a str, u32>,
    locations: FxHashMap<SourceLocation, u32>,
    location: Option<u32>,
}

impl<'b, 'a> Body<'b, 'a> {
    pub(super) fn new(cursor: &'b mut Cursor<'a>, shared: &'b mut Shared, kernel: &'b mut Kernel) -> Self {
        Body {
            cursor,
            shared,
            kernel,
            scopes: vec![Scope { parent: None, labels: FxHashMap::default() }],
            open: vec![0],
            jumps: Vec::new(),
            shared_memory: Placement::default(),
            local_memory: Placement::default(),
            mnemonics: FxHashMap::default(),
            locations: FxHashMap::default(),
            location: None,
        }
    }

    /// Everything up to the `}` that ends the kernel.
    pub(super) fn read(mut self) -> Result<(), ParseError> {
        while !self.open.is_empty() {
            self.statement()?;
        }
        self.resolve_jumps()?;
        self.kernel.shared.static_bytes = self.shared_memory.bytes();
        self.kernel.shared.static_align = self.shared_memory.align();
        self.kernel.local_bytes = self.local_memory.bytes();
        Ok(())
    }

    fn scope(&self) -> usize {
        self.open.last().copied().unwrap_or(0)
    }

    fn statement(&mut self) -> Result<(), ParseError> {
        match self.cursor.peek() {
            Some(Token::OpenBrace) => self.open_scope(),
            Some(Token::CloseBrace) => {
                self.cursor.next("`}`")?;
                self.open.pop();
                if !self.open.is_empty() {
                    self.shared.names.close();
                }
                Ok(())
            }
            Some(Token::Semicolon) => self.cursor.next("`;`").map(drop),
            Some(Token::Word(word)) if word.starts_with('.') => self.directive(word),
            Some(Token::Word(word)) if self.cursor.peek_past(1) == Some(Token::Colon) => self.label(word),
            Some(_) => self.instruction(),
            None => Err(self.cursor.unexpected("an instruction or `}`")),
        }
    }

    fn open_scope(&mut self) -> Result<(), ParseError> {
        self.cursor.next("`{`")?;
        if self.open.len() >= MAX_SCOPES {
            let limit = MAX_SCOPES as u64;
            return Err(self.cursor.error(ParseErrorKind::TooMany { what: "nested scopes", limit }));
        }
        self.scopes.push(Scope { parent: Some(self.scope()), labels: FxHashMap::default() });
        self.open.push(self.scopes.len() - 1);
        self.shared.names.open();
        Ok(())
    }

    fn label(&mut self, name: &str) -> Result<(), ParseError> {
        let target = self.kernel.code.len() as u32;
        let scope = self.scope();
        let before = self.scopes.get_mut(scope).and_then(|scope| scope.labels.insert(name.to_owned(), target));
        if before.is_some() {
            return Err(self.cursor.error(ParseErrorKind::DeclaredTwice { name: name.to_owned() }));
        }
        self.cursor.next("a label")?;
        self.cursor.expect(Token::Colon, "`:`")
    }

    fn directive(&mut self, word: &str) -> Result<(), ParseError> {
        self.cursor.next("a directive")?;
        match word {
            ".reg" => self.registers(),
            ".shared" | ".local" => self.variable(word),
            ".loc" => self.location(),
            ".pragma" => self.cursor.skip_past(Token::Semicolon, "`;`"),
            other => Err(self.cursor.error(ParseErrorKind::UnknownDirective { directive: other.to_owned() })),
        }
    }

    /// `.reg .b32 %r<8>;` or `.reg .pred p, q;`
    fn registers(&mut self) -> Result<(), ParseError> {
        let ty = self.cursor.word("a type")?.strip_prefix('.').and_then(Type::from_word);
        let ty = ty.ok_or_else(|| self.cursor.unexpected("a register's type"))?;
        let bits = (ty != Type::PREDICATE).then_some(ty.bits.max(16));
        loop {
            let name = self.cursor.word("a register's name")?;
            if self.cursor.accept(Token::Less) {
                let count = self.cursor.integer("a number of registers")?;
                self.cursor.expect(Token::Greater, "`>`")?;
                let (first, count) = self.allot(bits.is_none(), count)?;
                let declared = self.shared.names.declare_family(name, first, count, bits);
                declared.map_err(|kind| self.cursor.error(kind))?;
            } else {
                let (index, _) = self.allot(bits.is_none(), 1)?;
                let declared = match bits {
                    Some(bits) => Declared::Register(Register { index, bits }),
                    None => Declared::Predicate(Predicate(index)),
                };
                self.shared.names.declare(name, declared).map_err(|kind| self.cursor.error(kind))?;
            }
            if !self.cursor.accept(Token::Comma) {
                return self.cursor.expect(Token::Semicolon, "`,` or `;`");
            }
        }
    }

    /// The numbers of `count` new registers.
    fn allot(&mut self, predicates: bool, count: u64) -> Result<(u32, u32), ParseError> {
        let used = if predicates { &mut self.kernel.predicates } else { &mut self.kernel.registers };
        let first = *used;
        let end = u32::try_from(count).ok().and_then(|count| first.checked_add(count));
        match end.filter(|&end| end <= MAX_REGISTERS) {
            Some(end) => {
                *used = end;
                Ok((first, end - first))
            }
            None => {
                let limit = MAX_REGISTERS.into();
                Err(self.cursor.error(ParseErrorKind::TooMany { what: "registers of a kernel", limit }))
            }
        }
    }

    /// A shared or local variable of the kernel.
    fn variable(&mut self, space: &str) -> Result<(), ParseError> {
        loop {
            let variable = variable::variable(self.cursor, &self.shared.names)?;
            let bytes = variable.bytes.ok_or_else(|| self.cursor.unexpected("a size"))?;
            let is_shared = space == ".shared";
            let memory = if is_shared { &mut self.shared_memory } else { &mut self.local_memory };
            let offset = memory.place(bytes, variable.align).map_err(|kind| self.cursor.error(kind))?;
            let symbol = if is_shared { Symbol::Shared(offset) } else { Symbol::Local(offset) };
            let declared = self.shared.names.declare(variable.name, Declared::Symbol(symbol));
            declared.map_err(|kind| self.cursor.error(kind))?;
            if !self.cursor.accept(Token::Comma) {
                return self.cursor.expect(Token::Semicolon, "`,` or `;`");
            }
        }
    }

    /// What a name means; a shared variable of the module is placed when it is first named.
    pub(super) fn find(&mut self, name: &str) -> Result<Option<Declared>, ParseError> {
        let Some(Declared::ModuleShared { bytes, align }) = self.shared.names.find(name) else {
            return Ok(self.shared.names.find(name));
        };
        let symbol = match bytes {
            None => {
                self.kernel.shared.dynamic_align = self.kernel.shared.dynamic_align.max(align);
                Symbol::DynamicShared
            }
            Some(bytes) => {
                let offset = self.shared_memory.place(bytes, align);
                Symbol::Shared(offset.map_err(|kind| self.cursor.error(kind))?)
            }
        };
        self.shared.names.shadow(name, Declared::Symbol(symbol));
        Ok(Some(Declared::Symbol(symbol)))
    }

    /// `.loc file line column[, function_name label[+offset], inlined_at file line column]`
    fn location(&mut self) -> Result<(), ParseError> {
        let mut place = self.place()?;
        if self.cursor.accept(Token::Comma) {
            if !self.cursor.accept_word("function_name") {
                return Err(self.cursor.unexpected("`function_name`"));
            }
            self.cursor.word("a label")?;
            if self.cursor.accept(Token::Plus) {
                self.cursor.integer("an offset")?;
            }
            self.cursor.expect(Token::Comma, "`,`")?;
            if !self.cursor.accept_word("inlined_at") {
                return Err(self.cursor.unexpected("`inlined_at`"));
            }
            place.inlined_at = Some(Box::new(self.place()?));
        }
        // Line 0: code that stands in no line.
        if place.line > 0 {
            let next = self.locations.len() as u32;
            let number = *self.locations.entry(place.clone()).or_insert(next);
            if number == next {
                self.kernel.locations.push(place);
            }
            self.location = Some(number);
        }
        Ok(())
    }

    fn place(&mut self) -> Result<SourceLocation, ParseError> {
        let file = u32::try_from(self.cursor.integer("a file's number")?).unwrap_or(0);
        let line = u32::try_from(self.cursor.integer("a line")?).unwrap_or(0);
        self.cursor.integer("a column")?;
        let file = self.shared.files.get(&file).cloned().unwrap_or_else(|| "?".into());
        Ok(SourceLocation { file, line, inlined_at: None })
    }

    fn instruction(&mut self) -> Result<(), ParseError> {
        let guard = self.guard()?;
        let line = self.cursor.line();
        let mnemonic = self.cursor.word("an instruction")?;
        let operands = self.operands()?;
        let label = match operands.as_slice() {
            [Operand::Label(label)] => Some(label.clone()),
            _ => None,
        };
        let op = decode::decode(Statement::new(mnemonic, operands)).map_err(|refusal| {
            let instruction = mnemonic.to_owned();
            let kind = match refusal {
                Refusal::Unknown(reason) => ParseErrorKind::UnknownInstruction { instruction, reason },
                Refusal::Operands(reason) => ParseErrorKind::Operands { instruction, reason },
            };
            ParseError { line, kind }
        })?;
        if let (Op::Branch { .. }, Some(label)) = (&op, label) {
            self.jumps.push(Jump { instruction: self.kernel.code.len(), scope: self.scope(), label, line });
        }
        let mnemonic = self.mnemonic(mnemonic);
        self.kernel.code.push(Instruction { guard, op, line, mnemonic, location: self.location });
        Ok(())
    }

    fn mnemonic(&mut self, text: &'a str) -> u32 {
        let next = self.mnemonics.len() as u32;
        let number = *self.mnemonics.entry(text).or_insert(next);
        if number == next {
            self.kernel.mnemonics.push(text.to_owned());
        }
        number
    }

    fn guard(&mut self) -> Result<Option<Guard>, ParseError> {
        if !self.cursor.accept(Token::At) {
            return Ok(None);
        }
        let negated = self.cursor.accept(Token::Not);
        let name = self.cursor.word("a predicate")?;
        match self.find(name)? {
            Some(Declared::Predicate(predicate)) => Ok(Some(Guard { predicate, negated })),
            _ => Err(self.cursor.error(ParseErrorKind::Undeclared { name: name.to_owned() })),
        }
    }

    fn resolve_jumps(&mut self) -> Result<(), ParseError> {
        for jump in std::mem::take(&mut self.jumps) {
            let mut scope = self.scopes.get(jump.scope);
            let found = loop {
                let Some(here) = scope else { break None };
                if let Some(&target) = here.labels.get(&jump.label) {
                    break Some(target);
                }
                scope = here.parent.and_then(|parent| self.scopes.get(parent));
            };
            let Some(target) = found else {
                return Err(ParseError { line: jump.line, kind: ParseErrorKind::Undeclared { name: jump.label } });
            };
            if let Some(instruction) = self.kernel.code.get_mut(jump.instruction) {
                instruction.op = Op::Branch { target };
            }
        }
        Ok(())
    }
}
