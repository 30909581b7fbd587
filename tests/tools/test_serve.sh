#!/usr/bin/env bash
# kandela serve and kandela render --serve: what clients see and may do, and that serving changes no
# bit of the picture.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
cp "$source_folder"/tests/tools/box.{obj,mtl} .

expect_exit 2 "$program" render box.obj --serve=example.org:80
expect_says err "--serve example.org:80: expected ADDRESS:PORT with a numeric address"
expect_exit 2 "$program" render box.obj --serve --frames 1-2 -o '#.png'
expect_says err "the live view shows one picture by one device"
expect_exit 2 "$program" serve box.obj --stats out.json
expect_says err "unknown option --stats"
expect_exit 2 "$program" serve box.obj -o box.png --save-every 1
expect_says err "unknown option --save-every"
expect_exit 2 "$program" serve box.obj -o box.png --resume
expect_says err "unknown option --resume"
expect_exit 2 "$program" render box.obj --reference box.png
expect_says err "--reference needs --serve"
expect_exit 3 "$program" serve box.obj --reference absent.exr
expect_says err "absent.exr"
KANDELA_SERVE=$PWD/absent.so expect_exit 5 "$program" serve box.obj
expect_says err "cannot load the plug-in of the live view"

command -v python3 >/dev/null || { echo "skipped: no python3" && exit 77; }
if ! ls "$(dirname "$program")"/../lib/kandela-serve.so >/dev/null 2>&1; then
    expect_exit 5 "$program" serve box.obj
    expect_says err "the live view needs kandela-serve.so: install libmicrohttpd-dev and build again"
    ((expect_failures == 0)) || expect_done
    echo "skipped: built without libmicrohttpd" && exit 77
fi
export KANDELA_OIDN="$(dirname "$program")/../tests/fake_denoiser.so"
set -m # without job control a script's children ignore SIGINT
expect_exit 0 python3 "$source_folder/tests/tools/serve_client.py" "$program" box.obj
# a sanitizer has an allocator of its own
if grep -q '^KD_SANITIZE:STRING=$' "$(dirname "$program")/../CMakeCache.txt"; then
    cc -O1 -shared -fPIC -o fail.so "$source_folder/tests/tools/fail_allocation.c" -ldl || exit 1
    export FAIL_LIBRARY=$PWD/fail.so
fi
expect_exit 0 python3 "$source_folder/tests/tools/serve_light.py" "$program" box.obj
expect_done
