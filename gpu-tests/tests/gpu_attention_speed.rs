//! How many bytes of keys and values a second decoding reads, of a cache that lies in one piece, is counted, or lies in pages.
//!
//! A measurement, so it is asked for: `cargo test --release -p gpu-tests --test gpu_attention_speed -- --ignored --nocapture`.
//! One query of each of 32 heads on 8 of keys, bf16, 128 elements each; sets of caches rotate past the L2 cache. What is expected
//! of each stands in docs/performance/log.md.

use std::cell::Cell;

use autokernel::timing::{Cache, Timer, Work, sets_to_exceed_l2};
use autokernel::{Device, Heads, Index, PageTable, Result, bf16};
use gpu_tests::attention::kernels::{causal, counted, paged};
use gpu_tests::skip;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

const HEADS: usize = 32;
const GROUPS: usize = 8;
const DIM: usize = 128;
const PAGE: usize = 64;
/// Sequences, and keys of each.
const SHAPES: [(usize, usize); 6] = [(1, 8192), (1, 65_536), (4, 8192), (16, 8192), (64, 4096), (128, 1024)];
const ROUNDS: usize = 24;
const LAUNCHES: usize = 12;

/// Keys and values of all sequences, `[batch, groups, keys, dim]`, and the same memory as pages.
struct Set {
    whole: [Heads<bf16>; 2],
    pages: [Heads<bf16>; 2],
}

struct Operands {
    q: Heads<bf16>,
    sets: Vec<Set>,
    lengths: Index,
    table: PageTable,
    out: Heads<bf16>,
}

fn random(device: &Device, rng: &mut StdRng, shape: [usize; 4]) -> Result<Heads<bf16>> {
    let drawn: Vec<bf16> = (0..(1 << 16) + 7).map(|_| bf16::from_f32(rng.random_range(-1.0..1.0))).collect();
    let values: Vec<bf16> = drawn.iter().copied().cycle().take(shape.iter().product()).collect();
    Heads::from_slice(device, &values, shape)
}

impl Operands {
    fn new(device: &Device, batch: usize, keys: usize, l2_bytes: u64) -> Result<Self> {
        let mut rng = StdRng::seed_from_u64(7);
        let pages = batch * keys / PAGE;
        let mut order: Vec<u32> = (0..pages as u32).collect();
        order.shuffle(&mut rng);
        let bytes = cache_bytes(batch, keys) as u64;
        let mut set = || -> Result<Set> {
            let mut pair = |shape| Ok([random(device, &mut rng, shape)?, random(device, &mut rng, shape)?]);
            Ok(Set { whole: pair([batch, GROUPS, keys, DIM])?, pages: pair([pages, GROUPS, PAGE, DIM])? })
        };
        let sets = (0..sets_to_exceed_l2(bytes, l2_bytes)).map(|_| set()).collect::<Result<_>>()?;
        Ok(Operands {
            q: random(device, &mut StdRng::seed_from_u64(8), [batch, HEADS, 1, DIM])?,
            sets,
            lengths: Index::from_slice(device, &vec![keys as i32; batch])?,
            table: PageTable::from_slice(device, &order, batch)?,
            out: Heads::zeros(device, [batch, HEADS, 1, DIM])?,
        })
    }
}

/// Keys and values, which are nearly all that is read.
fn cache_bytes(batch: usize, keys: usize) -> usize {
    2 * batch * GROUPS * keys * DIM * size_of::<bf16>()
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn decoding_in_bytes_a_second() {
    let Some(device) = skip::gpu_of_one_stream("gpu_attention_speed::decoding_in_bytes_a_second") else { return };
    let l2_bytes = device.info().unwrap().l2_bytes;
    println!("{device}; medians of {ROUNDS} rounds of {LAUNCHES} launches, GB/s of keys and values");
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    for (batch, keys) in SHAPES {
        let Operands { q, sets, lengths, table, mut out } = Operands::new(&device, batch, keys, l2_bytes).unwrap();
        let turn = Cell::new(0);
        let next = || {
            turn.set(turn.get() + 1);
            &sets[turn.get() % sets.len()]
        };
        let out = Cell::new(Some(&mut out));
        let on_out = |launch: &dyn Fn(&mut Heads<bf16>) -> Result<()>| {
            let Some(result) = out.take() else { return Ok(()) };
            let launched = launch(result);
            out.set(Some(result));
            launched
        };
        let whole =
            |set: &Set, out: &mut Heads<bf16>| causal::launch_on(&device, &q, &set.whole[0], &set.whole[1], out);
        let mut of_whole = |_| on_out(&|out| whole(next(), out));
        let mut of_counted = |_| {
            on_out(&|out| {
                let [k, v] = &next().whole;
                counted::launch_on(&device, &q, k, v, &lengths, out)
            })
        };
        let mut of_paged = |_| {
            on_out(&|out| {
                let [k, v] = &next().pages;
                paged::launch_on(&device, &q, k, v, &table, &lengths, out)
            })
        };
        let mut work: [Work<'_>; 3] = [&mut of_whole, &mut of_counted, &mut of_paged];
        let times = timer.interleave(ROUNDS, LAUNCHES, &mut work).unwrap();
        let speed = |number| {
            let ms = times.timing(number).unwrap().median_ms;
            format!("{:>8.4} ms {:>6.0}", ms, cache_bytes(batch, keys) as f64 / ms / 1e6)
        };
        let paged = times.ratio(1, 2).unwrap();
        println!(
            "{batch:>4} x {keys:<6} whole {}  counted {}  in pages {} ({:.3} of counted, spread {:.1} %)",
            speed(0),
            speed(1),
            speed(2),
            paged.median,
            paged.spread_pct
        );
    }
}
