//! What a declaration of a product says.

mod block_scales;
mod body;
mod known;
mod tf32;
mod weights;

use autokernel_core::Dtype;

use super::inputs::{INPUTS, TF32, along_k, in_words, not_multiplied, other, outputs};
use super::problem::{Layout, Problem};
use crate::body::Kind;
use crate::declaration::operands::element_type;
use crate::declaration::{
    Attribute, Body, Complaint, Declaration, Form, Given, Node, Parameter, Setting, TensorParameter, Value, both,
};
use crate::epilogue::Epilogue;
use crate::weights::Weights;
use known::{Known, twice};

const PLAIN: &str = "matmul";

/// The attributes that declare products.
pub const ATTRIBUTES: &[Attribute] = &[
    Attribute {
        name: PLAIN,
        example: "#[autokernel::matmul] fn linear(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);",
        form: Form::Bodyless,
        names: &[],
    },
    Attribute {
        name: "fused_matmul",
        example: "#[autokernel::fused_matmul(leaky_relu)] fn linear(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut \
                  Matrix<bf16>);",
        form: Form::Any,
        names: &[],
    },
];

/// The product that `declaration` says.
///
/// # Errors
/// All mistakes at once, each with its remedy.
pub fn declare(declaration: &Declaration) -> Result<Problem, Vec<Complaint>> {
    match &declaration.body {
        Body::None => with_epilogue(declaration),
        Body::Unreadable => body::declare(declaration, &[]),
        Body::Statements(statements) => body::declare(declaration, statements),
    }
}

fn with_epilogue(declaration: &Declaration) -> Result<Problem, Vec<Complaint>> {
    let settings = Settings::read(declaration).map_err(|complaint| vec![complaint]);
    let (settings, types) = both(settings, types(declaration))?;
    let Settings { epilogue, layout, known: Known { n: known_n, k: known_k } } = settings;
    let (input, output) = types;
    if !Layout::of(input).contains(&layout) {
        let remedy = if layout.transpose_a() {
            "store `a` as `[m, k]` and leave `transpose_a` out"
        } else {
            "store `b` as `[n, k]` and add `transpose_b`"
        };
        let message = format!("{}; {remedy}", along_k(input));
        return Err(vec![declaration.arguments.complain(message)]);
    }
    Ok(Problem {
        input,
        second: None,
        weights: None,
        block: None,
        output,
        layout,
        epilogue,
        body: None,
        known_n,
        known_k,
    })
}

/// What stands in the attribute's parentheses.
struct Settings {
    epilogue: Epilogue,
    layout: Layout,
    known: Known,
}

impl Settings {
    fn read(declaration: &Declaration) -> Result<Self, Complaint> {
        let mut settings = declaration.settings.iter();
        let is_plain = declaration.attribute == PLAIN;
        let epilogue = if is_plain {
            Epilogue::identity()
        } else {
            let first = settings.next().ok_or_else(|| declaration.arguments.complain(which_epilogue()))?;
            let is_later = |setting: &&Setting| Epilogue::builtin(&setting.name, None).is_ok();
            match settings.clone().find(is_later) {
                Some(later) if is_setting(&first.name) => return Err(not_first(first, later)),
                _ => epilogue(first)?,
            }
        };
        let mut read = Settings { epilogue, layout: Layout::Nn, known: Known::default() };
        settings.try_for_each(|setting| read.apply(is_plain, setting))?;
        Ok(read)
    }

    fn apply(&mut self, is_plain: bool, Setting { name, node, given }: &Setting) -> Result<(), Complaint> {
        match (name.as_str(), given) {
            ("transpose_a" | "transpose_b", Given::Nothing) => self.transpose(name, *node)?,
            ("transpose_a" | "transpose_b", Given::Value(Value { node, .. })) => {
                return Err(takes_no_value(name, *node));
            }
            ("transpose_a" | "transpose_b", Given::Arguments(_)) => return Err(takes_no_value(name, *node)),
            ("n" | "k" | "m", _) => self.known.apply(name, *node, given)?,
            (TF32, _) => tf32::apply(*node, given)?,
            (other, _) if is_plain && Epilogue::builtin(other, None).is_ok() => {
                let message = format!("`matmul` has no epilogue; write `#[autokernel::fused_matmul({other})]`");
                return Err(node.complain(message));
            }
            (other, _) => {
                let message = format!(
                    "unknown setting `{other}`; known are `transpose_a`, `transpose_b`, `tf32`, `n = …`, `k = …` and types, `T = [bf16, f16]`"
                );
                return Err(node.complain(message));
            }
        }
        Ok(())
    }

    /// Takes the setting called `name`, that a factor is stored transposed.
    fn transpose(&mut self, name: &str, node: Node) -> Result<(), Complaint> {
        let (a, b) = (self.layout.transpose_a(), self.layout.transpose_b());
        self.layout = match name {
            "transpose_a" if !a => Layout::new(true, b),
            "transpose_b" if !b => Layout::new(a, true),
            _ => return Err(twice(name, node)),
        };
        Ok(())
    }
}

fn takes_no_value(name: &str, node: Node) -> Complaint {
    node.complain(format!("`{name}` takes no value; write `{name}` alone"))
}

/// Whether it is one of those that stand after the epilogue.
fn is_setting(name: &str) -> bool {
    ["transpose_a", "transpose_b", TF32, "n", "k", "m"].contains(&name)
}

