//! Random declarations: an attribute, a signature and a body, as text.

mod expression;
pub mod schedule;

use std::collections::BTreeSet;

use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};

use expression::{Allowed, Helper, Name, Writer};

/// A declaration as a user writes it.
pub struct Declaration {
    /// The attribute's name.
    pub attribute: &'static str,
    /// What stands in its parentheses.
    pub arguments: String,
    /// `fn kernel(…) { … }`.
    pub function: String,
    /// Functions that it may call, each `fn bent(…) -> f32 { … }`.
    pub helpers: Vec<String>,
}

/// Names of operands: some are others' elsewhere, in Rust, in CUDA or in generated code.
const NAMES: [&str; 16] = [
    "x", "gate", "r#in", "float", "args", "row", "columns", "column", "index", "skip", "weight", "inputs", "sum", "i",
    "reduced0", "größe",
];
const ELEMENTS: [&str; 3] = ["bf16", "f16", "f32"];

/// The declaration of a seed, or a further one of it: the same every time.
pub fn declaration(seed: u64, attempt: u64) -> Declaration {
    let mut rng = StdRng::seed_from_u64(seed ^ (attempt << 40));
    let mut names: Vec<&'static str> = NAMES.to_vec();
    names.shuffle(&mut rng);
    let (helpers, texts) = helpers(&mut rng, seed);
    let declaration = if seed.is_multiple_of(2) {
        rows(&mut rng, names, helpers)
    } else {
        product(&mut rng, names, helpers, (turned(seed), Reduced::of(seed)))
    };
    Declaration { helpers: texts, ..declaration }
}

/// None, or some of which a later one may call those before it. The build finds them by their names, which are the seed's.
fn helpers(rng: &mut StdRng, seed: u64) -> (Vec<Helper>, Vec<String>) {
    let (mut helpers, mut texts): (Vec<Helper>, Vec<String>) = (Vec::new(), Vec::new());
    for number in 0..rng.random_range(0..3) {
        let parameters = &["x", "gate", "row"][..rng.random_range(1..=3)];
        let inputs = parameters.iter().map(|name| Name { text: (*name).to_owned(), varies: true }).collect();
        let mut writer = Writer::new(rng, inputs, false, None, helpers.clone());
        let binding = writer.binding();
        let value = writer.number(3, Allowed::Any).text;
        let name = format!("bent_{seed}_{number}");
        let signature = parameters.iter().map(|name| format!("{name}: f32")).collect::<Vec<_>>().join(", ");
        texts.push(format!("fn {name}({signature}) -> f32 {{\n    {binding}\n    {value}\n}}"));
        helpers.push(Helper { name, arity: parameters.len() });
    }
    (helpers, texts)
}

/// A parameter, and what a body may do with it.
struct Parameter {
    text: String,
    name: &'static str,
    /// None for one that is written; otherwise whether it differs along a row.
    read: Option<bool>,
    /// Whether it is a matrix.
    is_matrix: bool,
    /// How a body writes it: by its name, or with an index behind it.
    place: String,
    /// How it is reduced along columns.
    fold: Option<&'static str>,
}

/// The index that picks rows in a body, if one does.
const INDEX: &str = "ids";
/// The most operands that a kernel takes.
const MOST_OPERANDS: usize = 8;

fn parameter(name: &'static str, kind: &str, element: &str, is_output: bool) -> Parameter {
    let borrow = if is_output { "&mut " } else { "&" };
    let text = if kind == "f32" { format!("{name}: f32") } else { format!("{name}: {borrow}{kind}<{element}>") };
    let along_row = matches!(kind, "Matrix" | "Row");
    let (read, place) = ((!is_output).then_some(along_row), name.to_owned());
    Parameter { text, name, read, is_matrix: kind == "Matrix", place, fold: None }
}

/// Mostly none; or an index, by which some operands that have rows are read and written.
fn pick_rows(rng: &mut StdRng, parameters: &mut Vec<Parameter>) {
    if parameters.len() >= MOST_OPERANDS || rng.random_ratio(2, 3) {
        return;
    }
    for parameter in parameters.iter_mut() {
        let has_rows = ["Matrix<", "Column<"].iter().any(|kind| parameter.text.contains(kind));
        if has_rows && rng.random() {
            parameter.place = format!("{}[{INDEX}]", parameter.name);
        }
    }
    parameters.push(index());
}

