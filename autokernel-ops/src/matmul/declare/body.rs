//! What a declaration with a body says.

use autokernel_core::{Arch, Dtype, Role};

use super::block_scales::{Block, block};
use super::known::Known;
use super::tf32;
use super::weights::{Group, weights};
use crate::body::{self, Columns, InPlace, Kind, MadeScales, Operand};
use crate::declaration::operands::{node_at, operands};
use crate::declaration::{Complaint, Declaration, Factors, Node, Setting, Statement, What, both};
use crate::epilogue::Epilogue;
use crate::matmul::block_scales::{BLOCK, BLOCKS};
use crate::matmul::body::{Body, Product, Second, Written};
use crate::matmul::default;
use crate::matmul::inputs::{TF32, along_k, other};
use crate::matmul::many::Many;
use crate::matmul::problem::{Class, Layout, Problem};
use crate::weights::GROUP;

/// The product that `declaration` says, whose body is `statements`.
///
/// # Errors
/// All mistakes at once, each with its remedy.
pub fn declare(declaration: &Declaration, statements: &[Statement]) -> Result<Problem, Vec<Complaint>> {
    let settings = settings(declaration).map_err(|complaint| vec![complaint]);
    let (operands, settings) = both(operands(&declaration.parameters), settings)?;
    let Settings { known, group, block: blocks } = settings;
    if declaration.body == crate::declaration::Body::Unreadable {
        return Err(Vec::new());
    }
    let Sorted { product, second, layout, node, steps, nodes, fetches, fetched_at, made, in_place } =
        Sorted::new(declaration, statements)?;
    let is_of_rows = |scales: &str| {
        operands.iter().any(|it| it.name == scales && (it.kind, it.role) == (Kind::Column, Role::Output))
    };
    let made_scales = made_scales(made, (blocks, known.n), is_of_rows)?;
    let takes_block = made_scales.iter().any(|made| !is_of_rows(&made.scales));
    let dtype = |operand: Option<&Operand>| operand.map(|operand| operand.dtype);
    let input = dtype(operands.iter().find(|operand| operand.name == product.a));
    let place = |place| match place {
        body::Place::Fetch(at) => fetched_at.get(at).copied().unwrap_or(declaration.parameter_list),
        place => node_at(declaration, &nodes, place),
    };
    let complain = |it: body::Complaint| Complaint { fault: it.fault, ..place(it.place).complain(it.message) };
    let written = product.clone();
    let names = [Some(&product.a), Some(&product.b), second.as_ref().map(|second| &second.b)];
    let is_factor = |(_, operand): &(usize, &Operand)| names.contains(&Some(&operand.name));
    let factors: Vec<usize> = operands.iter().enumerate().filter(is_factor).map(|(at, _)| at).collect();
    let declared = operands.clone();
    let body =
        Body::new(Written { product, second, body: body::Body { operands, fetches, steps, made_scales, in_place } })
            .map_err(|complaints| complaints.into_iter().map(complain).collect::<Vec<_>>())?;
    let Some(input) = input else { return Err(Vec::new()) };
    if let Some((at, message)) = along_k_of_others(&body) {
        return Err(vec![node_at(declaration, &[], body::Place::Operand(at)).complain(message)]);
    }
    let wide = factors.into_iter().map(|at| (input, node_at(declaration, &[], body::Place::Operand(at))));
    tf32::check(declaration, wide)?;
    if let Some(message) = unread(layout, input, &written).or_else(|| across_groups(layout, &body, &written)) {
        return Err(vec![node.complain(message)]);
    }
    if let Some(setting) = declaration.settings.iter().find(|setting| setting.name == "k" && is_along_k(&body)) {
        let message = "k counts the rows of all groups together, and each kernel sums a part of them; leave it out";
        return Err(vec![setting.node.complain(message)]);
    }
    let block = block(declaration, &written, blocks.filter(|_| !takes_block || written.a_scales.is_some()));
    let block = block.map_err(|it| vec![it])?;
    let of_groups = Product { scales: written.scales.clone().filter(|_| block.is_none()), ..written.clone() };
    let weights = weights(declaration, &of_groups, &declared, (input, layout, node), group).map_err(|it| vec![it])?;
    let of_b = dtype(declared.iter().find(|operand| operand.name == written.b));
    let second = of_b.filter(|of_b| other(input) == Some(*of_b));
    let product = Problem { second, ..Problem::new(input, layout, Epilogue::identity()) };
    let output = dtype(body.matrices().next()).unwrap_or(product.output);
    let problem =
        Problem { weights, block, output, body: Some(body.into()), known_n: known.n, known_k: known.k, ..product };
    let class = problem.class();
    if class.gathers() && class.weights.is_some() {
        let message =
            "no rows are gathered beside weights of whole numbers; gather in `#[autokernel::rows]` before this kernel";
        return Err(vec![node.complain(message)]);
    }
    if class.partners().is_some() && default::of_whole_columns(&class, Arch::SM_90A).is_none() {
        return Err(vec![node.complain(no_whole_heads(&class, &written))]);
    }
    if class.made().is_some() && default::of_whole_columns(&class, Arch::SM_90A).is_none() {
        let message = "no tile holds whole blocks of this beside what the body computes; divide by a scale that is given, or write bf16 \
                       and make the scales behind it";
        return Err(vec![node.complain(message)]);
    }
    Ok(problem)
}

