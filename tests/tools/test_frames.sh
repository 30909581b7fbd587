#!/usr/bin/env bash
# `kandela render --frames`: file names, animations, animated and static objects, the shutter, the
# turntable; and --clamp.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
render=("$program" render --resolution 24x24 --spp 4 --threads 1)
rest='"render": {"max_depth": 6}}'
box_scene() { # STEPS: prints a scene with a box of this transform
    echo '{"kandela": 1, "meshes": [{"file": "gen:cornell"}, {"box": {"lo": [-0.2, 0, -0.2], "hi": [0.2, 0.4, 0.2]},' \
        '"transform": ['"$1"']}], "camera": {"eye": [0, 1, 4], "look_at": [0, 1, 0]},' "$rest"
}
camera_scene() { # KEYS: prints a scene with these keys of its camera
    echo '{"kandela": 1, "meshes": [{"file": "gen:cornell"}], "camera": {"look_at": [0, 1, 0], "keys": ['"$1"']},' "$rest"
}
expect_equal() { expect_true "$1 equals $2" cmp "$1" "$2"; }
expect_different() { expect_true "$1 differs from $2" bash -c '! cmp -s "$0" "$1"' "$1" "$2"; }

# A moving box: frame 3 is the middle of its path.
box_scene '{"keys": [{"frame": 1, "translate": [-0.5, 0, 0.6]}, {"frame": 5, "translate": [0.5, 0, 0.6]}]}' >box.json
box_scene '{"translate": [0, 0, 0.6]}' >middle.json
box_scene '{"translate": [-0.5, 0, 0.6]}' >begin.json
expect_exit 0 "${render[@]}" box.json --frames 1-3 -o 'f_##.pfm' -o g.pfm --stats s.json
for name in f_01 f_02 f_03 g0001 g0002 g0003; do expect_true "$name is written" test -s $name.pfm; done
for name in s0001 s0002 s0003; do expect_true "$name is written" test -s $name.json; done
expect_true "no frame outside of the range is written" test ! -e f_04.pfm
expect_exit 0 "${render[@]}" middle.json -o middle.pfm
expect_exit 0 "${render[@]}" begin.json -o begin.pfm
expect_equal f_03.pfm middle.pfm
expect_equal f_01.pfm begin.pfm
expect_different f_02.pfm f_01.pfm
expect_exit 0 "${render[@]}" box.json -o still.pfm # without --frames: the first frame
expect_equal still.pfm begin.pfm

# A moving camera and its shutter.
camera_scene '{"frame": 0, "eye": [0, 1, 4]}, {"frame": 4, "eye": [1, 1, 4]}' >camera.json
expect_exit 0 "${render[@]}" camera.json --frames 2-2 -o k.pfm
expect_exit 0 "${render[@]}" camera.json --eye 0.5,1,4 -o eye.pfm
expect_equal k0002.pfm eye.pfm
expect_exit 0 "${render[@]}" camera.json --frames 2-2 --shutter 1 -o open.pfm
expect_different open0002.pfm k0002.pfm
# the camera stops at its last key
expect_exit 0 "${render[@]}" camera.json --frames 9-9 --shutter 3 -o late.pfm
expect_exit 0 "${render[@]}" camera.json --eye 1,1,4 -o last.pfm
expect_equal late0009.pfm last.pfm
expect_exit 0 "${render[@]}" box.json --frames 2-2 --shutter 0 -o shut.pfm
expect_equal shut0002.pfm f_02.pfm

# A turntable: frame 3 of 4 shows the opposite side.
blob=(gen:blob:300 --look-at 0,0,0)
expect_exit 0 "${render[@]}" "${blob[@]}" --eye 0,0,5 --frames 1-4 --turntable -o t.pfm
expect_exit 0 "${render[@]}" "${blob[@]}" --eye 0,0,5 -o front.pfm
expect_exit 0 "${render[@]}" "${blob[@]}" --eye 0,0,-5 -o back.pfm
expect_equal t0001.pfm front.pfm
expect_equal t0003.pfm back.pfm
expect_different t0002.pfm t0004.pfm
# so does the automatic camera, and each frame turns by as much
expect_exit 0 "${render[@]}" gen:blob:300 --frames 1-4 --turntable -o a.pfm
expect_exit 0 "${render[@]}" gen:blob:300 --frames 1-2 --turntable -o half.pfm
expect_equal a0003.pfm half0002.pfm

