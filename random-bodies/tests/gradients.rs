//! The gradients of random bodies, by the way of a user up to their kernels' bodies, against central differences in fp64.
//!
//! `AUTOKERNEL_SEED` is the first body's seed, `AUTOKERNEL_BODIES` says how many there are, `AUTOKERNEL_CASES` how many shapes each
//! of them gets. That kernels compute such bodies, other tests tell.

#[allow(dead_code, reason = "the build script draws schedules, too")]
#[path = "../build/draw/mod.rs"]
mod draw;

use autokernel_codegen::function::{FunctionText, Functions};
use autokernel_codegen::problem::Problem;
use autokernel_codegen::product::{differences as product_differences, kernels_of_gradients};
use autokernel_codegen::rows::differences::{Shape, check};
use autokernel_codegen::rows::{Body, Kind};
use autokernel_codegen::spec::{Kernels, Spec, attribute};
use draw::Declaration;
use gpu_tests::settings::number;

/// The kernels of a declaration with those arguments.
fn kernels(declaration: &Declaration, arguments: &str) -> Result<Kernels, String> {
    let text = |text: &String| FunctionText { file: "drawn.rs".to_owned(), text: text.clone(), inside: None };
    let functions: Vec<FunctionText> = declaration.helpers.iter().map(text).collect();
    let attribute = attribute(declaration.attribute).expect("drawn among the attributes");
    let [arguments, function] = [arguments, &declaration.function].map(|text| text.parse().expect("tokens of Rust"));
    Spec::parse_kernels(attribute, arguments, function, &Functions::new(&functions)).map_err(|error| error.to_string())
}

fn body(spec: &Spec) -> &Body {
    match &spec.problem {
        Problem::Rows(problem) => problem.body(),
        other => panic!("{other} is no kernel of rows"),
    }
}

/// Operands and statements of either attribute.
fn operands_of(spec: &Spec) -> &Body {
    match &spec.problem {
        Problem::Matmul(problem) => &problem.body.as_deref().expect("drawn with a body").written().body,
        _ => body(spec),
    }
}

/// What is said of a gradient that needs no matrix, as of a row's sum of numbers: nothing tells its kernel how long the rows are.
const WITHOUT_A_MATRIX: &str = "of the gradient: one operand must be a `Matrix`";

/// The operands that may have gradients: all of them at once where that can be, else each by itself. None of what is refused
/// without them, as a row's reduction of one number. A kernel that was derived is never refused but for [`WITHOUT_A_MATRIX`].
fn asked(declaration: &Declaration) -> Result<Vec<Kernels>, String> {
    let Ok(written) = kernels(declaration, "") else { return Ok(Vec::new()) };
    let body = operands_of(&written.written[0]);
    let is_wanted = |kind| matches!(kind, Kind::Matrix | Kind::Row | Kind::Column);
    let is_input = |name: &str| body.outputs().all(|output| output.name != name);
    let operands = body.operands.iter().filter(|it| is_wanted(it.kind) && is_input(&it.name));
    let names: Vec<&str> = operands.map(|operand| operand.name.as_str()).collect();
    let of = |names: &[&str]| match kernels(declaration, &format!("backward({})", names.join(", "))) {
        Err(error) if error.contains("of the gradient: ") && !error.contains(WITHOUT_A_MATRIX) => Err(error),
        other => Ok(other.ok()),
    };
    if let Some(together) = of(&names)? {
        return Ok(vec![together]);
    }
    let apart = names.iter().map(|&name| of(&[name])).collect::<Result<Vec<_>, _>>()?;
    Ok(apart.into_iter().flatten().collect())
}

/// The same of the declaration of a seed; what is refused is told among `failures`.
fn asked_of(seed: u64, declaration: &Declaration, failures: &mut Vec<String>) -> Vec<Kernels> {
    asked(declaration).unwrap_or_else(|error| {
        failures.push(format!("seed {seed}: {error}\n{}", declaration.function));
        Vec::new()
    })
}

#[test]
fn gradients_of_random_bodies_are_what_differences_say() {
    let (first, bodies, cases) =
        (number("AUTOKERNEL_SEED", 1000), number("AUTOKERNEL_BODIES", 300), number("AUTOKERNEL_CASES", 3));
    let (mut told, mut kernels, mut failures) = (0, 0, Vec::new());
    // Those of even seeds are of rows.
    for seed in (first..first + 2 * bodies).filter(|seed| seed.is_multiple_of(2)) {
        let declaration = draw::declaration(seed, 0);
        for Kernels { written, derived } in asked_of(seed, &declaration, &mut failures) {
            let gradients: Vec<&Body> = derived.iter().flatten().map(body).collect();
            kernels += gradients.len();
            for case in 0..cases {
                let shape = Shape { rows: 1 + case as usize % 3, columns: 1 + 4 * case as usize, seed: seed + case };
                match check(body(&written[0]), gradients.iter().copied(), shape) {
                    Ok(more) => told += more,
                    Err(report) => failures.push(format!("seed {seed}: {report}\n{}", declaration.function)),
                }
            }
        }
    }
    println!("{kernels} kernels of gradients, {told} elements compared");
    assert!(failures.is_empty(), "{} failed:\n\n{}", failures.len(), failures.join("\n\n"));
    assert!(bodies < 100 || (kernels > 50 && told > 1000), "too little is said: {kernels} kernels, {told} elements");
}

#[test]
fn gradients_of_random_products_are_what_differences_say() {
    let (first, bodies, cases) =
        (number("AUTOKERNEL_SEED", 1001), number("AUTOKERNEL_BODIES", 1000), number("AUTOKERNEL_CASES", 3));
    let (mut told, mut kernels, mut failures) = (0, 0, Vec::new());
    for seed in (first..first + 2 * bodies).filter(|seed| !seed.is_multiple_of(2)) {
        let declaration = draw::declaration(seed, 0);
        for Kernels { written, derived } in asked_of(seed, &declaration, &mut failures) {
            let Problem::Matmul(problem) = &written[0].problem else { continue };
            let Some(body) = problem.body.as_deref() else { continue };
            let gradients = kernels_of_gradients(&derived);
            kernels += gradients.len();
            for case in 0..cases {
                let (m, n, k) = (1 + case as usize % 3, 1 + 2 * case as usize, 1 + case as usize % 2);
                let sizes = product_differences::Sizes { m, n, k, seed: seed + case };
                match product_differences::check(problem, body, &gradients, sizes) {
                    Ok(more) => told += more,
                    Err(report) => failures.push(format!("seed {seed}: {report}\n{}", declaration.function)),
                }
            }
        }
    }
    println!("{kernels} kernels of gradients of products, {told} elements compared");
    assert!(failures.is_empty(), "{} failed:\n\n{}", failures.len(), failures.join("\n\n"));
    assert!(bodies < 100 || (kernels > 50 && told > 1000), "too little is said: {kernels} kernels, {told} elements");
}
