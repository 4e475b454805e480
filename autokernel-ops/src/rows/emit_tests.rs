use autokernel_core::{Arch, Dtype, Numbers, Role, Size};
use expect_test::expect_file;

use super::*;
use crate::rows::{Body, Kind, Sm80Schedule, cases, plan};

fn emitted(body: Body) -> String {
    let problem = Problem::new(body).unwrap();
    kernel(&problem, &Sm80Schedule::default_for(&problem.class(), Arch::SM_80)).0.cuda
}

#[test]
fn softmax_is_as_golden() {
    expect_file!["golden/softmax_sm80.cu"].assert_eq(&emitted(cases::softmax()));
}

#[test]
fn softmax_whose_reductions_are_one_is_as_golden() {
    let problem = Problem::new(cases::softmax()).unwrap();
    let schedule = Sm80Schedule { joins: true, ..Sm80Schedule::default_for(&problem.class(), Arch::SM_80) };
    expect_file!["golden/softmax_joined_sm80.cu"].assert_eq(&kernel(&problem, &schedule).0.cuda);
}

#[test]
fn softmax_of_rows_that_shared_memory_holds_in_part_is_as_golden() {
    let problem = Problem::new(cases::softmax()).unwrap();
    let (source, plan) = kernel(&problem, &Sm80Schedule::for_columns(&problem.class(), 65_536, Arch::SM_80));
    expect_file!["golden/softmax_parked_sm80.cu"].assert_eq(&source.cuda);
    assert_eq!(plan.kernels[0].shared_bytes, 512 * 10 * 16);
}

#[test]
fn add_rms_norm_is_as_golden() {
    expect_file!["golden/add_rms_norm_sm80.cu"].assert_eq(&emitted(cases::add_rms_norm()));
}

/// Its row of weights lies in registers before the row is reduced, where it fits them beside what is held.
#[test]
fn add_rms_norm_of_a_few_columns_is_as_golden_and_requests_its_weights_with_the_row() {
    let problem = Problem::new(cases::add_rms_norm()).unwrap();
    let emitted = |columns| kernel(&problem, &Sm80Schedule::for_columns(&problem.class(), columns, Arch::SM_80)).0.cuda;
    expect_file!["golden/add_rms_norm_narrow_sm80.cu"].assert_eq(&emitted(256));
    let requests = |columns| emitted(columns).contains("visit(inputs.weight_, places.weight_)");
    assert_eq!([256, 4096].map(requests), [true, false]);
}

#[test]
fn add_rms_norm_of_blocks_that_stay_is_as_golden_and_keeps_its_weights() {
    let problem = Problem::new(cases::add_rms_norm()).unwrap();
    let plain = Sm80Schedule::for_columns(&problem.class(), 4096, Arch::SM_80);
    let staying = Sm80Schedule { threads_per_row: 256, vectors: 2, blocks_per_sm: 2, keeps_rows: true, ..plain };
    assert_eq!(staying.check(&problem.class(), Arch::SM_80), Ok(()));
    let (source, plan) = kernel(&problem, &staying);
    expect_file!["golden/add_rms_norm_staying_sm80.cu"].assert_eq(&source.cuda);
    assert_eq!(plan.kernels[0].shared_bytes, 4096 * 2);
}

#[test]
fn a_row_that_no_pass_reads_is_not_requested() {
    let mut body = cases::add_rms_norm();
    body.operands.insert(3, cases::reads("unread", Kind::Row, Dtype::F32));
    let problem = Problem::new(body).unwrap();
    let (source, _) = kernel(&problem, &Sm80Schedule::for_columns(&problem.class(), 256, Arch::SM_80));
    assert!(source.cuda.contains("visit(inputs.weight_, places.weight_)"), "{}", source.cuda);
    assert!(!source.cuda.contains("inputs.unread_"), "{}", source.cuda);
}

#[test]
fn columns_are_read_and_written_between_passes_as_golden() {
    expect_file!["golden/statistics_sm80.cu"].assert_eq(&emitted(cases::statistics()));
}

#[test]
fn rows_that_an_index_picks_are_as_golden() {
    expect_file!["golden/picked_sm80.cu"].assert_eq(&emitted(cases::picked()));
    let problem = Problem::new(cases::picked()).unwrap();
    expect_file!["golden/picked_reference.cu"].assert_eq(&reference(&problem).0.cuda);
}

#[test]
fn columns_that_are_moved_are_as_golden() {
    expect_file!["golden/rotary_sm80.cu"].assert_eq(&emitted(cases::rotary()));
    let problem = Problem::new(cases::rotary()).unwrap();
    expect_file!["golden/rotary_reference.cu"].assert_eq(&reference(&problem).0.cuda);
}

#[test]
fn a_reduction_along_columns_is_as_golden() {
    expect_file!["golden/gradients_sm80.cu"].assert_eq(&emitted(cases::gradients()));
    let problem = Problem::new(cases::gradients()).unwrap();
    expect_file!["golden/gradients_reference.cu"].assert_eq(&reference(&problem).0.cuda);
}

