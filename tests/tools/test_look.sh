#!/usr/bin/env bash
# --look, --material and --view of meshes without lights.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
render=("$program" render -q --device cpu --threads 2 --resolution 40x30 --spp 4)

# The same solid in several places and sizes, and with z up.
cube() { # SCALE X Y Z: prints vertices and faces of a box with a roof
    awk -v s="$1" -v x="$2" -v y="$3" -v z="$4" 'BEGIN {
        n = split("0 0 0 2 0 0 2 0 1 0 0 1 0 1 0 2 1 0 2 1 1 0 1 1 1 1.5 0.5", v)
        for (i = 1; i < n; i += 3) printf "v %.9g %.9g %.9g\n", s * v[i] + x, s * v[i + 1] + y, s * v[i + 2] + z
        print "f 1 2 3 4\nf 1 5 6 2\nf 2 6 7 3\nf 3 7 8 4\nf 4 8 5 1\nf 5 9 6\nf 6 9 7\nf 7 9 8\nf 8 9 5" }'
}
cube 1 0 0 0 >a.obj
cube 1024 0 0 0 >large.obj
cube 0.0009765625 0 0 0 >small.obj
cube 1 64 -128 32 >moved.obj
cube 1 500000 4000000 100 >far.obj
for name in a large small moved far; do expect_exit 0 "${render[@]}" $name.obj -o $name.pfm; done
python3 - <<'END' || expect_fail "pictures do not depend on size and place"
import struct
def read(name):
    data = open(name, "rb").read()[-40 * 30 * 12:]
    return struct.unpack("<%df" % (len(data) // 4), data)
first = read("a.pfm")
mean = sum(first) / len(first)
for name in ("large", "small", "moved", "far"):
    other = read(name + ".pfm")
    error = sum(abs(p - q) for p, q in zip(first, other)) / len(first)
    assert error < 0.1 * mean, (name, error, mean)
    assert abs(sum(other) / len(other) - mean) < 0.02 * mean, name
END

# Scenes with lamps of their own get nothing; a look that is asked for is told to be ignored.
cat >lamp.mtl <<'END'
newmtl lamp
Ke 5 5 5
END
{ echo "mtllib lamp.mtl" && cube 1 0 0 0 && echo "usemtl lamp" && echo "v 0 4 0
v 1 4 0
v 0 4 1
f 10 11 12"; } >lamp.obj
expect_exit 0 "${render[@]}" lamp.obj -o lamp.pfm
expect_exit 0 "${render[@]}" lamp.obj --look plain -o plain.pfm
expect_exit 0 cmp lamp.pfm plain.pfm
expect_exit 0 "$program" render lamp.obj --device cpu --resolution 40x30 --spp 4 --look studio -o studio.pfm
expect_says err "lights of its own; --look studio is ignored"
expect_exit 0 cmp lamp.pfm studio.pfm

# Options change the picture, and wrong values are refused with one line.
expect_exit 0 "${render[@]}" a.obj --look studio -o studio.pfm
expect_exit 0 cmp a.pfm studio.pfm
for option in "--look plain" "--look sky" "--material gold" "--material glass" "--view iso" "--view top" \
    "--view bottom" "--up 0,0,1" "--fov 60" "--background transparent"; do
    # shellcheck disable=SC2086 # an option and its value
    expect_exit 0 "${render[@]}" a.obj $option -o b.pfm
    expect_exit 1 cmp -s a.pfm b.pfm
done
expect_exit 0 "${render[@]}" a.obj --material clay -o b.pfm # what it has no material for is clay already
expect_exit 0 cmp a.pfm b.pfm
for option in "--look cellar" "--material cheese" "--view inside" "--background beige-ish"; do
    # shellcheck disable=SC2086
    expect_exit 2 "${render[@]}" a.obj $option -o b.pfm
    expect_true "$option is refused with one line" test "$(wc -l <err)" -eq 1
done

# A description has its own light unless it asks for a look; the command line has the last word.
echo '{"kandela": 1, "meshes": [{"file": "a.obj"}], "render": {"look": "studio", "tonemap": "agx"}}' >a.json
expect_exit 0 "${render[@]}" a.json -o b.pfm
expect_exit 0 "${render[@]}" a.json --look plain -o plain.pfm
expect_exit 1 cmp -s b.pfm plain.pfm

# There is no ground where light paths start in the scene's box: without the background, pixels beside the solid are black.
expect_exit 0 "${render[@]}" a.obj --look studio --integrator light --photons 4000 -o b.pfm
expect_exit 0 "${render[@]}" a.obj --look studio --integrator light --photons 4000 --background black -o plain.pfm
python3 - <<'END' || expect_fail "integrator light shows a ground"
import struct
with_sky, black = (struct.unpack("<3600f", open(name + ".pfm", "rb").read()[-40 * 30 * 12:]) for name in ("b", "plain"))
corners = [y * 40 + x for y in (0, 1, 28, 29) for x in (0, 1, 38, 39)]
assert all(black[3 * i] == 0 < with_sky[3 * i] for i in corners)
assert 600 < sum(p != q for p, q in zip(with_sky, black)) < 3000
END

# Instances have the camera and the ground of their copies.
python3 - <<'END'
import base64, json, struct
data = struct.pack("<9f3H", 0, 0, 0, 1, 0, 0, 0, 1, 0.5, 0, 1, 2)
uri = "data:application/octet-stream;base64," + base64.b64encode(data).decode()
json.dump({"asset": {"version": "2.0"}, "buffers": [{"byteLength": len(data), "uri": uri}],
           "bufferViews": [{"buffer": 0, "byteLength": 36}, {"buffer": 0, "byteOffset": 36, "byteLength": 6}],
           "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0.5]},
                         {"bufferView": 1, "componentType": 5123, "count": 3, "type": "SCALAR"}],
           "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}], "scene": 0,
           "nodes": [{"mesh": 0, "translation": [i % 3, i / 3, i]} for i in range(6)],
           "scenes": [{"nodes": list(range(6))}]}, open("many.gltf", "w"))
END

# glTF files: y is up, also of a field of heights over x and y; a file without materials is of clay.
python3 - <<'END'
import base64, json, struct
side = 12
points = [c for i in range(side * side) for c in (i % side, i // side, 0.1 * (i % 3))]
corners = [k for i in range(side * (side - 1)) if i % side + 1 < side
           for k in (i, i + 1, i + side, i + 1, i + side + 1, i + side)]
data = struct.pack("<%df%dH" % (len(points), len(corners)), *points, *corners)
uri = "data:application/octet-stream;base64," + base64.b64encode(data).decode()
json.dump({"asset": {"version": "2.0"}, "buffers": [{"byteLength": len(data), "uri": uri}],
           "bufferViews": [{"buffer": 0, "byteLength": 4 * len(points)},
                           {"buffer": 0, "byteOffset": 4 * len(points), "byteLength": 2 * len(corners)}],
           "accessors": [{"bufferView": 0, "componentType": 5126, "count": side * side, "type": "VEC3",
                          "min": [0, 0, 0], "max": [side - 1, side - 1, 0.2]},
                         {"bufferView": 1, "componentType": 5123, "count": len(corners), "type": "SCALAR"}],
           "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}], "scene": 0,
           "nodes": [{"mesh": 0}], "scenes": [{"nodes": [0]}]}, open("field.gltf", "w"))
with open("field.obj", "w") as file:
    for i in range(0, len(points), 3):
        file.write("v %g %g %g\n" % tuple(points[i : i + 3]))
    for i in range(0, len(corners), 3):
        file.write("f %d %d %d\n" % tuple(k + 1 for k in corners[i : i + 3]))
END
expect_exit 0 "${render[@]}" field.gltf -o b.pfm
expect_exit 0 "$program" render field.obj --device cpu --threads 2 --resolution 40x30 --spp 4 -o plain.pfm
expect_says err "z is taken for up"
expect_exit 0 "${render[@]}" field.obj --up 0,1,0 -o plain.pfm
expect_exit 0 cmp b.pfm plain.pfm

# A room is seen from inside, too, where --up says what its form says or contradicts it, or with --fov.
python3 - <<'END'
boxes = [((0, 0, 0), (4, 5, 2.6)), ((1.5, 1.5, 0), (2.7, 2.5, 0.7)), ((3.3, 0.5, 0), (3.9, 1.7, 1.9)), ((0.1, 2.9, 0), (1.1, 4.9, 0.5))]
with open("room.obj", "w") as file:
    for k, box in enumerate(boxes):
        for i in range(8):
            file.write("v %g %g %g\n" % tuple(box[i >> (2 - axis) & 1][axis] for axis in range(3)))
        for face in ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)):
            file.write("f %d %d %d %d\n" % tuple(8 * k + i + 1 for i in (face if k else face[::-1])))
END
for option in --up=0,0,1 --up=0,1,0 --fov=20 ''; do
    cp b.pfm plain.pfm
    expect_exit 0 "$program" render room.obj --device cpu --threads 2 --resolution 40x30 --spp 1 ${option:+"$option"} -o b.pfm
    expect_says err "the scene is an interior"
done
expect_exit 1 cmp -s b.pfm plain.pfm

# Instances, as they are and copied.
for how in keep copy; do expect_exit 0 "${render[@]}" many.gltf --placements $how -o $how.pfm; done
expect_exit 0 cmp keep.pfm copy.pfm
expect_done
