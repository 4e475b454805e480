//! What `struct Body` says of partners, as `body_rotated.cuh` reads it.

use super::Body;
use super::print_element::{begin, statement, values};
use crate::body::Columns;
use crate::body::cuda::element;
use crate::expr::cuda::Spelling;
use crate::lines::Lines;

/// Its members; nothing where no element sees a partner.
pub fn print(out: &mut Lines, body: &Body, spelling: Spelling) {
    if body.partners().is_none() {
        return;
    }
    let steps = body.steps_of_rotations();
    out.line("");
    begin(out, body, "Rotating rotating", None);
    values(out, body, &steps);
    out.lines(steps.iter().map(|step| statement(body, step, spelling)));
    let seen: Vec<String> = body.rotations().map(|fetch| element(&fetch.of)).collect();
    out.line(format!("return {{{{{}}}}};", seen.join(", ")));
    out.line("}");
}

/// What partners see of each other.
pub fn declare(out: &mut Lines, body: &Body) {
    if body.partners().is_some() {
        out.line("");
        out.line("// What partners see of each other.");
        out.line("struct Rotating {");
        out.line(format!("float values[{}];", body.rotations().count()));
        out.line("};");
    }
}

/// The C++ type of how elements and their partners lie.
pub fn pairing(partners: Columns) -> Option<String> {
    match partners {
        Columns::RotateHalf(head) => Some(format!("autokernel::body::Halves<{head}>")),
        Columns::RotatePairs => Some("autokernel::body::Neighbours".to_owned()),
        Columns::Same | Columns::Repeat => None,
    }
}
