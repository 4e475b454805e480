use autokernel_core::plan::Contents;
use autokernel_core::{Arch, Arg, Dtype, dim};
use expect_test::expect_file;

use super::*;
use crate::body;
use crate::expr::{Axis, Expr, Math};
use crate::matmul::body::print::Printed;
use crate::matmul::problem::{Layout, Problem};
use crate::matmul::schedule::{Schedule, Sm80Schedule, Sm90Schedule};
use crate::matmul::{emit, extents};
use crate::rows::cases::{bind, name, number, reads, reduce, store, writes};

/// `let y = dot(x, w) + bias; out = y; inverse = 1 / (row_mean(y * y) + eps); largest = row_max(y);`
fn written() -> Written {
    let operands = vec![
        reads("x", Kind::Matrix, Dtype::Bf16),
        reads("w", Kind::Matrix, Dtype::Bf16),
        reads("bias", Kind::Row, Dtype::Bf16),
        reads("eps", Kind::Scalar, Dtype::F32),
        writes("largest", Kind::Column, Dtype::F32),
        writes("out", Kind::Matrix, Dtype::Bf16),
        writes("inverse", Kind::Column, Dtype::F16),
    ];
    let steps = vec![
        bind("y", name("dot") + name("bias")),
        store("out", name("y")),
        reduce("mean", Reduction::Mean, name("y") * name("y")),
        bind("shifted", name("mean") + name("eps")),
        store("inverse", number(1.0) / name("shifted")),
        reduce("most", Reduction::Max, name("y")),
        store("largest", name("most")),
    ];
    let product = Product::plain("dot", "x", "w");
    Written { product, second: None, body: body::Body { operands, steps, ..body::Body::default() } }
}

fn problem() -> Problem {
    let plain = Problem::new(Dtype::Bf16, Layout::Nt, "identity".parse().unwrap());
    Problem { body: Some(Body::new(written()).unwrap().into()), ..plain }
}

#[test]
fn the_kernels_of_a_body_that_reduces_rows_are_as_golden() {
    let problem = problem();
    let default = |arch| emit::emit(&problem, &Schedule::default_for(&problem.class(), arch)).cuda;
    expect_file!["../golden/statistics_sm90.cu"].assert_eq(&default(Arch::SM_90A));
    expect_file!["../golden/statistics_sm80.cu"].assert_eq(&default(Arch::SM_80));
    expect_file!["../golden/statistics_reference.cu"].assert_eq(&emit::emit_reference(&problem).cuda);
}

/// The same, and `amax = column_max(row_max(y.abs())); mean_of_means = column_mean(mean);`
fn folded() -> Written {
    let mut written = written();
    let Written { body, .. } = &mut written;
    body.operands
        .extend([writes("amax", Kind::DeviceScalar, Dtype::F32), writes("loss", Kind::DeviceScalar, Dtype::F16)]);
    let fold =
        |output: &str, fold, value| Step::Store { output: output.to_owned(), row: None, fold: Some(fold), value };
    body.steps.extend([
        reduce("magnitude", Reduction::Max, Expr::Call(Math::Abs, vec![name("y")])),
        fold("amax", Reduction::Max, name("magnitude")),
        fold("loss", Reduction::Mean, name("mean") * number(2.0)),
    ]);
    written
}

#[test]
fn the_kernels_of_a_body_that_folds_rows_are_as_golden() {
    let plain = Problem::new(Dtype::Bf16, Layout::Nt, "identity".parse().unwrap());
    let problem = Problem { body: Some(Body::new(folded()).unwrap().into()), ..plain };
    let default = |arch| emit::emit(&problem, &Schedule::default_for(&problem.class(), arch)).cuda;
    expect_file!["../golden/folded_sm90.cu"].assert_eq(&default(Arch::SM_90A));
    expect_file!["../golden/folded_sm80.cu"].assert_eq(&default(Arch::SM_80));
    expect_file!["../golden/folded_reference.cu"].assert_eq(&emit::emit_reference(&problem).cuda);
    let schedule = Schedule::default_for(&problem.class(), Arch::SM_90A);
    let plan = emit::plan(&problem.class(), &schedule, "symbol".to_owned());
    let contents: Vec<_> = plan.workspace.iter().map(|buffer| (buffer.bytes, buffer.contents)).collect();
    // A counter and two totals for each of eight warps that share a tile's rows.
    assert_eq!(contents[1..], [(32, Contents::Zeros), (64, Contents::Anything), (4, Contents::Zeros)]);
    assert_eq!(plan.kernels.len(), 1);
}

