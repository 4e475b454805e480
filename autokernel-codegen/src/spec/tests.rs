use super::*;

const PARAMETERS: &str = "a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>";

fn read(name: &str, arguments: &str, function: &str) -> Result<Spec> {
    Spec::parse(attribute(name).unwrap(), arguments.parse().unwrap(), function.parse().unwrap(), &Functions::default())
}

fn fused(arguments: &str) -> Result<Spec> {
    read("fused_matmul", arguments, &format!("fn f({PARAMETERS});"))
}

fn declared(function: &str) -> Result<Spec> {
    read("matmul", "", function)
}

#[track_caller]
fn refused(spec: Result<Spec>, expected: &str) {
    let messages: Vec<String> = match spec {
        Ok(spec) => panic!("accepted: {}", spec.problem),
        Err(errors) => errors.into_iter().map(|error| error.to_string()).collect(),
    };
    assert!(messages.iter().any(|message| message.contains(expected)), "{expected}: {messages:?}");
}

#[test]
fn settings_may_come_in_any_order_and_end_with_a_comma() {
    let spec = fused("leaky_relu(0.5), k = 4_096, transpose_b, n = 8,").unwrap();
    assert_eq!(spec.problem.to_string(), "matmul nt bf16 -> bf16, epilogue leaky_relu(0.5), n = 8, k = 4096");
    assert_eq!(spec.parameters.iter().map(ToString::to_string).collect::<Vec<_>>(), ["a", "b", "out"]);
}

#[test]
fn the_key_depends_on_the_problem_and_not_on_how_it_is_written() {
    let key = |spec: Result<Spec>| spec.unwrap().problem.key();
    let written = "#[inline] pub(crate) fn r#type(r#in: &ak::Matrix<half::bf16>, w: &Matrix<bf16,>, \
                   o: &mut Matrix<bf16>) -> autokernel::Result<()>;";
    assert_eq!(key(declared(written)), key(declared(&format!("fn f({PARAMETERS});"))));
    assert_eq!(key(fused("leaky_relu")), key(fused("leaky_relu(1e-2)")));
    assert_eq!(key(fused("relu, n = 16")), key(fused("relu, n = 0x10")));
    assert_ne!(key(fused("relu, n = 16")), key(fused("relu, k = 16")));
}

#[test]
fn what_is_too_large_is_told_apart_from_what_is_wrong() {
    let judged = |values: usize, last: &str| {
        let bound: String = (0..values).map(|at| format!("let v{at} = ({at}.5 * y).sin(); ")).collect();
        let sum = (0..values).map(|at| format!(" + v{at}")).collect::<String>();
        let function = format!("fn f({PARAMETERS}) {{ let y = dot(a, b); {bound} out = y{sum} + {last}; }}");
        let attribute = attribute("fused_matmul").unwrap();
        Spec::judge(attribute, TokenStream::new(), function.parse().unwrap(), &Functions::default())
    };
    assert!(judged(4, "0.5").is_ok());
    assert!(matches!(judged(60, "0.5"), Err(Refused::TooLarge(_))));
    assert!(matches!(judged(60, "missing"), Err(Refused::Wrong(_))));
    assert!(matches!(judged(4, "missing"), Err(Refused::Wrong(_))));
}

#[test]
fn a_name_that_the_module_beside_a_kernel_holds_is_refused_where_it_is_bound_and_no_other_is() {
    let rows = |types: &str, parameters: &str, body: &str| {
        let lists = if types.is_empty() { "" } else { "Types = [f32]" };
        read("rows", lists, &format!("fn f{types}(x: &Matrix<f32>, {parameters}) {{ {body} }}"))
    };
    let out = "out: &mut Matrix<f32>";
    for kernel in [
        rows("", &format!("KERNEL: f32, {out}"), "out = x * KERNEL;"),
        rows("", &format!("r#KERNEL: &Row<f32>, {out}"), "out = x;"),
        rows("", out, "let KERNEL = x + 1.0; out = KERNEL;"),
        declared("fn f(a: &Matrix<bf16>, KERNEL: &Matrix<bf16>, out: &mut Matrix<bf16>);"),
    ] {
        refused(
            kernel,
            "`KERNEL` is the kernel itself in the module that comes with the function; give this another name",
        );
    }
    refused(rows("<Types>", "out: &mut Matrix<Types>", "out = x;"), "`Types` is the trait of its types");
    let others = rows(
        "",
        &format!("launch: f32, row: &Row<f32>, Types: &Column<f32>, {out}"),
        "out = x * launch + row - Types;",
    );
    assert_eq!(others.unwrap().parameters.len(), 5);
}

