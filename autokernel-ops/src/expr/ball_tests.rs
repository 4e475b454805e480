use super::*;

const HUGE: f64 = 1e30;

fn about(value: f64) -> Ball {
    Ball { value, error: 0.1 }
}

fn op(op: BinaryOp, left: Ball, right: Ball) -> Ball {
    Ball::binary(op, left, right)
}

fn call(function: Math, args: &[Ball]) -> Ball {
    Ball::call(function, args, Precision::Full)
}

#[test]
fn what_may_be_zero_or_negative_gives_anything_where_the_function_has_no_value() {
    for function in [Math::Ln, Math::Sqrt, Math::Recip] {
        assert!(call(function, &[about(0.05)]).is_anything(), "{function:?}");
        assert!(call(function, &[about(-0.05)]).is_anything(), "{function:?}");
        assert!(call(function, &[about(2.0)]).error < 0.2, "{function:?}");
    }
    assert!(call(Math::Sqrt, &[about(-1.0)]).is_nan() && call(Math::Ln, &[about(-1.0)]).is_nan());
    assert_eq!(call(Math::Ln, &[Ball::exact(0.0)]), Ball::exact(f64::NEG_INFINITY));
}

#[test]
fn anything_stays_anything_until_what_is_no_number_hides_it() {
    let anything = call(Math::Recip, &[about(0.0)]);
    for of in [BinaryOp::Add, BinaryOp::Subtract, BinaryOp::Multiply, BinaryOp::Divide] {
        assert!(op(of, anything, Ball::exact(2.0)).is_anything() && op(of, Ball::exact(2.0), anything).is_anything());
        assert!(op(of, anything, Ball::exact(f64::NAN)).is_nan());
    }
    assert!(call(Math::Max, &[anything, Ball::exact(1.0)]).is_anything(), "it may be no number");
    assert!(call(Math::Recip, &[anything]).is_anything() && call(Math::Tanh, &[anything]).is_anything());
    let value = eval(
        &Expr::If(
            Box::new(Condition::Compare(CompareOp::Less, Expr::Variable("x".into()), Expr::Literal(0.0))),
            Box::new(Expr::Literal(1.0)),
            Box::new(Expr::Literal(2.0)),
        ),
        Precision::Full,
        &|_| anything,
    );
    assert!((value.value - 1.5).abs() <= value.error, "either branch");
}

#[test]
fn what_may_be_no_number_may_differ_from_itself() {
    let anything = call(Math::Recip, &[about(0.0)]);
    let x = || Expr::Variable("x".to_owned());
    let chosen = |op, ball| {
        let of_itself = Condition::Compare(op, x(), x());
        let [then, otherwise] = [1.0, 2.0].map(|value| Box::new(Expr::Literal(value)));
        eval(&Expr::If(Box::new(of_itself), then, otherwise), Precision::Full, &|_| ball)
    };
    for op in [CompareOp::Equal, CompareOp::NotEqual, CompareOp::LessEqual, CompareOp::GreaterEqual] {
        let either = chosen(op, anything);
        assert!([1.0, 2.0].iter().all(|value| (either.value - value).abs() <= either.error), "{op:?}: {either:?}");
    }
    for op in [CompareOp::Less, CompareOp::Greater] {
        assert_eq!(chosen(op, anything), Ball::exact(2.0), "{op:?}");
    }
    assert_eq!(chosen(CompareOp::Equal, about(1.0)), Ball::exact(1.0), "a number is itself, however far off it is");
    assert_eq!(chosen(CompareOp::NotEqual, Ball::exact(f64::NAN)), Ball::exact(1.0));
}

#[test]
fn a_sign_that_is_not_certain_leaves_an_infinite_product_open() {
    let infinite = Ball::exact(f64::INFINITY);
    assert_eq!(op(BinaryOp::Multiply, infinite, about(-2.0)), Ball::exact(f64::NEG_INFINITY));
    assert!(op(BinaryOp::Multiply, infinite, about(0.0)).is_anything());
    assert!(op(BinaryOp::Multiply, infinite, Ball::exact(0.0)).is_nan());
    assert!(op(BinaryOp::Divide, about(0.05), Ball::exact(0.0)).is_anything());
    assert_eq!(op(BinaryOp::Divide, about(-2.0), Ball::exact(0.0)), Ball::exact(f64::NEG_INFINITY));
    assert_eq!(op(BinaryOp::Divide, about(5.0), infinite).value, 0.0);
}

#[test]
fn a_product_that_overflows_is_infinite_unless_a_sum_takes_it_unrounded() {
    let huge = op(BinaryOp::Multiply, Ball::exact(HUGE), Ball::exact(HUGE));
    let infinite = Ball::exact(f64::INFINITY);
    assert_eq!(huge.held(), infinite);
    assert_eq!(op(BinaryOp::Multiply, huge, Ball::exact(1e-30)), infinite);
    assert_eq!(op(BinaryOp::Add, huge, about(1.0)), infinite);
    assert_eq!(call(Math::Min, &[huge, infinite]), infinite);
    assert!(op(BinaryOp::Subtract, infinite, infinite).is_nan());
    assert!(op(BinaryOp::Subtract, huge, infinite).is_anything(), "none where it is rounded, infinite where it is not");
    assert!(
        op(BinaryOp::Subtract, op(BinaryOp::Multiply, about(2.5e19), about(2e19)), Ball::exact(3e38)).is_anything()
    );
}

