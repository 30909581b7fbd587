#!/usr/bin/env bash
# The papers' tables: every row has a published figure, ours, and their ratio.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

table() { # NAME ROWS PUBLISHED_DEVICE
    expect_exit 0 "$program" bench --table "$1" --quick
    expect_says out "$3"
    expect_says out ratio
    local rows
    rows=$(awk '($(NF - 2) + 0) > 0 && ($(NF - 3) + 0) > 0 && ($(NF - 5) + 0) > 0 \
        && $(NF - 4) ~ /^(ms|M\/s)$/ && $NF == "-"' out | wc -l)
    expect_true "$2 rows in $1, not $rows" test "$rows" = "$2"
}

table wald-build 4 'RTX 3090 Ti'
table wald-query 18 'RTX 3090 Ti'
table robinson 2 'Titan Black'
table wehr 16 'GTX 660'
expect_exit 0 "$program" bench --table robinson --quick --json lines
expect_true 'two JSON lines' test "$(grep -c '"published_on":.*"ratio":' lines)" = 2
expect_exit 0 "$program" bench points --tune --sizes 1K --devices cpu --splits round-robin
expect_says out 'the best of all tried'
# a CUDA device adds two rows of table I to a model's
expect_exit 0 "$program" bench --table choi-ye --quick --devices cpu --json lines
expect_says out 'GeForce RTX 2080'
rows=$(awk '($NF + 0) > 0 && $(NF - 1) == "M/s" && ($(NF - 2) + 0) > 0 && ($(NF - 3) + 0) > 0' out | wc -l)
expect_true "15 times in choi-ye, not $rows" test "$rows" = 15
stages=$(awk '$NF == "-" && $(NF - 1) == "%" && ($(NF - 3) + 0) > 0' out | wc -l)
expect_true "20 stages in choi-ye, not $stages" test "$stages" = 20
trees=$(awk 'NF >= 9 && /on cpu/ && ($NF + 0) > 0 && ($(NF - 1) + 0) > 0 && ($(NF - 4) + 0) > 0 && $(NF - 1) != "M/s"' out | wc -l)
expect_true "15 trees in choi-ye, not $trees" test "$trees" = 15
expect_true 'a JSON line each' test "$(grep -c '"bench":"choi-ye".*"published"' lines)" = 15
expect_exit 2 "$program" bench --table nothing
expect_says err 'unknown table "nothing"'
expect_exit 2 "$program" bench
expect_done
