# shellcheck shell=bash
# shellcheck disable=SC2034
# Sourced by the test scripts, whose arguments are PROGRAM and SOURCE_FOLDER. Each failed
# expectation is printed on stderr; a script ends with `expect_done`.
set -u
program=$(realpath "$1")
source_folder=$(realpath "$2")
scratch=$(mktemp -d)
expect_ended=false
# A script that ends without `expect_done` fails, unless its exit code already says something else.
expect_at_exit() {
    local code=$?
    rm -rf "$scratch"
    ((code == 0)) && ! $expect_ended && echo "the script ended without expect_done" >&2 && exit 1
    exit "$code"
}
trap expect_at_exit EXIT
cd "$scratch" || exit 1
unset KANDELA_DEVICE KANDELA_NUM_THREADS KANDELA_CPU DESTDIR
expect_failures=0
[[ -x $program ]] || { echo "no program $program" >&2 && exit 1; }
# A program that cannot use the GPU of this machine warns of that; the tests count lines of other messages.
if [[ -e /proc/driver/nvidia/version || -e /dev/nvidia0 ]] && "$program" render gen:sphere:8 --resolution 8x8 --spp 1 -o warns.pfm 2>&1 | grep -q "^warning: using the CPU"; then
    export KANDELA_DEVICE=cpu
fi
rm -f warns.pfm

# The program was compiled with optimisation, as the build folder's list of commands says; without such a list it counts as
# optimised.
program_is_optimised() {
    local commands flag
    commands=$(dirname "$(dirname "$program")")/compile_commands.json
    [[ -f $commands ]] || return 0
    flag=$(grep '"command".*/core/version\.c' "$commands" | head -1 | grep -oE ' -O[0-9a-z]*' | tail -1)
    [[ -n $flag && $flag != ' -O0' ]]
}

expect_fail() {
    echo "failed: $*" >&2
    expect_failures=$((expect_failures + 1))
}

# Runs COMMAND and expects the exit code CODE; its output is left in the files `out` and `err`.
expect_exit() { # CODE COMMAND...
    local code=$1 got
    shift
    "$@" >out 2>err </dev/null
    got=$?
    if ((got != code)); then
        expect_fail "exit code $code (it was $got) of: $*"
        head -5 err >&2
    fi
}

expect_says() { # FILE TEXT: expects FILE to contain TEXT
    grep -qF -e "$2" "$1" || expect_fail "$1 contains \"$2\": $(head -c 300 "$1")"
}

expect_empty() { # FILE: expects FILE to be empty
    [[ ! -s $1 ]] || expect_fail "$1 is empty: $(head -c 300 "$1")"
}

expect_true() { # WHAT COMMAND...: expects COMMAND to succeed
    local what=$1
    shift
    "$@" || expect_fail "$what"
}

expect_done() {
    expect_ended=true
    ((expect_failures == 0)) && exit 0
    echo "$expect_failures expectations failed" >&2
    exit 1
}
