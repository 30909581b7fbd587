#!/usr/bin/env bash
# kandela check: the report as text and JSON, exit codes.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
cp "$source_folder"/tests/tools/box.{obj,mtl} .

expect_exit 0 "$program" check box.obj
expect_says out "triangles 20"
expect_empty err
expect_exit 0 "$program" check --json box.obj
python3 -c "import json; r = json.load(open('out'))
assert (r['vertices'], r['faces'], r['triangles'], r['materials'], r['lights']) == (20, 10, 20, 4, 2), r
assert r['problems'] == [], r" || expect_fail "the counts are right"

printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 1 2 7\nf 1 1 2\n' >broken.obj
expect_exit 3 "$program" check --json broken.obj
python3 -c "import json; r = json.load(open('out'))
assert all({'file', 'line', 'kind', 'what'} <= set(p) for p in r['problems'])
assert any(p['line'] == 5 for p in r['problems']), r" || expect_fail "line 5 is named"
expect_exit 3 "$program" check broken.obj
expect_says out "broken.obj:5"
expect_exit 3 "$program" check absent.obj
expect_exit 0 "$program" check gen:wedge
expect_says out "triangles 8"
expect_exit 3 "$program" check gen:wegde
mkfifo pipe.obj
expect_exit 3 timeout -s KILL 10 "$program" check pipe.obj
expect_says out "not a regular file"
expect_exit 2 "$program" check
printf '{"kandela": 1}' >scene.json
expect_exit 2 "$program" check scene.json
expect_says err "scene description"
expect_exit 2 "$program" check box.obj broken.obj
expect_done
