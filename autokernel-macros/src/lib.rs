//! The attributes of autokernel. Use them through the `autokernel` crate, which documents them.

mod attention;
mod body;
mod dependency;
mod descriptor;
mod docs;
mod editor;
mod expand;
mod function;
mod fused;
mod kernels;
mod names;
mod parts;
mod product;
mod routing;
mod rows;

use proc_macro::TokenStream;

/// Marks a function that bodies of [`macro@rows`] and [`macro@fused_matmul`] may call, and others that are marked.
///
/// ```ignore
/// use autokernel::{Matrix, Row, bf16};
///
/// #[autokernel::function]
/// fn hard_swish(x: f32, limit: f32) -> f32 {
///     let gate = (x + 3.0).max(0.0).min(limit);
///     if gate > 0.0 { x * gate / limit } else { 0.0 }
/// }
///
/// #[autokernel::fused_matmul]
/// pub fn up(x: &Matrix<bf16>, w: &Matrix<bf16>, bias: &Row<bf16>, out: &mut Matrix<bf16>) {
///     out = hard_swish(dot(x, w.t()) + bias, 6.0);
/// }
/// ```
///
/// It is a plain function of `f32` that gives an `f32`, and holds what a body may hold: `let`, `const`, `if … else`, the
/// functions and epilogues of the language, and calls of other such functions, but of itself, directly or not; no products, no
/// reductions, no outputs. It stays the function that it is, to be called and tested like any other.
///
/// **Where it stands.** In a module of the crate whose kernels call it (not inside a function), in any file that the build
/// script looks at, and where the kernel stands its name is in scope by Rust's rules: `use crate::math::hard_swish;`. It is
/// called by that name alone, not by a path or under another name. The build finds it by its name: two marked functions of one
/// name in one crate are refused where they are called, unless their texts are the same. `#[cfg(feature = "…")]` on it counts
/// as on a kernel; any other condition is taken for true. A kernel asserts when it is compiled that the function which rustc
/// finds is the one which the build compiled for the GPU, text for text, and so are those that it calls.
#[proc_macro_attribute]
pub fn function(arguments: TokenStream, item: TokenStream) -> TokenStream {
    dependency::named_as_here(function::expand(&arguments.into(), item.into())).into()
}

/// Declares a matrix product, `out = a · b`.
///
/// ```ignore
/// use autokernel::{Matrix, bf16};
///
/// #[autokernel::matmul]
/// pub fn project(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);
/// ```
///
/// The settings and the generated items are those of [`macro@fused_matmul`], without an epilogue.
#[proc_macro_attribute]
pub fn matmul(arguments: TokenStream, item: TokenStream) -> TokenStream {
    kernel("matmul", arguments, item)
}

