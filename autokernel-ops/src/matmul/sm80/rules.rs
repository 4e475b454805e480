//! What a schedule of the sm80 family must keep.

use autokernel_core::gpu::{MAX_REGISTERS, REGISTERS_PER_SM, WARP_THREADS};

use super::Sm80Schedule as S;
use super::elements::{STAGE_BYTES, oldest, takes_factors};
use crate::matmul::body::BodyClass;
use crate::matmul::problem::Class;
use crate::matmul::schedule::Raster;
use crate::rule::Rule;

const SIDES: [u32; 4] = [32, 64, 128, 256];
const MAX_WARPS: u32 = 16;
/// Accumulators a thread may hold beside its operand fragments without spilling.
const MAX_ACCUMULATORS: u32 = 128;

/// The rules, each of which may take those before it for granted.
pub const RULES: &[Rule<S, Class>] = &[
    Rule {
        name: "factors_are_multiplied_by_mma",
        words: "A and B are of bf16, f16, i8 or f32, which is taken as tf32, from sm_89 on e4m3 or e5m2 but for sm_90a, or B of i8 or i4x2 beside 16 bits; without scales of blocks",
        holds: |_, class, arch| takes_factors(class, arch),
        reason: |_, class, arch| {
            let input = class.input;
            match oldest(input).filter(|_| class.block.is_none()) {
                Some(oldest) if arch.capability >= oldest.capability => {
                    format!(
                        "{arch} turns {input} into 16 bits for mma, in registers that tiles do not have; take family sm90"
                    )
                }
                Some(oldest) => format!(
                    "{arch} has no instruction for {input}, {oldest} and later ones do; compile for one of these"
                ),
                None => format!("family sm80 has no scales of blocks of {input}; take family sm90"),
            }
        },
    },
    Rule {
        name: "layout_is_one_that_ldmatrix_reads",
        words: "elements of A or B of other than 16 bits have layout nt",
        holds: |_, class, _| class.layouts().contains(&class.layout),
        reason: |_, class, _| {
            let (input, layout) = (class.of_b(), class.layout);
            format!("ldmatrix transposes 16-bit elements alone, and layout {layout} of {input} asks for it; take nt")
        },
    },
    Rule {
        name: "tile",
        words: "tile_m and tile_n are 32, 64, 128 or 256; tile_k is 64 or 128 bytes of A",
        holds: |s, class, _| {
            let bytes = s.tile_k.saturating_mul(class.input.bytes());
            SIDES.contains(&s.tile_m) && SIDES.contains(&s.tile_n) && STAGE_BYTES.contains(&bytes)
        },
        reason: |s, class, _| {
            let S { tile_m, tile_n, tile_k, .. } = s;
            let [short, long] = STAGE_BYTES.map(|bytes| bytes / class.input.bytes());
            format!(
                "{tile_m}x{tile_n}x{tile_k}; tile_m and tile_n are 32, 64, 128 or 256, tile_k of {} is {short} or {long}",
                class.input
            )
        },
    },
    Rule {
        name: "stages_lie_in_groups",
        words: "of weights with scales of groups, tile_k divides a group",
        holds: |s, class, _| class.group().is_none_or(|group| group.is_multiple_of(s.tile_k)),
        reason: |s, class, _| {
            let group = class.group().unwrap_or(0);
            format!("tile_k = {} goes beyond a group of {group} numbers that share a scale; take {group}", s.tile_k)
        },
    },
    Rule {
        name: "stages",
        words: "stages is 2 to 6",
        holds: |s, _, _| (2..=6).contains(&s.stages),
        reason: |s, _, _| format!("stages = {} is not in 2..=6", s.stages),
    },
    Rule {
        name: "warps",
        words: "warps_m and warps_n are powers of two; warps_m * warps_n is at most 16",
        holds: |s, _, _| {
            let powers = s.warps_m.is_power_of_two() && s.warps_n.is_power_of_two();
            powers && s.warps_m.saturating_mul(s.warps_n) <= MAX_WARPS
        },
        reason: |s, _, _| format!("{}x{} warps; each is a power of two, and together at most 16", s.warps_m, s.warps_n),
    },
    Rule {
        name: "warp_tile",
        words: "the warp tile, tile_m / warps_m x tile_n / warps_n, is a multiple of 16 x 16, with two products of 16 x 32",
        holds: |s, class, _| {
            s.tile_m.is_multiple_of(16 * s.warps_m) && s.tile_n.is_multiple_of(least_columns(class) * s.warps_n)
        },
        reason: |s, class, _| {
            let (S { tile_m, tile_n, warps_m, warps_n, .. }, columns) = (s, least_columns(class));
            format!("{tile_m}x{tile_n} over {warps_m}x{warps_n} warps is not a multiple of 16x{columns} each")
        },
    },
    Rule {
        name: "rotated_heads_lie_in_a_lane",
        words: "with a body whose elements see partners in halves of heads, the warp tile's columns, with two products half of them, are \
                a multiple of a head",
        holds: |s, class, _| class.holds_partners(class.columns_of_c(s.tile_n / s.warps_n.max(1))),
        reason: |s, class, _| {
            let (columns, head) =
                (class.columns_of_c(s.tile_n / s.warps_n.max(1)), class.body.as_ref().map_or(1, BodyClass::head));
            format!("a warp has {columns} columns, of heads of {head}; take fewer warps_n or a wider tile")
        },
    },
    Rule {
        name: "scaled_blocks_lie_in_a_warp",
        words: "of an output whose scales the kernel makes, the warp tile's columns, with two products half of them, are a multiple of \
                the columns of a block",
        holds: |s, class, _| {
            let columns = class.columns_of_c(s.tile_n / s.warps_n.max(1));
            class.made().is_none_or(|made| columns.is_multiple_of(made.block))
        },
        reason: |s, class, _| {
            let (columns, block) =
                (class.columns_of_c(s.tile_n / s.warps_n.max(1)), class.made().map_or(1, |made| made.block));
            format!(
                "a warp has {columns} columns, of blocks of {block} that have a scale; take fewer warps_n or a wider tile"
            )
        },
    },
    Rule {
        name: "accumulators",
        words: "tile_m * tile_n / (32 * warps_m * warps_n), of weights with scales of groups twice that, is at most 128",
        holds: |s, class, _| s.held_sums(class) <= MAX_ACCUMULATORS,
        reason: |s, class, _| {
            let held = s.held_sums(class);
            format!("{held} accumulators a thread, {MAX_ACCUMULATORS} fit; take more warps or a smaller tile")
        },
    },
    Rule {
        name: "registers",
        words: "accumulators, of weights with scales of groups twice as many, + (warp tile's m + n) / 2, with scales of groups and n / 2, \
                with zero points too n / 4, of 8-bit factors and the pieces of 16 bytes of a stage that a thread copies, of f32 whose rows the device counts and 24, or what a body needs if that is more, + 48, but at least 96 where rows are reduced, \
                is at most 255, and at most 65536 / (32 * warps_m * warps_n)",
        holds: |s, class, _| s.registers_for(class) <= available(s),
        reason: |s, class, _| {
            let (needed, available) = (s.registers_for(class), available(s));
            format!("about {needed} registers a thread, {available} are there; take smaller warp tiles or fewer warps")
        },
    },
    Rule {
        name: "shared_memory",
        words: "stages * (tile_m + tile_n) * tile_k elements fit the shared memory of a block",
        holds: |s, class, arch| s.shared_bytes(class) <= arch.shared_bytes_per_block(),
        reason: |s, class, arch| {
            let (shared, limit) = (s.shared_bytes(class), arch.shared_bytes_per_block());
            format!("needs {shared} bytes, a block of {arch} may have {limit}; take fewer stages or a smaller tile")
        },
    },
    Rule {
        name: Raster::RULE.name,
        words: Raster::RULE.words,
        holds: |s, _, _| s.raster.is_valid(),
        reason: |s, _, _| s.raster.reason(),
    },
];