/// What to do where no tile has whole heads: store the second factor as tiles have them, or do without.
fn no_whole_heads(class: &Class, Product { a, b, .. }: &Product) -> String {
    let stored = Class { layout: Layout::Nt, ..class.clone() };
    if default::of_whole_columns(&stored, Arch::SM_90A).is_some() {
        return format!(
            "no tile of a product whose second factor lies so has whole heads; store `{b}` as `[n, k]` and write `dot({a}, {b}.t())`"
        );
    }
    let heads = match class.partners() {
        Some(Columns::RotateHalf(head)) => format!("whole heads of {head} columns"),
        _ => "whole pairs of columns".to_owned(),
    };
    let of = if class.products() == 2 { "both of two products" } else { "this product" };
    format!("no tile has {heads} of {of}; rotate in `#[autokernel::rows]`, on what this kernel writes")
}

/// Why the matrix units do not read factors that lie so.
fn unread(layout: Layout, input: Dtype, Product { a, b, .. }: &Product) -> Option<String> {
    let stored = match (layout.transpose_a(), layout.transpose_b()) {
        (true, false) => format!("store both transposed and write `dot({a}, {b}.t())`"),
        (true, true) => format!("store `{a}` as `[m, k]` and write `dot({a}, {b}.t())`"),
        (false, _) => format!("store `{b}` transposed and write `dot({a}, {b}.t())`"),
    };
    (!Layout::of(input).contains(&layout)).then(|| format!("{}; {stored}", along_k(input)))
}

/// Groups are of rows that lie one after the other in memory: of `a` where it is not transposed, or along K of both factors where
/// these are rows of both.
fn across_groups(layout: Layout, body: &Body, Product { a, b, .. }: &Product) -> Option<String> {
    match body.many() {
        Many::Groups if layout.transpose_a() => {
            Some(format!("an `Index` divides rows of `{a}` into groups; store it as `[m, k]` and write `dot({a}, …)`"))
        }
        Many::GroupsAlongK if layout != Layout::Tn => Some(format!(
            "an `Index` divides what is summed into groups, which are rows of `{a}` and of `{b}`; store them as `[k, m]` and `[k, n]` and \
             write `dot({a}.t(), {b})`"
        )),
        _ => None,
    }
}

/// The first factor of groups along K that holds what the matrix units read along its rows alone, and what to do: those rows are what
/// groups divide.
fn along_k_of_others(body: &Body) -> Option<(usize, String)> {
    let factors = body.factors().into_iter().map(|number| (usize::from(number), &body.operands()[usize::from(number)]));
    let (at, Operand { name, dtype, .. }) = factors.into_iter().find(|(_, operand)| operand.dtype.bytes() != 2)?;
    is_along_k(body)
        .then(|| (at, format!("groups along K are of bf16 or f16, and `{name}` holds {dtype}; convert this operand")))
}