/// Declares a matrix product with what follows it: an epilogue, `out = epilogue(a · b)`, or a body.
///
/// ```ignore
/// use autokernel::{Matrix, bf16};
///
/// #[autokernel::fused_matmul(leaky_relu, transpose_b, n = 14336, k = 4096)]
/// pub fn up(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>);
/// ```
///
/// Such a function has no body: its name, visibility, documentation and parameter types are the declaration.
/// Inputs are `bf16` or `f16`, the output is the same type or `f32`; sums are kept in `f32`. On Hopper and the CPU inputs may be
/// `e4m3` or `e5m2`, 8-bit floats, or `i8`, whole numbers, with `transpose_b`; the output is then `bf16`, `f16` or `f32`. Hopper
/// keeps sums of 8-bit floats with about 14 digits. Sums of whole numbers are whole numbers of 32 bits, exact whatever the schedule,
/// and wrap around beyond 2³¹, which K up to 131072 cannot reach; an epilogue or a body sees them as `f32`, which rounds those
/// beyond 2²⁴ to the nearest.
///
/// Factors of `f32` are multiplied as tf32 on Hopper, where `tf32` stands among the settings: of each the sign, the exponent and the
/// upper 10 bits of the fraction count, the other 13 are ignored, so that a factor loses up to 2⁻¹⁰ of itself. With `transpose_b`, and
/// into `f32`. The CPU multiplies all 24 bits.
///
/// **Epilogues**: `identity`, `relu`, `leaky_relu` (slope 0.01) or `leaky_relu(0.2)`, `gelu` (the erf form),
/// `gelu_tanh`, `silu`, `tanh`, `sigmoid`; names and forms are PyTorch's.
///
/// **Settings**, after the epilogue:
/// - `transpose_b`: `b` is stored as `[n, k]`, as a linear layer's weight is: `out = epilogue(a · bᵀ)`.
/// - `transpose_a`: `a` is stored as `[k, m]`, as for the gradient of a weight: `out = epilogue(aᵀ · b)`. Not of 8-bit floats.
/// - `n = 14336`, `k = 4096`: dimensions that are always the same become compile-time constants; a launch with others
///   is an error.
/// - `tf32`: factors of `f32` are multiplied as tf32.
/// - `T = [bf16, f16]`: [types](macro@rows#for-several-types) of which there is a kernel each.
///
/// **Generated**: the function, which launches and returns `autokernel::Result<()>`, and a module of the same name
/// with `KERNEL` (launch on views and streams, plan, prepare) and `epilogue` (the same function on one `f32`).
///
/// # With a body
///
/// ```ignore
/// use autokernel::{Column, Matrix, Row, bf16};
///
/// #[autokernel::fused_matmul]
/// pub fn up(x: &Matrix<bf16>, w: &Matrix<bf16>, bias: &Row<bf16>, skip: &Matrix<bf16>, out: &mut Matrix<bf16>) {
///     out = gelu(dot(x, w.t()) + bias) + skip;
/// }
///
/// #[autokernel::fused_matmul(n = 4096)]
/// pub fn scaled(x: &Matrix<bf16>, w: &Matrix<bf16>, scale: &Column<f32>, alpha: f32, pre: &mut Matrix<f32>,
///     out: &mut Matrix<bf16>) {
///     let y = alpha * scale * dot(x, w);
///     pre = y;
///     out = if y > 0.0 { y } else { 0.2 * y };
/// }
///
/// #[autokernel::fused_matmul]
/// pub fn swiglu(x: &Matrix<bf16>, gate: &Matrix<bf16>, up: &Matrix<bf16>, out: &mut Matrix<bf16>) {
///     out = silu(dot(x, gate.t())) * dot(x, up.t());
/// }
/// ```
///
/// Factors of 8 bits take their scales as operands, one for all, a row or a column:
///
/// ```ignore
/// #[autokernel::fused_matmul]
/// pub fn quantised(x: &Matrix<e4m3>, w: &Matrix<e4m3>, scale_x: &Column<f32>, scale_w: f32, out: &mut Matrix<bf16>) {
///     out = dot(x, w.t()) * scale_x * scale_w;
/// }
/// ```
///
/// A result that the next product multiplies may leave as 8-bit floats at once, whatever the factors are, so that no kernel converts it
/// between them: the body divides, and the store converts. What the next launch scales by is reduced beside it, row by row:
///
/// ```ignore
/// #[autokernel::fused_matmul]
/// pub fn activated(
///     x: &Matrix<bf16>, w: &Matrix<bf16>, scale: &Column<f32>, out: &mut Matrix<e4m3>, next: &mut Column<f32>,
/// ) {
///     let y = gelu_tanh(dot(x, w.t()));
///     out = y / scale;
///     next = row_max(y.abs()).max(1e-12) / 448.0;
/// }
/// ```
///
/// Or one for each block, `block = 128`: `x_scales: [m, ⌈k / 128⌉]` for 128 numbers along K of a row, `w_scales: [⌈n / 128⌉, ⌈k / 128⌉]` for
/// 128 of 128 rows, both `f32`. A block's products are summed apart, and scaled and added in `f32` (Hopper and the CPU):
///
/// ```ignore
/// #[autokernel::fused_matmul(block = 128)]
/// pub fn linear(
///     x: &Matrix<e4m3>, x_scales: &Matrix<f32>, w: &Matrix<e4m3>, w_scales: &Matrix<f32>, out: &mut Matrix<bf16>,
/// ) {
///     out = dot(x * x_scales, (w * w_scales).t());
/// }
/// ```
///
/// Weights of 8 or 4 bits beside activations of 16 are unpacked on chip, exactly, and multiplied as bf16 or f16 with sums in `f32`
/// (Hopper and the CPU): a decoder with few rows reads half or a quarter of the bytes. Scales of columns are a `Row`; where groups along
/// K have a scale each, `group = 32`, `64` or `128` says of how many numbers, and `w * scales` stands for the scaled weights:
///
/// ```ignore
/// #[autokernel::fused_matmul]
/// pub fn of_bytes(x: &Matrix<bf16>, w: &Matrix<i8>, scale: &Row<f32>, out: &mut Matrix<bf16>) {
///     out = dot(x, w.t()) * scale;
/// }
///
/// /// `w: [n, k / 2]` as `autokernel::pack` or `autokernel::quantise` gives it, `scales: [k / 128, n]` of bf16, f16 or f32.
/// #[autokernel::fused_matmul(group = 128)]
/// pub fn packed(x: &Matrix<bf16>, w: &Matrix<i4x2>, scales: &Matrix<f16>, out: &mut Matrix<bf16>) {
///     out = dot(x, (w * scales).t());
/// }
/// ```
///
/// The sums of a group are scaled in `f32`. `i4x2` holds numbers of −8 to 7. Where each group has a zero point, the number that stands for 0,
/// it is subtracted as numbers are unpacked, exactly:
///
/// ```ignore
/// /// As `autokernel::quantise_with_zeros` gives it: `scales` and `zeros` are `[k / 128, n]`.
/// #[autokernel::fused_matmul(group = 128)]
/// pub fn shifted(x: &Matrix<bf16>, w: &Matrix<i4x2>, zeros: &Matrix<i8>, scales: &Matrix<f16>, out: &mut Matrix<bf16>) {
///     out = dot(x, ((w - zeros) * scales).t());
/// }
/// ```
///
/// Zero points of 4 bits are −8 to 8, of 8 bits any `i8`; other ones of 4 bits give other sums on a GPU than on the CPU. Checkpoints count
/// numbers and zero points from 0 to 15: both are 8 less here. K is a multiple of a group, and of 32 where it is packed.
///
/// A batch of products of one shape is one launch; an operand that is no batch is shared by all of them:
///
/// ```ignore
/// #[autokernel::fused_matmul]
/// pub fn scores(q: &Batch<bf16>, k: &Batch<bf16>, bias: &RowBatch<f32>, scale: f32, out: &mut Batch<bf16>) {
///     out = scale * dot(q, k.t()) + bias;
/// }
/// ```
///
/// The body is Rust in which every name is one `f32`, the element of its operand: rustc checks it, the CPU runs it, and the
/// build turns the same text into CUDA that runs on the sums in registers.
///
/// **The product**: `dot(a, b)` of two `&Matrix` of one type, bf16 or f16, with `a.t()` where `a` is stored as `[k, m]`, and
/// `b.t()` where `b` is stored as `[n, k]`. The gradient of a layer's weight is `dot(dy.t(), x)`. Of e4m3, e5m2, i8, and with
/// the setting `tf32` of f32, there is `dot(a, b.t())` alone, and groups of rows that follow one another have no `a.t()`.
/// Beside bf16 and f16 the second factor may be `i8` or `i4x2`, with `.t()`.
/// A body has one, which may be written more than once, or two whose first factor is the same, and whose second ones differ
/// and are of one size, both taken with `.t()` or neither. Two weights that are stacked in one tensor, or interleaved row by row
/// or column by column, are two views of it: `rows(..n)` and `rows(n..)`, or a leading dimension of twice the length.
///
/// **Other operands**, of `bf16`, `f16` or `f32`, each on its own: `&Matrix<T>` of the result's size (a residual), `&Row<T>`
/// (a bias), `&Column<T>` (a scale a row), `f32`, and `&Scalar<T>`, a number in memory. Each `&mut` operand is written once. At most 20 operands.
///
/// **Outputs of 8 bits**: a `&mut Matrix<e4m3>` or `e5m2` is rounded to nearest, ties to even; what is beyond the largest number, 448 or
/// 57344, becomes that, infinities too, and what is no number stays none. Both families write them, GPUs before 8.9 without an
/// instruction for it. The first matrix that is written leaves in whole lines: where there are several, let it be the widest.
///
/// With `block = 128` a kernel makes the scales of such an output itself, `out * out_scales = value;` into `out_scales: &mut Matrix<f32>` of
/// `[m, ⌈n / 128⌉]`: a scale is the largest magnitude in a row's 128 columns over the type's largest number, and an element is divided by it
/// and rounded. The next product takes both as they lie, `dot(out * out_scales, …)`. A block of zeros has zeros; no number is passed over by
/// the scale and stays none; what is infinite becomes the largest number. This output leaves in whole lines, wherever it stands. Not in
/// batches and groups, beside weights of few bits, partners or reductions along rows, and two products on Hopper alone.
/// Where a tile holds whole rows, with `n = …` of at most 256 (128 of two products), `out_scale: &mut Column<f32>` has one scale for each
/// row. No tile knows the largest of a longer row when it writes: divide it by what `row_max(…)` of the launch before gave.
///
/// **Reductions along rows**: `row_sum`, `row_mean`, `row_max` and `row_min` of what an element is computed of, into a `&mut Column<T>`,
/// as a norm or a softmax behind this product asks for:
///
/// ```ignore
/// #[autokernel::fused_matmul]
/// pub fn project(x: &Matrix<bf16>, w: &Matrix<bf16>, skip: &Matrix<bf16>, out: &mut Matrix<bf16>, scale: &mut Column<f32>) {
///     let y = dot(x, w.t()) + skip;
///     out = y;
///     scale = 1.0 / (row_mean(y * y) + 1e-6).sqrt();
/// }
/// ```
///
/// A sum of exponentials relative to a maximum of the same elements, as of a softmax or a log-sum-exp, is one with that maximum: each part
/// takes it relative to its own, and what brings parts together moves them. Where nothing else is written the elements go nowhere, so that
/// a language model's loss needs no memory for logits:
///
/// ```ignore
/// #[autokernel::fused_matmul]
/// pub fn cross_entropy(x: &Matrix<bf16>, w: &Matrix<bf16>, target: &Column<f32>, loss: &mut Column<f32>) {
///     let y = dot(x, w.t());
///     let most = row_max(y);
///     let chosen = row_sum(if column_index() == target { y } else { 0.0 });
///     loss = most + row_sum((y - most).exp()).ln() - chosen;
/// }
/// ```
///
/// A row's reductions are known behind its last column, so that elements are not made of them: another kernel reads the column. They are
/// of `y` before it is rounded to the output's type. Each warp leaves its part of a row in a workspace, and a second, small kernel of
/// the same launch brings the parts together: in their order, the same bits in each run. Of one product, no batch; where C has
/// no columns nothing is written.
///
/// **Partners**, as of rotary embeddings: `rotate_half(y, 128)` and `rotate_pairs(y)` are those of a value `y` that the body has bound, in
/// both pairings of [`macro@rows`], and `repeat_columns(table)` repeats the columns of a matrix or a row along each row:
///
/// ```ignore
/// #[autokernel::fused_matmul]
/// pub fn query(x: &Matrix<bf16>, w: &Matrix<bf16>, cosines: &Matrix<f32>, sines: &Matrix<f32>, out: &mut Matrix<bf16>) {
///     let q = dot(x, w.t());
///     out = q * repeat_columns(cosines) + rotate_half(q, 128) * repeat_columns(sines);
/// }
/// ```
///
/// Partners are computed together, in registers: a head has a multiple of 16 columns up to 256, and tiles have whole heads, so that few
/// rows are not computed transposed. `if column_index() < 5120.0 { … } else { q }` leaves the columns of values as they are. A
/// partner beyond the last column is NaN. Not beside reductions along rows, of a batch or groups, or of weights of whole numbers.
///
/// **A batch**: where a factor is a `&Batch<T>`, `[batch, rows, columns]`, each of its matrices is multiplied, and each output is
/// a `&mut Batch<T>`. Other operands are shared by all products, or each has its own: of a `&Batch<T>` a matrix, of a
/// `&RowBatch<T>` a row, of a `&ColumnBatch<T>` a column. Views of a batch have any strides, so that heads may lie between each
/// other's rows; a stride of 0, as of `BatchView::broadcast`, is one matrix for all. `row_index()` counts the rows of a matrix.
///
/// **Groups of rows**, as of a mixture of experts: an `&Index` that picks nothing says where groups of the rows of the first
/// factor begin, and behind them where the last one ends, one number more than there are groups. Each group is multiplied with its
/// own matrix of a `&Batch<T>`; a `&RowBatch<T>` has a row for each, and what is indexed by row lies as the first factor does:
///
/// ```ignore
/// #[autokernel::fused_matmul]
/// pub fn experts(x: &Matrix<bf16>, gate: &Batch<bf16>, up: &Batch<bf16>, offsets: &Index, out: &mut Matrix<bf16>) {
///     out = silu(dot(x, gate.t())) * dot(x, up.t());
/// }
/// ```
///
/// Only the device knows the offsets: a launch waits for nothing and can be captured. Groups may be empty and of any size. Rows
/// of no group are left as they are. An offset that is below the one before it, or beyond the rows, counts as the nearest that is
/// not; `Index::check_groups` finds such ones, and so does a launch with `AUTOKERNEL_CHECKED=1` in the environment.
///
/// **Rows that are counted**: with a `&Batch<T>` for the first factor too the `&Index` has a number for each of its matrices: how many
/// of its rows count, from the first on. Each matrix is a slot, as large as the largest group; results are `&mut Batch<T>`, of
/// which other rows are left as they are. All else is as of a batch.
///
/// **Groups along K**, as of the gradients of experts' weights: with a `&Matrix<T>` for each factor, both stored as `[k, …]`, and a
/// `&mut Batch<T>` for each result, offsets divide what is summed. Each group's rows are summed on their own, those of no group by
/// none, and an empty group gives what the body makes of zeros:
///
/// ```ignore
/// #[autokernel::fused_matmul]
/// pub fn gradients(x: &Matrix<bf16>, dy: &Matrix<bf16>, offsets: &Index, dw: &mut Batch<f32>) {
///     dw = dot(x.t(), dy);
/// }
/// ```
///
/// **Statements**, functions, `row_index()`, `column_index()` and the precision are those of [`macro@rows`], with the epilogues
/// above as functions: `gelu(x)`, `leaky_relu(x, 0.2)`, their derivatives under `gelu_derivative(x)` and so on, of what the
/// epilogue was given, and functions of this crate that are marked [`macro@function`].
///
/// **Settings**: `n = …` and `k = …`, and [types](macro@rows#for-several-types) of which there is a kernel each, `T = [bf16, f16]`.
///
/// **Generated**: the function, and a module of the same name with `KERNEL` (plan, prepare), `launch` on views and
/// `launch_on` for another stream or an emulated GPU.
///
#[doc = include_str!("product_totals.md")]
#[doc = include_str!("product_gradients.md")]
#[proc_macro_attribute]
pub fn fused_matmul(arguments: TokenStream, item: TokenStream) -> TokenStream {
    kernel("fused_matmul", arguments, item)
}

