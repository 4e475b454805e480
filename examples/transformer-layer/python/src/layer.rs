//! A layer on the caller's memory, ready to run.

use std::ffi::c_int;
use std::slice;

use autokernel::Result;
use transformer_layer::cache::{Cache, Prompt, Rotation, Step};
use transformer_layer::layer::{Layer, Scratch};
use transformer_layer::sizes::Sizes;
use transformer_layer::stream::Stream;

use crate::borrowed::{column, matrix};
use crate::error::{handed_out, status};
use crate::session::Session;

/// Addresses of bf16 weights, `[out, in]`, with those of norms in the columns of `qkv` and `gate_and_up`.
#[repr(C)]
pub struct Weights {
    qkv: u64,
    output: u64,
    gate_and_up: u64,
    down: u64,
}

/// Addresses of tokens, `[tokens, features]` of bf16, and of an f32 for each, as [`Stream`] has them.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Tokens {
    x: u64,
    scale: u64,
}

/// Sizes of a layer, in the order of [`Sizes`].
#[repr(C)]
#[derive(Clone, Copy)]
pub struct LayerSizes {
    features: usize,
    heads: usize,
    groups: usize,
    hidden: usize,
}

/// Tokens in the caller's memory that a layer takes, and where it writes.
pub struct LayerRun {
    layer: &'static Layer,
    input: Stream,
    what: What,
    rotation: Rotation,
    cache: Cache,
    scratch: Scratch,
    out: Stream,
}

enum What {
    Prefill(Prompt),
    Decode(Step),
}

impl LayerRun {
    fn launch(&mut self) -> Result<()> {
        let LayerRun { layer, input, what, rotation, cache, scratch, out } = self;
        match what {
            What::Prefill(prompt) => layer.prefill(input, prompt, rotation, cache, scratch, out),
            What::Decode(step) => layer.decode(input, step, rotation, cache, scratch, out),
        }
    }
}

/// # Safety
/// As [`transformer_layer_new`].
unsafe fn layer(session: &Session, sizes: LayerSizes, weights: &Weights) -> Result<Layer> {
    let sizes = Sizes::from(sizes);
    // SAFETY: by the caller's promise.
    let matrix = |address, rows, columns| unsafe { matrix(session, address, rows, columns) };
    let Weights { qkv, output, gate_and_up, down } = *weights;
    Ok(Layer {
        sizes,
        qkv: matrix(qkv, sizes.of_qkv(), sizes.features)?,
        output: matrix(output, sizes.features, sizes.of_queries())?,
        gate_and_up: matrix(gate_and_up, 2 * sizes.hidden, sizes.features)?,
        down: matrix(down, sizes.features, sizes.hidden)?,
    })
}

/// # Safety
/// At both addresses there is memory for so many tokens, as [`matrix`] asks for.
unsafe fn stream(session: &Session, tokens: Tokens, count: usize, features: usize) -> Result<Stream> {
    // SAFETY: by the caller's promise.
    unsafe {
        Ok(Stream { x: matrix(session, tokens.x, count, features)?, scale: column(session, tokens.scale, count) })
    }
}

impl From<LayerSizes> for Sizes {
    fn from(LayerSizes { features, heads, groups, hidden }: LayerSizes) -> Self {
        Sizes { features, heads, groups, hidden }
    }
}

/// A layer.
///
/// # Safety
/// `session` was handed out; the weights are of these sizes, in memory of its GPU, for as long as the process runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn transformer_layer_new(
    session: &'static Session,
    sizes: LayerSizes,
    weights: &Weights,
) -> *mut Layer {
    // SAFETY: by the caller's promise.
    handed_out(unsafe { layer(session, sizes, weights) })
}

/// The prompt of a sequence, which fills a cache of its own.
///
/// # Safety
/// `session` and `layer` were handed out; `input` and `out` are of so many tokens, `cache` has as many rows of keys and values, all in
/// memory of the session's GPU for as long as the process runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn transformer_layer_prefill(
    session: &'static Session,
    layer: &'static Layer,
    tokens: usize,
    theta: f64,
    input: Tokens,
    cache: u64,
    out: Tokens,
) -> *mut LayerRun {
    let what = |cache: &Cache| Prompt::new(&session.device, layer.sizes, cache, 0, 0, tokens).map(What::Prefill);
    // SAFETY: by the caller's promise.
    handed_out(unsafe { run(session, layer, [1, tokens, tokens], theta, input, cache, out, what) })
}

/// The next token of each of some sequences, whose cache has `capacity` rows of keys and values for each, as many as `cached` of them in
/// use.
///
/// # Safety
/// As [`transformer_layer_prefill`], with a token for each sequence and a cache of `sequences * capacity` rows; `cached` points to a number
/// for each sequence.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn transformer_layer_decode(
    session: &'static Session,
    layer: &'static Layer,
    sequences: usize,
    capacity: usize,
    cached: *const usize,
    theta: f64,
    input: Tokens,
    cache: u64,
    out: Tokens,
) -> *mut LayerRun {
    // SAFETY: by the caller's promise.
    let cached = unsafe { slice::from_raw_parts(cached, sequences) };
    let what = |cache: &Cache| Step::new(&session.device, layer.sizes, cache, cached).map(What::Decode);
    // SAFETY: by the caller's promise.
    handed_out(unsafe { run(session, layer, [sequences, capacity, sequences], theta, input, cache, out, what) })
}

/// # Safety
/// As those above; the cache is of so many sequences of such a capacity, and the tokens are as many.
#[allow(clippy::too_many_arguments, reason = "what crosses the C interface, one by one")]
unsafe fn run(
    session: &Session,
    layer: &'static Layer,
    [sequences, capacity, tokens]: [usize; 3],
    theta: f64,
    input: Tokens,
    cache: u64,
    out: Tokens,
    what: impl FnOnce(&Cache) -> Result<What>,
) -> Result<LayerRun> {
    let (device, sizes) = (&session.device, layer.sizes);
    // SAFETY: by the caller's promise.
    let (input, out, rows) = unsafe {
        (
            stream(session, input, tokens, sizes.features)?,
            stream(session, out, tokens, sizes.features)?,
            matrix(session, cache, sequences * capacity, 2 * sizes.of_keys())?,
        )
    };
    let cache = Cache { tokens: rows, sequences, capacity };
    let (what, rotation) = (what(&cache)?, Rotation::new(device, capacity, theta)?);
    let scratch = Scratch::zeros(device, sizes, tokens)?;
    Ok(LayerRun { layer, input, what, rotation, cache, scratch, out })
}

/// Launches all of it on the session's stream, and waits for nothing: into a graph, where that is captured.
///
/// # Safety
/// `run` was handed out, and no other thread uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn transformer_layer_run(run: &mut LayerRun) -> c_int {
    status(run.launch())
}