fn is_along_k(body: &Body) -> bool {
    body.many() == Many::GroupsAlongK
}

/// What stands in the attribute's parentheses.
#[derive(Default)]
struct Settings {
    known: Known,
    group: Option<Group>,
    block: Option<Block>,
}

/// Reads them.
fn settings(declaration: &Declaration) -> Result<Settings, Complaint> {
    let Settings { mut known, mut group, mut block } = Settings::default();
    for Setting { name, node, given } in &declaration.settings {
        match name.as_str() {
            "n" | "k" | "m" => known.apply(name, *node, given)?,
            "transpose_a" => {
                return Err(node.complain("the body says how `a` lies; write `dot(x.t(), w)` there"));
            }
            TF32 => tf32::apply(*node, given)?,
            GROUP => group = Some(Group::read(group, *node, given)?),
            BLOCK => block = Some(Block::read(block, *node, given)?),
            "transpose_b" => {
                return Err(node.complain("the body says how `b` lies; write `dot(x, w.t())` there"));
            }
            other if Epilogue::builtin(other, None).is_ok() => {
                let message = format!("the body says what is fused; call it there: `out = {other}(dot(x, w));`");
                return Err(node.complain(message));
            }
            other => {
                let message = format!(
                    "unknown setting `{other}`; beside a body there are `backward`, `tf32`, `group = …`, `block = …`, `n = …`, `k = …` \
                     and types, `T = [bf16, f16]`"
                );
                return Err(node.complain(message));
            }
        }
    }
    Ok(Settings { known, group, block })
}

/// The statements of a body, its products apart.
struct Sorted {
    product: Product,
    second: Option<Second>,
    layout: Layout,
    /// Where the product stands.
    node: Node,
    steps: Vec<body::Step>,
    /// Where the steps stand.
    nodes: Vec<Node>,
    /// What is read elsewhere.
    fetches: Vec<body::Fetch>,
    /// Where that stands.
    fetched_at: Vec<Node>,
    /// Outputs whose scales the kernel makes, what holds these, and where that stands.
    made: Vec<(String, String, Node)>,
    /// Outputs that are written over what is read.
    in_place: Vec<InPlace>,
}

impl Sorted {
    fn new(declaration: &Declaration, statements: &[Statement]) -> Result<Self, Vec<Complaint>> {
        let (mut products, mut steps, mut nodes) = (Vec::new(), Vec::new(), Vec::new());
        let (mut fetches, mut fetched_at, mut made) = (Vec::new(), Vec::new(), Vec::new());
        let mut in_place = Vec::new();
        for Statement { what, node } in statements {
            match what {
                What::Fetch(body::Fetch { row: Some(_), .. }) | What::Step(body::Step::Store { row: Some(_), .. }) => {
                    return Err(vec![node.complain(
                        "an index picks rows of the first factor of `dot`, `dot(x[rows], w.t())`, and others in `#[autokernel::rows]`: gather \
                         before this kernel, or scatter behind it",
                    )]);
                }
                What::Step(step) => {
                    steps.push(step.clone());
                    nodes.push(*node);
                }
                What::Fetch(fetch) => {
                    fetches.push(fetch.clone());
                    fetched_at.push(*node);
                }
                What::MadeScales { output, scales } => made.push((output.clone(), scales.clone(), *node)),
                What::InPlace(written) => in_place.push(written.clone()),
                What::Product { name, factors } => products.push(Dot { name, factors, node: *node }),
            }
        }
        let Some((&Dot { name, factors, node }, more)) = products.split_first() else {
            let message = "a body of `fused_matmul` multiplies two of its operands: `out = dot(x, w.t());`; what \
                           multiplies none belongs in `#[autokernel::rows]`";
            return Err(vec![declaration.parameter_list.complain(message)]);
        };
        let second = second(factors, more)?;
        let Factors { a, rows, transpose_a, a_scales, b, transpose_b, scales, zeros } = factors.clone();
        let layout = Layout::new(transpose_a, transpose_b);
        let product = Product { name: name.to_owned(), a, rows, a_scales, b, scales, zeros };
        Ok(Sorted { product, second, layout, node, steps, nodes, fetches, fetched_at, made, in_place })
    }
}

