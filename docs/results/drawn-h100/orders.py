"""How far behind the fastest recorded order of tiles those are that two rules choose, in recordings and trials of drawn products.

python3 orders.py RECORDING.json.gz ... TRIALS.jsonl.gz ...

Of each form of an image at each shape, the orders that were timed; a rule takes one of them. Pairs of clusters are left out, as are
forms more than 15 % behind the fastest of their shape, with fewer than four orders, or with one row or column of tiles.
"""
import collections
import gzip
import json
import math
import sys

SMS, OF_A_GPC, OF_A_HALF, TURNS = 132, 18, 66, 4


def timed(path):
    """Shape, form, tile, split and order of each time, in microseconds."""
    if path.endswith(".jsonl.gz"):
        for line in map(json.loads, gzip.open(path, "rt")):
            if line.get("line") == "trial" and line["outcome"].get("status") == "measured":
                shape = line["target"]["shape"]
                yield from one(path, line["target"]["problem"]["layout"], shape, line["schedule"], 1e3 * line["outcome"]["median_ms"])
        return
    space = json.load(gzip.open(path))
    columns = {name.replace("raster.", "raster_"): column for name, column in space["schedules"].items()}
    for recorded in space["shapes"]:
        for row, us in enumerate(recorded["median_us"]):
            if us is not None:
                schedule = {name: column[row] for name, column in columns.items()}
                yield from one(path, space["problem"]["layout"], recorded["shape"], schedule, us)


def one(path, layout, shape, schedule, us):
    if schedule.get("family", "sm90") == "sm90" and schedule["cluster_m"] == schedule["cluster_n"] == 1:
        form = tuple(sorted((name, value) for name, value in schedule.items() if not name.startswith("raster") and name != "rows_up_to"))
        tile = (schedule["tile_m"], schedule["tile_n"], schedule.get("split_k", 1))
        yield (path, layout, shape["m"], shape["n"], shape["k"]), form, tile, (schedule["raster_order"][-1], schedule["raster_group"]), us


def places(rows, columns, order, group):
    """Of each tile number its row and column."""
    fast, slow = (rows, columns) if order == "m" else (columns, rows)
    group = min(group, fast)
    found = []
    for number in range(rows * columns):
        first = number // (group * slow) * group
        size, within = min(group, fast - first), number % (group * slow)
        at = (first + within % size, within // size)
        found.append(at if order == "m" else at[::-1])
    return found


def asked(rows, columns, tile, order, group):
    """What the tiles that run side by side load: different rows and columns of runs of successive numbers."""
    tile_m, tile_n, split = tile
    at = places(rows, columns, order, group)
    at_once = min(SMS // split, len(at))
    turns = -(-len(at) // at_once)
    looked_at = min(turns, TURNS)
    product = 1.0
    for sms in (OF_A_GPC, OF_A_HALF):
        run, total = max(sms // split, 1), 0
        for number in range(looked_at):
            begin = number * turns // looked_at * at_once
            end = min(begin + at_once, len(at))
            for first in range(begin, end, run):
                seen = at[first : min(first + run, end)]
                total += tile_m * len({row for row, _ in seen}) + tile_n * len({column for _, column in seen})
        product *= total
    return product


def whole_sides(rows, columns):
    """The rule until 2026-11-28."""
    return ("m", 32) if rows <= 16 else ("n", 32) if columns <= 12 else ("m", 8)


forms = collections.defaultdict(dict)
best = {}
for path in sys.argv[1:]:
    for shape, form, tile, (order, group), us in timed(path):
        rows, columns = -(-shape[2] // tile[0]), -(-shape[3] // tile[1])
        known = forms[shape, form, tile, rows, columns]
        order = (order, min(group, rows if order == "m" else columns))
        known[order] = min(us, known.get(order, us))
        best[shape] = min(us, best.get(shape, us))


def tell(what, takes):
    lost = {"as before": [], "least asked": []}
    for (shape, _, tile, rows, columns), orders in forms.items():
        order, group = whole_sides(rows, columns)
        before = (order, min(group, rows if order == "m" else columns))
        fastest = min(orders.values())
        is_near = fastest <= 1.15 * best[shape] and len(orders) >= 4 and rows > 1 and columns > 1 and rows * columns >= 60
        if is_near and before in orders and takes(shape, rows):
            # Odd groups are left to whole sides.
            tried = [known for known in orders if known[1] % 2 == 0 or known[1] == (rows if known[0] == "m" else columns)]
            least = min(tried or orders, key=lambda known: (asked(rows, columns, tile, *known), known))
            lost["as before"].append(math.log(orders[before] / fastest))
            lost["least asked"].append(math.log(orders[least] / fastest))
    for rule, logs in lost.items():
        if logs:
            logs.sort()
            percent = lambda log: 100 * math.expm1(log)
            mean, ninetieth, ninety_ninth = sum(logs) / len(logs), logs[int(0.9 * len(logs))], logs[int(0.99 * len(logs))]
            print(
                f"{what}, {rule}: {len(logs)} forms, mean {percent(mean):.2f} %, 90th percentile {percent(ninetieth):.1f} %, "
                f"99th {percent(ninety_ninth):.1f} %, worst {percent(logs[-1]):.1f} %"
            )


tell("all", lambda shape, rows: True)
tell("more than eight rows of tiles", lambda shape, rows: rows > 8)
tell("trials", lambda shape, rows: shape[0].endswith(".jsonl.gz"))
tell("all orders of sixteen recorded", lambda shape, rows: "-93" in shape[0] or "-94" in shape[0])
