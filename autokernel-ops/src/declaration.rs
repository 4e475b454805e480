//! What a user wrote above and in a function, as plain data: parsed by the crate that knows Rust's syntax, judged by an
//! operation's room. Places are numbers that the parser maps back to spans.

pub mod operands;

use crate::body::{Fault, Fetch, InPlace, Step};

/// A place in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node(pub usize);

/// An attribute that declares problems of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// How it is called: `fused_matmul`.
    pub name: &'static str,
    /// A whole declaration under it.
    pub example: &'static str,
    /// What stands below it.
    pub form: Form,
    /// Names that its bodies have beside their parameters.
    pub names: &'static [&'static str],
}

/// What stands below an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A function without a body: the attribute says what is computed.
    Bodyless,
    /// A function whose body says it.
    Body,
    /// Either of them.
    Any,
}

/// An attribute with the function below it.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// The attribute's name.
    pub attribute: String,
    /// The attribute's arguments as a whole.
    pub arguments: Node,
    /// What stands in the attribute's parentheses, in order.
    pub settings: Vec<Setting>,
    /// The parameter list as a whole.
    pub parameter_list: Node,
    /// The parameters, in order.
    pub parameters: Vec<Parameter>,
    /// The function's body.
    pub body: Body,
}

/// What stands where a function's body does.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A `;`.
    None,
    /// What cannot be read, which its reader complains of.
    Unreadable,
    /// Statements, in order.
    Statements(Vec<Statement>),
}

/// A statement of a body, or what stands inside of one and is a value of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// What it does.
    pub what: What,
    /// Where it stands.
    pub node: Node,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A step that several operations know.
    Step(Step),
    /// `of[row]`, read where it stands.
    Fetch(Fetch),
    /// `output * scales = …;`, behind the step that says what: the kernel makes scales of its blocks.
    MadeScales {
        /// What is scaled.
        output: String,
        /// What holds the scales.
        scales: String,
    },
    /// What was read of an output before it is written.
    InPlace(InPlace),
    /// `let name = dot(a, b);`
    Product {
        /// Unique in its body, operands included.
        name: String,
        /// What is multiplied.
        factors: Factors,
    },
}

/// `dot(a, b)`, or with `a.t()` or `b.t()`, or with scales.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factors {
    /// The operand whose rows are multiplied, or its columns where it is transposed.
    pub a: String,
    /// The index that picks rows of `a`: `a[rows]`.
    pub rows: Option<String>,
    /// Whether `a` is taken transposed.
    pub transpose_a: bool,
    /// The operand whose elements scale blocks of `a`: `a * scales`.
    pub a_scales: Option<String>,
    /// The operand whose columns are, or its rows where it is transposed.
    pub b: String,
    /// Whether `b` is taken transposed.
    pub transpose_b: bool,
    /// The operand whose elements scale groups or blocks of `b`: `(b * scales).t()`.
    pub scales: Option<String>,
    /// The operand whose elements are subtracted from groups of `b` before: `((b - zeros) * scales).t()`.
    pub zeros: Option<String>,
}

/// `name`, `name = value` or `name(value, …)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Where its name stands.
    pub node: Node,
    /// What it is given.
    pub given: Given,
}

/// What a setting is given.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// Nothing: its name says all.
    Nothing,
    /// A value behind `=`.
    Value(Value),
    /// Values in parentheses.
    Arguments(Vec<Value>),
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// What it is.
    pub kind: ValueKind,
    /// Where it stands.
    pub node: Node,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueKind {
    /// A whole number from 0 up, written as one.
    Integer {
        /// The number.
        value: u64,
        /// Whether it names its type, as `8u32` does.
        typed: bool,
    },
    /// Any other number that is, or rounds to, an `f32`.
    Number(f32),
    /// Anything else.
    Other,
}

impl Value {
    /// The number, where it is one that is no other type's.
    pub fn number(&self) -> Option<f32> {
        match self.kind {
            ValueKind::Integer { value, typed: false } => Some(value as f32),
            ValueKind::Number(value) => Some(value),
            ValueKind::Integer { .. } | ValueKind::Other => None,
        }
    }

    /// The size of a dimension.
    ///
    /// # Errors
    /// It is no literal from 1 to 2³¹ − 1.
    pub fn dimension(&self) -> Result<u32, Complaint> {
        let size = match self.kind {
            ValueKind::Integer { value, .. } => i32::try_from(value).ok().and_then(|size| u32::try_from(size).ok()),
            ValueKind::Number(_) | ValueKind::Other => None,
        };
        let refused = "a size is a literal from 1 to 2147483647, for example `4096`";
        size.filter(|&size| size > 0).ok_or_else(|| self.node.complain(refused))
    }
}

/// A parameter of the function.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameter {
    /// `name: &Container<Element>`, or with `&mut`.
    Tensor(TensorParameter),
    /// `name: f32`.
    Scalar(ScalarParameter),
    /// `name: &Index`.
    Index {
        /// Its name.
        name: String,
        /// Where the parameter stands.
        node: Node,
        /// Whether it is borrowed mutably.
        mutable: bool,
    },
    /// `name: &PageTable`.
    PageTable {
        /// Its name.
        name: String,
        /// Where the parameter stands.
        node: Node,
    },
    /// `name: &mut Routes`.
    Routes {
        /// Where the parameter stands.
        node: Node,
        /// Whether it is borrowed mutably.
        mutable: bool,
    },
    /// What is written in no such form.
    Other {
        /// Where it differs.
        node: Node,
    },
}

/// `x: &Matrix<bf16>`.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorParameter {
    /// Its name.
    pub name: String,
    /// Where the parameter stands.
    pub node: Node,
    /// Whether it is borrowed mutably.
    pub mutable: bool,
    /// What it is borrowed from, without its path: `Matrix`.
    pub container: String,
    /// The type of its elements, without its path: `bf16`.
    pub element: String,
    /// Where its type stands.
    pub ty: Node,
    /// Where its element's type stands.
    pub element_node: Node,
}

/// `eps: f32`.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarParameter {
    /// Its name.
    pub name: String,
    /// Where the parameter stands.
    pub node: Node,
    /// Where its type stands.
    pub ty: Node,
}

/// A mistake in a declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Where.
    pub node: Node,
    /// What is wrong, and what can be written instead.
    pub message: String,
    /// Of which kind it is.
    pub fault: Fault,
}

impl Node {
    /// A mistake at this place.
    pub fn complain(self, message: impl Into<String>) -> Complaint {
        Complaint { node: self, message: message.into(), fault: Fault::Wrong }
    }
}

/// Both values, or all the complaints.
///
/// # Errors
/// Those of both.
pub fn both<A, B>(left: Result<A, Vec<Complaint>>, right: Result<B, Vec<Complaint>>) -> Result<(A, B), Vec<Complaint>> {
    match (left, right) {
        (Ok(left), Ok(right)) => Ok((left, right)),
        (Err(mut left), Err(right)) => {
            left.extend(right);
            Err(left)
        }
        (Err(complaints), _) | (_, Err(complaints)) => Err(complaints),
    }
}
