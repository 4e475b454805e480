//! The layer against fp64: prompts, and tokens behind them, of sequences of different lengths.

use autokernel::{Arch, Device, Emulation, Matrix, Result};
use transformer_layer::cache::{Cache, Prompt, Rotation, Step};
use transformer_layer::check::{Errors, THETA, errors};
use transformer_layer::kernels;
use transformer_layer::layer::{Layer, Scratch};
use transformer_layer::sizes::Sizes;
use transformer_layer::stream::Stream;
use transformer_layer::weights::{Weights, random_tokens};

/// A value that is rounded to bf16 loses 2⁻⁸ of itself at most, and 2⁻⁸ / √3 in the mean. Seven times what is added to the tokens is
/// rounded: both weights that a norm's is in, queries with keys and values, those turned, attention's weights, its result and the hidden
/// values; and twice the stream, which is up to twice as large.
const LARGEST_ERROR: f64 = 3.873 / 256.0 / 1.732; // √(7 + 2 · 2²)

fn check(device: &Device, sizes: Sizes, prompts: &[usize]) -> Result<()> {
    let weights = Weights::random(sizes, 1);
    let layer = Layer::new(device, sizes, &weights)?;
    let Errors { prefill, decode } = errors(device, sizes, &weights, &layer, prompts)?;
    println!("{sizes:?} behind {prompts:?} on {device}: {prefill:.1e} and {decode:.1e}");
    assert!((1e-3..LARGEST_ERROR).contains(&decode) && prefill < LARGEST_ERROR, "{prefill} {decode}");
    Ok(())
}

#[test]
fn prompts_and_tokens_behind_them_are_those_of_fp64_on_the_best_device() -> Result<()> {
    let device = Device::best();
    check(&device, Sizes::SMALL, &[9, 1, 0, 70])?;
    check(&device, Sizes { features: 200, heads: 3, groups: 1, hidden: 136 }, &[5])?;
    check(&device, Sizes { features: 64, heads: 2, groups: 2, hidden: 72 }, &[0, 17, 3])
}

#[test]
fn the_kernels_themselves_are_right_on_an_emulated_hopper() -> Result<()> {
    if let Some(reason) = &kernels::project::KERNEL.descriptor()?.not_compiled {
        println!("skipped: {reason}");
        return Ok(());
    }
    let device = Device::emulated_with(Emulation::new(Arch::SM_90A).seed(3))?;
    check(&device, Sizes { features: 128, heads: 4, groups: 2, hidden: 136 }, &[7, 0, 66])
}

#[test]
fn a_scratch_of_other_tokens_is_refused_and_the_cache_stays_as_it_is() -> Result<()> {
    let (device, sizes, tokens) = (Device::cpu(), Sizes::SMALL, 3);
    let layer = Layer::new(&device, sizes, &Weights::random(sizes, 1))?;
    let mut cache = Cache::new(&device, sizes, 1, tokens)?;
    let (prompt, rotation) =
        (Prompt::new(&device, sizes, &cache, 0, 0, tokens)?, Rotation::new(&device, tokens, THETA)?);
    let x = Matrix::from_slice(&device, &random_tokens(tokens, sizes.features, 2), tokens, sizes.features)?;
    let (input, mut out) = (Stream::new(x)?, Stream::zeros(&device, tokens, sizes.features)?);
    let mut scratch = Scratch::zeros(&device, sizes, tokens + 1)?;
    let refused = layer.prefill(&input, &prompt, &rotation, &mut cache, &mut scratch, &mut out).unwrap_err();
    assert!(refused.to_string().contains("`qkv`"), "{refused}");
    assert!(cache.tokens.to_vec()?.iter().all(|value| value.to_f32() == 0.0));
    Ok(())
}

#[test]
fn tokens_that_the_cache_has_no_room_for_are_refused() -> Result<()> {
    let (device, sizes) = (Device::cpu(), Sizes::SMALL);
    let cache = Cache::new(&device, sizes, 2, 8)?;
    assert!(Prompt::new(&device, sizes, &cache, 1, 3, 5).is_ok() && Step::new(&device, sizes, &cache, &[7, 0]).is_ok());
    let prompts = [(2, 0, 1), (1, 4, 5), (0, usize::MAX, 1)];
    assert!(
        prompts.iter().all(|&(at, cached, tokens)| Prompt::new(&device, sizes, &cache, at, cached, tokens).is_err())
    );
    for cached in [&[7, 8][..], &[7], &[1, 2, 3]] {
        assert!(Step::new(&device, sizes, &cache, cached).is_err(), "{cached:?}");
    }
    Ok(())
}
