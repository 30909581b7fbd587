#!/usr/bin/env bash
# Motion blur of objects (`--shutter`): a moving square has the profile of a trapezoid; what stands
# still keeps its bits; the picture is the mean of those at the times of the exposure; integrators
# agree; resuming; what is refused.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
render=("$program" render --resolution 24x24 --spp 32 --passes 32 --photons 2000 --threads 2 --quiet)
expect_equal() { expect_true "$1 equals $2" cmp "$1" "$2"; }
expect_different() { expect_true "$1 differs from $2" bash -c '! cmp -s "$0" "$1"' "$1" "$2"; }

# A white square of side 1 that glows, before an orthographic camera of width 4. In one second, 24
# frames, either of them moves along x.
cat >make.py <<'P'
import base64, json, struct, sys
name, target, begin, end = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
z = 5 * target
data = struct.pack("<12f6H2f6f", -.5, -.5, 0, .5, -.5, 0, .5, .5, 0, -.5, .5, 0, 0, 1, 2, 0, 2, 3, 0, 1, begin, 0, z, end, 0, z)
views = [(0, 48), (48, 12), (60, 8), (68, 24)]
kinds = [(5126, 4, "VEC3"), (5123, 6, "SCALAR"), (5126, 2, "SCALAR"), (5126, 2, "VEC3")]
json.dump({
    "asset": {"version": "2.0"}, "scenes": [{"nodes": [0, 1]}], "nodes": [{"mesh": 0}, {"camera": 0, "translation": [0, 0, 5]}],
    "cameras": [{"type": "orthographic", "orthographic": {"xmag": 2, "ymag": 2, "znear": 0.1, "zfar": 9}}],
    "materials": [{"emissiveFactor": [1, 1, 1], "pbrMetallicRoughness": {"baseColorFactor": [0, 0, 0, 1]}}],
    "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "material": 0}]}],
    "animations": [{"channels": [{"sampler": 0, "target": {"node": target, "path": "translation"}}],
                    "samplers": [{"input": 2, "output": 3}]}],
    "buffers": [{"byteLength": 92, "uri": "data:application/octet-stream;base64," + base64.b64encode(data).decode()}],
    "bufferViews": [{"buffer": 0, "byteOffset": a, "byteLength": n} for a, n in views],
    "accessors": [{"bufferView": i, "componentType": c, "count": n, "type": kind,
                   **({"min": [-.5, -.5, 0], "max": [.5, .5, 0]} if i == 0 else {})} for i, (c, n, kind) in enumerate(kinds)],
}, open(name, "w"))
P
# Expects the middle row of FILE to be the profile of a square whose centre moves from BEGIN to END,
# within LIMIT.
cat >profile.py <<'P'
import struct, sys
def row(name):
    with open(name, "rb") as file:
        assert file.readline() == b"PF\n"
        width, height = map(int, file.readline().split())
        assert float(file.readline()) < 0
        values = struct.unpack(f"<{3 * width * height}f", file.read())
    return [values[3 * (height // 2 * width + x)] for x in range(width)]
begin, end, limit = map(float, sys.argv[2:5])
seen = row(sys.argv[1])
for x, value in enumerate(seen):
    at = 4 * (x + 0.5) / len(seen) - 2
    right = min(max(min(at + 0.5, end) - max(at - 0.5, begin), 0) / (end - begin), 1)
    assert abs(value - right) < limit, (x, value, right)
P
python3 make.py moving.gltf 0 -1.5 1.5
python3 make.py passing.gltf 1 1.5 -1.5
expect_exit 0 "${render[@]}" moving.gltf --frame 6 --shutter 12 -o moving.pfm
expect_true "the profile is a trapezoid" python3 profile.py moving.pfm -0.75 0.75 0.1
expect_exit 0 "${render[@]}" moving.gltf --frame 6 --shutter 12 --spp 1024 -o many.pfm
expect_true "many samples have the profile" python3 profile.py many.pfm -0.75 0.75 0.03
expect_exit 0 "${render[@]}" passing.gltf --frame 6 --shutter 12 --spp 1024 -o passing.pfm
expect_true "a moving camera has the same profile" python3 profile.py passing.pfm -0.75 0.75 0.03
expect_exit 0 "${render[@]}" moving.gltf --frames 6-7 --shutter 12 -o sequence.pfm
expect_equal sequence0006.pfm moving.pfm
expect_different sequence0007.pfm moving.pfm
expect_exit 0 "${render[@]}" moving.gltf --shutter 12 -o first.pfm # the first animation, frame 1
expect_different first.pfm moving.pfm
# the mean of pictures at 16 times, each in the middle of an equal part of the exposure
names=()
for number in {0..15}; do
    names+=("mean$number.pfm")
    expect_exit 0 "${render[@]}" moving.gltf --frame "$(python3 -c "print(6 + 12 * ($number + 0.5) / 16)")" -o "mean$number.pfm"
done
python3 - "${names[@]}" <<'P'
import struct, sys
sums = [0] * (3 * 24 * 24)
for name in sys.argv[1:]:
    data = open(name, "rb").read()
    head, values = data[:-4 * len(sums)], struct.unpack(f"<{len(sums)}f", data[-4 * len(sums):])
    sums = [a + b / 16 for a, b in zip(sums, values)]
open("mean.pfm", "wb").write(head + struct.pack(f"<{len(sums)}f", *sums))
P
expect_exit 0 "$program" compare many.pfm mean.pfm --metric rmse --max 0.02

# A box in a room: what stands still keeps its bits, by every method; methods agree.
cp "$source_folder/scenes/textures/tile.png" image.png
box_scene() { # LAST: prints a scene with a box that is at LAST in frame 5
    echo '{"kandela": 1, "meshes": [{"file": "gen:cornell"}, {"box": {"lo": [-0.2, 0, -0.2], "hi": [0.2, 0.4, 0.2]},' \
        '"material": {"diffuse_map": "image.png"},' \
        '"transform": [{"keys": [{"frame": 1, "translate": [-0.5, 0, 0.6]}, {"frame": 5, "translate": ['"$1"']}]}]}],' \
        '"camera": {"eye": [0, 1, 4], "look_at": [0, 1, 0]}, "render": {"max_depth": 6}}'
}
box_scene "-0.5, 0, 0.6" >still.json
box_scene "0.5, 0, 0.6" >box.json
box_scene "0.4, 0, 0.6" >other.json
for method in path direct whitted ao debug photon sppm light; do
    few=(--integrator "$method" --spp 4 --passes 4 --photons 500)
    expect_exit 0 "${render[@]}" still.json "${few[@]}" -o shut.pfm
    expect_exit 0 "${render[@]}" still.json "${few[@]}" --shutter 4 -o open.pfm
    expect_equal open.pfm shut.pfm
done
for method in path sppm light; do
    options=(--integrator "$method" --shutter 4 --passes 6 --spp 6)
    expect_exit 0 "${render[@]}" box.json "${options[@]}" -o $method.pfm
    expect_exit 0 "${render[@]}" box.json "${options[@]}" --spp 3 --passes 3 -o part.pfm --save-every 1000
    expect_exit 0 "${render[@]}" box.json "${options[@]}" --resume -o part.pfm
    expect_equal part.pfm $method.pfm
    expect_exit 3 "${render[@]}" other.json "${options[@]}" --resume -o part.pfm
    expect_says err "the state belongs to another scene"
    expect_exit 3 "${render[@]}" box.json "${options[@]}" --shutter 3 --resume -o part.pfm
    expect_says err "the state belongs to another scene, or to another time of it"
done
expect_exit 0 "${render[@]}" box.json --spp 256 -o shut.pfm
expect_exit 0 "${render[@]}" box.json --spp 256 --shutter 4 -o path.pfm
expect_exit 0 "${render[@]}" box.json --integrator light --photons 20000 --passes 64 --shutter 4 -o light.pfm
expect_exit 0 "$program" compare light.pfm path.pfm --metric rmse --max 0.019
expect_exit 6 "$program" compare light.pfm shut.pfm --metric rmse --max 0.019

# A moving camera, seen by splats and by a method that needs one at rest.
echo '{"kandela": 1, "meshes": [{"file": "gen:cornell"}], "camera": {"look_at": [0, 1, 0], "keys":' \
    '[{"frame": 0, "eye": [0, 1, 4]}, {"frame": 4, "eye": [1, 1, 4]}]}, "render": {"max_depth": 6}}' >camera.json
expect_exit 0 "${render[@]}" camera.json --shutter 3 -o path.pfm
expect_exit 0 "${render[@]}" camera.json --shutter 3 --integrator light -o light.pfm
expect_exit 0 "${render[@]}" camera.json --integrator light -o shut.pfm
expect_exit 0 "$program" compare light.pfm path.pfm --metric rmse --max 0.08
expect_exit 6 "$program" compare shut.pfm path.pfm --metric rmse --max 0.08
expect_exit 0 "${render[@]}" camera.json --shutter 3 --integrator debug -o debug.pfm
expect_exit 0 "${render[@]}" camera.json --integrator debug -o shut.pfm
expect_exit 6 "$program" compare shut.pfm debug.pfm --metric rmse --max 0.01

expect_exit 2 "${render[@]}" box.json --shutter 4 --device cpu,cpu
expect_says err "motion blur of objects, or by integrator debug, runs on one device"
expect_exit 0 "$program" photons still.json --photons 1000 -o photons.kdph
expect_exit 2 "${render[@]}" still.json --integrator photon --photon-map photons.kdph --shutter 4
expect_says err "a photon map holds the light of one time"
expect_done