/// Declares attention, `out = softmax(scale · q kᵀ) v` for every head, without the scores ever being in memory.
///
/// ```ignore
/// use autokernel::{Heads, bf16};
///
/// #[autokernel::attention(causal, head_dim = 128)]
/// pub fn attend(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, out: &mut Heads<bf16>);
/// ```
///
/// Without a body name, visibility, documentation and parameter types are the declaration. Queries, keys, values and the result are of
/// one type, bf16 or f16; sums are kept in f32, and weights are rounded to that type before they are multiplied with values. It has
/// kernels of Hopper's own and portable ones for every other GPU from compute capability 8.0 on; the CPU computes it in f32.
///
/// **Shapes**: `q: [batch, heads, queries, head_dim]`, `k: [batch, groups, keys, head_dim]`, `v: [batch, groups, keys, value_dim]`,
/// `out: [batch, heads, queries, value_dim]`, all but the settings given at launch. `heads` is a multiple of `groups`: as many heads
/// of queries share one of keys and values (grouped queries). Views have any strides along the first three axes, so
/// `[batch, sequence, heads, head_dim]` is used where it lies; where heads do not begin at multiples of 16 bytes they are copied.
///
/// **Places**: queries and keys are aligned at their ends, as in FlashAttention: query `i` stands at key `i + keys − queries`. A query
/// that sees no key gives zeros. What a query does not see has no part in its result, unless its value is no finite number: a weight of
/// zero times infinity is no number. What lies behind the last key of a sequence has none whatever it is.
///
/// **Sequences** may differ in length, and the host need not know how long they are: behind `v` stands what says so in device memory.
///
/// ```ignore
/// /// Decoding: of a cache of `[batch, groups, capacity, 128]` each sequence has the first so many keys.
/// #[autokernel::attention(causal, head_dim = 128)]
/// pub fn decode(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, lengths: &Index, out: &mut Heads<bf16>);
///
/// /// The same in pages of 64 keys, `[pages, groups, 64, 128]`, which a table names for each sequence.
/// #[autokernel::attention(causal, head_dim = 128, page = 64)]
/// pub fn paged(
///     q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, pages: &PageTable, lengths: &Index, out: &mut Heads<bf16>,
/// );
///
/// /// Sequences one behind the other, `[1, heads, tokens, 128]`, between bounds: one more than there are sequences.
/// #[autokernel::attention(causal, head_dim = 128)]
/// pub fn packed(
///     q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, query_bounds: &Index, key_bounds: &Index, out: &mut Heads<bf16>,
/// );
/// ```
///
/// `query_bounds: &Index` may stand before `pages` too, for packed queries on a cache in pages. No launch waits for the device, and each
/// can be captured in a graph. Numbers that are negative or too large are cut to what the tensors hold; a number of no page, -1,
/// stands for zeros; rows of `out` that are no sequence's are left alone. Bounds in which a sequence begins before another ends give
/// such rows the result of either: `Index::check_groups` finds them. Of packed queries `log_sum_exp` is `[1, 1, heads, tokens]`.
///
/// **Bodies** say what becomes of a score before the softmax:
///
/// ```ignore
/// /// A soft cap, and a slope for each head (ALiBi).
/// #[autokernel::attention(causal, head_dim = 128)]
/// pub fn capped(
///     q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, slope: &PerHead<f32>, cap: f32, out: &mut Heads<bf16>,
/// ) {
///     let capped = cap * (score * scale / cap).tanh();
///     score = capped + slope * (key - query);
/// }
/// ```
///
/// Each name is one `f32`: `score`, the sum of products, which the body must scale itself; `scale`, as the settings have it; `batch` and
/// `head`, numbers from 0; `query`, the query's place among the keys, and `key`. Before `out` stand numbers, `cap: f32`, and
/// numbers of each head, `slope: &PerHead<f32>`. Statements and functions are those of [`macro@rows`] but for its reductions; the last one
/// is `score = …;`. What a mask of the settings hides stays hidden, and its blocks are skipped; a body that hides more,
/// `if … { score } else { -1e30 }`, skips none, and a query from which it hides all keys so gives the mean of their values.
/// On a GPU `tanh` is one instruction, within 2⁻¹¹ of its value: with a cap of 50 a score near 50 may be off by 0.024, and its
/// weight by 2.4 %, one near 5 by 0.0024 and 0.24 %, which is what rounding the weight to `bf16` is. What is added to `score * scale`
/// is added as exactly as sums of products are kept, which for a bias of 10⁴ times them is to 10⁻³.
///
/// **A second output**, `log_sum_exp: &mut Heads<f32>` behind `out`, `[1, batch, heads, queries]`, is the natural logarithm of
/// each query's sum of exponentials of scores: what joins results on parts of the keys. It is −∞ of a query that sees no key.
///
/// **Settings**:
/// - `head_dim = 128`: elements of a query, a multiple of 16 up to 256; needed.
/// - `value_dim = 64`: elements of a value, where they are others.
/// - `causal`: a query sees no key behind its place.
/// - `window = 4096`: a query sees no key so far from its place, or farther. With `causal` these are the 4096 keys up to its own.
/// - `page = 64`: keys of a page of the cache, a multiple of 16.
/// - `scale = 0.125`: what scores are multiplied by; `1 / sqrt(head_dim)` where it is left out.
/// - `T = [bf16, f16]`: [types](macro@rows#for-several-types) of which there is a kernel each.
///
/// **Generated**: the function, which launches and returns `autokernel::Result<()>`, and a module of the same name with
/// `KERNEL` (plan, prepare), `launch` on views and `launch_on` for another stream or an emulated GPU.
#[proc_macro_attribute]
pub fn attention(arguments: TokenStream, item: TokenStream) -> TokenStream {
    kernel("attention", arguments, item)
}

