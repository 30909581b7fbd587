#!/usr/bin/env bash
# tools/kernels.py reports a kernel that spills more than its row of the table allows or uses too
# much shared memory; the program contains code for the architectures that it lists.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
kernels=$source_folder/tools/kernels.py

log() { # KERNEL SPILL SHARED: prints what ptxas -v would print
    printf "ptxas info    : Compiling entry function '%s' for 'sm_86'\n" "$1"
    printf "ptxas info    : Function properties for %s\n" "$1"
    printf "    %s bytes stack frame, %s bytes spill stores, %s bytes spill loads\n" 64 "$2" "$2"
    printf "ptxas info    : Used 40 registers, used 1 barriers, %s bytes smem, 400 bytes cmem[0]\n" "$3"
}
{ log _Z4mainv 0 1024 && log _Z4castv 24 0; } >log
printf '# kernel\tspill\ncast\t24\n' >table

expect_exit 0 "$kernels" check table log
expect_empty out
expect_exit 0 "$kernels" allow log
expect_says out "cast	24"
expect_exit 0 "$kernels" figures log
expect_says out "main	86	40	64	0	1024"

log _Z4castv 28 0 >>log
expect_exit 1 "$kernels" check table log
expect_says out "cast: spills 28 bytes, allowed 24"
log _Z4mainv 4 1024 >log
expect_exit 1 "$kernels" check table log
expect_says out "main: spills 4 bytes, allowed 0"
log _Z4mainv 0 102401 >log
expect_exit 1 "$kernels" check table log
expect_says out "main: 102401 bytes of shared memory, expected at most 102400"
: >log
expect_exit 1 "$kernels" check table log
expect_says err "no kernels in log"

stated=$("$program" info | sed -n 's/^ *CUDA *code for \([0-9 +]*\) (.*/\1/p')
if [[ -n $stated && -z ${KANDELA_CUOBJDUMP-} ]] && ! command -v cuobjdump >/dev/null; then
    echo "not compared: there is no cuobjdump"
elif [[ -n $stated ]] && "$kernels" architectures "$program" >found && [[ -s found ]]; then
    expect_true "info states the architectures \"$stated\", and the program contains \"$(cat found)\"" test "$stated" = "$(cat found)"
fi
expect_done