fn not_first(first: &Setting, epilogue: &Setting) -> Complaint {
    epilogue.node.complain(format!("the epilogue stands before `{}`; write `{}` first", first.name, epilogue.name))
}

fn which_epilogue() -> String {
    let known: Vec<String> = Epilogue::all().iter().map(|epilogue| epilogue.name().to_owned()).collect();
    let known = known.join(", ");
    format!("which epilogue? write `#[autokernel::fused_matmul(leaky_relu)]`; built in are {known}")
}

fn epilogue(Setting { name, node, given }: &Setting) -> Result<Epilogue, Complaint> {
    let number = |value: &Value| {
        let refused = || value.node.complain("an epilogue's parameter is a number, for example 0.2");
        value.number().ok_or_else(refused)
    };
    let arguments = match given {
        Given::Nothing => None,
        Given::Arguments(values) => Some(values.iter().map(number).collect::<Result<_, _>>()?),
        Given::Value(value) => {
            let message = match name.as_str() {
                "epilogue" => "an epilogue stands by its name alone, as in `fused_matmul(relu)`".to_owned(),
                name => format!("an epilogue's parameter stands in parentheses: `{name}(0.2)`"),
            };
            return Err(value.node.complain(message));
        }
    };
    Epilogue::builtin(name, arguments).map_err(|error| node.complain(error.to_string()))
}

/// The types of the inputs and of the output.
fn types(declaration: &Declaration) -> Result<(Dtype, Dtype), Vec<Complaint>> {
    let [a, b, out] = &declaration.parameters[..] else {
        let message = "without a body a product takes three parameters: `a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>`; \
             a body reads and writes others: `#[autokernel::fused_matmul] fn … { out = relu(dot(a, b) + bias); }`";
        return Err(vec![declaration.parameter_list.complain(message)]);
    };
    let matrix = |parameter, mutable| Matrix::read(parameter, mutable).map_err(|complaint| vec![complaint]);
    let ((a, b), out) = both(both(matrix(a, false), matrix(b, false)), matrix(out, true))?;
    tf32::check(declaration, [&a, &b].map(|it| (it.dtype, it.node)))?;
    check(&a, &b, &out).map_err(|complaint| vec![complaint])?;
    Ok((a.dtype, out.dtype))
}

fn check(a: &Matrix<'_>, b: &Matrix<'_>, out: &Matrix<'_>) -> Result<(), Complaint> {
    if Weights::beside(a.dtype).contains(&b.dtype) {
        let message = format!(
            "products of {} and {} are scaled in a body: `{{ out = dot({}, {}.t()) * scale; }}` with `scale: &Row<f32>`",
            a.dtype, b.dtype, a.name, b.name
        );
        return Err(b.node.complain(message));
    }
    if other(a.dtype) == Some(b.dtype) {
        let message = format!(
            "products of {} and {} have a body, which may scale them: `{{ out = dot({}, {}.t()); }}` under `#[autokernel::fused_matmul]`",
            a.dtype, b.dtype, a.name, b.name
        );
        return Err(b.node.complain(message));
    }
    if let Some(unknown) = [a, b].into_iter().find(|input| !INPUTS.contains(&input.dtype)) {
        return Err(unknown.node.complain(not_multiplied()));
    }
    if a.dtype != b.dtype {
        let message =
            format!("`{}` holds {} and `{}` holds {}; give both the same type", a.name, a.dtype, b.name, b.dtype);
        return Err(b.node.complain(message));
    }
    let outputs = outputs(a.dtype);
    if !outputs.contains(&out.dtype) {
        return Err(out.node.complain(format!("a product of {} is stored as {}", a.dtype, in_words(outputs))));
    }
    Ok(())
}

/// `name: &Matrix<bf16>`.
struct Matrix<'d> {
    name: &'d str,
    dtype: Dtype,
    /// Where the type of its elements stands.
    node: Node,
}

impl<'d> Matrix<'d> {
    fn read(parameter: &'d Parameter, wanted: bool) -> Result<Self, Complaint> {
        let expected = if wanted { "`out: &mut Matrix<bf16>`" } else { "`a: &Matrix<bf16>`" };
        let refused = |node: Node| node.complain(format!("write this parameter as {expected}"));
        let TensorParameter { name, mutable, container, element, ty, element_node, .. } = match parameter {
            Parameter::Tensor(tensor) => tensor,
            Parameter::Scalar(scalar) => return Err(refused(scalar.ty)),
            Parameter::Index { node, .. }
            | Parameter::PageTable { node, .. }
            | Parameter::Routes { node, .. }
            | Parameter::Other { node } => {
                return Err(refused(*node));
            }
        };
        if Kind::of_container(container).is_some_and(|(_, is_batch)| is_batch) {
            let message = "what a batch of products computes stands in a body: `#[autokernel::fused_matmul] fn scores(q: \
                           &Batch<bf16>, k: &Batch<bf16>, out: &mut Batch<bf16>) { out = dot(q, k.t()); }`";
            return Err(ty.complain(message));
        }
        if container.starts_with("MatrixView") {
            let message = format!("write {expected}; views of it are what `KERNEL.launch` takes");
            return Err(ty.complain(message));
        }
        if *mutable != wanted || container != "Matrix" {
            return Err(refused(*ty));
        }
        let dtype = element_type(element, *element_node)?;
        Ok(Matrix { name, dtype, node: *element_node })
    }
}
