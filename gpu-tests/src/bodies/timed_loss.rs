/// What the measurement of a language model's head runs: its logits, and its cross entropy without and beside them.
pub const TIMED_LOSS: [(&str, &str); 2] = [
    ("logits", "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>) { out = dot(x, w.t()); }"),
    (
        "cross entropy",
        "fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, target: &Column<f32>, loss: &mut Column<f32>) {
            let y = dot(x, w.t());
            let chosen = row_sum(if column_index() == target { y } else { 0.0 });
            loss = row_max(y) + row_sum((y - row_max(y)).exp()).ln() - chosen;
        }",
    ),
];

/// What reads the logits where the loss is not computed beside them.
pub const LOSS_BEHIND: (&str, &str) = (
    "cross entropy of logits",
    "fn f(y: &Matrix<bf16>, target: &Column<f32>, loss: &mut Column<f32>) {
        let chosen = row_sum(if column_index() == target { y } else { 0.0 });
        loss = row_max(y) + row_sum((y - row_max(y)).exp()).ln() - chosen;
    }",
);
