//! A downstream crate, built by cargo as a user would build it.

mod consumer;
mod figures;
mod packed;
mod places;
mod types;

use consumer::{Consumer, Toolkit};

const PROGRAM: &str = r#"
    #![forbid(unsafe_code)]
    use autokernel::{Device, Matrix, bf16};

    #[autokernel::fused_matmul(leaky_relu(0.5), transpose_b)]
    fn linear(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>);

    fn main() -> autokernel::Result<()> {
        let device = Device::cpu();
        let x = Matrix::from_slice(&device, &[1.0, -2.0, 0.0, 3.0].map(bf16::from_f32), 2, 2)?;
        let w = Matrix::from_slice(&device, &[1.0, 1.0, 2.0, 0.0].map(bf16::from_f32), 2, 2)?;
        let mut out = Matrix::zeros(&device, 2, 2)?;
        linear(&x, &w, &mut out)?;
        println!("{:?} {}", out.to_vec()?, linear::epilogue(-4.0));

        let descriptor = linear::KERNEL.descriptor()?;
        for variant in descriptor.variants.iter() {
            println!("{} {} {}", variant.arch, autokernel::symbol(&variant.plan), variant.schedule);
        }
        let h200 = autokernel::Target::of_sheet(autokernel::Datasheet::find("h200").expect("it has a row"));
        match autokernel::plan_for(descriptor, h200, &autokernel::matmul::extents(2, 2, 2)) {
            Ok(plan) => println!("plan: {plan}"),
            Err(error) => println!("no plan: {error}"),
        }
        Ok(())
    }
"#;

/// `best_config.json` with one entry, whose tile is `tile_n` wide.
fn config(tile_n: u32) -> String {
    format!(
        r#"{{
  "version": 1,
  "archs": ["sm_90a"],
  "entries": [{{
    "problem": {{"operation": "matmul", "epilogue": "leaky_relu", "input": "bf16", "output": "bf16", "layout": "nt"}},
    "arch": "sm_90a",
    "shape": {{"m": 2, "n": 2, "k": 2}},
    "schedule": {{
      "family": "sm90", "tile_m": 128, "tile_n": {tile_n}, "stages": 4, "consumers": 2, "mode": "cooperative",
      "cluster_m": 1, "cluster_n": 1, "raster": {{"order": "along_m", "group": 8}}
    }},
    "provenance": {{
      "gpu": "none: this entry is a test's", "driver": "-", "nvcc": "-", "date": "2026-01-01",
      "median_ms": 1.0, "spread_pct": 0.0, "tflops": 1.0, "samples": 1, "proposed_by": "a test"
    }}
  }}]
}}
"#
    )
}

