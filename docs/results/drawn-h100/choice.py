"""What a launch of single products chooses on an H100 with and without the two constants of the model that are an H100's alone, by a copy of
the model (autokernel-ops/src/matmul/model) for the family sm90 without stream K: python3 choice.py best_config.json RESULTS, numpy needed.

Where several carried forms were timed at a shape in about the order of tiles that a launch takes, the time of the one that is predicted to be
fastest over the fastest: of recordings, of trials of `tuner regret`, and of shapes at which runs of `tuner grid` on an H100 chose differently.
Images count by their factors in the config. Tiles whose store boxes overlap are left out of recordings of before.
"""
import collections
import glob
import gzip
import json
import os
import re
import sys

import numpy as np

FORM = ["tile_m", "tile_n", "stages", "consumers", "mode", "cluster_m", "cluster_n", "swap_ab", "splits", "split_k"]
ABSENT = {"swap_ab": False, "splits": False, "split_k": 1}
FITTED = ("nt-h100-81", "nt-h100-93", "nn-h100-81", "nn-h100-94")
BEFORE_BOXES = {"48d0b0c7e7f8", "96bfa67cb881", "b915044e83c8"}
LISTED = [("nt", (620, 7168, 2048)), ("nt", (548, 1280, 5120)), ("nn", (761, 1536, 6144)), ("nt", (817, 1408, 6144)),
          ("nn", (2329, 1152, 4304)), ("nn", (1041, 1000, 2048)), ("nt", (1053, 1000, 2048)), ("nt", (318, 4096, 14336))]
GRID = re.compile(r"(\d+)x(\d+)x(\d+) (n[nt]) \w+: ([\d.]+) ms, predicted .* x cuBLASLt: "
                  r"sm90 (\d+)x(\d+) s(\d+) c(\d) (\w+) cluster (\d)x(\d)(.*) (along_[mn])/(\d+)$")
# Runs of other store boxes, promotions or rules for orders are left out.
GRIDS = ("grid-seed101", "grid-seed103", "grid-seed109", "grid-seed113", "grid-seed117", "grid-seed127", "orders-slow", "refit-slow")


def times(results):
    """Source, layout, shape, form, order of tiles and milliseconds of each time of recordings and trials."""
    for path in sorted(glob.glob(results + "/drawn-*/*.json.gz")):
        space = json.load(gzip.open(path))
        columns = {name.replace("raster.", "raster_"): column for name, column in space["schedules"].items()}
        name, before = os.path.basename(path)[len("drawn-bf16-"):-len(".json.gz")], space["environment"]["kernels"] in BEFORE_BOXES
        for recorded in space["shapes"]:
            for row, us in enumerate(recorded["median_us"]):
                schedule = {column: values[row] for column, values in columns.items()}
                if us is not None and not (before and overlaps(schedule)):
                    yield one(name, space["problem"]["layout"], recorded["shape"], schedule, us * 1e-3)
    for path in sorted(glob.glob(results + "/drawn-h100/regret-*-trials.jsonl.gz")):
        for line in map(json.loads, gzip.open(path, "rt")):
            if line.get("line") == "trial" and line["outcome"].get("status") == "measured":
                target = line["target"]
                yield one("h100 trials", target["problem"]["layout"], target["shape"], line["schedule"], line["outcome"]["median_ms"])


def one(source, layout, shape, schedule, ms):
    form = tuple(schedule.get(knob, ABSENT.get(knob)) for knob in FORM)
    return source, layout, (shape["m"], shape["n"], shape["k"]), form, (schedule["raster_order"], schedule["raster_group"]), ms