/// Columns of a warp tile: 16 of each product.
fn least_columns(class: &Class) -> u32 {
    16 * class.products()
}

fn available(s: &S) -> u32 {
    MAX_REGISTERS.min(REGISTERS_PER_SM / (s.warps_m * s.warps_n * WARP_THREADS))
}

#[cfg(test)]
mod tests {
    use autokernel_core::Arch;
    use autokernel_core::gpu::Multiprocessor;

    use super::*;
    use crate::stated::stated;

    /// It counts for each arch that it is compiled for, and so states for itself what the table has.
    const HEADER: &str = include_str!("cuda/sm80_schedule.cuh");

    #[test]
    fn the_header_counts_with_the_registers_warps_and_shared_memory_of_the_table() {
        let stated = |name: &str| stated(HEADER, &format!("constexpr int {name} = "));
        assert_eq!(stated("kMaxRegistersPerThread"), MAX_REGISTERS);
        assert_eq!(stated("kPartitionsPerSm") * stated("kRegistersPerPartition"), REGISTERS_PER_SM);
        let archs: [Arch; 8] = ["sm_80", "sm_86", "sm_87", "sm_89", "sm_90a", "sm_100", "sm_120", "sm_121"]
            .map(|arch| arch.parse().unwrap());
        let least = archs.map(|arch| Multiprocessor::like(arch.capability).threads / WARP_THREADS).into_iter().min();
        assert_eq!(Some(stated("kPartitionsPerSm") * stated("kWarpSlotsPerPartition")), least);

        let [ampere, small, _, _, hopper, ..] = archs.map(|arch| arch.shared_bytes_per_block() >> 10);
        let choice = format!(
            "(is_datacenter_ampere ? {ampere} : is_hopper_or_datacenter_blackwell ? {hopper} : {small}) * 1024"
        );
        assert!(HEADER.contains(&choice), "{choice}");
        for line in ["= arch == 800 || arch == 870;", "= arch >= 900 && arch < 1200;"] {
            assert!(HEADER.contains(line), "{line}");
        }
        let of_header =
            |arch: Arch| match u32::from(arch.capability.major) * 100 + u32::from(arch.capability.minor) * 10 {
                800 | 870 => ampere,
                900..1200 => hopper,
                _ => small,
            };
        assert_eq!(archs.map(of_header), archs.map(|arch| arch.shared_bytes_per_block() >> 10));
    }
}
