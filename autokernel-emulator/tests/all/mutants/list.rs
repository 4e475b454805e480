//! Mistakes in our own headers, one each: what is replaced by what, and which kernel shows it.

/// The kernel on which a mutant is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// sm90, one consumer, both operands K-major.
    Plain,
    /// The same, with row-major B and fp32 output.
    RowMajor,
    Cooperative,
    PingPong,
    /// Two blocks along M, which share B.
    ClusterM,
    /// Two blocks along N, which share A, with row-major B.
    ClusterN,
    Split,
    /// Clusters that share tiles of two waves.
    Shared,
    /// The same, with two consumers that take turns.
    SharedPingPong,
    Swapped,
    Sm80,
    /// Two products of the same first factor in one kernel.
    Gated,
    /// The same, with the tile computed transposed.
    GatedSwapped,
    /// The same by mma.sync.
    GatedSm80,
    PadRows,
    Reference,
}

impl On {
    /// Whether clusters share tiles.
    pub fn shares(self) -> bool {
        matches!(self, On::Shared | On::SharedPingPong)
    }
}

/// What is known of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// A fault or a wrong result.
    Caught,
    /// Nothing observable, and why.
    Equivalent(&'static str),
}

pub struct Mutant {
    pub name: &'static str,
    pub file: &'static str,
    pub before: &'static str,
    pub after: &'static str,
    pub on: On,
    pub expect: Expect,
}

const fn caught(name: &'static str, on: On, file: &'static str, before: &'static str, after: &'static str) -> Mutant {
    Mutant { name, file, before, after, on, expect: Expect::Caught }
}

const fn equivalent(
    name: &'static str,
    on: On,
    file: &'static str,
    before: &'static str,
    after: &'static str,
    why: &'static str,
) -> Mutant {
    Mutant { name, file, before, after, on, expect: Expect::Equivalent(why) }
}

const PIPELINE: &str = "sm90_pipeline.cuh";
const MAINLOOP: &str = "sm90_mainloop.cuh";
const SHARED: &str = "sm90_shared.cuh";
const PRODUCER: &str = "sm90_producer.cuh";
const EPILOGUE: &str = "sm90_epilogue.cuh";
const STAGING: &str = "sm90_staging.cuh";
const MATMUL: &str = "sm90_matmul.cuh";
const SPLIT: &str = "sm90_split_k.cuh";
const SHARES: &str = "sm90_shares.cuh";
const STREAM: &str = "sm90_stream_k.cuh";
const TILES: &str = "sm90_tiles.cuh";
const PTX90: &str = "ptx/sm90.cuh";
const MATMUL80: &str = "sm80_matmul.cuh";
const STORE80: &str = "sm80_store.cuh";
const COPY80: &str = "sm80_copy.cuh";
const CP_ASYNC: &str = "ptx/cp_async.cuh";
const PAD: &str = "copy_rows.cuh";
const REFERENCE: &str = "reference_matmul.cuh";