#[test]
fn elements_and_rows_are_computed_by_steps_of_their_own() {
    let body = Body::new(written()).unwrap();
    let names = |steps: Vec<&Step>| steps.iter().map(|step| step.name().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(body.steps_of_elements()), ["y", "out", "mean", "most"]);
    assert_eq!(names(body.steps_of_rows()), ["shifted", "inverse", "largest"]);
    assert_eq!(body.matrices().map(|operand| operand.name.as_str()).collect::<Vec<_>>(), ["out"]);
}

#[test]
fn the_number_of_a_row_is_declared_where_it_is_read_alone() {
    let mut written = written();
    written.body.steps.pop();
    written.body.steps.push(store("largest", name("most") + Expr::Index(Axis::Row)));
    let body = Body::new(written).unwrap();
    let text = print::body(&body, Printed::Kernel { part_columns: 64, loaded: None, registers: 32 });
    let (of_elements, of_rows) = text.split_once("void finish").unwrap();
    assert!(!of_elements.contains("row_index") && of_rows.contains("const float row_index"), "{text}");
}

#[test]
fn the_workspace_has_room_for_every_part_of_every_row_and_a_counter_for_each_warps_share_of_a_tiles_rows() {
    let class = problem().class();
    let swapped = Sm90Schedule { tile_m: 16, tile_n: 128, swap_ab: true, ..Sm90Schedule::PLAIN };
    let shared = Sm80Schedule {
        tile_m: 64,
        tile_n: 64,
        tile_k: 32,
        warps_m: 1,
        warps_n: 4,
        stages: 3,
        raster: Sm90Schedule::PLAIN.raster,
    };
    let schedules = [
        (Schedule::Sm90(Sm90Schedule::PLAIN), (128, 128, 4_u64)),
        (Schedule::Sm90(swapped), (16, 16, 4)),
        (shared.into(), (16, 64, 4)),
    ];
    for ((schedule, (columns, rows, warps)), (m, n)) in schedules.into_iter().zip([(1, 1), (300, 5000), (4097, 129)]) {
        let plan = emit::plan(&class, &schedule, "symbol".to_owned());
        let extents = extents(m, n, 64);
        let [product] = &plan.kernels[..] else { panic!("{} kernels", plan.kernels.len()) };
        let blocks = product.grid.blocks(&extents, 132);
        let [parts, arrivals] = plan.workspace[..] else { panic!("{} buffers", plan.workspace.len()) };
        // Four rows beside each other.
        let expected = 2 * 4 * u64::from(m.next_multiple_of(4)) * u64::from(n.div_ceil(columns));
        assert_eq!(
            (parts.size(&extents, blocks), parts.contents),
            (expected, Contents::Anything),
            "{m}x{n} by {schedule}"
        );
        let expected = 4 * u64::from(m.div_ceil(rows)) * warps;
        assert_eq!(
            (arrivals.size(&extents, blocks), arrivals.contents),
            (expected, Contents::Zeros),
            "{m} by {schedule}"
        );
        let named = product.args.iter().filter(|field| matches!(field.arg, Arg::Workspace { .. }));
        assert_eq!(named.map(|field| &*field.name).collect::<Vec<_>>(), ["parts", "arrivals"]);
    }
}

