use autokernel_core::{Arch, Arg, Dtype, Extents, Passed};
use expect_test::expect_file;

use super::print::Printed;
use super::*;
use crate::body::{self, Kind};
use crate::expr::{Cost, Math};
use crate::matmul::problem::{Layout, Problem};
use crate::matmul::schedule::{Schedule, Sm90Schedule};
use crate::matmul::{self, emit, plan};
use crate::operation::Operation;
use crate::registry;
use crate::rows::cases::{bind, call, name, number, reads, store, writes};

/// `let y = alpha * scale * dot(x, w) + bias; pre = y; out = y + skip;`, the first output before the inputs.
fn written() -> Written {
    let y = name("alpha") * name("scale") * name("dot") + name("bias");
    let operands = vec![
        writes("pre", Kind::Matrix, Dtype::F32),
        reads("x", Kind::Matrix, Dtype::Bf16),
        reads("bias", Kind::Row, Dtype::Bf16),
        reads("w", Kind::Matrix, Dtype::Bf16),
        reads("scale", Kind::Column, Dtype::F32),
        reads("skip", Kind::Matrix, Dtype::F16),
        reads("alpha", Kind::Scalar, Dtype::F32),
        writes("out", Kind::Matrix, Dtype::Bf16),
    ];
    let steps = vec![bind("y", y), store("pre", name("y")), store("out", name("y") + name("skip"))];
    let product = Product::plain("dot", "x", "w");
    Written { product, second: None, body: body::Body { operands, steps, ..body::Body::default() } }
}

fn problem() -> Problem {
    let plain = Problem::new(Dtype::Bf16, Layout::Nt, "identity".parse().unwrap());
    Problem { output: Dtype::F32, body: Some(Body::new(written()).unwrap().into()), ..plain }
}

#[test]
fn the_kernel_of_a_body_is_as_golden() {
    let problem = problem();
    let schedule = Schedule::default_for(&problem.class(), Arch::SM_90A);
    expect_file!["../golden/body_sm90.cu"].assert_eq(&emit::emit(&problem, &schedule).cuda);
}