#[rustfmt::skip] // one mutant a line reads as the table that it is
pub const MUTANTS: &[Mutant] = &[
    // ---- the ring of stages ----
    caught("the parity does not flip with the lap", On::Plain, PIPELINE, "parity ^= 1;", ""),
    caught("a lap is one stage short", On::PingPong, PIPELINE, "++stage == kStages", "++stage == kStages - 1"),
    caught("a skipped lap flips no parity", On::PingPong, PIPELINE, "parity ^= (position / kStages) & 1;", ""),
    caught("a stage is free one arrival early", On::Plain, PIPELINE, "G::kSharing * G::kClusterSize;", "G::kSharing * G::kClusterSize - 1;"),
    caught("a stage waits for one arrival too many", On::Plain, PIPELINE, "G::kSharing * G::kClusterSize;", "G::kSharing * G::kClusterSize + 1;"),
    caught("a stage is free before its peer has read it", On::ClusterM, PIPELINE, "G::kSharing * G::kClusterSize;", "G::kSharing;"),
    caught("a full barrier expects two producers", On::Plain, PIPELINE, "mbarrier_init(shared.full(stage), 1)", "mbarrier_init(shared.full(stage), 2)"),
    caught("initialised barriers are not fenced", On::Plain, PIPELINE, "  ptx::fence_mbarrier_init();\n", ""),
    caught("the producer waits for the wrong parity", On::Plain, PIPELINE, "cursor.parity ^ 1)", "cursor.parity)"),
    caught("the producer does not wait for a free stage", On::Plain, PIPELINE, "ptx::mbarrier_wait(shared.empty(cursor.stage), cursor.parity ^ 1);", ""),
    caught("fewer bytes are announced than arrive", On::Plain, PIPELINE, "shared.full(cursor.stage), G::kStageBytes)", "shared.full(cursor.stage), G::kStageBytes - 128)"),
    caught("more bytes are announced than arrive", On::Plain, PIPELINE, "shared.full(cursor.stage), G::kStageBytes)", "shared.full(cursor.stage), G::kStageBytes + 16)"),
    caught("a consumer waits for the wrong parity", On::Plain, PIPELINE, "shared.full(cursor.stage), cursor.parity)", "shared.full(cursor.stage), cursor.parity ^ 1)"),
    caught("a consumer does not wait for its stage", On::Plain, PIPELINE, "ptx::mbarrier_wait(shared.full(cursor.stage), cursor.parity);", ""),
    caught("one lane waits for a stage for its warp", On::Plain, PIPELINE, "ptx::mbarrier_wait(shared.full(cursor.stage), cursor.parity);", "if (threadIdx.x % kWarpSize == 0) ptx::mbarrier_wait(shared.full(cursor.stage), cursor.parity);"),
    caught("a consumer waits for the empty barrier", On::Plain, PIPELINE, "ptx::mbarrier_wait(shared.full(cursor.stage), cursor.parity);", "ptx::mbarrier_wait(shared.empty(cursor.stage), cursor.parity ^ 1);"),
    caught("no stage is released", On::Plain, PIPELINE, "if (lane == 0) ptx::mbarrier_arrive(shared.empty(stage));", ""),
    caught("every lane releases a stage", On::Plain, PIPELINE, "if (lane == 0) ptx::mbarrier_arrive(shared.empty(stage));", "ptx::mbarrier_arrive(shared.empty(stage));"),
    caught("the last peer is not told of a released stage", On::ClusterM, PIPELINE, "if (lane < G::kClusterSize) ptx", "if (lane < G::kClusterSize - 1) ptx"),
    caught("only the first block is told of released stages", On::ClusterM, PIPELINE, "shared.empty(stage), lane)", "shared.empty(stage), 0)"),
    caught("the turns of both consumers meet at one barrier", On::PingPong, PIPELINE, "ptx::named_barrier_wait(kFirstBarrier + consumer, kThreads)", "ptx::named_barrier_wait(kFirstBarrier, kThreads)"),
    caught("a turn expects the threads of one consumer", On::PingPong, PIPELINE, "kThreads = 2 * kWarpgroupSize", "kThreads = kWarpgroupSize"),
    caught("the first stage is initialised alone", On::Plain, PIPELINE, "for (int stage = 0; stage < G::kStages; ++stage) {\n    ptx::mbarrier_init", "for (int stage = 0; stage < 1; ++stage) {\n    ptx::mbarrier_init"),
    // ---- wgmma ----
    caught("no fence precedes the wgmmas", On::Plain, MAINLOOP, "  ptx::wgmma_fence();\n", ""),
    caught("the wgmmas are not committed", On::Plain, MAINLOOP, "  ptx::wgmma_commit();\n", ""),
    caught("a stage is released while wgmmas read it", On::Plain, MAINLOOP, "ptx::wgmma_wait<1>();", "ptx::wgmma_wait<2>();"),
    caught("a stage is released with no wait", On::Cooperative, MAINLOOP, "ptx::wgmma_wait<1>();", ""),
    caught("the stage in use is released", On::Plain, MAINLOOP, "    release_stage(shared, in_flight);\n    in_flight = cursor.stage;", "    in_flight = cursor.stage;\n    release_stage(shared, in_flight);"),
    caught("accumulators are read while wgmmas write them", On::Plain, MAINLOOP, "  ptx::wgmma_wait<0>();\n", ""),
    caught("accumulators are read one group early", On::Plain, MAINLOOP, "ptx::wgmma_wait<0>();", "ptx::wgmma_wait<1>();"),
    caught("the first wgmma adds to what was there", On::Plain, MAINLOOP, "!kFirst || k > 0", "true"),
    caught("no wgmma adds to the one before", On::Plain, MAINLOOP, "!kFirst || k > 0", "!kFirst && k > 0"),
    caught("the last step along K is left out", On::Plain, MAINLOOP, "k < kSwizzleBytes / kBlockDepthBytes; ++k", "k < kSwizzleBytes / kBlockDepthBytes - 1; ++k"),
    caught("the second consumer multiplies the first one's rows", On::Cooperative, MAINLOOP, " + first * kSwizzleBytes", ""),
    caught("a step along K is half as long", On::Plain, SHARED, "kStepMajorK = kBlockDepthBytes >> kUnitShift", "kStepMajorK = kBlockDepthBytes / 2 >> kUnitShift"),
    caught("a step along K of row-major B is half as long", On::RowMajor, SHARED, "kStepMajorMN = kBlockRows * kSwizzleBytes >> kUnitShift", "kStepMajorMN = kBlockRows / 2 * kSwizzleBytes >> kUnitShift"),
    caught("the descriptor's stride is half an atom", On::Plain, SHARED, "kSwizzleAtomBytes >> kUnitShift} << 32", "kSwizzleAtomBytes / 2 >> kUnitShift} << 32"),
    caught("the descriptor names the 64-byte swizzle", On::Plain, SHARED, "kDescriptorSwizzle128 = uint64_t{1} << 62", "kDescriptorSwizzle128 = uint64_t{2} << 62"),
    caught("stages begin inside a swizzle atom", On::Plain, SHARED, "return {(address + kSwizzleAtomBytes - 1) & ~static_cast<uint32_t>(kSwizzleAtomBytes - 1)};", "return {address};"),
    caught("full and empty barriers share their places", On::Plain, SHARED, "return full(G::kStages + stage);", "return full(stage);"),
    caught("the staging buffers begin inside the ring", On::Plain, SHARED, "return base + G::kStages * G::kStageBytes + consumer_warp", "return base + (G::kStages - 1) * G::kStageBytes + consumer_warp"),
    caught("the rank of the block leaks into descriptors", On::ClusterN, SHARED, "(address & kAddressMask) >> kUnitShift", "address >> kUnitShift"),
    // ---- the producer ----
    caught("every panel of B is the first", On::RowMajor, PRODUCER, "first + panel * kPanel,", "first,"),
    caught("every slice of A is the first", On::ClusterN, PRODUCER, "barrier, row + first, k)", "barrier, row, k)"),
    caught("slices of B lie upon each other", On::ClusterM, PRODUCER, "(map, matrix, destination, barrier, column + first, k)", "(map, matrix, destination - first * kSwizzleBytes, barrier, column + first, k)"),
    caught("a multicast reaches the first block alone", On::ClusterM, PRODUCER, "(1 << G::kClusterSize) - 1", "1"),
    caught("the producer stops one stage early", On::Plain, PRODUCER, "block < k_blocks.first + k_blocks.count", "block < k_blocks.first + k_blocks.count - 1"),
    caught("the producer loads the wrong block of K", On::Plain, PRODUCER, "k = block * G::kTileK", "k = (block + 1) * G::kTileK"),
    caught("two threads produce", On::Plain, MATMUL, "} else {\n        if (kThreadsCopyA<G> || threadIdx.x == 0) produce(", "} else {\n        if (kThreadsCopyA<G> || threadIdx.x < 2) produce("),
    // ---- the epilogue ----
    caught("a staging buffer is reused while a store reads it", On::Plain, EPILOGUE, "if (threadIdx.x % kWarpSize == 0) ptx::tma_store_wait_read<G::kEpilogueBuffers - 1>();", ""),
    caught("a store too many may read the staging buffers", On::Plain, EPILOGUE, "ptx::tma_store_wait_read<G::kEpilogueBuffers - 1>()", "ptx::tma_store_wait_read<G::kEpilogueBuffers>()"),
    caught("lanes write a buffer before the wait of lane 0", On::Plain, EPILOGUE, "    __syncwarp();  // the buffer's last readers are done\n", ""),
    caught("no proxy fence precedes the store", On::Plain, EPILOGUE, "      ptx::fence_async_proxy();  // by each lane, for what it wrote\n", ""),
    caught("only lane 0 fences what all lanes wrote", On::Plain, EPILOGUE, "      ptx::fence_async_proxy();  // by each lane, for what it wrote\n", "      if (threadIdx.x % kWarpSize == 0) ptx::fence_async_proxy();\n"),
    caught("lane 0 stores before the others have written", On::Plain, EPILOGUE, "      ptx::fence_async_proxy();  // by each lane, for what it wrote\n      __syncwarp();\n", "      ptx::fence_async_proxy();\n"),
    caught("stores are not committed", On::Plain, EPILOGUE, "        ptx::tma_store_commit();\n", ""),
    caught("the block ends before its stores have read", On::Plain, EPILOGUE, "{ ptx::tma_store_wait_read<0>(); }", "{}"),
    caught("ordinary stores read what other lanes still write", On::RowMajor, EPILOGUE, "    } else {\n      __syncwarp();\n      copy_out", "    } else {\n      copy_out"),
    caught("a row of C is written one word too far", On::RowMajor, EPILOGUE, "if (x + kPerWord <= columns) {", "if (x <= columns) {"),
    caught("rows below C are written", On::RowMajor, EPILOGUE, "min(G::kStoreRows, c.rows - row)", "G::kStoreRows"),
    caught("the staging swizzle is half as wide", On::Plain, STAGING, "kMask = kRowBytes / kTmaUnitBytes - 1", "kMask = kRowBytes / kTmaUnitBytes / 2 - 1"),
    caught("the upper rows of a fragment are stored twice", On::Plain, STAGING, "start = (lane % kWarpRows) * G::kStoreWidth", "start = (lane % 8) * G::kStoreWidth"),
    caught("a transposed fragment is stored untransposed", On::Swapped, STAGING, "ptx::stmatrix_x4_transposed(buffer", "ptx::stmatrix_x4(buffer"),
    caught("rows and columns of a swapped tile are exchanged", On::Swapped, STAGING, "(lane % 8 + lane / 16 * 8) * G::kStoreWidth + lane / 8 % 2", "(lane % 8 + lane / 8 % 2 * 8) * G::kStoreWidth + lane / 16"),
    // ---- tiles, clusters, the split of K ----
    caught("the last, ragged block of K is left out", On::Plain, TILES, "const int blocks = ceil_div(k, G::kTileK);", "const int blocks = max(1, k / G::kTileK);"),
    caught("a walk strides over its neighbours' tiles", On::ClusterM, TILES, "gridDim.x / G::kClusterSize", "gridDim.x"),
    caught("every cluster begins with the first tile", On::Plain, TILES, "return blockIdx.x / (G::kClusterSize * (G::kSplits ? split_k : 1));", "return 0;"),
    caught("the last group of tiles is as wide as the others", On::Plain, "raster.cuh", "const int group_size = min(group, fast_tiles - first_fast);", "const int group_size = group;"),
    caught("shares of K overlap", On::Split, TILES, "int64_t{blocks} * rank / split_k);", "int64_t{blocks} * max(rank - 1, 0) / split_k);"),
    caught("a block ends while a peer releases its stages", On::ClusterM, MATMUL, "    if constexpr (G::kClusterSize > 1) ptx::cluster_sync();  // a peer may", "    // a peer may"),
    caught("barriers are used before all have met", On::ClusterM, MATMUL, "    sync_cluster();  // no CTA", "    // no CTA"),
    caught("barriers are used before the block has met", On::Plain, MATMUL, "    sync_cluster();  // no CTA", "    // no CTA"),
    caught("two threads initialise the barriers", On::Plain, MATMUL, "if (threadIdx.x == 0) {\n      if constexpr (!kThreadsCopyA<G>) ptx::prefetch_tensor_map(args.a_map)", "if (threadIdx.x < 2) {\n      if constexpr (!kThreadsCopyA<G>) ptx::prefetch_tensor_map(args.a_map)"),
    caught("ping-pong consumers take no turns", On::PingPong, MATMUL, "if (G::kPingPong && number != walk.first()) Turns::wait(consumer);", ""),
    caught("a consumer passes no turn", On::PingPong, MATMUL, "if (G::kPingPong && other_has_one) Turns::pass_to(1 - consumer);", ""),
    caught("a ping-pong consumer skips no stages", On::PingPong, MATMUL, "cursor.skip((kTurns - 1) * walk.k_blocks.count);", ""),
    caught("partial sums overwrite stages in use", On::Split, SPLIT, "    ptx::cluster_sync();  // every CTA has read its ring for the last time\n", ""),
    caught("partial sums are added before they have come", On::Split, SPLIT, "    if (!owns) send(acc);\n    ptx::cluster_sync();\n", "    if (!owns) send(acc);\n"),
    caught("the last peer's sums are not added", On::Split, SPLIT, "distance < split_k; ++distance", "distance < split_k - 1; ++distance"),
    caught("the partial sums of all peers go to one slot", On::Split, SPLIT, "(distance - 1) * ceil_div(G::kTileWarps, split_k) + place", "0 * ceil_div(G::kTileWarps, split_k) + place"),
    caught("a block finishes the warps of the one before it", On::Split, SPLIT, "owner(consumer_warp * split_k / G::kTileWarps)", "owner(max(consumer_warp - 1, 0) * split_k / G::kTileWarps)"),
    caught("clusters that share a tile walk on as others do", On::Split, TILES, "return is_split() ? count() : gridDim.x / G::kClusterSize;", "return is_split() ? 1 : gridDim.x / G::kClusterSize;"),
    equivalent("other warps miss a barrier of the split", On::Split, SPLIT, "  __device__ __forceinline__ static void attend() {\n    ptx::cluster_sync();\n", "  __device__ __forceinline__ static void attend() {\n", "threads that have exited are not waited for, and these exchange nothing"),
    equivalent("slots are counted the other way around", On::Split, SPLIT, "(rank - owner + split_k) % split_k", "(owner - rank + split_k) % split_k", "the same sums are added in another order"),
    // ---- shares of tiles ----
    caught("sums are handed on by a store that orders nothing", On::Shared, PTX90, "st.release.gpu.global.u32", "st.relaxed.gpu.global.u32"),
    caught("sums that were handed on are taken by a load that orders nothing", On::Shared, PTX90, "ld.acquire.gpu.global.u32", "ld.relaxed.gpu.global.u32"),
    caught("a warp's sums are released before all lanes have written them", On::Shared, STREAM, "    __syncwarp();  // the release is of what all lanes wrote\n", ""),
    caught("lanes take sums before the one that waits has seen the flag", On::Shared, STREAM, "    __syncwarp();  // the acquire is for all lanes\n", ""),
    caught("lanes begin a main loop without the one that releases", On::Shared, STREAM, "    __syncwarp();  // the next main loop is for whole warps\n", ""),
    caught("a flag stays set for the next launch", On::Shared, STREAM, "      *flag(block_index) = 0;  // for the next launch\n", ""),
    caught("all blocks hand on in one slot", On::Shared, STREAM, "return slots + int64_t{block_index} * (kWarps * kVectors * kWarpSize);", "return slots;"),
    caught("the first contributor's sums are not added", On::Shared, STREAM, "distance <= clusters_before", "distance < clusters_before"),
    caught("nobody waits for sums", On::Shared, STREAM, "      while (ptx::load_acquire(flag(block_index)) == 0) {\n      }\n", ""),
    caught("a share begins where the one before it ends but one", On::Shared, SHARES, "return cluster * share + min(cluster, longer);", "return max(0, cluster * share + min(cluster, longer) - min(cluster, 1));"),
    caught("longer shares are forgotten", On::Shared, SHARES, "return cluster * share + min(cluster, longer);", "return cluster * share;"),
    caught("a share inside a tile begins where the tile does", On::Shared, SHARES, "{end % of_tile - inside, inside}", "{0, inside}"),
    caught("what is handed on is stored as a tile", On::Shared, MATMUL, "          stream.hand_on(acc);\n          continue;\n", "          stream.hand_on(acc);\n"),
    caught("a ping-pong consumer skips a whole tile where the other hands on a part", On::SharedPingPong, MATMUL, "turn * walk.step(walk.first()).k_blocks.count", "turn * walk.k_blocks.count"),
    // ---- instructions ----
    caught("a wait for a phase tries once", On::Plain, PTX90, "while (done == 0)", "while (false)"),
    caught("the kernel does not wait for the grid before it", On::Plain, MATMUL, "    ptx::wait_for_previous_grids();\n\n    const Walk", "    const Walk"),
    caught("the zeros of K = 0 do not wait for the grid before", On::Plain, MATMUL, "      ptx::wait_for_previous_grids();\n      return fill_all(args, c);", "      return fill_all(args, c);"),
    caught("a cluster barrier is not waited for", On::ClusterM, PTX90, "barrier.cluster.arrive.release;\\nbarrier.cluster.wait.acquire;", "barrier.cluster.arrive.release;"),
    caught("a cluster barrier releases nothing", On::Split, PTX90, "barrier.cluster.arrive.release;", "barrier.cluster.arrive.relaxed;"),
    caught("a fence of the wrong kind precedes the store", On::Plain, PTX90, "fence.proxy.async.shared::cta;", "fence.acq_rel.cta;"),
    caught("a store waits for no reads", On::Plain, PTX90, "asm volatile(\"cp.async.bulk.wait_group.read %0;\" ::\"n\"(kPending) : \"memory\");", ""),
    equivalent("only one of two fences follows the initialisation", On::Plain, PTX90, "  asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n", "", "each of the two makes the barriers visible to the copy engine"),
    // ---- sm80 ----
    caught("a tile is read one group early", On::Sm80, MATMUL80, "ptx::cp_async_wait<S::kStages - 2>();", "ptx::cp_async_wait<S::kStages - 1>();"),
    caught("a tile is read before the others' copies landed", On::Sm80, MATMUL80, "      __syncthreads();  // everyone's copies have landed, and everyone has read the tile before\n", ""),
    caught("slabs overwrite tiles in use", On::Sm80, MATMUL80, "      __syncthreads();  // the pipeline's memory becomes the slabs\n", ""),
    caught("slabs overwrite copies in flight", On::Sm80, MATMUL80, "    ptx::cp_async_wait<0>();\n", ""),
    caught("a slab is read while it is written", On::Sm80, MATMUL80, "Store::stage(slab, sums.fragments[i]);\n      __syncwarp();\n", "Store::stage(slab, sums.fragments[i]);\n"),
    caught("a slab is overwritten while it is read", On::Sm80, MATMUL80, "Store::store(slab, of_c);\n      }\n      __syncwarp();\n", "Store::store(slab, of_c);\n      }\n"),
    caught("copies are committed with the next tile's", On::Sm80, MATMUL80, "          copy_whole(shared + write_offset, index + S::kStages - 1);\n          ptx::cp_async_commit();\n", "          copy_whole(shared + write_offset, index + S::kStages - 1);\n"),
    caught("the stage that is read is refilled", On::Sm80, MATMUL80, "write_offset = (S::kStages - 1) * S::kStageBytes", "write_offset = 0"),
    caught("rows below C are stored", On::Sm80, STORE80, "if (row >= slab.rows || column >= slab.columns) continue;", "if (column >= slab.columns) continue;"),
    equivalent("columns beyond C are stored", On::Sm80, STORE80, "if (row >= slab.rows || column >= slab.columns) continue;", "if (row >= slab.rows) continue;", "what follows stores no element beyond the edge either"),
    caught("units that straddle the edge are stored whole", On::Sm80, STORE80, "if (column + kUnitElements <= slab.columns) {", "if (column <= slab.columns) {"),
    caught("edges are copied and insides are zeros", On::Sm80, CP_ASYNC, "setp.eq.s32 ignore, %2, 0;", "setp.ne.s32 ignore, %2, 0;"),
    caught("the access is as wide as rows allow and columns do not", On::Sm80, COPY80, "const int64_t alignment = ld | end;", "const int64_t alignment = ld;"),
    caught("an access takes 16 bytes where rows have 4", On::Sm80, COPY80, "if (alignment % (kChunkBytes / kElementBytes) == 0) return Access::kVector;", "if (alignment % (kWordBytes / kElementBytes) == 0) return Access::kVector;"),
    // ---- two products in one kernel: with one, none of these lines is compiled or makes a difference ----
    caught("the second product is that of the first factor again", On::Gated, PRODUCER, "args.b2_map, origin.b2(), shared.second_b", "args.b_map, origin.b(), shared.second_b"),
    caught("both second factors are loaded to one place", On::Gated, PRODUCER, "origin.b2(), shared.second_b(stage)", "origin.b2(), shared.b(stage)"),
    caught("the body takes the first sum twice", On::Gated, MAINLOOP, "return sums.blocks[block] + G::kWidthOfOne / 2;", "return sums.blocks[block];"),
    caught("the sums of both products are stored", On::Gated, EPILOGUE, "if constexpr (kFirst + kChunk < G::kWidthOfOne) {", "if constexpr (kFirst + kChunk < G::kWidth) {"),
    caught("the second product's blocks follow the first one's at once", On::GatedSwapped, MAINLOOP, "kProductStep = G::kColumns * kSwizzleBytes >> kUnitShift", "kProductStep = G::kColumns / 2 * kSwizzleBytes >> kUnitShift"),
    caught("a swapped body takes the first sum twice", On::GatedSwapped, MAINLOOP, "return sums.blocks[block + G::kBlocksOfOne];", "return sums.blocks[block];"),
    caught("the second factor has the rows of the first", On::GatedSm80, MATMUL80, "const OperandB b2(args.b2, args.ldb2, tile_column, n);", "const OperandB b2(args.b, args.ldb, tile_column, n);"),
    caught("the body takes the second sum one fragment early", On::GatedSm80, MATMUL80, "sums.fragments[i][kFragments];", "sums.fragments[i][kFragments - 1];"),
    // ---- the small kernels ----
    caught("vectors are read beyond the row", On::PadRows, PAD, "first + kVector<Unit> <= columns) return", "first <= columns) return"),
    caught("vectors are read before the row", On::PadRows, PAD, "if (first >= 0 && first + kVector", "if (first + kVector"),
    caught("an odd shift shifts nothing", On::PadRows, PAD, "shift % kPerWord<Unit> * 8 * static_cast<int>(sizeof(Unit))", "0"),
    caught("the last lane takes its own neighbour", On::PadRows, PAD, "lane == kWarpSize - 1 ? beyond : next", "next"),
    caught("columns beyond the target are written", On::PadRows, PAD, "if (column < matrix.columns) *reinterpret", "*reinterpret"),
    caught("a tile is read before it is written", On::Reference, REFERENCE, "    __syncthreads();\n#pragma unroll", "#pragma unroll"),
    caught("a tile is overwritten while it is read", On::Reference, REFERENCE, "+= of_tile;\n    }\n    __syncthreads();\n", "+= of_tile;\n    }\n"),
    caught("columns beyond B are read", On::Reference, REFERENCE, "const bool b_inside = column < args.n && k0 + y < args.k;", "const bool b_inside = k0 + y < args.k;"),
    caught("elements beyond C are written", On::Reference, REFERENCE, "bool inside = row < rows && column < args.n;", "bool inside = row < rows;"),
];
