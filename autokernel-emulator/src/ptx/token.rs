//! The words of PTX (PTX ISA, "Syntax").

use logos::Logos;

use super::error::{ParseError, ParseErrorKind};

/// One token. Words keep their dots: an opcode with its modifiers, a directive and a special register are one token.
#[derive(Logos, Clone, Copy, Debug, PartialEq)]
#[logos(skip r"[ \t\r\n\f]+")]
#[logos(skip(r"//[^\n]*", allow_greedy = true))]
#[logos(skip r"/\*([^*]|\*+[^*/])*\*+/")]
pub(super) enum Token<'a> {
    #[regex(r"\.?[A-Za-z_$%][A-Za-z0-9_$]*((\.|::)[A-Za-z0-9_]+)*")]
    Word(&'a str),
    #[regex(r"0[xX][0-9a-fA-F]+U?", |lex| radix(lex.slice(), 16))]
    #[regex(r"0[bB][01]+U?", |lex| radix(lex.slice(), 2))]
    #[regex(r"[0-9]+U?", |lex| decimal(lex.slice()))]
    Integer(u64),
    /// The bits of a single-precision constant.
    #[regex(r"0[fF][0-9a-fA-F]{8}", |lex| radix(lex.slice(), 16).map(|bits| bits as u32))]
    Single(u32),
    /// A double-precision constant.
    #[regex(r"0[dD][0-9a-fA-F]{16}", |lex| radix(lex.slice(), 16).map(f64::from_bits))]
    #[regex(r"[0-9]+\.[0-9]*([eE][+-]?[0-9]+)?", |lex| lex.slice().parse().ok())]
    Double(f64),
    #[regex(r#""[^"\n]*""#, |lex| lex.slice().trim_matches('"'))]
    Text(&'a str),
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    #[token("(")]
    OpenParen,
    #[token(")")]
    CloseParen,
    #[token("<")]
    Less,
    #[token(">")]
    Greater,
    #[token(",")]
    Comma,
    #[token(";")]
    Semicolon,
    #[token(":")]
    Colon,
    #[token("@")]
    At,
    #[token("!")]
    Not,
    #[token("|")]
    Bar,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("=")]
    Equals,
}

fn radix(text: &str, radix: u32) -> Option<u64> {
    u64::from_str_radix(text.get(2..)?.trim_end_matches('U'), radix).ok()
}

/// A leading zero means octal, as in C.
fn decimal(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches('U');
    match digits.strip_prefix('0') {
        Some(octal) if !octal.is_empty() => u64::from_str_radix(octal, 8).ok(),
        _ => digits.parse().ok(),
    }
}

/// Every token with its line, counted from 1.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token<'_>, u32)>, ParseError> {
    let mut tokens = Vec::new();
    let (mut line, mut counted) = (1u32, 0);
    for (token, span) in Token::lexer(text).spanned() {
        let passed = text.as_bytes().get(counted..span.start).unwrap_or_default();
        line += passed.iter().filter(|&&byte| byte == b'\n').count() as u32;
        counted = span.start;
        let token = token.map_err(|()| {
            let found = text.get(span).unwrap_or_default().chars().take(20).collect();
            ParseError { line, kind: ParseErrorKind::NotAToken { found } }
        })?;
        tokens.push((token, line));
    }
    Ok(tokens)
}
