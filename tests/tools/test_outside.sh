#!/usr/bin/env bash
# A scene from an untrusted source reveals nothing about files outside of its directory, unless the
# user allows access.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
mkdir -p scene/models textures
cp "$source_folder"/tests/tools/box.{obj,mtl} .
cp box.{obj,mtl} scene/models
options=(-q --resolution 16x12 --spp 1)
expect_exit 0 "$program" render box.obj "${options[@]}" -o textures/grey.png

# --- descriptions: the same message whether the file exists or not ---
message() { sed 's/"[^"]*"/NAME/' err; }
for verb in "render --resolution 16x12 --spp 1 -o a.png" "photons --photons 100 -o a.kdp" "trace --pixel 1,1" tree; do
    read -ra words <<<"$verb"
    for name in ../box.obj "$PWD/box.obj" models/../../box.obj; do
        echo '{"kandela": 1, "meshes": [{"file": "'"$name"'"}]}' >scene/s.json
        expect_exit 3 "$program" "${words[0]}" scene/s.json -q "${words[@]:1}"
        expect_says err "is outside the scene's folder; move it there, or use --allow-outside"
        existing=$(message)
        sed -i 's/box.obj/bix.obj/' scene/s.json
        expect_exit 3 "$program" "${words[0]}" scene/s.json -q "${words[@]:1}"
        [[ $(message) == "$existing" ]] || expect_fail "$verb: the message does not depend on whether $name exists"
        sed -i 's/bix.obj/box.obj/' scene/s.json
        expect_exit 0 "$program" "${words[0]}" scene/s.json -q "${words[@]:1}" --allow-outside
    done
done

# --- files inside, and files named by the user, are always allowed ---
echo '{"kandela": 1, "meshes": [{"file": "models/box.obj"}]}' >scene/s.json
expect_exit 0 "$program" render scene/s.json "${options[@]}" -o a.png
expect_exit 0 "$program" render scene/s.json "${options[@]}" -o a.png --env textures/grey.png
(cd scene && "$program" render ../box.obj "${options[@]}" -o a.png) || expect_fail "files named on the command line may be outside"

# --- material libraries: a texture outside is omitted, with the same warning in both cases ---
for name in ../textures/grey.png ../textures/gray.png; do
    printf 'newmtl wall\nKd .5 .5 .5\nmap_Kd %s\n' "$name" >scene/paint.mtl
    printf 'mtllib paint.mtl\nusemtl wall\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nf 1/1 2/1 3/1\n' >scene/t.obj
    expect_exit 0 "$program" render scene/t.obj --resolution 16x12 --spp 1 -o a.png
    expect_says err "--allow-outside"
    message >"warning.${name##*/}"
    expect_exit 0 "$program" check scene/t.obj
    expect_says out "--allow-outside"
done
cmp -s <(grep -e --allow-outside warning.grey.png) <(grep -e --allow-outside warning.gray.png) ||
    expect_fail "the warning does not depend on whether an outside texture exists"
sed -i 's/gray/grey/' scene/paint.mtl
expect_exit 0 "$program" render scene/t.obj --resolution 16x12 --spp 1 -o a.png --allow-outside
grep -q outside err && expect_fail "an outside texture is read with --allow-outside"
expect_exit 0 "$program" check scene/t.obj --allow-outside
grep -q outside out && expect_fail "check reads an outside texture with --allow-outside"

# --- links ---
ln -s ../box.obj scene/link.obj
ln -s ../bix.obj scene/dangling.obj
for name in link dangling; do
    echo '{"kandela": 1, "meshes": [{"file": "'$name'.obj"}]}' >scene/s.json
    expect_exit 3 "$program" render scene/s.json "${options[@]}" -o a.png
    expect_says err "outside the scene's folder"
done
expect_done
