#!/usr/bin/env bash
# `kandela estimate`: a report of every estimator, whose errors equal those of separate renderings.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
scene=$source_folder/scenes/cornell_diffuse.json
expect_exit 0 "$program" render "$scene" --resolution 24x16 --spp 64 -q -o right.pfm
expect_exit 0 "$program" photons "$scene" --photons 4000 -q -o map.kdp
estimate=("$program" estimate map.kdp "$scene" --reference right.pfm)

expect_exit 0 "${estimate[@]}" --ladder 40,10 --spp 4 --report made
expect_says out made/estimates.csv
expect_true "the table has one row per estimator and count" test "$(wc -l <made/estimates.csv)" = 13
for name in disc cone epanechnikov gaussian fixed adaptive; do
    expect_true "pictures of estimator $name are written" test -s made/$name-10.png -a -s made/$name-40.png
done
expect_exit 0 python3 "$source_folder/tests/tools/check_page.py" made/index.html
python3 - <<'P' || expect_fail "the pictures of one estimator are in numeric order, each with its difference, and as large as the reference"
import re, struct
page = open('made/index.html').read()
names = re.findall('<img alt="([^"]*)"', page)
assert names[0] == 'reference.png' and names[1:5] == ['disc-10.png', 'disc-10-difference.png', 'disc-40.png', 'disc-40-difference.png'], names
assert len(names) == 25 and len({struct.unpack('>II', open(f'made/{name}', 'rb').read()[16:24]) for name in names}) == 1
assert 'key of the differences' in page
P
python3 - <<'P' || expect_fail "table and plots are complete"
import csv, math
rows = list(csv.DictReader(open('made/estimates.csv')))
for row in rows:
    for name in ('k', 'radius', 'seconds', 'relmse', 'relmse_blocks', 'rmse'):
        assert float(row[name]) > 0 and math.isfinite(float(row[name])), (name, row)
    assert float(row['relmse_blocks']) < float(row['relmse'])
for name in ('error-time', 'error-k'):
    plot = open(f'made/{name}.svg').read()
    assert all(f'>{row["estimator"]} (exponent' in plot for row in rows) and '>relMSE<' in plot and plot.count('<circle') == 12, name
P

# The same by separate commands.
expect_exit 0 "$program" render "$scene" --resolution 24x16 --spp 4 --integrator photon \
    --final-gather 0 --photon-map map.kdp --gather 40 --estimator adaptive --seed 0 -q -o hand.pfm
expect_exit 0 "$program" compare hand.pfm right.pfm --metric relmse
expect_true "the error of a separate rendering equals that of the table" test \
    "$(sed -n 's/^adaptive,cone,40,[^,]*,[^,]*,\([^,]*\),.*/\1/p' made/estimates.csv)" = "$(cat out)"

# Integrators against the reference, one parameter at a time, and resumed after an interruption.
compare=("$program" estimate "$scene" --reference right.pfm --integrators path,light,photon,sppm --report lab --spp 2
    --spp-ladder 1,4 --photons-ladder 500,2K --ladder 10,30 --radius-ladder 0.5,1 --passes-ladder 1,2 --alpha-ladder 0.5,0.9
    --estimators nearest,fixed)
expect_exit 0 "${compare[@]}"
expect_true 'the table has one row per value of each ladder' test "$(wc -l <lab/experiment.csv)" = $((1 + 2 + 4 + 12 + 8))
expect_true 'parameters that a method lacks are empty' grep -q '^path,,,spp,4,,,,,,[0-9]' lab/experiment.csv
for name in spp photons k radius passes alpha seconds; do
    expect_true "the report has a plot against $name" grep -q '>relMSE<' "lab/figure-error-$name.svg"
done
expect_true 'the report page contains 7 plots' test "$(grep -o '<figure>' lab/index.html | wc -l)" = 7
expect_exit 0 python3 "$source_folder/tests/tools/check_page.py" lab/index.html
python3 - <<'P' || expect_fail 'a method has the same colour in all plots'
import glob, re
colours = {}
for path in glob.glob('lab/figure-error-*.svg'):
    for name, colour in re.findall(r'class="label"><tspan[^>]*>([^<(]*).*?</text><rect[^>]*var\(--c(\d)\)', open(path).read()):
        colours.setdefault(name.strip(), set()).add(colour)
assert len(colours) > 3 and all(len(found) == 1 for found in colours.values()), colours
P
cp lab/experiment.csv whole.csv
head -n 9 lab/experiment.jsonl >part && printf '{"experiment":"cut sho' >>part && cp part lab/experiment.jsonl
expect_exit 0 "${compare[@]}"
expect_true 'at least 9 rows are not measured again' test "$(grep -c 'measured before' out)" -ge 9
expect_exit 0 "${compare[@]}"
expect_true 'no row is measured again' test "$(grep -c 'measured before' out)" = 26
expect_true 'the errors equal those of the first run' diff <(cut -d, -f1-10,12- whole.csv) <(cut -d, -f1-10,12- lab/experiment.csv)
expect_exit 0 "$program" render "$scene" --resolution 24x16 --spp 4 --integrator path --seed 0 -q -o hand.pfm
expect_exit 0 "$program" compare hand.pfm right.pfm --metric relmse
expect_true 'the error equals that of a separate rendering' test "$(awk -F, '$1 == "path" && $5 == 4 {print $12}' lab/experiment.csv)" = "$(cat out)"
expect_exit 2 "${compare[@]}" --integrators path,oak
expect_says err 'unknown integrator "oak"'
expect_exit 2 "${compare[@]}" --alpha-ladder 0.5,2
expect_says err '--alpha-ladder 0.5,2: expected'
expect_exit 2 "${compare[@]}" --views far
expect_says err 'expected some of visible'

# The weighted shares of the techniques of vcm.
expect_exit 0 "$program" estimate "$scene" --reference right.pfm --integrators vcm --report shares --spp 2 --spp-ladder 1
expect_exit 0 python3 "$source_folder/tests/tools/check_page.py" shares/index.html
python3 - <<'P' || expect_fail 'the shares of the techniques of vcm add up to the picture, and are shown'
import csv
whole, *parts = csv.DictReader(open('shares/shares.csv'))
assert [part['technique'] for part in parts] == ['eye', 'lamps', 'splat'] and all(float(part['share']) > 0 for part in parts)
assert abs(sum(float(part['share']) for part in parts) - 1) < 1e-5 and open('shares/index.html').read().count('alt="share-') == 4
P

# Rejected arguments; the message suggests the correct ones.
expect_exit 2 "$program" estimate map.kdp "$scene"
expect_says err "--reference"
expect_exit 2 "${estimate[@]}" --estimators disc,cube
expect_says err "expected some of disc, cone"
for ladder in 1 10,x 2000 "" 10,,20; do
    expect_exit 2 "${estimate[@]}" --ladder "$ladder"
done
expect_exit 3 "$program" estimate map.kdp "$source_folder/scenes/furnace.json" \
    --reference right.pfm --ladder 10 --estimators disc --report other
expect_says err "belongs to another scene"
expect_exit 3 "${estimate[@]}" --reference none.pfm
expect_done
