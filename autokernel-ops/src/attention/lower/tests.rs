use super::ball::At;
use super::{Lowered, NameOf, lower, name_of};
use crate::attention::score::{Kind, Operand, Score};
use crate::expr::ball::{self, Ball};
use crate::expr::{BinaryOp, Binding, CompareOp, Condition, Expr, Math, Precision};

const SCALE: f32 = 0.088_388_346;

fn of(name: &str) -> Expr {
    Expr::Variable(name.to_owned())
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::Binary(op, Box::new(left), Box::new(right))
}

fn product(left: Expr, right: Expr) -> Expr {
    binary(BinaryOp::Multiply, left, right)
}

fn sum(left: Expr, right: Expr) -> Expr {
    binary(BinaryOp::Add, left, right)
}

fn body(bindings: Vec<(&str, Expr)>, value: Expr) -> Score {
    let operands = [("slope", Kind::PerHead), ("cap", Kind::Number)];
    let operands = operands.map(|(name, kind)| Operand { name: name.to_owned(), kind }).to_vec();
    let bindings = bindings.into_iter().map(|(name, value)| Binding { name: name.to_owned(), value }).collect();
    Score { operands, bindings, value }
}

fn lowered(value: Expr) -> Lowered {
    lower(&body(Vec::new(), value), SCALE)
}

fn scaled() -> Expr {
    product(of("score"), of("scale"))
}

fn distance() -> Expr {
    binary(BinaryOp::Subtract, of("key"), of("query"))
}

/// A value for each name.
fn value(name: &str) -> f64 {
    match name {
        "slope" => -0.25,
        "cap" => 30.0,
        "scale" => f64::from(SCALE),
        "batch" => 1.0,
        "head" => 5.0,
        "query" => 70.0,
        "key" => 64.0,
        other => panic!("{other} is no name"),
    }
}