/// The index, whose number for each row bodies read too.
fn index() -> Parameter {
    let (text, place) = (format!("{INDEX}: &Index"), INDEX.to_owned());
    Parameter { text, name: INDEX, read: Some(false), is_matrix: false, place, fold: None }
}

fn signature(rng: &mut StdRng, parameters: &mut [Parameter]) -> String {
    parameters.shuffle(rng);
    parameters.iter().map(|parameter| parameter.text.as_str()).collect::<Vec<_>>().join(", ")
}

fn element(rng: &mut StdRng) -> &'static str {
    ELEMENTS.choose(rng).expect("there are some")
}

fn kind(rng: &mut StdRng) -> &'static str {
    ["Matrix", "Matrix", "Matrix", "Row", "Column", "f32", "Scalar"].choose(rng).expect("there are some")
}

const FOLDS: [&str; 4] = ["column_sum", "column_mean", "column_max", "column_min"];

/// A value along the row, which nothing hides.
const ALONG: &str = "along";

/// Reductions along columns, of values that differ along the row.
fn columns(rng: &mut StdRng, mut names: Vec<&'static str>, helpers: Vec<Helper>) -> Declaration {
    let mut name = || names.pop().expect("fewer operands than names");
    let first = name();
    let mut parameters = vec![parameter(first, "Matrix", element(rng), false)];
    for _ in 0..rng.random_range(0..4) {
        parameters.push(parameter(name(), kind(rng), element(rng), false));
    }
    for _ in 0..rng.random_range(1..4) {
        let fold = FOLDS.choose(rng).expect("there are some");
        parameters.push(Parameter { fold: Some(fold), ..parameter(name(), "Row", element(rng), true) });
    }
    if rng.random_ratio(1, 3) {
        parameters.push(index());
    }
    let signature = signature(rng, &mut parameters);
    let inputs = parameters.iter().filter_map(|it| Some(Name { text: it.place.clone(), varies: it.read? })).collect();
    let mut writer = Writer::new(rng, inputs, false, None, helpers);
    let body = statements(&mut writer, &parameters);
    let function = format!("fn kernel({signature}) {{\n    let {ALONG} = {first};\n{body}}}");
    Declaration { attribute: "rows", arguments: String::new(), function, helpers: Vec::new() }
}

fn rows(rng: &mut StdRng, mut names: Vec<&'static str>, helpers: Vec<Helper>) -> Declaration {
    if rng.random_ratio(1, 6) {
        return columns(rng, names, helpers);
    }
    let mut name = || names.pop().expect("fewer operands than names");
    // Something differs along a row, mostly a matrix.
    let first = if rng.random_ratio(1, 8) { "Row" } else { "Matrix" };
    let mut parameters = vec![parameter(name(), first, element(rng), false)];
    for _ in 0..rng.random_range(0..4) {
        parameters.push(parameter(name(), kind(rng), element(rng), false));
    }
    let mut has_matrix = parameters.iter().any(|parameter| parameter.is_matrix);
    for _ in 0..rng.random_range(1..4) {
        let kind = if !has_matrix || rng.random_ratio(2, 3) { "Matrix" } else { "Column" };
        has_matrix = true;
        parameters.push(parameter(name(), kind, element(rng), true));
    }
    pick_rows(rng, &mut parameters);
    let signature = signature(rng, &mut parameters);
    let inputs = parameters.iter().filter_map(|it| Some(Name { text: it.place.clone(), varies: it.read? }));
    let mut inputs: Vec<Name> = inputs.collect();
    // Partners of what no index picks.
    let turned = parameters.iter().find(|it| it.is_matrix && it.read.is_some() && it.place == it.name);
    if let Some(Parameter { name, .. }) = turned.filter(|_| rng.random_ratio(1, 4)) {
        let text = if rng.random() { format!("rotate_half({name}, 16)") } else { format!("rotate_pairs({name})") };
        inputs.push(Name { text, varies: true });
    }
    let mut writer = Writer::new(rng, inputs, true, None, helpers);
    let body = statements(&mut writer, &parameters);
    let function = format!("fn kernel({signature}) {{\n{body}}}");
    Declaration { attribute: "rows", arguments: String::new(), function, helpers: Vec::new() }
}