#[test]
fn a_changed_entry_changes_the_kernel_and_an_unchanged_crate_runs_no_nvcc() {
    let Some(toolkit) = Toolkit::counting("a_changed_entry_changes_the_kernel") else { return };
    let consumer = Consumer::new("counted", PROGRAM);
    consumer.write("best_config.json", &config(128));

    let first = consumer.run(&toolkit);
    assert!(first.contains("[-0.5, 2.0, 3.0, 0.0] -2"), "{first}");
    assert!(first.contains(r#""tile_n":128"#), "{first}");
    assert!(first.contains("plan: ") && first.contains("cubin for sm_90a"), "{first}");
    let cold = toolkit.runs();
    assert!(cold >= 1, "the first build compiles its kernel");

    consumer.run(&toolkit);
    assert_eq!(toolkit.runs(), cold, "nothing changed");

    consumer.write("src/main.rs", &format!("// another comment\n{PROGRAM}"));
    consumer.run(&toolkit);
    assert_eq!(toolkit.runs(), cold, "no kernel changed");

    consumer.write("best_config.json", &config(64));
    let narrow = consumer.run(&toolkit);
    assert!(narrow.contains(r#""tile_n":64"#), "{narrow}");
    assert_eq!(toolkit.runs(), cold + 1, "one kernel changed");

    consumer.write("best_config.json", &config(128));
    assert_eq!(consumer.run(&toolkit), first);
    assert_eq!(toolkit.runs(), cold + 1, "the first kernel was still in the cache");
}

#[test]
fn a_crate_without_nvcc_builds_and_says_what_a_gpu_launch_would_need() {
    let Some(toolkit) = Toolkit::none("a_crate_without_nvcc_builds") else { return };
    let consumer = Consumer::new("without-nvcc", PROGRAM);
    let printed = consumer.run(&toolkit);
    assert!(printed.contains("[-0.5, 2.0, 3.0, 0.0] -2"), "{printed}");
    assert!(printed.contains("no plan: ") && printed.contains("nvcc was not found"), "{printed}");
    assert!(printed.contains("cargo xtask setup"), "the remedy: {printed}");
}

#[test]
fn a_strict_crate_may_declare_kernels_in_every_form_and_place() {
    let Some(toolkit) = Toolkit::none("a_strict_crate_may_declare_kernels") else { return };
    let program = r#"
        //! Warns of everything.
        #![forbid(unsafe_code, unused, missing_docs, unreachable_pub, nonstandard_style, rust_2018_idioms)]

        use autokernel::{Device, Matrix, bf16};

        mod inner {
            //! Every visibility, and names that generated code uses too.
            use autokernel::{Matrix, bf16};

            #[autokernel::matmul]
            pub(crate) fn r#type(epilogue: &Matrix<bf16>, r#in: &Matrix<bf16>, kernel: &mut Matrix<bf16>);

            pub(crate) mod deeper {
                //! Restricted visibility.
                use autokernel::{Matrix, bf16};

                #[autokernel::fused_matmul(leaky_relu(-1e-40))]
                pub(in crate::inner) fn epilogue(
                    epilogue: &Matrix<bf16>, autokernel: &Matrix<bf16>, f32: &mut Matrix<f32>,
                ) -> autokernel::Result<()>;
            }

            #[autokernel::matmul]
            #[cfg(any())]
            fn removed(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

            /// A module in the place of the one that was removed with its kernel.
            pub(crate) mod removed {}

            pub(crate) fn run(a: &Matrix<bf16>, out: &mut Matrix<f32>) -> autokernel::Result<f32> {
                deeper::epilogue(a, a, out)?;
                Ok(deeper::epilogue::epilogue(-1.0))
            }
        }

        mod bare {
            //! Without a prelude.
            #![no_implicit_prelude]
            use ::autokernel::{Matrix, bf16};

            #[cfg_attr(all(), ::autokernel::fused_matmul(silu, n = 2))]
            pub(crate) fn linear(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);
        }

        fn main() -> autokernel::Result<()> {
            #[autokernel::fused_matmul(relu)]
            fn local(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>) -> Result<(), Box<dyn std::error::Error>>;

            let device = Device::cpu();
            let a = Matrix::from_slice(&device, &[bf16::ONE; 4], 2, 2)?;
            let mut out = Matrix::zeros(&device, 2, 2)?;
            inner::r#type(&a, &a, &mut out)?;
            local(&a, &a, &mut out).unwrap();
            bare::linear(&a, &a, &mut out)?;
            let slope = inner::run(&a, &mut Matrix::zeros(&device, 2, 2)?)?;
            let names = [&*inner::r#type::KERNEL.descriptor()?.name, &*local::KERNEL.descriptor()?.name];
            println!("{slope:e} {names:?}");
            Ok(())
        }
    "#;
    let printed = Consumer::new("strict", program).run(&toolkit);
    assert_eq!(printed, "1e-40 [\"type\", \"local\"]\n");
}

#[test]
fn an_nvcc_that_fails_fails_the_build_with_what_it_said() {
    let toolkit = Toolkit::failing("error: out of registers and patience");
    let consumer = Consumer::new("failing-nvcc", PROGRAM);
    let message = consumer.refused(&toolkit);
    assert!(message.contains("nvcc could not compile autokernel_matmul_leaky_relu_bf16_bf16_nt"), "{message}");
    assert!(message.contains("out of registers and patience"), "{message}");
}

#[test]
fn a_broken_config_fails_the_build_with_file_line_and_reason() {
    let Some(toolkit) = Toolkit::none("a_broken_config_fails_the_build") else { return };
    let consumer = Consumer::new("broken-config", PROGRAM);
    for (text, reason) in [
        (config(128).replace("\"archs\":", "\"archs\";"), "best_config.json:3:10: expected `:`"),
        (config(128).replace("\"version\": 1", "\"version\": 9"), "version 9 is not supported"),
        (config(128).replace("\"shape\"", "\"shapes\""), "unknown field `shapes`"),
        (config(512), "schedule rule `tile_n_is_a_wgmma_width` is broken"),
    ] {
        consumer.write("best_config.json", &text);
        let message = consumer.refused(&toolkit);
        assert!(message.contains(reason), "{reason}: {message}");
        assert!(message.contains("best_config.json:"), "{message}");
    }
}

#[test]
fn a_kernel_that_the_build_script_cannot_see_is_an_error_at_its_name() {
    let Some(toolkit) = Toolkit::none("a_kernel_that_the_build_script_cannot_see") else { return };
    let program = r#"
        macro_rules! declare {
            ($name:ident) => {
                #[autokernel::matmul]
                fn $name(a: &autokernel::Matrix<autokernel::bf16>, b: &autokernel::Matrix<autokernel::bf16>,
                         out: &mut autokernel::Matrix<autokernel::bf16>);
            };
        }
        declare!(hidden);
        fn main() {}
    "#;
    let message = Consumer::new("hidden-kernel", program).refused(&toolkit);
    assert!(message.contains("the build script did not see this kernel"), "{message}");
    assert!(message.contains("Build::new().source"), "the remedy: {message}");
}

#[test]
fn a_dependency_under_another_name_is_found_under_it() {
    let Some(toolkit) = Toolkit::none("a_dependency_under_another_name") else { return };
    let program = r#"
        use ak::{Device, Heads, Matrix, bf16, f16};

        #[ak::function]
        fn twice(x: f32) -> f32 {
            2.0 * x
        }

        #[ak::fused_matmul(T = [bf16, f16])]
        fn up<T>(x: &Matrix<T>, w: &Matrix<T>, out: &mut Matrix<T>) {
            out = twice(silu(dot(x, w)));
        }

        #[ak::matmul]
        fn product(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<f32>);

        #[ak::rows]
        fn shifted(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {
            out = twice(x) - row_max(x);
        }

        #[ak::attention(head_dim = 16)]
        fn attend(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, out: &mut Heads<bf16>) {
            score = twice(score * scale);
        }

        fn main() -> ak::Result<()> {
            let device = Device::cpu();
            let one = Matrix::from_slice(&device, &[bf16::ONE], 1, 1)?;
            let token = Heads::from_slice(&device, &[bf16::ONE; 16], [1, 1, 1, 16])?;
            let mut seen = Heads::zeros(&device, [1, 1, 1, 16])?;
            attend(&token, &token, &token, &mut seen)?;
            let (mut out, mut wide) = (Matrix::zeros(&device, 1, 1)?, Matrix::zeros(&device, 1, 1)?);
            up(&one, &one, &mut out)?;
            shifted(&one, &mut out)?;
            product(&one, &one, &mut wide)?;
            println!("{:?} {:?} {:?}", out.to_vec()?, wide.to_vec()?, seen.to_vec()?[0]);
            Ok(())
        }
    "#;
    let consumer = Consumer::new("renamed", program);
    consumer.rename_dependency("ak");
    assert_eq!(consumer.run(&toolkit), "[1.0] [1.0] 1.0\n");
}