def overlaps(schedule):
    """Whether the last store box of a tile stores some of it again."""
    rows = schedule["tile_m"]
    if not schedule.get("swap_ab"):
        return schedule["tile_n"] % 64 != 0
    divides = max(box for box in range(8, 65, 8) if rows % box == 0)
    fewer = range(-(-rows // 64), rows // divides)
    return bool(fewer) and rows % (-(-(-(-rows // fewer[0])) // 8) * 8) != 0


def timed_choices(results):
    """The same of what runs of `tuner grid` on an H100 chose."""
    for path in sorted(glob.glob(results + "/drawn-h100/*.txt")):
        if os.path.basename(path).startswith(GRIDS):
            for found in filter(None, map(GRID.match, map(str.strip, open(path)))):
                m, n, k, layout, ms, tile_m, tile_n, stages, consumers, mode, cm, cn, rest, order, group = found.groups()
                split = re.search(r"split_k (\d+)", rest)
                form = (int(tile_m), int(tile_n), int(stages), int(consumers), mode, int(cm), int(cn), "swap_ab" in rest,
                        bool(split), int(split[1]) if split else 1)
                yield "grid", layout, (int(m), int(n), int(k)), form, (order, int(group)), float(ms)


def up(a, b):
    return -(-a // b)


def ms(constants, h100, layout, shape, form):
    """The predicted time."""
    (m, n, k), (tile_m, tile_n, ring, consumers, mode, cm, cn, swap, _, split) = shape, form
    c, memory_rate, blocks = constants, 3350.0 if h100 else 4800.0, cm * cn * split
    contention = c["contention"] * (c["h100_contention"] if h100 else 1.0)
    sms = int(132 * (1.0 if blocks <= 2 else 0.93 if blocks <= 4 else 0.87) + 1e-9)
    tiles, slots = up(m, tile_m * cm) * up(n, tile_n * cn) * cm * cn, max(sms // blocks * cm * cn, 1)
    full = max(up(tiles, slots) - 1, 0)
    turns, active = full + up((tiles - full * slots) * split, sms), max(min(tiles, slots) * split, 1)
    stages, rows = max(up(k, 64 * split), 1), up(m, tile_m)

    def begins(row_bytes):
        return 0 if row_bytes % 128 == 0 else 1 if row_bytes % 32 == 0 else 2

    def factor(count, row_bytes):
        copied = row_bytes % 16 != 0 and count > 1
        return count * row_bytes if copied else 0, 0 if copied and row_bytes >= 1024 else begins(row_bytes)

    (a_bytes, a_begins), (b_bytes, b_begins) = factor(m, 2 * k), factor(k, 2 * n) if layout == "nn" else factor(n, 2 * k)
    along_k = {0: (1.0, True), 1: (c["straddling"], True), 2: (1.8, False)}
    (a_asks, a_shared), (b_asks, b_shared) = along_k[a_begins], (1.8, False) if layout == "nn" and b_begins else along_k[b_begins]
    a_there, b_there = m / rows, n / up(n, tile_n)
    of_a = (0.5 if a_shared and m <= tile_m and blocks == 1 else 1.0) / cn
    of_b = (0.5 if b_shared and m > tile_m and blocks == 1 else 1.0) / cm
    asked = of_a * a_asks * a_there + of_b * b_asks * b_there + c["padding"] * ((tile_m - a_there) / cn + (tile_n - b_there) / cm)
    loads = asked * 128 * (active / 132) ** (2.2 if rows > 2 else 1.0) / (c["l2_gb_per_s"] * 1e6)
    wide = tile_m if swap else tile_n
    reached = min((wide / 2) / ((2048 + 32 * wide) / 128), 1.0)
    compute = 2.0 * tile_m * tile_n * 64 / (989.4e9 * c["sustained"] / 132 * reached)
    latency = (c["load_us"] * (c["cluster_wait"] if cm * cn > 1 else 1.0) / ring + c["pass_us"]) * 1e-3
    limits = [compute, loads, latency]
    tile = stages * (max(limits) + contention * (sum(limits) - max(limits)))
    memory = (1.35 if split > 1 and rows > 1 else 1.0) * 2.0 * (m * k + k * n + m * n) / (memory_rate * 1e6 * c["memory"])
    ordinary = 2 * n % 16 != 0
    drained = 1.0 if ordinary else ([1.0, 1.8, 2.3] if swap else [1.2, 1.2, 1.6])[begins(2 * n)]
    store = (4.0 if ordinary else 1.0) * 2.0 * tile_m * tile_n / (c["l2_gb_per_s"] * 1e6 * c["store"])
    seen = max(c["ping_pong_store"] * store if mode == "ping_pong" else store, stages * loads + drained * store - tile)
    busy = turns * tile + seen * (turns - 1)
    longer, shorter = max(busy, memory), min(busy, memory)
    took = longer * (1 + (shorter / longer) ** c["memory_norm"]) ** (1 / c["memory_norm"]) + drained * store + turns * c["tile_us"] * 1e-3
    if split > 1:
        took += turns * (c["split_us"] * 1e-3 + tile_m * tile_n * 4 * (1 - 1 / split) / (c["peer_gb_per_s"] * 1e6))
    if a_bytes + b_bytes:
        took += 1.1e-3 + 2 * (a_bytes + b_bytes) / (memory_rate * 1e6 * 0.68)
    took += (c["launch_us"] + (c["h100_clusters_us"] if h100 and blocks > 1 else 0.0)) * 1e-3
    return (0.97 if rows <= 1 else 1.0) * took


def different(order, group, first, end, tiles):
    """How many rows and columns of tiles successive numbers have."""
    fast, slow = tiles if order == "along_m" else tiles[::-1]
    group, seen = min(group, fast), (set(), set())
    for number in range(first, end):
        part = number // (group * slow)
        size, within = min(group, fast - part * group), number - part * group * slow
        at = (part * group + within % size, within // size)
        at = at if order == "along_m" else at[::-1]
        seen[0].add(at[0]), seen[1].add(at[1])
    return len(seen[0]), len(seen[1])


MEMORY = {}


def asked(shape, form, order):
    key = (shape[:2], form[:2], form[5:7], form[9], order)
    if key not in MEMORY:
        sides, blocks = (form[0] * form[5], form[1] * form[6]), form[5] * form[6] * form[9]
        tiles, product = (up(shape[0], sides[0]), up(shape[1], sides[1])), 1
        at_once = max(min(tiles[0] * tiles[1], 132 // blocks), 1)
        turns = up(tiles[0] * tiles[1], at_once)
        for sms in (18, 66):
            total, run = 0, max(sms // blocks, 1)
            for number in range(min(turns, 4)):
                begin = number * turns // min(turns, 4) * at_once
                end = min(begin + at_once, tiles[0] * tiles[1])
                for first in range(begin, end, run):
                    rows, columns = different(*order, first, min(first + run, end), tiles)
                    total += sides[0] * rows + sides[1] * columns
            product *= total
        MEMORY[key] = product
    return MEMORY[key]


def launched(shape, form):
    """What the order of a launch asks for."""
    clusters = (up(shape[0], form[0] * form[5]), up(shape[1], form[1] * form[6]))
    orders = [("along_m", 32)]
    if min(clusters) > 1:
        for order, side in zip(("along_m", "along_n"), clusters):
            if order == "along_m" or shape[1] % 64 == 0 or shape[1] <= shape[2]:
                orders += [(order, group) for group in (32, 16, 12, 8, 6, 4, 2) if group == 32 or group < side]
    return min(asked(shape, form, order) for order in orders)


def told(behind):
    behind = np.array(behind)
    return (f"{len(behind):3} shapes, mean {100 * (np.exp(np.log(behind).mean()) - 1):.2f} %, median {100 * (np.median(behind) - 1):.2f}, "
            f"90th percentile {100 * (np.quantile(behind, 0.9) - 1):.1f}, worst {100 * (behind.max() - 1):.1f}")


def main(config, results):
    constants, factors = {}, collections.defaultdict(dict)
    for portfolio in (of for of in json.load(open(config))["portfolios"] if of["element_bytes"] == 2):
        constants[portfolio["layout"]] = portfolio["model"]
        for image in (of for of in portfolio["images"] if of["schedule"]["family"] == "sm90"):
            form = tuple(image["schedule"][knob] for knob in FORM)
            for split in (2, 4, 8) if form[8] else (1,):
                factors[portfolio["layout"]][form[:9] + (split,)] = image["measured_over_predicted"]
    without = {"h100_contention": 1.0, "h100_clusters_us": 0.0}
    models = {"without": {layout: {**of, **without} for layout, of in constants.items()}, "with": constants}

    def predicted(model, h100, layout, shape, form):
        return factors[layout].get(form, 1.0) * ms(models[model][layout], h100, layout, shape, form)

    # The least time of each form by an order that asks for little more than a launch's, and the least of all.
    least, best = collections.defaultdict(dict), {}
    for source, layout, shape, form, order, took in times(results):
        place = (source, layout, shape)
        best[place] = min(took, best.get(place, took))
        if asked(shape, form, order) <= 1.1 * launched(shape, form):
            least[place][form] = min(took, least[place].get(form, took))
    chosen = collections.defaultdict(dict)
    for _, layout, shape, form, _, took in timed_choices(results):
        chosen["grid", layout, shape].setdefault(form, []).append(took)

    sets = [("H100, recordings that the constants are fitted to", lambda of: of in FITTED),
            ("H100, trials and recordings of before, which no fit saw", lambda of: "h100" in of and of not in FITTED),
            ("H200, recordings that the other constants are fitted to", lambda of: "h200" in of)]
    for layout in ("nt", "nn"):
        for words, takes in sets:
            print(f"{layout}, {words}")
            places = [place for place in least if takes(place[0]) and place[1] == layout]
            for model in models:
                carried, every, errors = [], [], []
                for place in places:
                    of = {form: predicted(model, "h100" in place[0], *place[1:], form) for form in least[place]}
                    errors += [np.log(of[form] / took) for form, took in least[place].items() if took <= 1.3 * best[place]]
                    forms = [form for form in of if form in factors[layout]]
                    if len(forms) > 3:
                        carried.append(least[place][min(forms, key=of.get)] / min(least[place][form] for form in forms))
                    every.append(least[place][min(of, key=of.get)] / min(least[place].values()))
                print(f"  {model:7} error near the fastest {100 * np.sqrt(np.mean(np.square(errors))):.2f} %; among carried forms {told(carried)}; among all {told(every)}")
        print(f"{layout}, H100, shapes at which runs of `tuner grid` chose differently, which no fit saw")
        places = {place: {form: np.median(took) for form, took in of.items()} for place, of in chosen.items() if place[1] == layout}
        for model in models:
            behind = [of[min(of, key=lambda form: predicted(model, True, *place[1:], form))] / min(of.values()) for place, of in places.items() if len(of) > 1]
            errors = [np.log(took / predicted(model, True, *place[1:], form)) for place, of in places.items() for form, took in of.items() if took < 0.1]
            print(f"  {model:7} {told(behind)}; measured over predicted below 0.1 ms, {len(errors)} choices: mean {np.exp(np.mean(errors)):.3f}, "
                  f"standard deviation of the logarithm {np.std(errors):.3f}, 95th percentile {np.exp(np.quantile(errors, 0.95)):.3f}")
    print("chosen on an H100, and the next")
    for layout, shape in LISTED:
        for model in models:
            of = {form: predicted(model, True, layout, shape, form) for form in factors[layout]}
            first = sorted(of, key=of.get)[:2]
            words = ", ".join(f"{form[0]}x{form[1]} s{form[2]} {form[4]} {1e3 * of[form]:.1f} us" for form in first)
            print(f"  {'x'.join(map(str, shape))} {layout} {model:7} {words}")
        for form, took in chosen["grid", layout, shape].items():
            print(f"    measured {form[0]}x{form[1]} s{form[2]} {form[4]}: {', '.join(f'{1e3 * of:.1f}' for of in took)} us")


main(*sys.argv[1:])