/// What elements of a product see of partners: a value that nothing hides, and how it is rotated.
const TURNED: &str = "turned";

/// Half of the products have partners, and tables whose columns repeat.
fn turned(seed: u64) -> Option<String> {
    let rotated = ["rotate_half(turned, 16)", "rotate_half(turned, 32)", "rotate_pairs(turned)"][seed as usize / 4 % 3];
    (seed % 4 == 1).then(|| rotated.to_owned())
}

/// What rows of a product are reduced to, beside its elements or alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reduced {
    Nothing,
    Beside,
    Alone,
}

impl Reduced {
    /// Two thirds of the products without partners reduce rows.
    fn of(seed: u64) -> Self {
        match seed % 12 {
            3 => Reduced::Beside,
            7 => Reduced::Alone,
            _ => Reduced::Nothing,
        }
    }
}

/// The other one of two products, which nothing hides.
const OTHER: &str = "other";

/// What is reduced, which nothing hides.
const TERMS: &str = "terms";

/// Ways to reduce a row of `TERMS`.
const REDUCED: [&str; 5] = [
    "row_max(terms) + row_sum((terms - row_max(terms)).exp()).ln()",
    "row_mean((terms - row_max(terms)).exp()) * row_min(terms)",
    "row_sum(terms * 0.5) + row_index()",
    "row_max(terms) - row_min(terms)",
    "row_sum((terms - row_max(terms)).exp()) + row_mean(terms.abs())",
];

/// What becomes of the rows, one output after the other; `of` is an element.
fn reductions(rng: &mut StdRng, outputs: &[(&str, Option<&str>)], of: &str) -> String {
    let mut body = format!("    let {TERMS} = {of};\n");
    for (output, fold) in outputs {
        let value = REDUCED.choose(rng).expect("there are some");
        body += &match fold {
            Some(fold) => format!("    {output} = {fold}({value});\n"),
            None => format!("    {output} = {value};\n"),
        };
    }
    body
}

