//! What is read, and how what is not is refused.

use autokernel_emulator::{Module, ParseErrorKind};

fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n\
         .reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<4>;\n{body}\nret;\n}}\n"
    )
}

fn refusal(body: &str) -> ParseErrorKind {
    Module::parse(&kernel(body)).unwrap_err().kind
}

#[test]
fn a_kernel_is_found_by_its_name_with_its_parameters() {
    let module = Module::parse(&kernel("add.s32 %r1, %r2, 1;")).unwrap();
    let kernel = module.kernel("k").unwrap();
    assert_eq!((kernel.parameter_bytes(), kernel.instruction_count()), (8, 2));
    assert!(module.kernel("other").is_none());
}

#[test]
fn an_unknown_instruction_is_named_with_its_line() {
    let error = Module::parse(&kernel("frobnicate.b32 %r1, %r2;")).unwrap_err();
    assert_eq!(error.line, 8);
    assert!(error.to_string().contains("frobnicate.b32"), "{error}");
}

#[test]
fn an_unknown_modifier_is_refused_and_not_skipped() {
    for body in ["add.weird.s32 %r1, %r2, 1;", "fma.rn.oob.f32 %r1, %r2, %r3, %r4;", "ld.global.magic.u32 %r1, [%rd1];"]
    {
        assert!(matches!(refusal(body), ParseErrorKind::UnknownInstruction { .. }), "{body}");
    }
}

#[test]
fn operands_of_a_wrong_size_or_number_are_refused() {
    for body in ["add.s64 %r1, %r2, 1;", "add.s32 %r1, %r2;", "add.s32 %r1, %r2, %r3, %r4;", "add.s32 %r1, %p1, 1;"] {
        assert!(matches!(refusal(body), ParseErrorKind::Operands { .. }), "{body}");
    }
}

#[test]
fn a_label_of_a_scope_is_not_known_outside() {
    assert!(Module::parse(&kernel("{ L: bra L; }")).is_ok());
    assert!(matches!(refusal("{ L: } bra L;"), ParseErrorKind::Undeclared { .. }));
    assert!(matches!(refusal("L: L: bra L;"), ParseErrorKind::DeclaredTwice { .. }));
}

#[test]
fn more_registers_than_can_be_held_are_refused() {
    assert!(matches!(refusal(".reg .b32 %x<4000000000>;"), ParseErrorKind::TooMany { .. }));
}

#[test]
fn a_text_that_ends_early_is_refused_at_any_place() {
    let text = kernel("{ .reg .b32 t; mov.b32 t, %r1; } @%p1 bra L; L: st.global.v2.u32 [%rd1+8], {%r1, 7};");
    let whole = text.trim_end().len();
    for end in (0..whole).filter(|&end| text.is_char_boundary(end)) {
        let cut = &text[..end];
        if cut.contains(".entry") {
            assert!(Module::parse(cut).is_err(), "{cut}");
        }
    }
}

#[test]
fn what_repeats_a_million_times_overflows_nothing() {
    for piece in ["!", "{", "[", "@", "-", "(", "L: ", "<", ".reg .b32 ", "%r1|", "/*"] {
        let many = piece.repeat(1_000_000);
        for before in ["", "add.s32 %r1, ", "mov.b64 ", "ld.global.b32 %r1, ["] {
            assert!(Module::parse(&kernel(&format!("{before}{many}"))).is_err(), "{before}{piece}...");
        }
    }
}
