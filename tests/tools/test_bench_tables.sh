#!/usr/bin/env bash
# The papers' tables: every row has a published figure, ours, and their ratio.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

table() { # NAME ROWS PUBLISHED_DEVICE
    expect_exit 0 "$program" bench --table "$1" --quick
    expect_says out "$3"
    expect_says out ratio
    local rows
    rows=$(awk '($NF + 0) > 0 && ($(NF - 2) + 0) > 0 && ($(NF - 3) + 0) > 0 \
        && $(NF - 1) ~ /^(ms|M\/s)$/' out | wc -l)
    expect_true "$2 rows in $1, not $rows" test "$rows" = "$2"
}

table wald-build 4 'RTX 3090 Ti'
table wald-query 18 'RTX 3090 Ti'
table robinson 2 'Titan Black'
table wehr 16 'GTX 660'
expect_exit 2 "$program" bench --table nothing
expect_says err 'unknown table "nothing"'
expect_exit 2 "$program" bench
expect_done