# A glTF file whose animation moves a triangle out of the picture in one second: at rest without
# --frame, else at the time of the frame, of the first animation.
python3 - <<'P'
import base64, json, struct
data = struct.pack("<17f", -1, -1, 0, 1, -1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 9, 0, 0)
views = [(0, 36), (36, 8), (44, 24)]
kinds = [(3, "VEC3"), (2, "SCALAR"), (2, "VEC3")]
json.dump({
    "asset": {"version": "2.0"}, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
    "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
    "animations": [{"channels": [{"sampler": 0, "target": {"node": 0, "path": "translation"}}],
                    "samplers": [{"input": 1, "output": 2}]}],
    "buffers": [{"byteLength": 68, "uri": "data:application/octet-stream;base64," + base64.b64encode(data).decode()}],
    "bufferViews": [{"buffer": 0, "byteOffset": a, "byteLength": n} for a, n in views],
    "accessors": [{"bufferView": i, "componentType": 5126, "count": n, "type": kind,
                   **({"min": [-1, -1, 0], "max": [1, 1, 0]} if i == 0 else {})} for i, (n, kind) in enumerate(kinds)],
}, open("moving.gltf", "w"))
P
look=(moving.gltf --eye 0,0,5 --look-at 0,0,0)
expect_exit 0 "${render[@]}" "${look[@]}" -o rest.pfm
expect_says err 'moving.gltf: animations: found clip 0; the meshes are read in their rest pose (choose one with --clip'
expect_exit 0 "${render[@]}" "${look[@]}" --frame 0 -o began.pfm
expect_equal began.pfm rest.pfm
expect_exit 0 "${render[@]}" "${look[@]}" --frame 24 -o gone.pfm
expect_different gone.pfm rest.pfm
expect_exit 0 "${render[@]}" "${look[@]}" --frames 23-24 -o gone.pfm
expect_equal gone0024.pfm gone.pfm
expect_exit 0 "${render[@]}" "${look[@]}" --clip 0 --frame 24 -o chosen.pfm
expect_equal chosen.pfm gone.pfm

expect_exit 0 "${render[@]}" gen:blob:300 --clip walk -o blob.pfm
expect_says err "gen:blob:300 has no animation; --clip walk is ignored"
# an object that is hidden by a scale of 0 leaves the sky
sed 's/"mesh": 0}/"mesh": 0, "scale": [0, 0, 0]}/' moving.gltf >hidden.gltf
echo '{"kandela": 1, "meshes": [{"file": "hidden.gltf"}], "environment": {"radiance": 1}, "camera": {"eye": [0, 0, 5]}}' >hidden.json
echo '{"kandela": 1, "meshes": [{"file": "moving.gltf", "transform": [{"translate": [0, 0, 9]}]}],' \
    '"environment": {"radiance": 1}, "camera": {"eye": [0, 0, 5], "look_at": [0, 0, 0]}}' >behind.json
expect_exit 0 "${render[@]}" hidden.json -o hidden.pfm
expect_exit 0 "${render[@]}" behind.json -o behind.pfm
expect_equal hidden.pfm behind.pfm

# The automatic camera and --view stay where they are in the first frame, so that motion is seen.
for view in scene front; do
    expect_exit 0 "${render[@]}" moving.gltf --view $view --frames 0-24 -o kept.pfm
    expect_true "a line is printed for the first frame only: $(cat err)" test "$(grep -c 'no light' err)" = 1
    expect_exit 0 "${render[@]}" moving.gltf --view $view --frame 0 -o alone.pfm
    expect_equal kept0000.pfm alone.pfm
    expect_different kept0024.pfm kept0000.pfm
done

