#!/usr/bin/env bash
# What a mesh file says and Kandela does not use is named in a line: joints that a skin lacks, clamped
# textures, alpha of PLY vertices, lamps that face away. Comments behind names; GIF textures.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
render=("$program" render --resolution 16x16 --spp 1 --threads 1 --eye "0.5,0.5,3" --look-at "0.5,0.5,0" -o out.pfm)

python3 - <<'P'
import base64, json, struct
data = struct.pack("<9f12B12f", 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 9, 0, 0, *[1, 0, 0, 0] * 3)
views, kinds = [(0, 36), (36, 12), (48, 48)], [(5126, "VEC3"), (5121, "VEC4"), (5126, "VEC4")]
json.dump({
    "asset": {"version": "2.0"}, "scenes": [{"nodes": [0, 1]}], "nodes": [{"mesh": 0, "skin": 0}, {}], "skins": [{"joints": [1]}],
    "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "JOINTS_0": 1, "WEIGHTS_0": 2}}]}],
    "buffers": [{"byteLength": len(data), "uri": "data:application/octet-stream;base64," + base64.b64encode(data).decode()}],
    "bufferViews": [{"buffer": 0, "byteOffset": a, "byteLength": n} for a, n in views],
    "accessors": [{"bufferView": i, "componentType": c, "count": 3, "type": kind, **({"min": [0, 0, 0], "max": [1, 1, 0]} if i == 0 else {})}
                  for i, (c, kind) in enumerate(kinds)],
}, open("skin.gltf", "w"))
# the first frame of two: red and green texels
with open("two.gif", "wb") as file:
    frame = b"\x2c" + struct.pack("<4H", 0, 0, 2, 1) + b"\0\2\2\x44\x0a\0"
    file.write(b"GIF89a" + struct.pack("<2H", 2, 1) + b"\x80\0\0\xff\0\0\0\xff\0" + frame + frame + b"\x3b")
P
expect_exit 0 "${render[@]}" skin.gltf
expect_says err "skin.gltf: meshes[0].primitives[0]: found the joint 9 of vertex 1 in JOINTS_0, expected less than 1, the number of joints of skins[0]; 1 such joints are ignored"

square='v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt %s 0\nvt %s 1\nvt 0 1\n'
# shellcheck disable=SC2059
made() { printf "mtllib a.mtl # library\n${square}usemtl red\nf 1/1 2/2 3/3 4/4\n" "$1" "$1" >a.obj; }
printf 'newmtl red # shiny\nKd 0 0 0\nKe 1 1 1\nmap_Ke -clamp on two.gif # texels\n' >a.mtl
made 2
expect_exit 0 "${render[@]}" a.obj
expect_says err 'a.mtl:4: found the texture "two.gif # texels" as two.gif'
expect_says err 'found -clamp on of "red # shiny" and texture coordinates outside of 0 to 1, where MTL shows no texture'
made 1
expect_exit 0 "${render[@]}" a.obj
expect_true "no line of clamped textures" bash -c '! grep -q clamp err'
expect_true "a texel left is red, one right is green" python3 - <<'P'
import struct
data = open("out.pfm", "rb").read()
values = struct.unpack(f"<{3 * 16 * 16}f", data[-4 * 3 * 16 * 16:])
at = lambda x, y: values[3 * (16 * y + x):][:3]
assert at(6, 8)[0] > 3 * at(6, 8)[1] and at(9, 8)[1] > 3 * at(9, 8)[0], (at(6, 8), at(9, 8))
P
head -c 31 two.gif >cut.gif
sed -i 's/two.gif.*/cut.gif/' a.mtl
expect_exit 0 "${render[@]}" a.obj
expect_says err "cut.gif: damaged: found 0 of the 2 pixels of the GIF file; the constant value is used instead of the texture"

ply() { # ALPHA: writes a triangle of which one vertex has it
    printf '%s\n' ply 'format ascii 1.0' 'element vertex 3' 'property float x' 'property float y' 'property float z' \
        'property uchar alpha' 'element face 1' 'property list uchar int vertex_indices' end_header '0 0 0 255' '1 0 0 255' "0 1 0 $1" '3 0 1 2' >a.ply
}
ply 254
expect_exit 0 "${render[@]}" a.ply
expect_says err "a.ply:3: found 1 vertices with an alpha below 255, which Kandela does not use: they are opaque"
ply 255
expect_exit 0 "${render[@]}" a.ply
expect_true "opaque vertices are not named" bash -c '! grep -q alpha err'

lamp() { # FACE: a floor, and a lamp above it
    printf 'mtllib lamp.mtl\nv -1 0 -1\nv 1 0 -1\nv 1 0 1\nv -1 0 1\nv 0 2 0\nv 1 2 0\nv 1 2 1\nusemtl wall\nf 4 3 2 1\nusemtl lamp\nf %s\n' "$1" >lamp.obj
}
printf 'newmtl wall\nKd 0.5 0.5 0.5\nnewmtl lamp\nKd 0 0 0\nKe 5 5 5\n' >lamp.mtl
lamp "7 6 5"
expect_exit 0 "${render[@]}" lamp.obj
expect_says err "the lamp at (0.666667, 2, 0.333333) faces away from everything"
lamp "5 6 7"
expect_exit 0 "${render[@]}" lamp.obj
expect_true "a lamp that lights the floor is not named" bash -c '! grep -q away err'
lamp "7 6 5"
expect_exit 0 "${render[@]}" lamp.obj --eye 0.5,3,3
expect_true "a lamp that the camera sees is not named" bash -c '! grep -q away err'
expect_done
