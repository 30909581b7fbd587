#!/usr/bin/env bash
# Results compared (no regression is reported of noise, and none of five per cent is missed) and
# shown as a page.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

# (FILE SEED FACTOR FIRST)...: eight rows of nine samples with noise of 1 %, the clock's own of 0.5 %
# from run to run; all rows FACTOR times as slow, the first one FIRST besides.
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
expect_true 'one row is named' test "$(grep -c SLOWER out)" = 1
# several runs in a file count as one measurement
for seed in 401 402 403; do results part "$seed" 1 1 && cat part >>runs; done
expect_exit 0 "$program" bench compare old runs
expect_true 'eight rows of three runs' test "$(grep -c '<uniform>' out)" = 8
sed 's/12ab/12ac/' old >changed
expect_exit 6 "$program" bench compare old changed
expect_says err '8 answers changed'
head -n 7 old >fewer
expect_exit 0 "$program" bench compare old fewer
expect_says out 'gone '
expect_exit 0 "$program" bench compare fewer old
expect_says out 'new '
sed 's/points/knn/' old >others
expect_exit 6 "$program" bench compare old others
expect_says err 'no row is in both files'

printf '{"bench":"points","ms":{"median":1}}\nnothing\n' >bad
expect_exit 3 "$program" bench compare old bad
expect_says err 'bad:2: found no JSON object'
echo '{"bench":"points"}' >bad
expect_exit 3 "$program" bench report bad -o page
expect_says err 'bad:1: found no "bench" or no "ms"'
: >empty
expect_exit 3 "$program" bench report empty -o page
expect_says err 'empty: empty'
expect_exit 2 "$program" bench report old
expect_says err '--report FOLDER'
expect_exit 2 "$program" bench compare old
expect_exit 2 "$program" bench compare old same --max-regress much
expect_says err 'expected per cent such as 3%'

expect_exit 0 "$program" bench report old -o page
expect_true 'a picture' grep -q '<svg' page/index.html
expect_true 'texts are escaped' grep -q 'A &amp; B' page/index.html
expect_true 'and not left bare' test "$(grep -c '<uniform>' page/index.html)" = 0
expect_true 'the slope of time against size' grep -q 'exponent of n: select cpu 1.0' page/index.html
expect_true 'nothing comes from elsewhere' test "$(grep -cE '<script|<link|src=|href=|url\(' page/index.html)" = 0
expect_true 'the lines are laid beside it' cmp -s old page/results.jsonl
expect_true 'each case has a chart of its own' python3 -c "
import xml.dom.minidom
assert 'Building point trees: <uniform>' in str([
    text.firstChild.data for text in
    xml.dom.minidom.parse('page/chart-points--uniform-.svg').getElementsByTagName('text')])"
expect_exit 0 "$program" bench report page/results.jsonl -o page
expect_true 'lines that lie there already stay' cmp -s old page/results.jsonl

expect_exit 0 "$program" bench report "$source_folder/tools/bench/results/h200-full.jsonl" -o plots
for chart in points-uniform knn-photon scaling-triangle-trees; do
    expect_true "README's plot of $chart is what the results say" \
        cmp -s "plots/chart-$chart.svg" "$source_folder/docs/plots/chart-$chart.svg"
done
expect_true 'the page beside the results is theirs' \
    cmp -s plots/index.html "$source_folder/tools/bench/results/h200-report/index.html"

expect_exit 0 "$program" bench points --sizes 1K,2K --builders select --devices cpu --runs 2 --report made
expect_true 'lines beside the page' test "$(wc -l <made/results.jsonl)" = 4
expect_true 'the page of this run' grep -q 'Building point trees' made/index.html
expect_true 'the script of PNG plots lies beside it' cmp -s made/plots.py "$source_folder/tools/bench/report/plots.py"
if /usr/bin/python3 -c 'import matplotlib' 2>/dev/null; then
    expect_true 'and has drawn them' test -s made/plot-points-uniform.png
else
    expect_says err 'python3-matplotlib is not installed'
fi
expect_exit 0 "$program" bench points --sizes 1K --builders select --devices cpu --runs 2 --report made
expect_true 'lines of another run are not kept' test "$(wc -l <made/results.jsonl)" = 2
expect_done
