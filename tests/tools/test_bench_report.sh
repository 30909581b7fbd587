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

# The page always has the table, and the plots if matplotlib is installed.
if /usr/bin/python3 -c 'import matplotlib' 2>/dev/null; then plots=1; else plots=0; fi
expect_exit 0 "$program" bench report old -o page
expect_true 'the page contains a table of all rows' test "$(wc -l <page/table.md)" = 10
expect_true 'the page escapes texts' grep -q 'A &amp; B' page/index.html
expect_true 'the page contains no unescaped text' test "$(grep -c '<uniform>' page/index.html)" = 0
expect_true 'the page loads no files from other sites' test "$(grep -cE '<script|<link|src="[^d]|href=|url\(' page/index.html)" = 0
expect_true 'the result lines are written beside the page' cmp -s old page/results.jsonl
if ((plots)); then
    expect_true 'the page contains a plot' grep -q '<img alt="chart-points--uniform-.svg" src="data:image/svg+xml;base64' page/index.html
    expect_true 'each case has a chart with the exponent of time against size' python3 -c "
import xml.dom.minidom
texts = str([text.firstChild.data for text in
             xml.dom.minidom.parse('page/chart-points--uniform-.svg').getElementsByTagName('text')])
assert 'Building point trees: <uniform>' in texts and 'select cpu dims 3 (exponent 1.0' in texts, texts"
    # The plots of the README match the results: each chart contains the hash of the lines it shows.
    mkdir chosen
    for chart in points:uniform knn:photon "scaling:triangle trees"; do
        grep "\"bench\":\"${chart%%:*}\",\"case\":\"${chart#*:}\"" "$source_folder/tools/bench/results/h200-full.jsonl"
    done >chosen/results.jsonl
    cp page/report.py chosen && /usr/bin/python3 chosen/report.py
    for chart in points-uniform knn-photon scaling-triangle-trees; do
        hash=$(grep -o 'data [0-9a-f]\{16\}' "chosen/chart-$chart.svg")
        expect_true "README's plot of $chart equals the plot of the results" \
            grep -q "${hash:-no plot}" "$source_folder/docs/plots/chart-$chart.svg"
    done
else
    expect_says err 'matplotlib is not installed'
fi
# Without matplotlib a line reports it, and everything except the plots is written.
mkdir bare && printf 'raise ImportError("hidden")\n' >bare/matplotlib.py
rm -r page
expect_exit 0 env PYTHONPATH="$PWD/bare" "$program" bench report old -o page
expect_says err 'no plots: matplotlib is not installed (package python3-matplotlib)'
expect_true 'the table is printed without matplotlib' test "$(wc -l <page/table.md)" = 10
expect_true 'the page and its rows are written without matplotlib' grep -q 'All 8 rows' page/index.html
expect_true 'no chart is written without matplotlib' test "$(find page -name '*.svg' | wc -l)" = 0
expect_exit 0 "$program" bench report page/results.jsonl -o page
expect_true 'existing result lines are kept' cmp -s old page/results.jsonl

expect_exit 0 "$program" bench points --sizes 1K,2K --builders select --devices cpu --runs 2 --report made
expect_true 'the result lines are written beside the page' test "$(wc -l <made/results.jsonl)" = 4
expect_true 'the page contains the rows of this run' grep -q 'Building point trees' made/index.html
expect_true 'the script is written beside the page' cmp -s made/report.py "$source_folder/tools/lab/report.py"
expect_exit 0 "$program" bench points --sizes 1K --builders select --devices cpu --runs 2 --report made
expect_true 'result lines of another run are replaced' test "$(wc -l <made/results.jsonl)" = 2
expect_done