# Animations: one file of all frames.
turn=("${blob[@]}" --eye 0,0,5 --frames 1-4 --turntable)
durations() { # FILE: prints the milliseconds of each frame of a .webp file
    python3 - "$1" <<'P'
import struct, sys
bytes = open(sys.argv[1], "rb").read()
assert bytes[:4] == b"RIFF" and bytes[8:16] == b"WEBPVP8X", bytes[:16]
at, found = 12, []
while at < len(bytes):
    kind, size = struct.unpack("<4sI", bytes[at:at + 8])
    if kind == b"ANMF":
        found.append(int.from_bytes(bytes[at + 20:at + 23], "little"))
    at += 8 + size + size % 2
print(*found)
P
}
if "$program" --version | grep -qE 'libwebp +yes'; then
    expect_exit 0 "${render[@]}" "${turn[@]}" --frame-rate 10 -o anim.webp -o 'still##.webp' -o one.pfm
    expect_true "the animation is named once: $(cat out)" test "$(grep -c anim.webp out)" = 1
    expect_true "four frames of 100 ms: $(durations anim.webp)" test "$(durations anim.webp)" = "100 100 100 100"
    expect_true "a name with # is that of pictures" test "$(head -c 16 still04.webp | tail -c 4)" = "VP8 "
    expect_equal one0003.pfm t0003.pfm
    expect_exit 0 "${render[@]}" "${blob[@]}" -o single.webp
    expect_true "a single picture is no animation" test "$(head -c 16 single.webp | tail -c 4)" = "VP8 "
else
    expect_exit 2 "${render[@]}" "${turn[@]}" -o anim.webp
    expect_says err "lacks libwebp"
fi
mkdir bin # a stand-in for ffmpeg, whose output is its arguments
cat >bin/ffmpeg <<'S'
#!/bin/sh
for word; do
    [ "$before" != -i ] || [ "$(wc -c <"$word")" = $((4 * 3 * 24 * 24)) ] || exit 7
    before=$word
done
echo "$@" >"$word"
exit ${ffmpeg_status-0}
S
chmod +x bin/ffmpeg
for suffix in gif mp4; do
    expect_exit 0 env PATH="$scratch/bin:$PATH" "${render[@]}" "${turn[@]}" -o anim.$suffix
    expect_true "anim.$suffix is printed" test "$(cat out)" = anim.$suffix
    expect_says anim.$suffix "-f rawvideo -pix_fmt rgb24 -s 24x24 -r 24 -i anim.$suffix.frames.0.tmp"
    expect_says anim.$suffix "-f $suffix anim.$suffix.0.tmp"
    echo old >anim.$suffix
    expect_exit 1 env PATH="$scratch/bin:$PATH" ffmpeg_status=3 "${render[@]}" "${turn[@]}" -o anim.$suffix
    expect_says err "anim.$suffix: ffmpeg failed with exit code 3"
    expect_true "the old file is kept" test "$(cat anim.$suffix)" = old
    expect_true "no temporary file remains" test -z "$(find . -name '*.tmp')"
    expect_exit 2 env PATH=/nowhere "${render[@]}" "${turn[@]}" -o anim.$suffix
    expect_says err "written by the program ffmpeg, which is not installed"
    expect_exit 2 "${render[@]}" "${blob[@]}" -o anim.$suffix
    expect_says err "anim.$suffix: an animation needs its frames; set --frames A-B"
    expect_exit 2 "${render[@]}" "${turn[@]}" -o "anim##.$suffix"
    expect_says err "an animation is one file"
done

# Clamping indirect light to almost zero leaves direct light only.
expect_exit 0 "${render[@]}" begin.json --clamp 1e-9 -o clamped.pfm
expect_exit 0 "${render[@]}" begin.json --integrator direct -o direct.pfm
expect_exit 0 "$program" compare clamped.pfm direct.pfm --metric rmse --max 1e-7
expect_exit 0 "${render[@]}" begin.json --clamp 1e9 -o all.pfm
expect_equal all.pfm begin.pfm

expect_exit 2 "${render[@]}" box.json --frames 3-1
expect_exit 2 "${render[@]}" box.json --turntable
expect_exit 2 "${render[@]}" box.json --frames x
expect_rejected() { # TEXT: expects bad.json to be rejected with TEXT
    expect_exit 3 "${render[@]}" bad.json
    expect_says err "$1"
}
camera_scene '{"eye": [0, 1, 4]}' >bad.json
expect_rejected '`frame` is missing'
camera_scene '{"frame": 2, "eye": [0, 1, 4]}, {"frame": 2}' >bad.json
expect_rejected "the frame of the key before"
camera_scene '{"frame": 2}, {"frame": 3, "eye": [0, 1, 4]}' >bad.json
expect_rejected '`eye` is missing in the camera'
box_scene '{"keys": [{"frame": 1, "scale": 1}, {"frame": 2, "translate": [0, 0, 0]}]}' >bad.json
expect_rejected "of the same kind"
box_scene '{"keys": [], "scale": 1}' >bad.json
expect_rejected "must not have other keys"
expect_done