#[test]
fn a_problem_with_a_body_is_the_same_after_json() {
    let problem = registry::Problem::from(problem());
    let json = serde_json::to_string(&problem).unwrap();
    assert_eq!(serde_json::from_str::<registry::Problem>(&json).unwrap(), problem);
    let class = problem.class();
    assert_eq!(serde_json::from_value::<registry::Class>(serde_json::to_value(&class).unwrap()).unwrap(), class);
    assert!(problem.key().starts_with(&class.slug()) && class.slug().starts_with("matmul_body_"), "{class}");
    let broken = json.replace(r#""output":"out""#, r#""output":"skip""#);
    let message = serde_json::from_str::<registry::Problem>(&broken).unwrap_err().to_string();
    assert!(message.contains("`skip` is no output"), "{message}");
}

#[test]
fn operands_keep_the_order_of_the_parameters() {
    let signature = plan::signature(&problem());
    let axes: Vec<&[u8]> = signature.operands.iter().map(|operand| &*operand.axes).collect();
    let expected: [&[u8]; 8] = [&[0, 1], &[0, 2], &[1], &[1, 2], &[0], &[0, 1], &[], &[0, 1]];
    assert_eq!(axes, expected);
    let schedule = Schedule::default_for(&problem().class(), Arch::SM_80);
    let (_, plan) = emit::kernel(&problem(), &schedule);
    let of =
        |wanted: &str| plan.kernels[0].args.iter().find(|field| field.name == wanted).map(|field| field.arg.clone());
    assert_eq!([of("a"), of("b"), of("c")], [1, 3, 0].map(|operand| Some(Arg::Pointer { operand })));
    assert_eq!(of("alpha_"), Some(Arg::Scalar { operand: 6 }));
    assert_eq!(of("out_ld"), Some(Arg::Stride { operand: 7, axis: 0 }));
    let aligned: Vec<u8> = plan.alignments.iter().map(|alignment| alignment.operand).collect();
    assert_eq!(aligned, [1, 3, 0]);
}

#[test]
fn a_scalar_in_memory_is_passed_by_its_address_and_indexed_by_nothing() {
    let mut in_memory = written();
    in_memory.body.operands[6].kind = Kind::DeviceScalar;
    let problem = Problem { body: Some(Body::new(in_memory).unwrap().into()), ..problem() };
    let passed = |at: usize| plan::signature(&problem).operands[at].passed;
    assert_eq!((passed(6), plan::signature(&self::problem()).operands[6].passed), (Passed::ByAddress, Passed::ByValue));
    for arch in [Arch::SM_80, Arch::SM_90A] {
        let (source, plan) = emit::kernel(&problem, &Schedule::default_for(&problem.class(), arch));
        assert!(source.cuda.contains("Input<autokernel::f32, autokernel::body::Indexed::kByNothing> alpha_;"));
        let alpha = plan.kernels[0].args.iter().find(|field| field.name == "alpha_").unwrap();
        assert_eq!(alpha.arg, Arg::Pointer { operand: 6 });
    }
    assert!(problem.class().body_registers() > self::problem().class().body_registers());
}

#[test]
fn the_plan_of_a_class_is_that_of_its_problems_but_for_the_names() {
    let (problem, class) = (problem(), problem().class());
    for arch in [Arch::SM_80, Arch::SM_90A] {
        let schedule = Schedule::default_for(&class, arch);
        let (source, of_problem) = emit::kernel(&problem, &schedule);
        let of_class = emit::plan(&class, &schedule, source.symbol);
        let args = |plan: &autokernel_core::LaunchPlan| {
            plan.kernels[0].args.iter().map(|field| field.arg.clone()).collect::<Vec<_>>()
        };
        assert_eq!(args(&of_class), args(&of_problem));
    }
}

#[test]
fn the_work_counts_each_operand_once() {
    let extents: Extents = matmul::extents(10, 20, 30);
    let work = problem().work(&extents);
    assert_eq!(work.read_bytes, 2.0 * (300.0 + 600.0) + 2.0 * 20.0 + 4.0 * 10.0 + 2.0 * 200.0);
    assert_eq!(work.written_bytes, (4.0 + 2.0) * 200.0);
    assert_eq!(problem().unfused_work(&extents).bytes() - work.bytes(), 2.0 * 4.0 * 200.0);
    assert!(problem().opponent().is_none());
}

#[test]
fn a_body_is_known_by_its_structure_and_takes_accumulators_as_it_costs_registers() {
    let class = problem().class();
    let mut renamed = written();
    renamed.body.steps[0] = bind("y", name("alpha") * name("scale") * name("dot") + number(2.0) * name("bias"));
    let other = Problem { body: Some(Body::new(renamed).unwrap().into()), ..problem() }.class();
    assert_ne!(class, other, "one operation more");
    let plain = Problem { body: None, ..problem() }.class();
    assert_eq!(operation_distance(&class, &plain), Some(1));
    let most = Sm90Schedule { tile_n: 192, consumers: 1, stages: 3, ..Sm90Schedule::PLAIN };
    let most = Schedule::from(Sm90Schedule { tile_m: 128, ..most });
    assert_eq!(most.check(&plain, Arch::SM_90A), Ok(()));
    assert_eq!(most.check(&class, Arch::SM_90A).unwrap_err().rule, "accumulators_fit_registers");
}

fn operation_distance(left: &matmul::Class, right: &matmul::Class) -> Option<u32> {
    crate::operation::Class::distance(left, right)
}

#[test]
fn each_function_beyond_the_first_takes_registers() {
    let class = |special_functions| BodyClass {
        operands: Vec::new(),
        factors: [0, 1],
        gathers: None,
        other_factor: None,
        statistics: 0,
        joined: 0,
        scales: Vec::new(),
        zeros: Vec::new(),
        a_scales: None,
        batched: Vec::new(),
        partners: None,
        repeated: Vec::new(),
        made: None,
        cost: Cost { registers: 16, special_functions },
        operations: 9,
        live: 2,
    };
    assert_eq!(class(0).registers(), class(1).registers());
    assert!(class(1).registers() < class(2).registers() && class(2).registers() < class(3).registers());
}

#[test]
fn a_value_that_no_output_needs_is_neither_printed_nor_counted() {
    let mut more = written();
    more.body.steps.insert(1, bind("idle", call(Math::Tanh, name("y"))));
    let [needed, more] = [written(), more].map(|written| Body::new(written).unwrap());
    let printed = |body: &Body| print::body(body, Printed::Kernel { part_columns: 1, loaded: None, registers: 32 });
    assert_eq!((more.class(), printed(&more)), (needed.class(), printed(&needed)));
    let mut idle = written();
    idle.body.steps[2] = store("out", name("y"));
    idle.body.steps.push(bind("idle", name("skip")));
    assert!(Body::new(idle).unwrap_err()[0].message.contains("`skip` is never used"));
}

/// A body of as many functions, each of a sum that is needed to the end, as `values` says.
fn crowded(values: usize, function: Math) -> Written {
    let value = |at: usize| format!("value{at}");
    let mut steps: Vec<Step> =
        (0..values).map(|at| bind(&value(at), call(function, name("dot") + number(at as f32)))).collect();
    steps.push(store("out", (0..values).map(|at| name(&value(at))).reduce(|sum, value| value + sum).unwrap()));
    let operands = vec![
        reads("x", Kind::Matrix, Dtype::Bf16),
        reads("w", Kind::Matrix, Dtype::Bf16),
        writes("out", Kind::Matrix, Dtype::Bf16),
    ];
    let product = Product::plain("dot", "x", "w");
    Written { product, second: None, body: body::Body { operands, steps, ..body::Body::default() } }
}

#[test]
fn a_body_of_as_many_registers_as_there_may_be_has_a_default_and_one_of_more_is_refused() {
    let bodies: Vec<_> = (1..40).map(|values| Body::new(crowded(values, Math::Sin))).collect();
    let most = bodies.iter().flatten().last().unwrap().clone();
    let refused = bodies.iter().find_map(|body| body.as_ref().err()).unwrap();
    assert!((160..=168).contains(&most.class().registers()), "{:?}", most.class());
    assert!(refused[0].message.contains("go on in another kernel"), "{refused:?}");
    let plain = Problem::new(Dtype::Bf16, Layout::Nt, "identity".parse().unwrap());
    let class = Problem { body: Some(most.into()), ..plain }.class();
    for arch in [Arch::SM_80, Arch::SM_90A] {
        assert_eq!(Schedule::default_for(&class, arch).check(&class, arch), Ok(()));
    }
}

#[test]
fn a_body_runs_once_on_each_element_of_store_boxes_that_divide_the_tile() {
    let class = problem().class();
    let of = |schedule: Sm90Schedule| schedule.store_box(&class);
    for tile_n in (16..=256u32).step_by(8) {
        assert!(tile_n.is_multiple_of(of(Sm90Schedule { tile_n, ..Sm90Schedule::PLAIN }).columns), "{tile_n}");
    }
    for tile_m in (8..=256u32).step_by(8) {
        let tile = Sm90Schedule { tile_m, swap_ab: true, ..Sm90Schedule::PLAIN };
        assert!(tile_m.is_multiple_of(of(tile).rows), "{tile_m}");
    }
}
