#!/usr/bin/env bash
# `bench compare` reports no regression for noise and misses none of five per cent; `bench report`
# writes a page.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

# Takes groups of four arguments FILE SEED FACTOR FIRST. Writes eight rows of nine samples with
# noise of 1 % and a variation of the clock of 0.5 % from run to run; all rows are slower by FACTOR,
# and the first one by FACTOR x FIRST.
results() {
    python3 - "$@" <<'P'
import json, random, sys

def write(path, seed, factor, first):
    noise = random.Random(seed)
    with open(path, "w") as out:
        for row in range(8):
            level = 2**row * factor * (1 if row else first) * (1 + noise.gauss(0, 0.005))
            ms = sorted(level * (1 + abs(noise.gauss(0, 0.01))) for _ in range(9))
            out.write(json.dumps({
                "bench": "points", "case": "<uniform>", "builder": "select", "device": "cpu",
                "n": 1000 * 2**row, "dims": 3, "rate": 1e6, "hash": "12ab", "checked": True,
                "cpu": "A & B", "commit": "c",
                "ms": {"median": ms[4], "min": ms[0], "q1": ms[2], "q3": ms[6], "all": ms}}) + "\n")

for i in range(1, len(sys.argv), 4):
    write(sys.argv[i], *(float(text) for text in sys.argv[i + 1:i + 4]))
P
}

files=()
for seed in $(seq 20); do
    files+=("old$seed" "$seed" 1 1 "same$seed" "$((seed + 100))" 1 1 "slow$seed" "$((seed + 200))" 1.05 1)
done
results "${files[@]}"
for seed in $(seq 20); do
    expect_exit 0 "$program" bench compare "old$seed" "same$seed" --max-regress 3%
    expect_exit 6 "$program" bench compare "old$seed" "slow$seed" --max-regress 3%
done
mv old20 old && mv same20 same && mv slow20 slow
expect_says err 'more than 3 % slower'
expect_exit 0 "$program" bench compare old slow --max-regress 10%
expect_exit 0 "$program" bench compare slow old
results row 300 1 1.1
expect_exit 6 "$program" bench compare old row
expect_says out 'SLOWER'
expect_says err '1 of 8 rows'
expect_true 'the report prints one row per case' test "$(grep -c SLOWER out)" = 1
# Several runs in one file count as one measurement.
for seed in 401 402 403; do results part "$seed" 1 1 && cat part >>runs; done
expect_exit 0 "$program" bench compare old runs
expect_true 'three runs add eight rows' test "$(grep -c '<uniform>' out)" = 8
sed 's/12ab/12ac/' old >changed
expect_exit 6 "$program" bench compare old changed
expect_says err 'the results of 8 rows changed'
head -n 7 old >fewer
expect_exit 0 "$program" bench compare old fewer
expect_says out 'gone '
expect_exit 0 "$program" bench compare fewer old
expect_says out 'new '
sed 's/points/knn/' old >others
expect_exit 6 "$program" bench compare old others
expect_says err 'have no row in common'

printf '{"bench":"points","ms":{"median":1}}\nnothing\n' >bad
expect_exit 3 "$program" bench compare old bad
expect_says err 'bad:2: found no JSON object'
echo '{"bench":"points"}' >bad
expect_exit 3 "$program" bench report bad -o page
expect_says err 'bad:1: "bench", or "ms" with a "median"'
: >empty
expect_exit 3 "$program" bench report empty -o page
expect_says err 'empty: the file is empty'
expect_exit 2 "$program" bench report old
expect_says err '--report FOLDER'
expect_exit 2 "$program" bench compare old
expect_exit 2 "$program" bench compare old same --max-regress much
expect_says err 'expected a percentage such as 3%'

check_page=$source_folder/tests/tools/check_page.py
expect_exit 0 "$program" bench report old -o page
expect_true 'the page contains a table of all rows' test "$(wc -l <page/table.md)" = 10
expect_true 'the page and its rows are written' grep -q 'All 8 rows' page/index.html
expect_true 'the page escapes texts' grep -q 'A &amp; B' page/index.html
expect_true 'the page contains no unescaped text' test "$(grep -c '<uniform>' page/index.html)" = 0
expect_true 'the result lines are written beside the page' cmp -s old page/results.jsonl
expect_exit 0 python3 "$check_page" page/index.html
expect_true 'each case has a chart with the exponent of time against size' python3 -c "
import xml.etree.ElementTree
text = ' '.join(xml.etree.ElementTree.parse('page/chart-points--uniform-.svg').getroot().itertext())
assert 'Building point trees: <uniform>: build time [ms]' in text and 'select (exponent 1.0' in text, text"
expect_exit 0 "$program" bench report page/results.jsonl -o page
expect_true 'existing result lines are kept' cmp -s old page/results.jsonl