#[test]
fn shared_tiles_reduce_rows_and_one_number_a_row_is_little_to_write() {
    let class = problem().class();
    let shared = Schedule::Sm90(Sm90Schedule { tile_m: 64, tile_n: 64, stream_k: true, ..Sm90Schedule::PLAIN });
    shared.check(&class, Arch::SM_90A).unwrap();
    assert_eq!(emit::plan(&class, &shared, "symbol".to_owned()).workspace.len(), 4);
    let extents = autokernel_core::Extents::new([(dim("m"), 10), (dim("n"), 20), (dim("k"), 30)]);
    let work = crate::operation::Class::work(&class, &extents);
    assert_eq!(work.written_bytes, 2.0 * 200.0 + 6.0 * 10.0);
    assert_eq!(class.statistics(), 2);
    let json = serde_json::to_string(&class).unwrap();
    assert_eq!(serde_json::from_str::<crate::matmul::Class>(&json).unwrap(), class);
}

#[test]
fn what_a_row_gives_is_refused_where_elements_are_written() {
    let refused = |change: &dyn Fn(&mut body::Body), expected: &str| {
        let mut written = written();
        change(&mut written.body);
        let messages: Vec<String> = Body::new(written).unwrap_err().into_iter().map(|it| it.message).collect();
        assert!(messages.iter().any(|message| message.contains(expected)), "{messages:?}");
    };
    let late = "behind a row's last column";
    refused(&|body| body.steps[1] = store("out", name("y") / name("mean")), "there is no `mean` here");
    refused(&|body| body.steps.rotate_left(2), "there is no `y` here");
    refused(
        &|body| {
            body.steps.truncate(2);
            body.steps.extend([store("inverse", name("eps")), store("largest", number(1.0))]);
        },
        "nothing that is written is reduced along rows",
    );
    refused(
        &|body| {
            let out = body.steps.remove(1);
            body.steps.push(out);
            body.steps.push(bind("z", name("mean") * name("y")));
        },
        late,
    );
    refused(&|body| body.steps[5] = reduce("most", Reduction::Max, name("y") - name("mean")), late);
    refused(
        &|body| body.steps[6] = store("largest", name("y")),
        "reduce it, `largest = row_sum(…);`, or write a `&mut Matrix`",
    );
    refused(
        &|body| {
            body.operands[0].batched = true;
            body.operands[5].batched = true;
        },
        "is reduced of one product",
    );
    let refused = |change: &dyn Fn(&mut body::Body), expected: &str| {
        let mut written = folded();
        change(&mut written.body);
        let messages: Vec<String> = Body::new(written).unwrap_err().into_iter().map(|it| it.message).collect();
        assert!(messages.iter().any(|message| message.contains(expected)), "{messages:?}");
    };
    let of =
        |output: &str, value| Step::Store { output: output.to_owned(), row: None, fold: Some(Reduction::Max), value };
    refused(&|body| body.steps[8] = of("amax", name("y")), "reduce rows first: `amax = column_max(row_max(…));`");
    refused(&|body| body.steps[8] = store("amax", name("magnitude")), "every row would write a `Scalar`");
    refused(&|body| body.steps[1] = of("out", name("y")), "make `out` a `&mut Scalar<f32>`");
    refused(&|body| body.steps[6] = of("largest", name("most")), "make `largest` a `&mut Scalar<f32>`");
    refused(
        &|body| {
            body.operands.retain(|operand| operand.kind != Kind::Column);
            body.steps.retain(|step| !["largest", "inverse"].contains(&step.name()));
            body.steps.retain(|step| !matches!(step, Step::Reduce { .. }));
            body.steps.truncate(2);
            body.steps.extend([of("amax", name("eps")), of("loss", number(1.0))]);
        },
        "`amax` is made of one number for each row, and nothing that is written is reduced along rows",
    );
    refused(
        &|body| {
            body.operands.retain(|operand| operand.kind != Kind::Column);
            body.steps.retain(|step| !["largest", "inverse"].contains(&step.name()));
            body.operands[0].batched = true;
            body.operands.iter_mut().filter(|operand| operand.name == "out").for_each(|out| out.batched = true);
        },
        "`amax` is reduced of one product",
    );
}