#[test]
fn what_is_compared_is_computed_as_it_is_written_but_for_whole_numbers() {
    let hidden = Expr::Literal(f32::NEG_INFINITY);
    let within = |distance: Expr| {
        let near = Condition::Compare(CompareOp::Less, distance, Expr::Literal(1.0));
        lowered(Expr::If(Box::new(near), Box::new(scaled()), Box::new(hidden.clone())))
    };
    let tenth = binary(BinaryOp::Divide, distance(), Expr::Literal(10.0));
    let of_condition = |lowered: &Lowered| match &lowered.value {
        Expr::If(condition, ..) => match &**condition {
            Condition::Compare(_, left, _) => left.clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    // A distance is exact wherever it begins; a tenth of it is rounded, and by the text's own operations.
    let rounded = of_condition(&within(tenth));
    assert!(matches!(&rounded, Expr::Binary(BinaryOp::Divide, _, by) if **by == Expr::Literal(10.0)), "{rounded:?}");
    assert!(matches!(of_condition(&within(distance())), Expr::Variable(line) if line.starts_with('+')));
}

#[test]
fn what_is_added_to_scaled_products_is_where_they_begin_and_costs_no_more() {
    let alibi = lowered(sum(scaled(), product(of("slope"), distance())));
    assert!(alibi.begin.is_some() && !alibi.changes());
    assert_eq!((alibi.factor, alibi.lines.len()), (Expr::Literal(SCALE), 1));
    let split =
        binary(BinaryOp::Subtract, sum(scaled(), product(of("slope"), of("key"))), product(of("query"), of("slope")));
    assert_eq!(lowered(split).lines.len(), 1, "what is linear together is one line");
    let flipped = sum(product(of("slope"), distance()), product(of("scale"), of("score")));
    assert!(lowered(flipped).begin.is_some());
    let plain = lowered(scaled());
    assert!(plain.begin.is_none() && !plain.changes());
}

#[test]
fn what_grows_by_one_step_of_a_head_is_told_where_it_is_all_that_is_made_of_a_score() {
    let sloped = sum(scaled(), product(of("slope"), distance()));
    assert!(lowered(sloped.clone()).step().is_some());
    let of_query = sum(scaled(), product(of("query"), of("key")));
    let squared = sum(scaled(), product(distance(), distance()));
    let capped = Expr::Call(Math::Tanh, vec![sloped]);
    for other in [scaled(), sum(scaled(), of("slope")), of_query, squared, capped] {
        assert!(lowered(other.clone()).step().is_none(), "{other:?}");
    }
}

#[test]
fn a_cap_is_the_factor_of_a_score_whatever_its_sign_and_its_quotient_is_the_heads() {
    let cap = |by: Expr| product(by, Expr::Call(Math::Tanh, vec![binary(BinaryOp::Divide, scaled(), of("cap"))]));
    let capped = lowered(cap(of("cap")));
    assert_eq!(
        capped.factor,
        Expr::Call(Math::Max, vec![Expr::Call(Math::Abs, vec![of("cap")]), Expr::Literal(f32::MIN_POSITIVE)])
    );
    assert_eq!((capped.heads.len(), capped.value.operations()), (1, 2), "a product and a tanh: {:?}", capped.value);
    assert_eq!(lowered(cap(Expr::Literal(50.0))).factor, Expr::Literal(50.0));
    assert_eq!(lowered(cap(of("slope"))).factor, Expr::Literal(1.0), "rows may have heads of their own");
}

#[test]
fn scores_have_bounds_where_they_are_multiples_of_a_tanh_and_nothing_else() {
    let tanh = |of: Expr| Expr::Call(Math::Tanh, vec![of]);
    let cap = product(of("cap"), tanh(binary(BinaryOp::Divide, scaled(), of("cap"))));
    let sloped = tanh(sum(scaled(), product(of("slope"), distance())));
    for bounded in
        [cap.clone(), tanh(scaled()), product(Expr::Literal(-30.0), sloped), Expr::Negate(cap.clone().into())]
    {
        assert!(lowered(bounded.clone()).is_bounded(), "{bounded:?}");
    }
    let of_head = product(of("slope"), tanh(scaled()));
    let biased = sum(cap.clone(), product(of("slope"), distance()));
    let hidden = Expr::If(
        Box::new(Condition::Compare(CompareOp::Less, of("key"), of("query"))),
        Box::new(cap),
        Box::new(Expr::Literal(f32::NEG_INFINITY)),
    );
    for free in [scaled(), of_head, biased, hidden] {
        assert!(!lowered(free.clone()).is_bounded(), "{free:?}");
    }
}

#[test]
fn a_cap_is_as_steep_as_sums_of_products_are_multiplied_in_its_tanh_where_nothing_is_added() {
    let tanh = |of: Expr| Expr::Call(Math::Tanh, vec![of]);
    let steepness = |body: Expr| {
        let lowered = lowered(body);
        let of = lowered.steepness()?;
        let of = match &of {
            Expr::Variable(name) => match name_of(name) {
                NameOf::Head(at) => lowered.heads[at].clone(),
                other => panic!("{other:?}"),
            },
            _ => of,
        };
        Some(ball::eval(&of, Precision::Full, &|name| Ball::exact(value(name))).value)
    };
    let scale = f64::from(SCALE);
    let cap = |by: Expr| product(by, tanh(binary(BinaryOp::Divide, scaled(), of("cap"))));
    let close = |got: Option<f64>, wanted: f64| {
        let got = got.unwrap();
        assert!((got / wanted - 1.0).abs() < 1e-6, "{got}, not {wanted}");
    };
    close(steepness(cap(of("cap"))), scale / 30.0);
    close(steepness(cap(Expr::Literal(-2.0))), -scale / 30.0);
    close(steepness(product(Expr::Literal(50.0), tanh(product(of("slope"), scaled())))), -0.25 * scale);
    close(steepness(tanh(of("score"))), 1.0);
    assert_eq!(steepness(tanh(sum(scaled(), product(of("slope"), distance())))), None, "keys have their own");
    assert_eq!(steepness(tanh(product(of("score"), of("score")))), None);
    assert_eq!(steepness(scaled()), None);
}

#[test]
fn what_hides_keys_is_a_choice_beside_products_that_are_not_scaled_and_stays_finite() {
    let condition = Condition::Compare(CompareOp::LessEqual, of("key"), of("query"));
    let chosen = |by: f32| Expr::If(Box::new(condition.clone()), Box::new(scaled()), Box::new(Expr::Literal(by)));
    let lowered = |by| lowered(chosen(by)).value;
    let Expr::If(_, then, otherwise) = lowered(-1e30) else { panic!("a choice") };
    let Expr::Literal(hidden) = *otherwise else { panic!("a number") };
    assert!(*then == of("score") && (hidden * SCALE / -1e30 - 1.0).abs() < 1e-6, "{hidden}");
    let Expr::If(_, _, otherwise) = lowered(f32::MIN) else { panic!("a choice") };
    assert_eq!(*otherwise, Expr::Literal(f32::MIN));
    let Expr::If(_, _, otherwise) = lowered(f32::NEG_INFINITY) else { panic!("a choice") };
    assert_eq!(*otherwise, Expr::Literal(f32::NEG_INFINITY));
}

#[test]
fn a_body_that_would_be_too_long_with_its_lets_put_in_is_computed_as_it_is_written() {
    let names: Vec<String> = (0..40).map(|number| format!("x{number}")).collect();
    let mut bindings = vec![("x0", sum(of("query"), of("head")))];
    bindings
        .extend((1..40).map(|number| (names[number].as_str(), sum(of(&names[number - 1]), of(&names[number - 1])))));
    let lowered = lower(&body(bindings, sum(scaled(), of("x39"))), SCALE);
    assert_eq!((lowered.bindings.len(), lowered.begin), (40, None));
}

#[test]
fn a_let_that_each_score_reads_twice_is_computed_once() {
    let square = product(of("far"), of("far"));
    let lowered = lower(&body(vec![("far", Expr::Call(Math::Exp, vec![distance()]))], sum(scaled(), square)), SCALE);
    assert_eq!(lowered.bindings.len(), 1);
    assert_eq!(lowered.needed_by(lowered.begin.as_ref().unwrap()).len(), 1);
    assert!(lowered.needed_by(&lowered.value).is_empty());
}

/// Numbers that look random.
struct Draw(u32);

impl Draw {
    fn below(&mut self, count: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 12) % count
    }

    fn name(&mut self, bound: usize) -> Expr {
        match self.below(if bound == 0 { 8 } else { 9 }) {
            0 => of("slope"),
            1 => of("cap"),
            2 => of("scale"),
            3 => of("query"),
            4 => of("key"),
            5 => of("head"),
            6 => Expr::Literal([0.5, -2.0, 3.0, 0.125][self.below(4) as usize]),
            7 => of("score"),
            _ => of(["one", "two"][self.below(bound as u32) as usize]),
        }
    }

    fn expr(&mut self, depth: u32, bound: usize) -> Expr {
        if depth == 0 {
            return self.name(bound);
        }
        match self.below(9) {
            0 => Expr::Negate(Box::new(self.expr(depth - 1, bound))),
            1 | 2 => sum(self.expr(depth - 1, bound), self.expr(depth - 1, bound)),
            3 => binary(BinaryOp::Subtract, self.expr(depth - 1, bound), self.expr(depth - 1, bound)),
            4 | 5 => product(self.expr(depth - 1, bound), self.expr(depth - 1, bound)),
            6 => binary(BinaryOp::Divide, self.expr(depth - 1, bound), of("cap")),
            7 => Expr::Call(Math::Tanh, vec![product(Expr::Literal(0.01), self.expr(depth - 1, bound))]),
            _ => {
                let condition = Condition::Compare(CompareOp::Less, self.expr(0, bound), self.expr(0, bound));
                let (then, otherwise) = (self.expr(depth - 1, bound), self.expr(depth - 1, bound));
                Expr::If(Box::new(condition), Box::new(then), Box::new(otherwise))
            }
        }
    }
}

/// The body as it is written, in fp64 and with the error of fp32.
fn as_written(score: &Score, name: &dyn Fn(&str) -> f64) -> Ball {
    let mut bound: Vec<(&str, Ball)> = Vec::new();
    for binding in &score.bindings {
        let value = ball::eval(&binding.value, Precision::Full, &|name_of| found(&bound, name_of, name));
        bound.push((&binding.name, value));
    }
    ball::eval(&score.value, Precision::Full, &|name_of| found(&bound, name_of, name))
}

fn found(bound: &[(&str, Ball)], wanted: &str, name: &dyn Fn(&str) -> f64) -> Ball {
    let own = bound.iter().find(|(own, _)| *own == wanted);
    own.map_or_else(|| Ball::exact(name(wanted)), |(_, value)| *value)
}

#[test]
fn whatever_a_body_is_its_lowered_form_has_its_value() {
    let (mut begun, mut told) = (0, 0);
    for seed in 0..4000 {
        let mut draw = Draw(seed * 7919 + 1);
        let bindings = vec![("one", draw.expr(2, 0)), ("two", draw.expr(2, 1))];
        let value_of_body = draw.expr(3, 2);
        let value_of_body = if draw.below(2) == 0 { sum(scaled(), value_of_body) } else { value_of_body };
        let score = body(bindings, value_of_body).without_idle_bindings();
        let lowered = lower(&score, SCALE);
        begun += u32::from(lowered.begin.is_some());
        let product = f64::from(draw.below(4000)) / 16.0 - 120.0;
        let names = |name: &str| if name == "score" { product } else { value(name) };
        let expected = as_written(&score, &names);
        let got = lowered.ball(At { product, size: product.abs(), names: &value });
        if !expected.value.is_finite() || expected.is_anything() || got.is_anything() {
            continue;
        }
        told += 1;
        let allowed = got.error + expected.error + 1e-9 * expected.value.abs();
        assert!(
            (got.value - expected.value).abs() <= allowed,
            "{seed}: {got:?} of {expected:?}: {score:?} {lowered:?}"
        );
        assert!(got.error <= 1e-2 * (1.0 + expected.value.abs()) * 40.0, "{seed}: {got:?} says nothing: {score:?}");
    }
    assert!(begun > 500 && told > 2000, "{begun} begin somewhere, {told} are told");
}
