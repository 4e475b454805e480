//! A place in the tokens of a text.

use super::error::{ParseError, ParseErrorKind};
use super::token::Token;

/// What of the tokens is still to be read.
pub(super) struct Cursor<'a> {
    tokens: Vec<(Token<'a>, u32)>,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(tokens: Vec<(Token<'a>, u32)>) -> Self {
        Cursor { tokens, at: 0 }
    }

    pub(super) fn peek(&self) -> Option<Token<'a>> {
        self.peek_past(0)
    }

    /// The token `ahead` tokens after the next one.
    pub(super) fn peek_past(&self, ahead: usize) -> Option<Token<'a>> {
        self.tokens.get(self.at + ahead).map(|(token, _)| *token)
    }

    /// The line of the next token, or of the last.
    pub(super) fn line(&self) -> u32 {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |(_, line)| *line)
    }

    pub(super) fn next(&mut self, expected: &'static str) -> Result<Token<'a>, ParseError> {
        let token = self.peek().ok_or_else(|| self.error(ParseErrorKind::Ended { expected }))?;
        self.at += 1;
        Ok(token)
    }

    /// Steps over `token` if it is next.
    pub(super) fn accept(&mut self, token: Token<'_>) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, token: Token<'_>, expected: &'static str) -> Result<(), ParseError> {
        if self.accept(token) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    pub(super) fn word(&mut self, expected: &'static str) -> Result<&'a str, ParseError> {
        match self.peek() {
            Some(Token::Word(word)) => {
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    /// Steps over the word `word` if it is next.
    pub(super) fn accept_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(next)) if next == word);
        self.at += usize::from(found);
        found
    }

    pub(super) fn integer(&mut self, expected: &'static str) -> Result<u64, ParseError> {
        match self.peek() {
            Some(Token::Integer(value)) => {
                self.at += 1;
                Ok(value)
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    /// An integer that may have a sign, as two's complement.
    pub(super) fn signed(&mut self, expected: &'static str) -> Result<u64, ParseError> {
        let negative = self.accept(Token::Minus);
        let value = self.integer(expected)?;
        Ok(if negative { value.wrapping_neg() } else { value })
    }

    /// Steps over everything up to and with the next `token`.
    pub(super) fn skip_past(&mut self, token: Token<'_>, expected: &'static str) -> Result<(), ParseError> {
        while self.next(expected)? != token {}
        Ok(())
    }

    pub(super) fn unexpected(&self, expected: &'static str) -> ParseError {
        self.error(match self.peek() {
            Some(token) => ParseErrorKind::Expected { expected, found: describe(token) },
            None => ParseErrorKind::Ended { expected },
        })
    }

    pub(super) fn error(&self, kind: ParseErrorKind) -> ParseError {
        ParseError { line: self.line(), kind }
    }
}

fn describe(token: Token<'_>) -> String {
    match token {
        Token::Word(word) => word.to_owned(),
        Token::Text(text) => format!("\"{text}\""),
        Token::Integer(value) => value.to_string(),
        other => format!("{other:?}"),
    }
}
