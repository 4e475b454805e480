//! Each operation against candle's own in f32, on the CPU: shapes of every kind, strides, offsets, what falls back.

mod common;

use autokernel_candle::ops::{Activation, add_rms_norm, layer_norm, linear, rms_norm, silu_mul, softmax, swiglu};
use autokernel_candle::{Linear, Mask, attention};
use candle_core::{D, DType, Device, Module, Result, Tensor};
use common::{assert_close, assert_near, random, wide};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const ACTIVATIONS: [Activation; 5] =
    [Activation::Identity, Activation::Gelu, Activation::GeluErf, Activation::Silu, Activation::Relu];

fn types() -> impl Strategy<Value = DType> {
    prop_oneof![Just(DType::BF16), Just(DType::F16), Just(DType::F32)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_linear_layer_is_candles_whatever_its_shape_type_bias_and_activation(
        dtype in types(), batch in 1usize..3, m in 1usize..20, n in 1usize..40, k in 1usize..40,
        activation in prop::sample::select(&ACTIVATIONS[..]), biased: bool,
    ) {
        let (x, w) = (random((batch, m, k), dtype, 1), random((n, k), dtype, 2));
        let bias = biased.then(|| random(n, dtype, 3));
        let ours = linear(&x, &w, bias.as_ref(), activation).unwrap();
        let theirs = candle_nn::Linear::new(wide(&w), bias.as_ref().map(wide)).forward(&wide(&x)).unwrap();
        prop_assert_eq!(ours.dims(), [batch, m, n]);
        assert_close(&ours, &activation.forward(&theirs).unwrap());
    }

    #[test]
    fn gates_and_norms_are_candles(dtype in types(), m in 1usize..20, n in 1usize..70, k in 1usize..40) {
        let (x, gate, up) = (random((m, k), dtype, 1), random((n, k), dtype, 2), random((n, k), dtype, 3));
        let product = |w: &Tensor| wide(&x).matmul(&wide(w).t().unwrap()).unwrap();
        let gated = (product(&gate).silu().unwrap() * product(&up)).unwrap();
        assert_close(&swiglu(&x, &gate, &up).unwrap(), &gated);
        assert_close(&silu_mul(&gate, &up).unwrap(), &(wide(&gate).silu().unwrap() * wide(&up)).unwrap());

        let (skip, weight, bias) = (random((m, k), dtype, 4), random(k, dtype, 5), random(k, dtype, 6));
        let normed = |x: &Tensor| candle_nn::ops::rms_norm_slow(x, &wide(&weight), 1e-5).unwrap();
        assert_close(&rms_norm(&x, &weight, 1e-5).unwrap(), &normed(&wide(&x)));
        let (sum, of_sum) = add_rms_norm(&x, &skip, &weight, 1e-5).unwrap();
        let expected = (wide(&x) + wide(&skip)).unwrap();
        assert_close(&sum, &expected);
        assert_close(&of_sum, &normed(&expected));
        let expected = candle_nn::ops::layer_norm_slow(&wide(&x), &wide(&weight), &wide(&bias), 1e-5).unwrap();
        assert_close(&layer_norm(&x, &weight, &bias, 1e-5).unwrap(), &expected);
        assert_close(&softmax(&x).unwrap(), &candle_nn::ops::softmax(&wide(&x), D::Minus1).unwrap());
    }

    #[test]
    fn attention_is_candles_for_heads_that_share_keys_caches_and_both_masks(
        dtype in types(), dim in prop::sample::select(vec![64usize, 128, 32]), groups in 1usize..3, shared in 1usize..3,
        queries in 1usize..9, cached in 0usize..5, causal: bool,
    ) {
        let keys = queries + cached;
        // Heads side by side in the row of a token, as a projection gives them.
        let heads = |count: usize, tokens: usize, seed| {
            random((2, tokens, count, dim), dtype, seed).transpose(1, 2).unwrap()
        };
        let (q, k, v) = (heads(groups * shared, queries, 1), heads(groups, keys, 2), heads(groups, keys, 3));
        let mask = if causal { Mask::Causal } else { Mask::None };
        // In f32 there is no kernel.
        let expected = attention(&wide(&q), &wide(&k), &wide(&v), mask).unwrap();
        // candle rounds scores and weights, too.
        let units = if dim == 32 { 8.0 } else { 2.0 };
        assert_near(&attention(&q, &k, &v, mask).unwrap(), &expected, units);
    }
}

#[test]
fn attention_in_f32_is_its_definition() -> Result<()> {
    let (q, k) = (random((1, 2, 3, 64), DType::F32, 1), random((1, 1, 5, 64), DType::F32, 2));
    let out = attention(&q, &k, &k, Mask::Causal)?.to_vec3_of(0)?;
    let (q, k) = (q.get(0)?.to_vec3::<f32>()?, k.get(0)?.get(0)?.to_vec2::<f32>()?);
    for (head, query) in [(0, 0), (1, 1), (1, 2)] {
        let seen = &k[..query + 3];
        let score = |k: &Vec<f32>| f64::from(k.iter().zip(&q[head][query]).map(|(k, q)| k * q).sum::<f32>()) / 8.0;
        let weights: Vec<f64> = seen.iter().map(|k| score(k).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let expected: f64 = seen.iter().zip(&weights).map(|(k, weight)| f64::from(k[7]) * weight / sum).sum();
        assert!((f64::from(out[head][query][7]) - expected).abs() < 1e-5, "head {head}, query {query}");
    }
    Ok(())
}

#[test]
fn a_query_that_sees_no_key_gives_zeros_by_kernels_and_by_candles_operations_and_when_it_is_trained() -> Result<()> {
    // In f32, and of heads of 32 elements, there is no kernel.
    for (dtype, dim) in [(DType::BF16, 64), (DType::F32, 64), (DType::BF16, 32)] {
        let (q, k) = (random((1, 2, 5, dim), dtype, 1), random((1, 1, 3, dim), dtype, 2));
        let trained = candle_core::Var::from_tensor(&q)?;
        let seeing = attention(&q.narrow(2, 2, 3)?, &k, &k, Mask::Causal)?;
        for q in [&q, trained.as_tensor()] {
            let out = attention(q, &k, &k, Mask::Causal)?;
            assert_close(&out.narrow(2, 0, 2)?, &Tensor::zeros((1, 2, 2, dim), DType::F32, &Device::Cpu)?);
            // candle rounds scores and weights, too.
            assert_near(&out.narrow(2, 2, 3)?, &wide(&seeing), 8.0);
        }
        let gradients = wide(&attention(trained.as_tensor(), &k, &k, Mask::Causal)?).sqr()?.sum_all()?.backward()?;
        let of_q = wide(gradients.get(&trained).unwrap()).flatten_all()?.to_vec1::<f32>()?;
        assert!(of_q.iter().all(|value| value.is_finite()), "{dtype:?}: {of_q:?}");

        let none = Tensor::zeros((1, 1, 0, dim), dtype, &Device::Cpu)?;
        for mask in [Mask::None, Mask::Causal] {
            let out = attention(&q, &none, &none, mask)?;
            assert_close(&out, &Tensor::zeros((1, 2, 5, dim), DType::F32, &Device::Cpu)?);
        }
    }
    Ok(())
}

/// The elements of one of a batch.
trait OfABatch {
    fn to_vec3_of(&self, number: usize) -> Result<Vec<Vec<Vec<f32>>>>;
}

impl OfABatch for Tensor {
    fn to_vec3_of(&self, number: usize) -> Result<Vec<Vec<Vec<f32>>>> {
        self.get(number)?.to_vec3::<f32>()
    }
}

#[test]
fn tensors_that_do_not_lie_in_rows_are_copied_and_those_that_do_are_not_asked_to() -> Result<()> {
    let x = random((6, 10), DType::BF16, 1);
    let w = random((7, 6), DType::BF16, 2);
    let expected = wide(&x.t()?.contiguous()?).matmul(&wide(&w).t()?)?;
    assert_close(&linear(&x.t()?, &w, None, Activation::Identity)?, &expected);
    let columns = random((9, 24), DType::BF16, 3).narrow(1, 5, 6)?;
    assert_close(&Linear::new(w.clone(), None).forward(&columns)?, &wide(&columns).matmul(&wide(&w).t()?)?);
    assert_close(&softmax(&columns)?, &candle_nn::ops::softmax(&wide(&columns), D::Minus1)?);
    Ok(())
}

#[test]
fn tensors_without_elements_and_of_other_types_go_to_candle() -> Result<()> {
    let w = random((7, 6), DType::F64, 2);
    let x = random((3, 6), DType::F64, 1);
    assert_eq!(linear(&x, &w, None, Activation::Relu)?.dtype(), DType::F64);
    let none = Tensor::zeros((0, 6), DType::BF16, &Device::Cpu)?;
    assert_eq!(silu_mul(&none, &none)?.dims(), [0, 6]);
    Ok(())
}

#[test]
fn shapes_that_do_not_fit_are_refused_with_the_names_of_the_kernels_parameters() {
    let (x, w) = (random((3, 6), DType::BF16, 1), random((7, 5), DType::BF16, 2));
    let message = linear(&x, &w, None, Activation::Identity).unwrap_err().to_string();
    assert!(message.contains("linear") && message.contains('6') && message.contains('5'), "{message}");
    let of = |x: &Tensor, w: &Tensor| linear(x, w, None, Activation::Identity).unwrap_err().to_string();
    let message = of(&random((), DType::BF16, 1), &w);
    assert!(message.contains("[] is no input of [.., in]"), "{message}");
    let message = swiglu(&random((), DType::BF16, 1), &w, &w).unwrap_err().to_string();
    assert!(message.contains("[] is no input of [.., in]"), "{message}");
    let message = of(&x, &random(6, DType::BF16, 2));
    assert!(message.contains("[6] is no weight of [out, in]"), "{message}");
    let message = rms_norm(&x, &random(5, DType::BF16, 3), 1e-5).unwrap_err().to_string();
    assert!(message.contains("rms_norm") && message.contains("weight"), "{message}");
    let message = swiglu(&x, &random(6, DType::BF16, 4), &w).unwrap_err().to_string();
    assert!(message.contains("[out, in]"), "{message}");
}