fn product(
    rng: &mut StdRng,
    mut names: Vec<&'static str>,
    helpers: Vec<Helper>,
    (turned, reduced): (Option<String>, Reduced),
) -> Declaration {
    let mut name = || names.pop().expect("fewer operands than names");
    let (a, b, factor) = (name(), name(), ["bf16", "f16"][rng.random_range(0..2)]);
    let mut parameters = Vec::new();
    for _ in 0..rng.random_range(0..4) {
        parameters.push(parameter(name(), kind(rng), element(rng), false));
    }
    let is_plain = turned.is_none() && reduced == Reduced::Nothing;
    let lies_transposed = is_plain && rng.random_ratio(1, 4);
    let has_second = is_plain && !lies_transposed && rng.random_ratio(1, 4);
    let table = parameters.iter().position(|it| turned.is_some() && it.read == Some(true));
    let text = |(at, it): (usize, &Parameter)| match at {
        _ if Some(at) == table => format!("repeat_columns({})", it.name),
        _ if lies_transposed && it.is_matrix => format!("{}.t()", it.name),
        _ => it.name.to_owned(),
    };
    let texts = parameters.iter().enumerate().map(text).chain(turned.clone());
    let texts = texts.chain(has_second.then(|| OTHER.to_owned()));
    let inputs = texts.map(|text| Name { text, varies: true }).collect();
    let outputs = if reduced == Reduced::Alone { 0 } else { rng.random_range(1..4) };
    for _ in 0..outputs {
        let output = parameter(name(), "Matrix", element(rng), true);
        let place = if lies_transposed { format!("{}.t()", output.name) } else { output.place.clone() };
        parameters.push(Parameter { place, ..output });
    }
    let of_rows = if reduced == Reduced::Nothing { 0 } else { rng.random_range(1..3) };
    let of_row = |_| {
        let fold = FOLDS.choose(rng).filter(|_| rng.random_ratio(1, 3)).copied();
        let kind = if fold.is_some() { "Scalar" } else { "Column" };
        Parameter { fold, ..parameter(name(), kind, element(rng), true) }
    };
    let columns: Vec<Parameter> = (0..of_rows).map(of_row).collect();
    let other = name();
    let factors = [Some(a), Some(b), has_second.then_some(other)].into_iter().flatten();
    let factors = factors.map(|name| Parameter { read: None, ..parameter(name, "Matrix", factor, false) });
    let factors: Vec<Parameter> = factors.collect();
    let outputs_and_inputs = parameters.len();
    let names_of_rows: Vec<_> = columns.iter().map(|column| (column.name, column.fold)).collect();
    parameters.extend(columns);
    parameters.extend(factors);
    let a = if is_plain && rng.random_ratio(1, 4) { format!("{a}.t()") } else { a.to_owned() };
    let transposed = if rng.random() { ".t()" } else { "" };
    let dot = format!("dot({a}, {b}{transposed})");
    let mut order: Vec<usize> = (0..parameters.len()).collect();
    order.shuffle(rng);
    let signature = order.iter().map(|&at| parameters[at].text.as_str()).collect::<Vec<_>>().join(", ");
    parameters.truncate(outputs_and_inputs);
    let settings = [("n", [40, 136]), ("k", [24, 72])];
    let known = |name: &str| name == "k" || !lies_transposed;
    let settings = settings.into_iter().filter(|(name, _)| known(name) && rng.random_ratio(1, 6)).collect::<Vec<_>>();
    let settings = settings.iter().map(|(name, sizes)| format!("{name} = {}", sizes[rng.random_range(0..2)]));
    let arguments = settings.collect::<Vec<_>>().join(", ");
    let value = turned.map(|_| format!("    let {TURNED} = {dot} * 0.5 + row_index();\n")).unwrap_or_default();
    let second = format!("    let {OTHER} = dot({a}, {other}{transposed});\n");
    let value = if has_second { second } else { value };
    let mut writer = Writer::new(rng, inputs, false, Some(dot.clone()), helpers);
    let mut body = if outputs > 0 { statements(&mut writer, &parameters) } else { String::new() };
    if of_rows > 0 {
        writer.stores = true;
        let mut of = format!("({}) * 0.5 + {dot}", writer.number(2, Allowed::Any).text);
        for name in writer.forgotten().iter().filter(|name| **name != dot) {
            of += &format!(" + 0.25 * {name}");
        }
        body += &reductions(writer.rng, &names_of_rows, &of);
    }
    let function = format!("fn kernel({signature}) {{\n{value}{body}}}");
    Declaration { attribute: "fused_matmul", arguments, function, helpers: Vec::new() }
}

/// Values, and between and behind them what is written.
fn statements(writer: &mut Writer<'_>, parameters: &[Parameter]) -> String {
    let mut body = String::new();
    let outputs: Vec<&Parameter> = parameters.iter().filter(|parameter| parameter.read.is_none()).collect();
    let mut left: Vec<&Parameter> = outputs.clone();
    left.shuffle(writer.rng);
    for _ in 0..writer.rng.random_range(0..6) {
        let statement = writer.binding();
        body += &format!("    {statement}\n");
        if left.len() > 1 && writer.rng.random_ratio(1, 4) {
            body += &store(writer, left.pop(), false);
        }
    }
    while left.len() > 1 {
        body += &store(writer, left.pop(), false);
    }
    body + &store(writer, left.pop(), true)
}

/// `output = …;`, to which the last one adds what would be forgotten: a product refuses operands that nobody reads.
fn store(writer: &mut Writer<'_>, output: Option<&Parameter>, is_last: bool) -> String {
    let Some(Parameter { place, is_matrix, fold, .. }) = output else { return String::new() };
    let allowed = if *is_matrix || fold.is_some() { Allowed::Any } else { Allowed::OfRow };
    let size = writer.rng.random_range(0..4);
    writer.stores = true;
    let mut value = writer.number(size, allowed).text;
    writer.stores = false;
    let forgotten = if is_last { writer.forgotten() } else { BTreeSet::new() };
    for name in forgotten {
        value = format!("({value}) + 0.25 * {name}");
    }
    match fold {
        Some(fold) => format!("    {place} = {fold}(({value}) + {ALONG});\n"),
        // Over what it held.
        None if *is_matrix && !place.contains('[') && writer.rng.random_ratio(1, 8) => match writer.rng.random() {
            true => format!("    {place} += {value};\n"),
            false => format!("    {place} = ({value}) - 0.5 * {place};\n"),
        },
        None => format!("    {place} = {value};\n"),
    }
}
