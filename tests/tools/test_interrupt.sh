#!/usr/bin/env bash
# SIGINT, SIGTERM and SIGHUP save the partial results and exit with 130; a second signal ends the
# program at once.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
cp "$source_folder"/tests/tools/box.{obj,mtl} .

# Starts an endless rendering and sends SIGNAL while samples are rendered.
expect_interrupted() { # SIGNAL
    "$program" render box.obj --spp 16000000 --resolution 64x64 --progress json --threads 1 \
        -o kept.png --stats kept.json >out 2>err &
    local child=$! tries
    for ((tries = 0; tries < 600; ++tries)); do
        grep -qs '"stage":"render","done":[1-9]' err && break
        sleep 0.05
    done
    kill -s "$1" $child
    wait $child
    [[ $? == 130 ]] || expect_fail "exit code 130 after $1"
    expect_says out kept.png
    expect_true "the picture is complete after $1" test "$(tail -c 8 kept.png | head -c 4)" = IEND
    expect_says kept.json '"interrupted"'
    expect_true "no temporary file remains" test "$(find . -name '*.tmp' | wc -l)" = 0
    rm -f kept.png kept.json out err # the next loop must not read the progress of this run
}
set -m # without job control a script's children ignore SIGINT
expect_interrupted INT
expect_interrupted TERM
expect_interrupted HUP
expect_done