# Each question has a chart of its own: builders and threads in numeric order, SAH costs of equal
# constants, a published rate beside a measured rate; rows that this run compared with nothing say so.
python3 - >questions <<'P'
import json
def line(ms, **more):
    print(json.dumps({"case": "bunny", "builder": "sweep", "device": "cpu", "n": 900, "rate": 9e5 / ms, "checked": True, "cpu": "C",
                      "commit": "c", "ms": {"median": ms, "min": ms * .9, "q1": ms * .95, "q3": ms * 1.2, "all": [ms] * 3}, **more}))
for setting, cost in (("Ct 1, empty 0.8", 60), ("rays", 90)):
    for builder, ms in (("sweep", 8), ("zhou", 4)):
        line(ms, bench="build", builder=builder, variant=setting, sah_cost=cost, triangles=900, speedup=8 / ms, stage_ms={"large": ms / 2, "small": ms / 2})
        line(ms / 9, bench="widen", builder=builder, variant=setting)
    for threads in (16, 2):
        line(9, bench="build", variant=f"{setting}, {threads} threads", sah_cost=cost, triangles=900)
for model in ("bunny primary", "dragon primary"):
    line(2, bench="trace", case=model, variant="plain", triangles=900)
line(2, bench="photons", variant="emission", checked=False)
line(3, bench="wald-query", k=8, published=888, published_unit="M/s", published_on="RTX 3090 Ti", ratio=.5)
P
expect_exit 0 "$program" bench report questions -o asked
expect_exit 0 python3 "$check_page" asked/index.html
python3 - <<'P' || expect_fail 'the page has a chart for each question'
import glob, re, xml.etree.ElementTree
tag = '{http://www.w3.org/2000/svg}'
charts = {}
for path in glob.glob('asked/*.svg'):
    root = xml.etree.ElementTree.parse(path).getroot()
    texts = [(''.join(text.itertext()).strip(), text.get('class')) for text in root.iter(tag + 'text')]
    charts[root.find(tag + 'title').text] = [text for text, kind in texts if kind == 'label'], [text for text, kind in texts if kind == '']
setting = 'Building triangle trees: bunny: C_t 1, empty 0.8: '
spread = 'middle half of the runs (first to third quartile)'
assert charts[setting + 'build time [ms]'][0] == ['sweep, 2 threads', 'sweep, 16 threads', 'sweep, all threads', 'zhou, all threads', spread]
assert charts[setting + 'SAH cost [triangle tests per ray]'] == (['sweep', 'zhou'], ['60', '60'])
assert charts[setting.replace('1, empty 0.8', '1.5, empty 1 (as for rendering)') + 'SAH cost [triangle tests per ray]'][1] == ['90', '90']
assert charts[setting + 'speed-up over sweep on one thread [ratio]'] == (['sweep', 'zhou'], ['1', '2'])
assert charts[setting + 'time of each stage [ms]'] == (['sweep', 'zhou', 'large', 'small'], ['8', '4'])
assert charts['Tracing rays: million rays per second'][0] == ['bunny primary', 'dragon primary', spread]
assert charts['Wald 2022, stack-free queries, Table 1: bunny: measured and published million queries per second'][1] == ['0.3']
page = open('asked/index.html', encoding='utf-8').read()
assert len(re.findall('<td>by tests</td>', page)) == 1 and 'rows with “by tests”' in page
P

# Axes have at least three numbers, which differ as they are shown.
PYTHONPATH=asked python3 -B - <<'P' || expect_fail 'an axis of any length has at least three numbers'
import random
from report_drawing import power, ticks
chosen = random.Random(1)
for _ in range(3000):
    low = 10 ** chosen.uniform(-6, 9)
    high = low * 10 ** chosen.uniform(0.12, 6)
    made = ticks(low, high)
    assert 3 <= len(made) <= 12 and len(set(map(power, made))) == len(made), (low, high, made)
    assert low <= made[0] and made == sorted(made) and made[-1] <= high, (low, high, made)
P

# The plots of docs/speed.md are those of the results.
mkdir chosen
for chart in points:uniform knn:photon "scaling:triangle trees"; do
    grep "\"bench\":\"${chart%%:*}\",\"case\":\"${chart#*:}\"" "$source_folder/tools/bench/results/h200-full.jsonl"
done >chosen/results.jsonl
cp page/report*.py chosen && python3 -B chosen/report.py
for chart in points-uniform knn-photon scaling-triangle-trees; do
    expect_true "the plot of $chart equals that of the results" cmp -s "chosen/chart-$chart.svg" "$source_folder/docs/plots/chart-$chart.svg"
done

expect_exit 0 "$program" bench points --sizes 1K,2K --builders select --devices cpu --runs 2 --report made
expect_true 'the result lines are written beside the page' test "$(wc -l <made/results.jsonl)" = 4
expect_true 'the page contains the rows of this run' grep -q 'Building point trees' made/index.html
for script in report report_drawing; do
    expect_true "$script.py is written beside the page" cmp -s "made/$script.py" "$source_folder/tools/lab/$script.py"
done
expect_exit 0 "$program" bench points --sizes 1K --builders select --devices cpu --runs 2 --report made
expect_true 'result lines of another run are replaced' test "$(wc -l <made/results.jsonl)" = 2
expect_done
