//! Module-level directives (PTX ISA, "Directives").

mod body;
mod names;
mod operand;
mod shared;
mod variable;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::cursor::Cursor;
use super::error::{ParseError, ParseErrorKind};
use super::module::{Kernel, Module, SourceLocation, Variable};
use super::token::{Token, tokens};
use crate::isa::{Instruction, Symbol};
use body::Body;
use names::{Declared, Names};
use shared::Shared;
use variable::Placement;

impl Module {
    /// Reads a whole PTX text. Every instruction is decoded, so that none is found unknown at run time.
    ///
    /// # Errors
    /// The first line that is not PTX, or that the emulator does not know.
    pub fn parse(text: &str) -> Result<Module, ParseError> {
        module(text)
    }
}

fn module(text: &str) -> Result<Module, ParseError> {
    let mut cursor = Cursor::new(tokens(text)?);
    let mut shared = Shared { files: files(text), ..Shared::default() };
    let mut kernels = Vec::new();
    while cursor.peek().is_some() {
        let directive = cursor.word("a directive")?;
        match directive {
            ".version" | ".target" | ".address_size" => skip_line(&mut cursor),
            ".visible" | ".extern" | ".weak" | ".common" => {}
            ".entry" => kernels.push(Arc::new(kernel(&mut cursor, &mut shared)?)),
            ".shared" | ".global" | ".const" => module_variable(&mut cursor, &mut shared, directive)?,
            ".file" => skip_line(&mut cursor),
            ".section" => {
                cursor.skip_past(Token::OpenBrace, "a section's data")?;
                cursor.skip_past(Token::CloseBrace, "a section's end")?;
            }
            ".pragma" => cursor.skip_past(Token::Semicolon, "`;`")?,
            other => {
                return Err(cursor.error(ParseErrorKind::UnknownDirective { directive: other.to_owned() }));
            }
        }
    }
    Ok(Module { kernels, variables: shared.variables.into() })
}

/// Steps over the rest of a directive that ends with its line.
fn skip_line(cursor: &mut Cursor<'_>) {
    let line = cursor.line();
    // The directive's own word is behind; its arguments stand on the same line.
    while cursor.peek().is_some() && cursor.line() == line {
        let Ok(_) = cursor.next("an argument") else { return };
    }
}

/// `.file` directives stand behind the kernels that name them.
fn files(text: &str) -> FxHashMap<u32, Arc<str>> {
    let file = |line: &str| {
        let (number, path) = line.trim().strip_prefix(".file")?.trim().split_once(char::is_whitespace)?;
        Some((number.parse().ok()?, Arc::from(path.split('"').nth(1)?)))
    };
    text.lines().filter_map(file).collect()
}

fn module_variable(cursor: &mut Cursor<'_>, shared: &mut Shared, space: &str) -> Result<(), ParseError> {
    loop {
        let variable = variable::variable(cursor, &shared.names)?;
        let declared = match (space, variable.bytes) {
            (".shared", bytes) => Declared::ModuleShared { bytes, align: variable.align },
            (_, None) => return Err(cursor.unexpected("a size")),
            (_, Some(bytes)) => {
                let mut initial = variable.initial;
                initial.resize(bytes as usize, 0);
                shared.variables.push(Variable { name: variable.name.to_owned(), bytes: initial });
                Declared::Symbol(Symbol::Global(shared.variables.len() as u32 - 1))
            }
        };
        shared.names.declare(variable.name, declared).map_err(|kind| cursor.error(kind))?;
        if !cursor.accept(Token::Comma) {
            return cursor.expect(Token::Semicolon, "`;`");
        }
    }
}

fn kernel(cursor: &mut Cursor<'_>, shared: &mut Shared) -> Result<Kernel, ParseError> {
    let name = cursor.word("the kernel's name")?;
    shared.names.open();
    let parameter_bytes = parameters(cursor, &mut shared.names)?;
    let mut kernel = Kernel {
        name: name.to_owned(),
        parameter_bytes,
        max_threads: None,
        required_threads: None,
        cluster: None,
        shared: Default::default(),
        local_bytes: 0,
        registers: 0,
        predicates: 0,
        code: Vec::<Instruction>::new(),
        mnemonics: Vec::new(),
        locations: Vec::<SourceLocation>::new(),
    };
    attributes(cursor, &mut kernel)?;
    cursor.expect(Token::OpenBrace, "`{`")?;
    Body::new(cursor, shared, &mut kernel).read()?;
    shared.names.close();
    Ok(kernel)
}

/// The parameters' sizes, each placed at its alignment; their names become symbols.
fn parameters(cursor: &mut Cursor<'_>, names: &mut Names) -> Result<u32, ParseError> {
    let mut placement = Placement::default();
    if !cursor.accept(Token::OpenParen) || cursor.accept(Token::CloseParen) {
        return Ok(0);
    }
    loop {
        if !cursor.accept_word(".param") {
            return Err(cursor.unexpected("`.param`"));
        }
        let variable = variable::variable(cursor, names)?;
        let bytes = variable.bytes.ok_or_else(|| cursor.unexpected("a size"))?;
        let offset = placement.place(bytes, variable.align).map_err(|kind| cursor.error(kind))?;
        let symbol = Declared::Symbol(Symbol::Parameter(offset));
        names.declare(variable.name, symbol).map_err(|kind| cursor.error(kind))?;
        if cursor.accept(Token::CloseParen) {
            return Ok(placement.bytes());
        }
        cursor.expect(Token::Comma, "`,` or `)`")?;
    }
}

/// What stands between a kernel's parameters and its body.
fn attributes(cursor: &mut Cursor<'_>, kernel: &mut Kernel) -> Result<(), ParseError> {
    while cursor.peek() != Some(Token::OpenBrace) {
        match cursor.word("a directive or `{`")? {
            ".maxntid" => kernel.max_threads = Some(extents(cursor)?),
            ".reqntid" => kernel.required_threads = Some(extents(cursor)?),
            ".reqnctapercluster" => kernel.cluster = Some(extents(cursor)?),
            ".minnctapersm" | ".maxnreg" | ".maxclusterrank" => drop(cursor.integer("a number")?),
            ".explicitcluster" | ".noreturn" => {}
            ".pragma" => cursor.skip_past(Token::Semicolon, "`;`")?,
            other => {
                return Err(cursor.error(ParseErrorKind::UnknownDirective { directive: other.to_owned() }));
            }
        }
    }
    Ok(())
}

fn extents(cursor: &mut Cursor<'_>) -> Result<[u32; 3], ParseError> {
    let mut extents = [1; 3];
    for (at, extent) in extents.iter_mut().enumerate() {
        if at > 0 && !cursor.accept(Token::Comma) {
            break;
        }
        *extent = u32::try_from(cursor.integer("a number")?).unwrap_or(u32::MAX);
    }
    Ok(extents)
}
