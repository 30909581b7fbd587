#!/usr/bin/env bash
# kandela estimate: a report of every estimator, with errors that a rendering of one's own has too.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
scene=$source_folder/scenes/cornell_diffuse.json
expect_exit 0 "$program" render "$scene" --resolution 24x16 --spp 64 -q -o right.pfm
expect_exit 0 "$program" photons "$scene" --photons 4000 -q -o map.kdp
estimate=("$program" estimate map.kdp "$scene" --reference right.pfm)

expect_exit 0 "${estimate[@]}" --ladder 10,40 --spp 4 --report made
expect_says out made/estimates.csv
expect_true "a row for each" test "$(wc -l <made/estimates.csv)" = 13
for name in disc cone epanechnikov gaussian fixed adaptive; do
    expect_true "$name has its pictures" test -s made/$name-10.png -a -s made/$name-40.png
done
python3 - <<'P' || expect_fail "table and plots are whole"
import csv, math, xml.dom.minidom
rows = list(csv.DictReader(open('made/estimates.csv')))
for row in rows:
    for name in ('k', 'radius', 'seconds', 'relmse', 'relmse_blocks', 'rmse'):
        assert float(row[name]) > 0 and math.isfinite(float(row[name])), (name, row)
    assert float(row['relmse_blocks']) < float(row['relmse'])
for name in ('error-time', 'error-k'):
    plot = xml.dom.minidom.parse(f'made/{name}.svg')
    texts = {t.firstChild.data for t in plot.getElementsByTagName('text')}
    assert {row['estimator'] for row in rows} <= texts and 'relMSE' in texts
    # a point each, and one in the legend
    assert len(plot.getElementsByTagName('circle')) == 12 + 6
P

# the same by hand
expect_exit 0 "$program" render "$scene" --resolution 24x16 --spp 4 --integrator photon \
    --final-gather 0 --photon-map map.kdp --gather 40 --estimator adaptive --seed 0 -q -o hand.pfm
expect_exit 0 "$program" compare hand.pfm right.pfm --metric relmse
expect_true "its error is that of the table" test \
    "$(sed -n 's/^adaptive,cone,40,[^,]*,[^,]*,\([^,]*\),.*/\1/p' made/estimates.csv)" = "$(cat out)"

# refused, with what would be right
expect_exit 2 "$program" estimate map.kdp "$scene"
expect_says err "--reference"
expect_exit 2 "${estimate[@]}" --estimators disc,cube
expect_says err "expected some of disc, cone"
for ladder in 1 10,x 2000 "" 10,,20; do
    expect_exit 2 "${estimate[@]}" --ladder "$ladder"
done
expect_exit 3 "$program" estimate map.kdp "$source_folder/scenes/furnace.json" \
    --reference right.pfm --ladder 10 --estimators disc --report other
expect_says err "a photon map of another scene"
expect_exit 3 "${estimate[@]}" --reference none.pfm
expect_done