/// The widest tile, which holds a row that has one scale, and of how many columns its width is a multiple.
const WIDEST: u32 = 256;
const WIDTHS: u32 = 64;

/// Outputs whose blocks have scales that the kernel makes, of the size that the declaration says, or where a row has one scale as wide as
/// rows are.
fn made_scales(
    made: Vec<(String, String, Node)>,
    (block, known_n): (Option<Block>, Option<u32>),
    is_of_rows: impl Fn(&str) -> bool,
) -> Result<Vec<MadeScales>, Vec<Complaint>> {
    let [size] = BLOCKS;
    let of = |(output, scales, node): (String, String, Node)| {
        if is_of_rows(&scales) {
            return match known_n {
                Some(n) if n <= WIDEST => {
                    Ok(MadeScales { output, scales, block: n.max(1).next_multiple_of(WIDTHS) })
                }
                _ => Err(vec![node.complain(format!(
                    "a scale for each row is made where a tile holds whole rows, of at most {WIDEST} columns: write `n = …` in the \
                     attribute's parentheses. Of longer ones make scales of {size} columns, `{scales}: &mut Matrix<f32>` with `{BLOCK} = \
                     {size}`, or divide by a scale that is given and reduce `row_max(…)` for the next launch"
                ))]),
            };
        }
        match block {
        Some(Block { size: block, .. }) => Ok(MadeScales { output, scales, block }),
        None => Err(vec![node.complain(format!(
            "of how many columns of `{output}` is an element of `{scales}`? write `{BLOCK} = {size}` in the attribute's parentheses"
        ))]),
    }
    };
    made.into_iter().map(of).collect()
}

/// A product as it is written.
#[derive(Clone, Copy)]
struct Dot<'d> {
    name: &'d str,
    factors: &'d Factors,
    node: Node,
}

/// The product beside the first one, of those that follow it, if there is one.
fn second(first: &Factors, more: &[Dot<'_>]) -> Result<Option<Second>, Vec<Complaint>> {
    let refused = more.iter().enumerate().filter_map(|(number, written)| {
        let reason = if number > 0 { Some(A_THIRD.to_owned()) } else { why_apart(first, written.factors) };
        reason.map(|reason| written.node.complain(reason))
    });
    let refused: Vec<Complaint> = refused.collect();
    let second = |&Dot { name, factors: Factors { b, scales, zeros, .. }, .. }: &Dot<'_>| Second {
        name: name.to_owned(),
        b: b.clone(),
        scales: scales.clone(),
        zeros: zeros.clone(),
    };
    if refused.is_empty() { Ok(more.first().map(second)) } else { Err(refused) }
}

const A_THIRD: &str =
    "a kernel sums two products at most; write this one to a matrix first, and pass that as an operand";

/// Why two products cannot be summed by one kernel.
fn why_apart(first: &Factors, second: &Factors) -> Option<String> {
    let shown = |name: &str, is_transposed| if is_transposed { format!("{name}.t()") } else { name.to_owned() };
    let shown_a = |Factors { a, rows, transpose_a, a_scales, .. }: &Factors| match (a_scales, rows) {
        (None, None) => shown(a, *transpose_a),
        (None, Some(rows)) => format!("{a}[{rows}]"),
        (Some(scales), _) => format!("{a} * {scales}"),
    };
    let (a, transpose_b) = (shown_a(first), &first.transpose_b);
    if shown_a(second) != a {
        return Some(format!(
            "two products of a kernel have the same first factor, and that of the other one is `{a}`; write this one to a \
             matrix first, and pass that as an operand"
        ));
    }
    let [here, there] = [second, first].map(|Factors { b, transpose_b, .. }| shown(b, *transpose_b));
    (second.transpose_b != *transpose_b).then(|| {
        format!(
            "`{here}` and `{there}` lie differently; store both alike and write `.t()` after both or neither, or write this \
             product to a matrix first and pass that as an operand"
        )
    })
}
