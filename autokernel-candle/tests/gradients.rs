//! Gradients through each operation in bf16 against those of candle's own operations in f32.
#![cfg(feature = "gradients")]

mod common;

use autokernel_candle::ops::{Activation, add_rms_norm, layer_norm, linear, rms_norm, silu_mul, softmax, swiglu};
use autokernel_candle::{Mask, attention};
use candle_core::{DType, Result, Shape, Tensor, Var};
use common::{assert_close, random, wide};

/// The gradients of a weighted sum of what `operation` gives, in `dtype`, towards tensors of these shapes.
fn gradients(shapes: &[Shape], dtype: DType, operation: &dyn Fn(&[Tensor]) -> Result<Tensor>) -> Result<Vec<Tensor>> {
    // Of bf16 first, so that both types have the same numbers.
    let of =
        |(seed, shape): (usize, &Shape)| Var::from_tensor(&random(shape, DType::BF16, seed as u64).to_dtype(dtype)?);
    let variables: Vec<Var> = shapes.iter().enumerate().map(of).collect::<Result<_>>()?;
    let inputs: Vec<Tensor> = variables.iter().map(|variable| variable.as_tensor().clone()).collect();
    let out = operation(&inputs)?;
    let weights = random(out.shape(), DType::BF16, 99).to_dtype(dtype)?;
    let store = (out * weights)?.sum_all()?.backward()?;
    Ok(inputs.iter().map(|input| store.get(input).expect("each input has one").clone()).collect())
}

fn check(name: &str, shapes: &[Shape], operation: &dyn Fn(&[Tensor]) -> Result<Tensor>) {
    let ours = gradients(shapes, DType::BF16, operation).unwrap();
    let candles = gradients(shapes, DType::F32, operation).unwrap();
    for (ours, candles) in ours.iter().zip(&candles) {
        println!("{name}: {:?}", ours.shape());
        // Rounded on the way, where candle in f32 rounds nothing: three times.
        let apart = (wide(ours) - candles).unwrap().abs().unwrap();
        let scale = candles.abs().unwrap().flatten_all().unwrap().max(0).unwrap().to_scalar::<f32>().unwrap();
        let most = apart.flatten_all().unwrap().max(0).unwrap().to_scalar::<f32>().unwrap();
        assert!(most <= 3.0 * scale / 256.0, "{name}: {most} of {scale}");
    }
}

#[test]
fn gradients_through_each_operation_are_those_of_candles_own() {
    let shape = |dims: &[usize]| Shape::from(dims.to_vec());
    let (x, w, n) = (shape(&[2, 3, 20]), shape(&[11, 20]), shape(&[11]));
    check("linear", &[x.clone(), w.clone()], &|t| linear(&t[0], &t[1], None, Activation::Identity));
    for activation in [Activation::Identity, Activation::Gelu, Activation::GeluErf, Activation::Silu] {
        let biased = |t: &[Tensor]| linear(&t[0], &t[1], Some(&t[2]), activation);
        check("linear with a bias", &[x.clone(), w.clone(), n.clone()], &biased);
    }
    check("swiglu", &[x.clone(), w.clone(), w.clone()], &|t| swiglu(&t[0], &t[1], &t[2]));
    check("silu_mul", &[x.clone(), x.clone()], &|t| silu_mul(&t[0], &t[1]));
    check("softmax", std::slice::from_ref(&x), &|t| softmax(&t[0]));
    check("rms_norm", &[x.clone(), shape(&[20])], &|t| rms_norm(&t[0], &t[1], 1e-5));
    check("layer_norm", &[x.clone(), shape(&[20]), shape(&[20])], &|t| layer_norm(&t[0], &t[1], &t[2], 1e-5));
    let residual = |t: &[Tensor]| add_rms_norm(&t[0], &t[1], &t[2], 1e-5).and_then(|(sum, normed)| sum + normed);
    check("add_rms_norm", &[x.clone(), x, shape(&[20])], &residual);
    let heads = |groups| shape(&[1, groups, 4, 64]);
    check("attention", &[heads(2), heads(1), heads(1)], &|t| attention(&t[0], &t[1], &t[2], Mask::Causal));
}

#[test]
fn what_is_trained_gives_what_is_not() {
    let (x, w) = (random((5, 20), DType::BF16, 1), random((11, 20), DType::BF16, 2));
    let trained = Var::from_tensor(&x).unwrap();
    let plain = linear(&x, &w, None, Activation::Gelu).unwrap();
    assert_close(&linear(&trained, &w, None, Activation::Gelu).unwrap(), &wide(&plain));
}
