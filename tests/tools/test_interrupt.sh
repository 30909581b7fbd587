#!/usr/bin/env bash
# SIGINT, SIGTERM and SIGHUP save the partial results and exit with 130; a second signal ends the
# program at once.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
cp "$source_folder"/tests/tools/box.{obj,mtl} .

# Starts an endless rendering and sends SIGNAL while samples are rendered.
interrupted() { # SIGNAL
    "$program" render box.obj --spp 16000000 --resolution 64x64 --progress json --threads 1 \
        -o kept.png --stats kept.json >out 2>err &
    local child=$! tries
    for ((tries = 0; tries < 600; ++tries)); do
        grep -qs '"stage":"render","done":[1-9]' err && break
        sleep 0.05
    done
    kill -s "$1" $child
    wait $child
    [[ $? == 130 ]] || expect_fail "exit 130 after $1"
    expect_says out kept.png
    expect_true "the picture is whole after $1" test "$(tail -c 8 kept.png | head -c 4)" = IEND
    expect_says kept.json '"interrupted"'
    expect_true "nothing is left over" test "$(find . -name '*.tmp' | wc -l)" = 0
    rm -f kept.png kept.json out err # the next loop must not read the progress of this run
}
set -m # without job control a script's children ignore SIGINT
interrupted INT
interrupted TERM
interrupted HUP
expect_done
