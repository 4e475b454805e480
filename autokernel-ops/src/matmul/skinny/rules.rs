//! What a schedule of the skinny_sm80 family must keep.

use autokernel_core::gpu::{MAX_REGISTERS, REGISTERS_PER_SM};

use super::{MMA_ROWS, SkinnySchedule as S, overlaps, serves};
use crate::matmul::problem::Class;
use crate::matmul::schedule::Raster;
use crate::rule::Rule;

/// Of a wider tile a thread holds more sums than it has registers.
const MAX_TILE_M: u32 = 64;
/// Registers by which the estimate may be too low.
const MARGIN: u32 = 8;

/// The rules, each of which may take those before it for granted.
pub const RULES: &[Rule<S, Class>] = &[
    Rule {
        name: "factors_have_16_bits",
        words: "A and B have 16 bits an element",
        holds: |_, class, _| class.input.bytes() == 2,
        reason: |_, class, _| {
            format!("family skinny_sm80 multiplies bf16 and f16 alone, not {}; take family sm90", class.input)
        },
    },
    Rule {
        name: "elements_of_one_product",
        words: "there is one product, of B as it is and of A with rows of K, which no index picks; a body computes each element by itself",
        holds: |_, class, _| serves(class),
        reason: |_, class, _| format!("family skinny_sm80 does not compute {class}; take family sm80 or sm90"),
    },
    Rule {
        name: "tile_m",
        words: "tile_m is a multiple of 8 from 8 to 64",
        holds: |s, _, _| s.tile_m.is_multiple_of(MMA_ROWS) && (MMA_ROWS..=MAX_TILE_M).contains(&s.tile_m),
        reason: |s, _, _| format!("tile_m = {} is no multiple of 8 from 8 to 64", s.tile_m),
    },
    Rule {
        name: "tile_n",
        words: "tile_n is 64 or 128 where B is stored as [k, n], else 16, 32 or 64",
        holds: |s, class, _| columns(class).contains(&s.tile_n),
        reason: |s, class, _| format!("tile_n = {} is none of {:?}", s.tile_n, columns(class)),
    },
    Rule {
        name: "warps",
        words: "warps is 8 or 16",
        holds: |s, _, _| [8, 16].contains(&s.warps),
        reason: |s, _, _| format!("{} warps; take 8 or 16", s.warps),
    },
    Rule {
        name: "stages",
        words: "stages is 1 to 4",
        holds: |s, _, _| (1..=4).contains(&s.stages),
        reason: |s, _, _| format!("stages = {} is not in 1..=4", s.stages),
    },
    Rule {
        name: "tile_k",
        words: "tile_k is a multiple of stages * warps * 16 where B is stored as [k, n], else of stages * warps * 32",
        holds: |s, class, _| s.tile_k > 0 && s.tile_k.is_multiple_of(s.stages * s.step_k(class)),
        reason: |s, class, _| format!("tile_k = {} is no multiple of {}", s.tile_k, s.stages * s.step_k(class)),
    },
    Rule {
        name: "registers",
        words: "tile_m * tile_n / 32 + stages * tile_n / 4, where B is stored as [n, k] stages * tile_n, or what a body needs if that is \
                more, + 76, where B is stored as [n, k] 88, is at most 247, with 16 warps 120",
        holds: |s, class, _| s.registers_for(class) <= available(s),
        reason: |s, class, _| {
            let (needed, available) = (s.registers_for(class), available(s));
            format!("about {needed} registers a thread, {available} are there; take a smaller tile or fewer stages")
        },
    },
    Rule {
        name: "rows_fit_shared_memory",
        words: "tile_m rows of A, tile_k elements each and padded, fit the shared memory of a block",
        holds: |s, class, arch| s.tile_k <= MAX_TILE_K && s.shared_bytes(class) <= arch.shared_bytes_per_block(),
        reason: |s, class, arch| {
            let limit = arch.shared_bytes_per_block();
            let needed = if s.tile_k <= MAX_TILE_K { s.shared_bytes(class) } else { u32::MAX };
            format!("needs {needed} bytes, a block of {arch} may have {limit}; take a smaller tile_m or tile_k")
        },
    },
    Rule {
        name: "launches_overlap_on_hopper",
        words: "overlap is for sm_90a",
        holds: |s, _, arch| !s.overlap || overlaps(arch),
        reason: |_, _, arch| format!("launches of {arch} follow one another; take overlap = false"),
    },
    Rule {
        name: Raster::RULE.name,
        words: Raster::RULE.words,
        holds: |s, _, _| s.raster.is_valid(),
        reason: |s, _, _| s.raster.reason(),
    },
];

/// Far more than fits: its bytes can be counted.
const MAX_TILE_K: u32 = 1 << 20;

fn columns(class: &Class) -> &'static [u32] {
    if class.layout.transpose_b() { &[16, 32, 64] } else { &[64, 128] }
}

fn available(s: &S) -> u32 {
    MAX_REGISTERS.min(REGISTERS_PER_SM / s.threads()) - MARGIN
}