#[test]
fn of_two_zeros_the_greater_may_have_either_sign() {
    let zero = call(Math::Max, &[Ball::exact(0.0), Ball::exact(-0.0)]);
    assert!(zero.error > 0.0 && call(Math::Recip, &[zero]).is_anything());
}

#[test]
fn the_short_form_of_one_plus_a_function_keeps_its_digits_where_the_sum_cancels() {
    let x = Expr::Variable("x".to_owned());
    for (function, at) in [(Math::Tanh, -5.0), (Math::Erf, -2.5)] {
        let one = Box::new(Expr::Literal(1.0));
        let sum = Expr::Binary(BinaryOp::Add, one, Box::new(Expr::Call(function, vec![x.clone()])));
        let ball = |precision| eval(&sum, precision, &|_| Ball::exact(at));
        let (full, short) = (ball(Precision::Full), ball(Precision::Short));
        assert_eq!(full.value, short.value);
        assert!(short.error >= full.error && short.error < full.error + 1e-4 * short.value, "{full:?} {short:?}");
    }
}

#[test]
fn a_short_reciprocal_of_one_plus_an_exponential_is_zero_below_the_least_number_with_all_digits() {
    let [of, x] = ["of", "x"].map(|name| Box::new(Expr::Variable(name.to_owned())));
    let exp = Box::new(Expr::Call(Math::Exp, vec![*x]));
    let sum = Expr::Binary(BinaryOp::Add, Box::new(Expr::Literal(1.0)), exp);
    let quotient = Expr::Binary(BinaryOp::Divide, of, Box::new(sum));
    let ball = |precision, of, x| eval(&quotient, precision, &|name| Ball::exact(if name == "of" { of } else { x }));
    let (full, short) = (ball(Precision::Full, -87.9, 87.9), ball(Precision::Short, -87.9, 87.9));
    assert!(full.error < 1e-4 * full.value.abs() && short.error > short.value.abs(), "{full:?} {short:?}");
    let (full, short) = (ball(Precision::Full, 3.0, 80.0), ball(Precision::Short, 3.0, 80.0));
    assert!(short.error < 1e-4 * short.value && full.value == short.value, "{full:?} {short:?}");
    let infinite = f64::INFINITY;
    assert!(ball(Precision::Short, infinite, 87.9).is_anything(), "infinite, or infinite times zero");
    assert!(ball(Precision::Short, infinite, 1000.0).is_nan() && ball(Precision::Short, -infinite, infinite).is_nan());
    assert_eq!(ball(Precision::Short, infinite, 1.0), Ball::exact(infinite));
}

#[test]
fn what_is_rounded_to_whole_numbers_or_divided_with_a_remainder_holds_both_sides_of_a_jump() {
    let numbers = [-2.5, -1.05, -0.3, 0.0, 0.02, 0.75, 0.96, 3.0, 1e9];
    let off = [-0.1f32, -0.06, 0.0, 0.05, 0.1];
    for x in numbers {
        for function in [Math::Floor, Math::Ceil, Math::Trunc, Math::RoundTiesEven] {
            let ball = call(function, &[about(x)]);
            for found in off.map(|by| function.eval(&[x as f32 + by])) {
                assert!(
                    (f64::from(found) - ball.value).abs() <= ball.error,
                    "{function:?} of {x}: {found}, not {ball:?}"
                );
            }
        }
        for y in [0.75, -2.0, 5.0, -0.3] {
            let ball = op(BinaryOp::Remainder, about(x), about(y));
            for (by, other) in off.into_iter().flat_map(|by| off.map(|other| (by, other))) {
                let found = f64::from((x as f32 + by) % (y as f32 + other));
                assert!((found - ball.value).abs() <= ball.error + 1e-6, "{x} % {y}: {found}, not {ball:?}");
            }
        }
    }
    assert_eq!(call(Math::Floor, &[Ball::exact(2.5)]), Ball::exact(2.0));
    assert_eq!(op(BinaryOp::Remainder, Ball::exact(-5.5), Ball::exact(2.0)), Ball::exact(-1.5));
    assert_eq!(op(BinaryOp::Remainder, Ball::exact(-5.5), Ball::exact(f64::INFINITY)), Ball::exact(-5.5));
    assert!(op(BinaryOp::Remainder, Ball::exact(f64::INFINITY), about(2.0)).is_nan());
    assert!(op(BinaryOp::Remainder, about(1.0), Ball::exact(0.0)).is_nan());
    assert!(op(BinaryOp::Remainder, about(1.0), about(0.05)).is_anything());
    assert_eq!(call(Math::Ceil, &[Ball::exact(f64::NEG_INFINITY)]), Ball::exact(f64::NEG_INFINITY));
}
