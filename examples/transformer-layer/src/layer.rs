//! The layer: what it launches, in which order, on which memory.

use autokernel::{Device, HeadsView, HeadsViewMut, Matrix, Result, bf16};

use crate::cache::{Cache, Places, Prompt, Rotation, Step};
use crate::kernels::{add, add_few, attend, attend_step, gate, project, rotate, scale_of};
use crate::sizes::{EPS, Sizes};
use crate::stream::Stream;
use crate::weights::{Weights, with_norm};

/// Tokens of which a norm is a kernel of its own: measured at 16, where that is faster, and at 4096, where it is slower.
const FEW: usize = 32;

/// The weights of a layer on a device, those of norms in the matrices behind them.
pub struct Layer {
    /// Of the weights.
    pub sizes: Sizes,
    /// Of queries, keys and values, one below the other.
    pub qkv: Matrix<bf16>,
    /// Of the projection behind attention.
    pub output: Matrix<bf16>,
    /// Of the gate, and of what it gates below it: the kernel takes views.
    pub gate_and_up: Matrix<bf16>,
    /// Of the product that leads back.
    pub down: Matrix<bf16>,
}

/// What a layer writes on its way, for as many tokens; any layer of these sizes may use it next.
pub struct Scratch {
    qkv: Matrix<bf16>,
    queries: Matrix<bf16>,
    attended: Matrix<bf16>,
    between: Stream,
    hidden: Matrix<bf16>,
}

impl Scratch {
    /// For so many tokens.
    ///
    /// # Errors
    /// The device's memory does not suffice.
    pub fn zeros(device: &Device, sizes: Sizes, tokens: usize) -> Result<Self> {
        let matrix = |columns| Matrix::zeros(device, tokens, columns);
        Ok(Self {
            qkv: matrix(sizes.of_qkv())?,
            queries: matrix(sizes.of_queries())?,
            attended: matrix(sizes.of_queries())?,
            between: Stream::zeros(device, tokens, sizes.features)?,
            hidden: matrix(sizes.hidden)?,
        })
    }
}

impl Layer {
    /// Copies the weights to a device.
    ///
    /// # Errors
    /// They are not of these sizes, or the device's memory does not suffice.
    pub fn new(device: &Device, sizes: Sizes, weights: &Weights) -> Result<Self> {
        let Sizes { features, hidden, .. } = sizes;
        let of_norm = |weights, norm, rows| Matrix::from_slice(device, &with_norm(weights, norm), rows, features);
        Ok(Self {
            sizes,
            qkv: of_norm(&weights.qkv, &weights.attention_norm, sizes.of_qkv())?,
            output: Matrix::from_slice(device, &weights.output, features, sizes.of_queries())?,
            gate_and_up: of_norm(&weights.gate_and_up, &weights.feed_forward_norm, 2 * hidden)?,
            down: Matrix::from_slice(device, &weights.down, features, hidden)?,
        })
    }

    /// `out` is what the layer makes of tokens of one sequence, and the cache has their keys and values.
    ///
    /// # Errors
    /// A size does not fit, or a launch fails.
    pub fn prefill(
        &self,
        input: &Stream,
        prompt: &Prompt,
        rotation: &Rotation,
        cache: &mut Cache,
        scratch: &mut Scratch,
        out: &mut Stream,
    ) -> Result<()> {
        self.begin(input, &prompt.places, rotation, cache, scratch)?;
        let Sizes { heads, groups, .. } = self.sizes;
        let first = prompt.sequence * cache.capacity;
        let [keys, values] = cache.rows(first..first + prompt.length, 1, groups)?;
        attend::launch(
            HeadsView::of_tokens(scratch.queries.view(), 1, heads)?,
            keys,
            values,
            HeadsViewMut::of_tokens(scratch.attended.view_mut(), 1, heads)?,
        )?;
        self.finish(input, scratch, out)
    }

    /// The same of the next token of each sequence.
    ///
    /// # Errors
    /// As [`prefill`](Self::prefill).
    pub fn decode(
        &self,
        input: &Stream,
        step: &Step,
        rotation: &Rotation,
        cache: &mut Cache,
        scratch: &mut Scratch,
        out: &mut Stream,
    ) -> Result<()> {
        self.begin(input, &step.places, rotation, cache, scratch)?;
        let Sizes { heads, groups, .. } = self.sizes;
        let sequences = cache.sequences;
        let [keys, values] = cache.rows(0..sequences * cache.capacity, sequences, groups)?;
        attend_step::launch(
            HeadsView::of_tokens(scratch.queries.view(), sequences, heads)?,
            keys,
            values,
            &step.lengths,
            HeadsViewMut::of_tokens(scratch.attended.view_mut(), sequences, heads)?,
        )?;
        self.finish(input, scratch, out)
    }

    /// Up to attention: queries in the scratch, keys and values in the cache.
    fn begin(
        &self,
        input: &Stream,
        places: &Places,
        rotation: &Rotation,
        cache: &mut Cache,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Scratch { qkv, queries, .. } = scratch;
        project(&input.x, &self.qkv, &input.scale, qkv)?;
        let (tokens, of_queries, width) = (input.x.nrows(), self.sizes.rows_of_queries(), self.sizes.of_keys());
        let slots = 2 * cache.tokens.nrows();
        rotate::launch(
            qkv.view().reshaped(tokens * (of_queries + 2), width)?,
            &rotation.cosines,
            &rotation.sines,
            &places.positions,
            &places.to_queries,
            &places.to_cache,
            queries.view_mut().reshaped(tokens * of_queries, width)?,
            cache.tokens.view_mut().reshaped(slots, width)?,
        )
    }

    /// From attention on.
    fn finish(&self, input: &Stream, scratch: &mut Scratch, out: &mut Stream) -> Result<()> {
        let Scratch { attended, between, hidden, .. } = scratch;
        add_back(attended, &self.output, &input.x, between)?;
        let (weights, width) = (self.gate_and_up.view(), self.sizes.hidden);
        gate::launch(&between.x, weights.rows(..width)?, weights.rows(width..)?, &between.scale, hidden.view_mut())?;
        add_back(hidden, &self.down, &between.x, out)
    }
}

/// `out = skip + x · wᵀ`, with the scale of the norm that follows.
fn add_back(x: &Matrix<bf16>, w: &Matrix<bf16>, skip: &Matrix<bf16>, out: &mut Stream) -> Result<()> {
    if x.nrows() <= FEW {
        add_few(x, w, skip, &mut out.x)?;
        return scale_of(&out.x, EPS, &mut out.scale);
    }
    add(x, w, skip, EPS, &mut out.x, &mut out.scale)
}
