//! What the stores of tiles, and the bodies that make what is stored, take beside their main loops.

use super::copies::Begins;
use super::instruction::Instruction;
use super::load::Load;
use super::{Model, Traits};
use crate::matmul::plan::VECTOR_BYTES;

/// Rows of C that do not begin at multiples of 16 bytes are stored by each lane, not by TMA, in so much more time: on an H200
/// 309x32001x4096 and 8056x1001x1280 take 3.2 and 5.5 µs a tile of 112x192 and 128x256 beyond what stores by TMA were predicted to.
const ORDINARY: f64 = 4.0;

/// What a tile's stores ask of the path between an SM and L2, over the time for which cooperative consumers are seen to store: rows of C
/// that begin at sectors of 32 bytes, and others, of which a box writes parts of sectors at both ends. Tiles that are computed
/// transposed are stored 16 columns at a time, of 16 bits one sector, which short sums do not hide. By 230 schedules at each of 50 drawn batches on an H200
/// (`docs/results/batches-h200/choice-schedules.txt.gz`); a bare kernel that only stores reaches 3.6 to 4.1 TB/s by whole sectors, and by parts
/// of them 1.4, 1.8 and 2.1 in boxes beside each other of 64, 128 and 256 columns (`stores.txt` beside it).
const SECTORS: f64 = 1.2;
const PARTS: f64 = 1.6;
const TRANSPOSED_LINES: f64 = 1.0;
const TRANSPOSED_LINES_OF_BATCHES: f64 = 1.5;
const TRANSPOSED_SECTORS: f64 = 1.8;
const TRANSPOSED_PARTS: f64 = 2.3;

/// Share of the time of a ping-pong consumer's body that the other one loses, whose multiplications hide it.
const PING_PONG_BODY: f64 = 0.1;

/// The stores of an SM's tiles.
pub(super) struct Stores {
    /// Those of a tile that has another one behind it, as far as nothing hides them.
    pub seen_ms: f64,
    /// Those of the last tile.
    pub last_ms: f64,
}

impl Model {
    /// Of tiles whose operands take `loads_ms` to load, and whose main loops take `tile_ms`.
    ///
    /// Consumers that share a tile multiply nothing while they run its body and store, each a part of it; of the others one does as the other
    /// runs and stores a whole tile, unless that takes longer than a main loop. But loads and stores follow one another between an
    /// SM and L2, and where sums are short that takes longer than main loops do, whoever waits.
    pub(super) fn stores(&self, image: &Traits, load: &Load, loads_ms: f64, tile_ms: f64) -> Stores {
        let bytes = f64::from(image.geometry.tile_m * image.geometry.columns) * image.output_bytes;
        let (ordinary, drained) = slower(image, load);
        let one_ms = ordinary * bytes * load.stored_of_tile(image) / self.stored_per_ms();
        let last_ms = drained * one_ms;
        let elements = f64::from(image.geometry.tile_m * image.geometry.columns) * load.stored_of_tile(image);
        let sharing = if image.ping_pong { 1 } else { image.consumers.max(1) };
        let body_ms = image.body_ns * 1e-6 * elements / f64::from(sharing);
        let own_ms = if image.ping_pong {
            let hidden_ms = self.constants.ping_pong_store * one_ms + PING_PONG_BODY * body_ms;
            hidden_ms.max(body_ms - tile_ms)
        } else {
            one_ms + body_ms
        };
        Stores { seen_ms: own_ms.max(loads_ms + last_ms - tile_ms), last_ms: last_ms + body_ms }
    }
}

/// What ordinary stores take over those by TMA, and what these take by how rows of C begin.
fn slower(image: &Traits, load: &Load) -> (f64, f64) {
    let [_, n, _] = load.sizes;
    // The portable family stores by vectors, into a copy where C lies elsewhere.
    if image.instruction != Instruction::Wgmma {
        return (1.0, 1.0);
    }
    let row_bytes = u64::from(n) * image.output_bytes as u64;
    if !row_bytes.is_multiple_of(VECTOR_BYTES.into()) {
        return (ORDINARY, 1.0);
    }
    let drained = match (image.transposed, Begins::of(row_bytes)) {
        (false, Begins::AtLines | Begins::AtSectors) => SECTORS,
        (false, Begins::Anywhere) => PARTS,
        (true, Begins::AtLines) if load.is_batch() => TRANSPOSED_LINES_OF_BATCHES,
        (true, Begins::AtLines) => TRANSPOSED_LINES,
        (true, Begins::AtSectors) => TRANSPOSED_SECTORS,
        (true, Begins::Anywhere) => TRANSPOSED_PARTS,
    };
    (1.0, drained)
}
