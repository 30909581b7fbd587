#!/usr/bin/env bash
# `kandela check`: the report as text and as JSON, repair with --fix, and exit codes.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
cp "$source_folder"/tests/tools/box.{obj,mtl} .

expect_exit 0 "$program" check box.obj
expect_says out "triangles 20"
expect_empty err
expect_exit 0 "$program" check --json box.obj
python3 -c "import json; r = json.load(open('out'))
assert (r['vertices'], r['faces'], r['triangles'], r['materials'], r['lights']) == (20, 10, 20, 4, 2), r
assert [p for p in r['problems'] if p['severity'] != 'note'] == [], r" || expect_fail "the report of box.obj has the expected counts"

printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 1 2 7\nf 1 1 2\n' >broken.obj
expect_exit 3 "$program" check --json broken.obj
python3 -c "import json; r = json.load(open('out'))
assert all({'file', 'line', 'kind', 'what'} <= set(p) for p in r['problems'])
assert any(p['line'] == 5 for p in r['problems']), r" || expect_fail "the report of broken.obj names line 5"
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
expect_says err "--plan"
expect_exit 2 "$program" check box.obj broken.obj

# Each problem has a line, a severity and a name, and the problems of each kind are counted.
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 9 9 9\nv 1 0 0\nf 1 3 2\nf 1 6 4\nf 1 4 3\nf 2 4 3\nf 2 2 4\n' >bad.obj
expect_exit 0 "$program" check bad.obj
expect_says out "bad.obj:5: note: found a vertex that no face uses (unused-vertex)"
expect_says out "bad.obj:10: warning: found a triangle wound against its neighbours, expected consistent winding (flipped-face)"
expect_says out "warning zero-area 1"
expect_exit 0 "$program" check --json bad.obj
python3 -c "import json; r = json.load(open('out'))
kinds = {k['kind']: (k['severity'], k['count']) for k in r['kinds']}
assert kinds == {'no-light': ('note', 1), 'flipped-face': ('warning', 1), 'zero-area': ('warning', 1),
    'unused-vertex': ('note', 1), 'unwelded-vertex': ('note', 1)}, kinds" || expect_fail "the problems of bad.obj are counted by kind"
expect_exit 0 "$program" check bad.obj --fix good.obj
expect_exit 0 "$program" check --json good.obj
python3 -c "import json; r = json.load(open('out'))
assert (r['vertices'], r['triangles'], r['problems_found']) == (4, 4, 1), r" || expect_fail "the repaired mesh has no problems except for the missing light"
cp bad.obj before.obj
expect_exit 2 "$program" check bad.obj --fix bad.obj
expect_exit 2 "$program" check bad.obj --fix good.txt
expect_exit 1 "$program" check bad.obj --fix no/such/folder.obj
expect_exit 3 "$program" check broken.obj --fix none.obj
expect_true "bad.obj is unchanged" cmp -s bad.obj before.obj
expect_true "--fix writes nothing for a mesh with errors" test ! -e none.obj
# --fix overwrites neither the input nor the files it refers to (materials, textures), through links
# or other names.
cp box.mtl before.mtl
ln -s box.mtl linked.obj
expect_exit 2 "$program" check box.obj --fix linked.obj
expect_says err "would overwrite an input"
ln box.mtl hard.obj
expect_exit 2 "$program" check box.obj --fix hard.obj
expect_true "box.mtl is unchanged" cmp -s box.mtl before.mtl
ln -s box.obj other.obj
expect_exit 2 "$program" check box.obj --fix other.obj
mkdir elsewhere
expect_exit 0 "$program" check box.obj --fix elsewhere/box.obj
# its materials stay where they are, outside of the output's directory
expect_exit 0 "$program" check elsewhere/box.obj --allow-outside
expect_says out "lights 2"

# `check` reports what `render` rejects.
awk '/^v / {print "v", $2 * 1e19, $3 * 1e19, $4 * 1e19; next} {print}' box.obj >huge.obj
expect_exit 3 "$program" render huge.obj --resolution 8x8 --spp 1 -o huge.png
expect_exit 3 "$program" check huge.obj
expect_says out "the total power of the lights is"
expect_says out "(refused)"
# The mesh checker belongs to the program: the library contains nothing of it.
library=$(dirname "$(dirname "$program")")/lib/libkandela.so
if [[ -e $library ]] && command -v nm >/dev/null; then
    expect_true "the program contains check_file" grep -q ' [Tt] check_file$' <(nm "$program")
    expect_true "the library does not contain check_file" test "$(nm "$library" | grep -c ' check_file$')" = 0
fi
expect_done
