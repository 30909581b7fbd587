#!/usr/bin/env bash
# The papers' tables and figures: every row has the published and the measured figure and their ratio, or a reason.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

table() { # NAME ROWS PUBLISHED_DEVICE
    rm -f lines
    expect_exit 0 "$program" bench --table "$1" --quick --devices cpu --runs 1 --json lines
    expect_says out "$3"
    expect_true "$2 rows in $1, not $(wc -l <lines)" test "$(wc -l <lines)" = "$2"
    expect_true "all of $1 are checked" test "$(grep -c '"checked":true' lines)" = "$2"
}

ratios() { # ROWS: expects so many rows of the last table to have a published value and a ratio
    local rows
    rows=$(grep -c '"published":.*"published_on":.*"published_unit":.*"ratio":' lines)
    expect_true "$1 ratios, not $rows" test "$rows" = "$1"
}

# What the tables of a run on the CPU alone print in place of the figures of a GPU.
no_cuda='no GPU'
if "$program" info | grep -q '^ *cuda:0 '; then no_cuda='not selected'; fi

table wald-build-1 8 'RTX 8000'
ratios 4 # the published value for 1K points is "<1", which gives no ratio
expect_says out "$no_cuda"
expect_true 'int1 has one dimension' test "$(grep -c '"dims":1,' lines)" = 4
table wald-build-example 0 'the tree equals that of the paper'
table wald-query-1 36 'RTX 3090 Ti'
ratios 36
expect_true 'by the walk, too' test "$(grep -c '"variant":"walk' lines)" = 18
table robinson-times 1 'Titan Black'
expect_says lines '"stage_ms":{"init":'
expect_says out "$no_cuda"
table robinson-figure1 0 'written to <'
table wehr-1 12 'Hu GTX 660'
ratios 12
table wehr-2 15 'TPB 256'
ratios 15
table wehr-3 4 'Titan X'
ratios 4
table wehr-figure4 20 '0.0025 %'
table wehr-figure5 4 'TPB 256'
table wehr-figure8 4 'radix alone'
table wehr-figure9 2 'i7-7700HQ'
table wehr-figure10 21 'both, border 16'
KANDELA_NUM_THREADS=1 table choi-ye 40 'GeForce RTX 2080'
# The rows with a published value: those of Tables I and III, and some of Figure 3.
expect_true 'ratios of I, III and Figure 3' test "$(grep -c '"published":.*"ratio":' lines)" -ge 15
expect_says out 'frames/s'
expect_says out 'exponent of n'
expect_exit 0 "$program" bench --table wald-build-1 --sizes 1B --runs 1 --devices cuda:0
expect_says out 'not selected'

expect_exit 0 "$program" bench --table wald-build-figure1 --report page
expect_true 'a figure is described' grep -q '(7, 2)' page/figure-wald-1.json
! /usr/bin/python3 -c 'import matplotlib' 2>/dev/null || expect_true 'and drawn' grep -q '(7, 2)' page/figure-wald-1.svg
expect_exit 0 "$program" bench points --tune --sizes 1K --devices cpu --splits round-robin
expect_says out 'the best of all tried'

# docs/papers.md lists each table, and each command there names an existing table.
expect_exit 0 "$program" bench --table list
awk '{print $1}' out | sort >listed
grep -o -e '--table [a-z0-9-]*' "$source_folder/docs/papers.md" | awk '{print $2}' | grep -vx list | sort >told
expect_true "the papers' page has every table: $(comm -3 listed told | tr '\n' ' ')" cmp -s listed told
expect_exit 2 "$program" bench --table nothing
expect_says err 'unknown table "nothing"'
expect_exit 2 "$program" bench
expect_done