/// Declares a row-wise kernel: arithmetic on the elements of matrices, and reductions along their rows.
///
/// ```ignore
/// use autokernel::{Matrix, Row, bf16};
///
/// #[autokernel::rows]
/// pub fn rms_norm(x: &Matrix<bf16>, weight: &Row<bf16>, eps: f32, out: &mut Matrix<bf16>) {
///     out = x / (row_mean(x * x) + eps).sqrt() * weight;
/// }
/// ```
///
/// The body is Rust in which every name is one `f32`, the element of its operand, whatever the operand's type: rustc
/// checks it, the CPU runs it, and the build turns the same text into CUDA.
///
/// **Operands**: `&Matrix<T>` is indexed by row and column, `&Row<T>` by column (a bias, a norm's weight), `&Column<T>` by
/// row (a scale, a statistic), an `f32` is a number of the launch, and `&Scalar<T>` one in memory, which the kernel reads when
/// it runs: a launch in a graph sees what it holds at each replay. `&mut Matrix<T>`, `&mut Column<T>` and, along columns, `&mut Row<T>` are written.
/// `T` is `bf16`, `f16` or `f32`, for each on its own; at most 20 operands, one of them a matrix.
///
/// **Outputs of 8 bits**: a `&mut Matrix<e4m3>` or `e5m2` is rounded to nearest, ties to even; what is beyond the largest number, 448 or
/// 57344, becomes that, infinities too, and what is no number stays none. A norm so quantises its result, each row with a scale of its own:
///
/// ```ignore
/// #[autokernel::rows]
/// pub fn quantised_norm(x: &Matrix<bf16>, weight: &Row<bf16>, scale: &mut Column<f32>, out: &mut Matrix<e4m3>) {
///     let y = x / (row_mean(x * x) + 1e-6).sqrt() * weight;
///     let of_row = row_max(y.abs()).max(1e-12) / 448.0;
///     scale = of_row;
///     out = y / of_row;
/// }
/// ```
///
/// On rows of 128 the same text without the norm makes the blocks and scales that a product with `block = 128` takes, of views:
/// `x.view().reshaped(m * k / 128, 128)`, and of what it wrote `scale.view().as_matrix(m, k / 128)`.
///
/// **Rows that an index picks**: an `&Index` has the number of a row for each row of the launch. `table[ids]` is the element of the
/// row of a matrix, or of a column, that it picks, in the same column; `out[ids] = …;` writes that row. Such an operand has as many
/// rows as it likes. A number that is negative or too large picks no row: then nothing outside of the operand is touched, what is
/// read is NaN, and what is written is left out. Rows of an output that nothing picks stay as they are; where two rows of the launch
/// pick the same one, each of its elements is of either of them, and on the CPU of the last. In an expression `ids` by itself is the
/// number, as an `f32`: `if ids >= 0.0 { table[ids] } else { 0.0 }` makes zeros of padding, whose number is -1: launches that are
/// checked refuse others that pick no row.
///
/// ```ignore
/// /// The embeddings of tokens: gathered rows.
/// #[autokernel::rows]
/// pub fn embed(table: &Matrix<bf16>, ids: &Index, out: &mut Matrix<bf16>) {
///     out = table[ids];
/// }
///
/// /// What is appended to a cache: scattered rows.
/// #[autokernel::rows]
/// pub fn append(k: &Matrix<bf16>, v: &Matrix<bf16>, slots: &Index, keys: &mut Matrix<bf16>, values: &mut Matrix<bf16>) {
///     keys[slots] = k;
///     values[slots] = v;
/// }
/// ```
///
/// **Other columns** of a matrix or a row, which stands there by its name or as `table[ids]`: `rotate_half(x, 128)` is the partner of
/// an element in its head of 128 columns, half a head away, negated in the first half, as common checkpoints rotate;
/// `rotate_pairs(x)` the same of neighbours; and `repeat_columns(table)` an operand of as many columns as it likes, over and over. A
/// partner behind the end of the row is NaN.
///
/// ```ignore
/// /// Rotary embeddings of all heads of a token, by tables of one head.
/// #[autokernel::rows]
/// pub fn rotary(x: &Matrix<bf16>, cosines: &Matrix<f32>, sines: &Matrix<f32>, positions: &Index, out: &mut Matrix<bf16>) {
///     out = x * repeat_columns(cosines[positions]) + rotate_half(x, 128) * repeat_columns(sines[positions]);
/// }
/// ```
///
/// **Statements**: `let y = …;`, `const C: f32 = …;`, and `out = …;` once for each output. In them stand names, numbers,
/// `+ - * /`, unary minus, comparisons, `&& || !`, `if … else`, `erf(x)`, and the methods of `f32` `abs`, `max`, `min`,
/// `mul_add`, `exp`, `ln`, `sqrt`, `recip`, `tanh`, `sin` and `cos`, and the epilogues of [`macro@fused_matmul`] as functions:
/// `gelu(x)`, `leaky_relu(x, 0.2)`, and functions of this crate that are marked [`macro@function`].
///
/// **Reductions** along the row: `row_sum(…)`, `row_mean(…)`, `row_max(…)`, `row_min(…)`. Their result is one number a row,
/// to be used like any other. Those that do not need each other's results share a pass over the row; a row that fits on
/// chip is read once, whatever the passes.
///
/// **Along columns**: `out = column_sum(…);`, and `column_mean`, `column_max` and `column_min`, give one number a column to an
/// `&mut Row`: the gradient of a bias. All outputs of such a kernel are reduced so, and nothing along rows. Parts of the rows are
/// summed by one launch and brought together by a second one, in an order that the schedule and the number of rows fix: the same bits
/// each time.
///
/// ```ignore
/// /// The gradients of a norm's weight and bias.
/// #[autokernel::rows]
/// pub fn gradients(dy: &Matrix<bf16>, x: &Matrix<bf16>, mean: &Column<f32>, rstd: &Column<f32>, weight: &mut Row<f32>,
///     bias: &mut Row<f32>) {
///     weight = column_sum(dy * (x - mean) * rstd);
///     bias = column_sum(dy);
/// }
/// ```
///
/// **Where the element stands**: `row_index()` and `column_index()`, from 0, for masks and positions. As an `f32` they are
/// exact below 2²⁴ = 16 777 216, and rounded from there on.
///
/// ```ignore
/// /// A causal softmax: what lies behind the diagonal has no part in a row.
/// #[autokernel::rows]
/// pub fn causal(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {
///     let score = if column_index() <= row_index() { x } else { -1e30 };
///     let e = (score - row_max(score)).exp();
///     out = e / row_sum(e);
/// }
/// ```
///
/// **Precision**: fp32 throughout, rounded once. Where every output has 16 bits, `exp`, `1.0 + tanh(x)` and `1.0 + erf(x)`, as
/// GELU has them, are short forms that are good for these; quotients are within two units of fp32's last place.
///
/// **Generated**: the function, which launches and returns `autokernel::Result<()>`, and a module of the same name with
/// `KERNEL` (plan, prepare), `launch` on views and `launch_on` for another stream or an emulated GPU.
///
#[doc = include_str!("rows_gradients.md")]
///
/// # For several types
///
/// ```ignore
/// #[autokernel::rows(T = [bf16, f16, f32])]
/// pub fn softmax<T>(x: &Matrix<T>, out: &mut Matrix<T>) {
///     let e = (x - row_max(x)).exp();
///     out = e / row_sum(e);
/// }
/// ```
///
/// A type parameter whose types the attribute lists, here or in [`macro@fused_matmul`] and [`macro@matmul`], makes a kernel for
/// each of them, and several parameters (`T = [bf16, f16], O = [bf16, f32]`) one for each combination. Which one
/// `softmax(&x, &mut y)` launches is known when it is compiled, by the operands' types; a type that is not listed is an error of
/// rustc. In the place of `KERNEL` the module has `kernel::<T>()`, as in `softmax::kernel::<bf16>().prepare(…)`, and `Types`, the
/// trait that the listed types have, for functions that are generic themselves: `fn block<T: softmax::Types>(x: &Matrix<T>)`. In
/// launch logs and in the tuner such a kernel is called `softmax<bf16>`.
#[proc_macro_attribute]
pub fn rows(arguments: TokenStream, item: TokenStream) -> TokenStream {
    kernel("rows", arguments, item)
}