#[test]
fn a_setting_that_cannot_be_is_refused_with_what_can() {
    for (arguments, expected) in [
        ("relu, n = 0", "a literal from 1 to 2147483647"),
        ("relu, n = 2147483648", "a literal from 1 to 2147483647"),
        ("relu, n = 99999999999999999999", "a literal from 1 to 2147483647"),
        ("relu, n = -1", "a literal from 1 to 2147483647"),
        ("relu, k = SIZE", "a literal from 1 to 2147483647"),
        ("relu, k", "give the dimension: `k = 4096`"),
        ("relu, k = 1, k = 1", "given twice"),
        ("relu, transpose_b = true", "takes no value"),
        ("relu gelu", "expected `,`"),
        ("leaky_relu(1e40)", "not a finite f32"),
        ("leaky_relu(0.2f64)", "is a number, for example 0.2"),
        ("leaky_relu(1u8)", "is a number, for example 0.2"),
        ("leaky_relu(x)", "is a number, for example 0.2"),
        ("leaky_relu()", "takes 1 parameter, not 0"),
        ("leaky_relu = 0.2", "stands in parentheses: `leaky_relu(0.2)`"),
        ("transpose_b", "there is no epilogue `transpose_b`"),
        ("", "which epilogue?"),
    ] {
        refused(fused(arguments), expected);
    }
}

#[test]
fn a_parameter_is_a_plain_name_and_a_reference_to_a_matrix() {
    for first in [
        "mut a: &Matrix<bf16>",
        "ref a: &Matrix<bf16>",
        "a @ _: &Matrix<bf16>",
        "_: &Matrix<bf16>",
        "a: Matrix<bf16>",
        "a: &mut Matrix<bf16>",
        "a: &Matrix<bf16, 2>",
        "a: &Matrix",
        "a: &[bf16]",
        "&self",
    ] {
        let function = format!("fn f({first}, b: &Matrix<bf16>, out: &mut Matrix<bf16>);");
        refused(declared(&function), "write this parameter as `a: &Matrix<bf16>`");
    }
}

#[test]
fn operands_of_different_types_are_named_as_the_user_named_them() {
    let mixed = "fn f(x: &Matrix<bf16>, w: &Matrix<f16>, y: &mut Matrix<f32>);";
    refused(declared(mixed), "`x` holds bf16 and `w` holds f16");
}

#[test]
fn factors_of_8_bits_are_stored_along_k_and_their_product_as_a_wider_type() {
    let of = |out: &str| format!("fn f(a: &Matrix<e4m3>, b: &Matrix<e4m3>, out: &mut Matrix<{out}>);");
    let read = |arguments: &str, out: &str| read("fused_matmul", arguments, &of(out));
    let spec = read("relu, transpose_b", "f16").unwrap();
    assert_eq!(spec.problem.to_string(), "matmul nt e4m3 -> f16, epilogue relu");
    refused(read("relu", "bf16"), "store `b` as `[n, k]` and add `transpose_b`");
    refused(read("relu, transpose_b", "e4m3"), "a product of e4m3 is stored as `bf16`, `f16` or `f32`");
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let errors = read("fused_matmul", "gleu", "fn f(a: u8, b: u8, out: u8);").err().unwrap();
    assert_eq!(errors.into_iter().count(), 4);
}

#[test]
fn an_item_that_is_no_bodyless_function_is_refused_with_an_example() {
    for item in ["struct S;", "fn f() {}", "", "fn", "mod m { fn f(); }"] {
        refused(declared(item), "fn linear(a: &Matrix<bf16>");
    }
}

const GENERIC: &str = "fn f<T>(a: &Matrix<T>, b: &Matrix<T>, out: &mut Matrix<T>);";

fn kernels(arguments: &str, function: &str) -> Result<Vec<Spec>> {
    let (arguments, function) = (arguments.parse().unwrap(), function.parse().unwrap());
    Spec::parse_all(attribute("fused_matmul").unwrap(), arguments, function, &Functions::default())
}

#[test]
fn a_list_of_types_may_stand_among_the_settings_and_makes_a_kernel_for_each() {
    let specs = kernels("relu, T = [half::f16, bf16,], n = 8", GENERIC).unwrap();
    let named: Vec<String> = specs.iter().map(|spec| format!("{}: {}", spec.name(), spec.problem)).collect();
    assert_eq!(
        named,
        ["f<f16>: matmul nn f16 -> f16, epilogue relu, n = 8", "f<bf16>: matmul nn bf16 -> bf16, epilogue relu, n = 8"]
    );
    let of = |number| specs[0].type_parameter(number).map(ToString::to_string);
    assert_eq!((of(0), of(2), of(3)), (Some("T".to_owned()), Some("T".to_owned()), None));
    let alone = fused("relu, n = 8").unwrap();
    assert_eq!((alone.name().as_str(), alone.type_parameter(0)), ("f", None));
}

