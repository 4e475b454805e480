//! What of nvdisasm's text says what a kernel does.

use std::collections::HashMap;

/// The instructions of each kernel in `text`, without names, addresses and places in the constant bank of arguments;
/// kernels in the order of their texts, which does not depend on names.
pub fn kernels(text: &str) -> String {
    let mut kernels: Vec<String> = text
        .split("//--------------------- .text.")
        .skip(1)
        .map(instructions)
        .filter(|code| !code.is_empty())
        .collect();
    kernels.sort();
    kernels.join("\n")
}

fn instructions(section: &str) -> String {
    let mut labels = HashMap::new();
    let lines = section.lines().filter_map(|line| {
        let line = line.trim();
        let is_label = line.starts_with(".L_") && line.ends_with(':');
        let code = if is_label { line } else { line.strip_prefix("/*")?.split_once("*/")?.1.trim() };
        Some(without_arguments(&renumbered(code, &mut labels)))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Labels are numbered through the whole file; here each by its first use in the kernel.
fn renumbered(code: &str, labels: &mut HashMap<String, usize>) -> String {
    let mut text = String::new();
    let mut rest = code;
    while let Some(at) = rest.find(".L_x_") {
        let (before, label) = rest.split_at(at);
        let end = label[5..].find(|c: char| !c.is_ascii_digit()).map_or(label.len(), |end| end + 5);
        let next = labels.len();
        let number = *labels.entry(label[..end].to_owned()).or_insert(next);
        text.push_str(&format!("{before}L{number}"));
        rest = &label[end..];
    }
    text + rest
}

/// `c[0x0][0x210]` says where an argument lies; which one it is follows from what is done with it.
fn without_arguments(code: &str) -> String {
    const BANK: &str = "c[0x0][";
    let mut text = String::new();
    let mut rest = code;
    while let Some(at) = rest.find(BANK) {
        let (before, offset) = rest.split_at(at + BANK.len());
        text.push_str(before);
        rest = offset.find(']').map_or("", |end| &offset[end..]);
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "
//--------------------- .text.NAME --------------------------
	.section	.text.NAME,\"ax\",@progbits
NAME:
.text.NAME:
        /*0000*/                   MOV R1, c[0x0][OFFSET] ;
.L_x_NUMBER:
        /*0010*/              @!P2 BRA `(.L_x_NUMBER) ;
        /*0020*/                   IADD3 R2, R2, 0x1, RZ ;
";

    fn code(name: &str, offset: &str, number: &str) -> String {
        CODE.replace("NAME", name).replace("OFFSET", offset).replace("NUMBER", number)
    }

    #[test]
    fn names_offsets_and_labels_make_no_difference_and_instructions_do() {
        let first = kernels(&(code("a", "0x210", "7") + &code("b", "0x28", "8").replace("R2", "R3")));
        let second = kernels(&(code("c", "0x250", "1").replace("R2", "R3") + &code("d", "0x38", "12")));
        assert_eq!(first, second);
        assert!(first.contains("MOV R1, c[0x0][]") && first.contains("BRA `(L0)"), "{first}");
        assert_ne!(first, kernels(&code("a", "0x210", "7").replace("0x1,", "0x2,")));
    }
}