/// Declares a routing: of each token the experts with the greatest scores, and all choices sorted by expert, without a look by the
/// host.
///
/// ```ignore
/// use autokernel::{Batch, Index, Matrix, Routes, bf16};
///
/// #[autokernel::routing(experts = 64, top_k = 2)]
/// pub fn route(scores: &Matrix<f32>, routes: &mut Routes);
///
/// /// The rows that experts multiply: tokens, sorted by expert.
/// #[autokernel::rows]
/// pub fn gather(x: &Matrix<bf16>, tokens: &Index, rows: &mut Matrix<bf16>) {
///     rows = x[tokens];
/// }
///
/// /// Each group of rows by its expert's matrix.
/// #[autokernel::fused_matmul]
/// pub fn multiply(rows: &Matrix<bf16>, w: &Batch<bf16>, offsets: &Index, out: &mut Matrix<bf16>) {
///     out = dot(rows, w.t());
/// }
///
/// # fn main() -> autokernel::Result<()> {
/// let mut routes = route::routes(&device, x.nrows())?;
/// route(&scores, &mut routes)?;
/// gather(&x, routes.tokens(), &mut rows)?;
/// multiply(&rows, &w, routes.offsets(), &mut out)?;
/// # Ok(()) }
/// ```
///
/// A kernel of [`macro@rows`] brings a token's results back by `routes.rows(choice)` and `routes.weights(choice)`, in an order that its
/// body fixes. `examples/expert-layer` is the whole layer.
///
/// **Settings**: `experts` and `top_k` are what they say, at most 1024 and 32. Weights are the softmax of the scores of a token's
/// experts, which add up to 1; with `over_all` they are shares of the softmax over all experts. Scores are `bf16`, `f16` or `f32`.
///
/// **Order**: the first choice is the expert with the greatest score, and of equal scores that of the first expert; a score that is
/// no number comes last. An expert's rows are in the order of their tokens: the same bits each time, on the CPU as on a GPU.
///
/// **Generated**: the function, which launches and returns `autokernel::Result<()>`, and a module of the same name with `routes`
/// (memory for so many tokens), `KERNEL` (plan, prepare), `launch` on views and `launch_on` for another stream or an emulated GPU.
#[proc_macro_attribute]
pub fn routing(arguments: TokenStream, item: TokenStream) -> TokenStream {
    kernel("routing", arguments, item)
}

fn kernel(attribute: &str, arguments: TokenStream, item: TokenStream) -> TokenStream {
    dependency::named_as_here(expand::expand(attribute, arguments.into(), item.into())).into()
}