#[test]
fn a_kernel_of_several_types_is_that_of_the_same_declaration_of_one() {
    let key = |spec: &Spec| spec.problem.key();
    let specs = kernels("relu, T = [f16, bf16]", GENERIC).unwrap();
    assert_eq!(key(&specs[1]), key(&fused("relu").unwrap()));
}

#[test]
fn a_list_of_types_that_cannot_be_is_refused_with_what_can() {
    for (arguments, function, expected) in [
        ("relu, T = [f64]", GENERIC, "`f64` is not an element type"),
        ("relu, T = []", GENERIC, "`T = [bf16, f32]`"),
        ("relu, T = [bf16, bf16]", GENERIC, "`bf16` is listed twice"),
        ("relu, T = [bf16], T = [f16]", GENERIC, "`T` is given twice"),
        ("relu, T = [bf16], O = [f32]", GENERIC, "no type parameter `O`; write `fn f<O>(…)`"),
        ("relu", GENERIC, "list them: `#[autokernel::…(T = [bf16, f32])]`"),
        ("relu, T = bf16", GENERIC, "list them"),
        ("relu, T = [bf16]", "fn f<T: Element>(a: &Matrix<T>, b: &Matrix<T>, out: &mut Matrix<T>);", "write `T` alone"),
        (
            "relu, T = [bf16]",
            "fn f<T, const N: usize>(a: &Matrix<T>, b: &Matrix<T>, out: &mut Matrix<T>);",
            "alone; remove",
        ),
        (
            "relu, T = [bf16]",
            "fn f<T>(a: &Matrix<T>, b: &Matrix<T>, out: &mut Matrix<T>) where T: Copy;",
            "remove this",
        ),
        ("relu, T = [bf16], O = [f32]", "fn f<T, O>(a: &Matrix<T>, b: &Matrix<T>, out: &mut Matrix<T>);", "holds `O`"),
    ] {
        let messages: Vec<String> = match kernels(arguments, function) {
            Ok(specs) => panic!("{arguments}: accepted as {}", specs.len()),
            Err(errors) => errors.into_iter().map(|error| error.to_string()).collect(),
        };
        assert!(messages.iter().any(|message| message.contains(expected)), "{expected}: {messages:?}");
    }
}

#[test]
fn a_mistake_of_one_type_is_told_where_it_is_listed_and_one_of_all_once() {
    let messages = |arguments: &str| -> Vec<String> {
        kernels(arguments, GENERIC).err().unwrap().into_iter().map(|error| error.to_string()).collect()
    };
    let of_one = messages("relu, T = [bf16, f32]");
    assert!(of_one.iter().all(|message| message.starts_with("with `T = f32`: ")), "{of_one:?}");
    let of_all = messages("relu, T = [bf16, f16], n = 0");
    assert!(of_all.len() == 1 && of_all[0].starts_with("a size is a literal"), "{of_all:?}");
}

#[test]
fn a_reduction_in_a_body_of_attention_is_one_mistake() {
    let body = "fn f(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, out: &mut Heads<bf16>) { score = score - row_max(score); }";
    let errors = read("attention", "head_dim = 64", body).err().unwrap();
    let messages: Vec<String> = errors.into_iter().map(|error| error.to_string()).collect();
    assert!(messages.len() == 1 && messages[0].contains("arithmetic on one score"), "{messages:?}");
}

#[test]
fn what_is_written_over_is_complained_of_once_and_by_its_own_name() {
    let messages = |name: &str, function: &str| -> Vec<String> {
        let errors = read(name, "", function).err().unwrap();
        errors.into_iter().map(|error| error.to_string()).collect()
    };
    for parameters in ["x: &mut Matrix<f64>, skip: &Matrix<f32>", "x: &mut Batch<f32>, skip: &Matrix<f32>"] {
        assert_eq!(messages("rows", &format!("fn f({parameters}) {{ x += skip; }}")).len(), 1, "{parameters}");
    }
    let factor = messages("fused_matmul", "fn f(a: &Matrix<bf16>, x: &mut Matrix<bf16>) { x += dot(a, x); }");
    assert!(factor.iter().all(|message| message.contains("`x`") && !message.contains("x_before")), "{factor:?}");
}
