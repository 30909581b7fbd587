#!/usr/bin/env bash
# The papers' tables and figures: every row has the published and the measured figure and their ratio, or a reason.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

expect_table() { # NAME ROWS PUBLISHED_DEVICE
    rm -f lines
    expect_exit 0 "$program" bench --table "$1" --quick --devices cpu --runs 1 --json lines
    expect_says out "$3"
    expect_true "$1 prints $2 rows (it printed $(wc -l <lines))" test "$(wc -l <lines)" = "$2"
    expect_true "every row of $1 was checked against the reference" test "$(grep -c '"checked":true' lines)" = "$2"
}

expect_ratios() { # ROWS: expects so many rows of the last table to have a published value and a ratio
    local rows
    rows=$(grep -c '"published":.*"published_on":.*"published_unit":.*"ratio":' lines)
    expect_true "the table has $1 ratios (it has $rows)" test "$rows" = "$1"
}

# What the tables of a run on the CPU alone print in place of the figures of a GPU.
no_cuda='no GPU'
if "$program" info | grep -q '^ *cuda:0 '; then no_cuda='not selected'; fi

expect_table wald-build-1 8 'RTX 8000'
expect_ratios 4 # the published value for 1K points is "<1", which gives no ratio
expect_says out "$no_cuda"
expect_true '4 rows of wald-build-1 have one dimension' test "$(grep -c '"dims":1,' lines)" = 4
expect_table wald-build-example 0 'the tree equals that of the paper'
expect_table wald-query-1 36 'RTX 3090 Ti'
expect_ratios 36
expect_true '18 rows of wald-query-1 use the stack-free traversal' test "$(grep -c '"variant":"walk' lines)" = 18
expect_table robinson-times 1 'Titan Black'
expect_says lines '"stage_ms":{"init":'
expect_says out "$no_cuda"
expect_table robinson-figure1 0 'written to <'
expect_table wehr-1 12 'Hu GTX 660'
expect_ratios 12
expect_table wehr-2 15 'TPB 256'
expect_ratios 15
expect_table wehr-3 4 'Titan X'
expect_ratios 4
expect_table wehr-figure4 20 '0.0025 %'
expect_table wehr-figure5 4 'TPB 256'
expect_table wehr-figure8 4 'radix alone'
expect_table wehr-figure9 2 'i7-7700HQ'
expect_table wehr-figure10 21 'both, border 16'
KANDELA_NUM_THREADS=1 expect_table choi-ye 40 'GeForce RTX 2080'
# The rows with a published value: those of Tables I and III, and some of Figure 3.
expect_true 'tables I and III and Figure 3 have ratios' test "$(grep -c '"published":.*"ratio":' lines)" -ge 15
expect_says out 'frames/s'
expect_says out 'exponent of n'
expect_exit 0 "$program" bench --table wald-build-1 --sizes 1B --runs 1 --devices cuda:0
expect_says out 'not selected'

expect_exit 0 "$program" bench --table wald-build-figure1 --report page
expect_true 'the figure has a description' grep -q '(7, 2)' page/figure-wald-1.json
expect_true 'the figure is drawn' grep -q '(7, 2)' page/figure-wald-1.svg
expect_exit 0 "$program" bench points --tune --sizes 1K --devices cpu --splits round-robin
expect_says out 'the best of all tried'

# docs/papers.md lists each table, and each command there names an existing table.
expect_exit 0 "$program" bench --table list
awk '{print $1}' out | sort >listed
grep -o -e '--table [a-z0-9-]*' "$source_folder/docs/papers.md" | awk '{print $2}' | grep -vx list | sort >told
expect_true "the page of the papers names every table; difference: $(comm -3 listed told | tr '\n' ' ')" cmp -s listed told
expect_exit 2 "$program" bench --table nothing
expect_says err 'unknown table "nothing"'
expect_exit 2 "$program" bench
expect_done
