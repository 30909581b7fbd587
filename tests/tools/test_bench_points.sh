#!/usr/bin/env bash
# `bench build` of point trees on the CPU: both split rules, several dimensions, strides and scalar
# types.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

bench() { # ROWS OPTION...
    local rows=$1
    shift
    rm -f lines
    expect_exit 0 "$program" bench points --sizes 1K --devices cpu --runs 2 --json lines "$@"
    expect_true "bench prints $rows rows for $* (it printed $(wc -l <lines))" test "$(wc -l <lines)" = "$rows"
    expect_true "every row was checked against the reference" test "$(grep -c '"checked":true' lines)" = "$rows"
}

bench 10 # five builders times two split rules
bench 5 --splits widest
expect_true '5 rows state the splitting rule' test "$(grep -c '"variant":"widest"' lines)" = 5
bench 6 --dims 1,2,8 --builders brown,recursive --splits round-robin
expect_true '2 rows state 8 dimensions' test "$(grep -c '"dims":8' lines)" = 2
bench 5 --double --splits round-robin
bench 2 --unique --sets ties
bench 5 --stride 16 --splits round-robin
expect_exit 0 "$program" bench points --sizes 2K --devices cpu --runs 2 --splits widest --json lines
expect_true 'result lines of earlier runs are kept' test "$(wc -l <lines)" = 10
expect_true 'new result lines are appended' test "$(tail -n 5 lines | grep -c '"n":2000,')" = 5
expect_exit 1 "$program" bench points --sizes 1K --json no/folder/lines
expect_says err 'no/folder/lines: cannot write'
expect_exit 2 "$program" bench points --stride 8
expect_says err 'the stride is 8 bytes'
expect_exit 2 "$program" bench points --dims 9
expect_says err 'the number of dimensions is 9'
expect_exit 2 "$program" bench points --sizes 3G
expect_says err '2147483647'

# Models named on the command line, compared with the builder sweep on one thread.
rm -f lines
export KANDELA_NUM_THREADS=2
expect_exit 0 "$program" bench build --models gen:blob:900 --builders sweep,parallel --devices cpu --runs 1 --json lines
expect_true 'the table states speed-up and cost of each builder' test "$(grep -c '"speedup":.*"cost_ratio":1,' lines)" = 8
expect_true 'the table has the rows of one thread' test "$(grep -c '"variant":"rays, 1 thread".*"threads":1' lines)" = 2
expect_says out 'x sweep on one thread'
unset KANDELA_NUM_THREADS
expect_exit 0 "$program" bench scaling --sizes 200,400,800 --runs 1 --devices cpu
expect_true 'four measured exponents are printed with the theoretical ones' test "$(grep -c 'exponent .* has ' out)" = 4
expect_exit 2 "$program" bench scaling --sizes 10
expect_done