#[test]
fn an_operand_whose_rows_are_picked_has_as_many_as_it_likes_and_a_launch_says_how_many() {
    let problem = Problem::new(cases::picked()).unwrap();
    let schedule = Sm80Schedule::default_for(&problem.class(), Arch::SM_90A);
    assert_eq!(schedule.blocks_per_sm, 0, "nothing is requested ahead of its index");
    let signature = plan::signature(&problem);
    let axes: Vec<&[u8]> = signature.operands.iter().map(|operand| &*operand.axes).collect();
    let own = autokernel_core::OWN_AXIS;
    assert_eq!(axes, [&[0, 1][..], &[own, 1], &[own], &[0], &[0], &[0, 1], &[own, 1]]);
    let (_, plan) = kernel(&problem, &schedule);
    let rows = plan.kernels[0].args.iter().filter_map(|field| match field.arg {
        autokernel_core::Arg::Rows { operand } => Some((field.name.as_str(), operand)),
        _ => None,
    });
    assert_eq!(rows.collect::<Vec<_>>(), [("table_rows", 1), ("scales_rows", 2), ("cache_rows", 6)]);
}

#[test]
fn the_reference_is_as_golden() {
    let problem = Problem::new(cases::add_rms_norm()).unwrap();
    expect_file!["golden/add_rms_norm_reference.cu"].assert_eq(&reference(&problem).0.cuda);
}

#[test]
fn different_kernels_have_different_names_and_the_number_of_their_blocks_makes_no_difference() {
    let problem = Problem::new(cases::softmax()).unwrap();
    let schedule = Sm80Schedule::default_for(&problem.class(), Arch::SM_80);
    let name = |schedule: Sm80Schedule| kernel(&problem, &schedule).0.symbol;
    let persistent = |blocks_per_sm| name(Sm80Schedule { blocks_per_sm, ..schedule });
    assert_eq!(persistent(1), persistent(2));
    for other in [
        Sm80Schedule { vectors: 1, ..schedule },
        Sm80Schedule { blocks_per_sm: 1, ..schedule },
        Sm80Schedule { cluster: 1, ..schedule },
        Sm80Schedule { cluster: 2, ..schedule },
        Sm80Schedule { keep: Keep::Inputs, ..schedule },
        Sm80Schedule { rows_per_block: 2, ..schedule },
        Sm80Schedule { joins: true, ..schedule },
    ] {
        assert_ne!(name(schedule), name(other), "{other}");
    }
    let add = Problem::new(cases::add_rms_norm()).unwrap();
    assert_ne!(name(schedule), kernel(&add, &schedule).0.symbol);
}

#[test]
fn a_name_that_means_something_in_cuda_is_a_name_in_a_body() {
    let mut body = cases::softmax();
    for step in &mut body.steps {
        let text = serde_json::to_string(&step).unwrap().replace("\"x\"", "\"int\"").replace("\"e\"", "\"größe\"");
        *step = serde_json::from_str(&text).unwrap();
    }
    body.operands.iter_mut().filter(|operand| operand.role == Role::Input).for_each(|x| x.name = "int".to_owned());
    let cuda = emitted(body);
    assert!(cuda.contains("int_ - row.max_") && cuda.contains("gru"), "{cuda}");
    assert!(cuda.is_ascii(), "{cuda}");
}

#[test]
fn a_scalar_is_a_field_of_the_parameter_and_read_once_a_row() {
    let mut body = cases::add_rms_norm();
    body.operands.insert(3, cases::reads("eps", Kind::Scalar, Dtype::F32));
    let [.., last] = &mut body.steps[..] else { panic!("no step") };
    *last = cases::store("out", cases::name("y") / (cases::name("squares") + cases::name("eps")));
    let problem = Problem::new(body).unwrap();
    let (source, plan) = kernel(&problem, &Sm80Schedule::default_for(&problem.class(), Arch::SM_80));
    for line in ["  float eps_;\n", "row.eps_ = args.eps_;", "(row.squares_ + row.eps_)"] {
        assert!(source.cuda.contains(line), "{line}: {}", source.cuda);
    }
    assert!(reference(&problem).0.cuda.contains("row.eps_ = args.eps_;"));
    assert_eq!(plan.kernels[0].args[3].arg, autokernel_core::Arg::Scalar { operand: 3 });
}

#[test]
fn a_scalar_in_memory_is_an_address_that_is_read_once_a_row() {
    let mut body = cases::softmax();
    body.operands.insert(1, cases::reads("scale", Kind::DeviceScalar, Dtype::F16));
    let [.., last] = &mut body.steps[..] else { panic!("no step") };
    *last = cases::store("out", cases::name("e") * cases::name("scale"));
    let problem = Problem::new(body).unwrap();
    let (source, plan) = kernel(&problem, &Sm80Schedule::default_for(&problem.class(), Arch::SM_80));
    let read = "to_f32(*static_cast<const autokernel::f16*>(args.scale_));";
    for line in ["  void* scale_;\n", &format!("row.scale_ = autokernel::rows::{read}"), "e_ * row.scale_"] {
        assert!(source.cuda.contains(line), "{line}: {}", source.cuda);
    }
    assert!(reference(&problem).0.cuda.contains(&format!("row.scale_ = autokernel::reference_rows::{read}")));
    assert_eq!(plan.kernels[0].args[1].arg, autokernel_core::Arg::Pointer { operand: 1 });
    let scale = &super::plan::signature(&problem).operands[1];
    assert_eq!((scale.passed, scale.axes.len()), (autokernel_core::Passed::ByAddress, 0));
}

#[test]
fn an_index_may_pick_no_more_than_the_rows_of_each_operand_that_it_is_used_on() {
    let rows = |operand| Size { operand, axis: 0 };
    let problem = Problem::new(cases::picked()).unwrap();
    let expected = [Numbers::pick(3, rows(1)), Numbers::pick(3, rows(2)), Numbers::pick(4, rows(6))];
    assert_eq!(plan::signature(&problem).numbers, expected);
    assert_eq!(plan::signature(&Problem::new(cases::softmax()).unwrap()).numbers, []);
}
