#!/usr/bin/env bash
# EXR and Radiance files as other programs write them: as skies, by develop and by compare. Each has known values; a file
# of which one feature is changed gives another picture or a message.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
command -v python3 >/dev/null || exit 77

# A picture of 64 x 32 pixels: (1, 0.5, 0.25) above, (0.1, 0.2, 0.4) below, and a square of (4, 2, 1) in the middle.
cat >files.py <<'P'
import math, struct

WIDE, HIGH = 64, 32


def colour(x, y):
    if 24 <= x < 40 and 8 <= y < 24:
        return (4, 2, 1)
    return (1, 0.5, 0.25) if y < HIGH // 2 else (0.1, 0.2, 0.4)


def attribute(name, kind, data):
    return name.encode() + b"\0" + kind.encode() + b"\0" + struct.pack("<i", len(data)) + data


def exr(name, layer="", data=(0, 0, WIDE, HIGH), shown=(0, 0, WIDE, HIGH), channels="BGR", more=(), compression=0, aspect=1, kind=None):
    """Write an uncompressed EXR file of floats; windows are x0, y0, x1, y1, half open."""
    names = sorted(layer + c for c in channels)
    box = lambda b: struct.pack("<4i", b[0], b[1], b[2] - 1, b[3] - 1)
    listed = b"".join(n.encode() + b"\0" + struct.pack("<iB3x2i", 2, 0, 1, 1) for n in names) + b"\0"
    head = [("channels", "chlist", listed), ("compression", "compression", bytes([compression])), ("dataWindow", "box2i", box(data)),
            ("displayWindow", "box2i", box(shown)), ("lineOrder", "lineOrder", b"\0"), ("pixelAspectRatio", "float", struct.pack("<f", aspect)),
            ("screenWindowCenter", "v2f", bytes(8)), ("screenWindowWidth", "float", struct.pack("<f", 1)), *more]
    if kind:
        head.append(("type", "string", kind))
    body = struct.pack("<2i", 20000630, 2) + b"".join(attribute(*each) for each in head) + b"\0"
    lines = data[3] - data[1]
    size = 4 * len(names) * (data[2] - data[0])
    start = len(body) + 8 * lines
    body += struct.pack("<%dQ" % lines, *(start + i * (8 + size) for i in range(lines)))
    place = {"R": 0, "G": 1, "B": 2, "A": 3}
    for y in range(data[1], data[3]):
        body += struct.pack("<2i", y, size)
        for n in names:
            values = [(*colour(x, y), 1)[place.get(n[len(layer):], 0)] for x in range(data[0], data[2])]
            body += struct.pack("<%df" % len(values), *values)
    with open(name, "wb") as f:
        f.write(body)


XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))


def rgbe(v):
    top = max(v)
    if top <= 0:
        return bytes(4)
    power = math.frexp(top)[1]
    return bytes(min(255, int(c * 256 / 2.0**power)) for c in v) + bytes([power + 128])


def hdr(name, lines="FORMAT=32-bit_rle_rgbe\n", size="-Y 32 +X 64", old=False, cut=0, end="\n", xyz=False, scale=(1, 1, 1)):
    """Write a Radiance file, uncompressed or with old run lengths; the values are multiplied by `scale`."""
    axes = size.split()
    first, sign, second, other = axes[0][1], axes[0][0], axes[2][1], axes[2][0]
    body = b""
    for i in range(int(axes[1])):
        line = []
        for j in range(int(axes[3])):
            at = {first: i, second: j}
            x, y = at["X"], at["Y"]
            if {first: sign, second: other}["X"] == "-":
                x = WIDE - 1 - x
            if {first: sign, second: other}["Y"] == "+":
                y = HIGH - 1 - y
            v = [c * s for c, s in zip(colour(x, y), scale)]
            line.append(rgbe([sum(m * c for m, c in zip(row, v)) for row in XYZ] if xyz else v))
        if old:
            packed, j = [], 0
            while j < len(line):
                run = 1
                while j + run < len(line) and line[j + run] == line[j]:
                    run += 1
                packed += [line[j]] + ([bytes([1, 1, 1, run - 1])] if run > 1 else [])
                j += run
            line = packed
        body += b"".join(line)
    head = ("#?RADIANCE\n" + lines + "\n" + size + "\n").replace("\n", end)
    with open(name, "wb") as f:
        f.write(head.encode() + body[: len(body) - cut])


def pfm(name):
    with open(name, "rb") as f:
        f.readline()
        wide, high = map(int, f.readline().split())
        f.readline()
        values = struct.unpack("<%df" % (3 * wide * high), f.read())
    return wide, high, lambda x, y: values[3 * ((high - 1 - y) * wide + x):][:3]
P

# The values at the top, in the middle and at the bottom, and what is said.
expect_values() { # FILE TOP MIDDLE BOTTOM: expects these values in a PFM file, to within 2 %
    python3 - "$@" <<'P' || expect_fail "values of $*"
import sys
from files import pfm
wide, high, at = pfm(sys.argv[1])
for text, y in zip(sys.argv[2:], (high // 16, high // 2, high - 1 - high // 16)):
    for seen, right in zip(at(wide // 2, y), map(float, text.split())):
        if not abs(seen - right) <= 0.02 * abs(right) + 0.002:
            sys.exit(f"{sys.argv[1]}: found {at(wide // 2, y)}, expected {text}")
P
}
cat >sky.json <<'J'
{"kandela": 1, "meshes": [{"quad": [[-1e-3, -1e-3, 5], [1e-3, -1e-3, 5], [1e-3, 1e-3, 5], [-1e-3, 1e-3, 5]]}],
"camera": {"eye": [0, 0, 0], "look_at": [0, 0, -1], "fov": 120}, "environment": {"image": "IMAGE"}}
J
expect_picture() { # FILE TOP MIDDLE BOTTOM [ARGUMENT...]: of the file as a sky, developed, and compared
    local file=$1
    expect_exit 0 "$program" develop "$file" "${@:5}" -o seen.pfm
    expect_values seen.pfm "${@:2:3}"
    expect_exit 0 "$program" compare "$file" seen.pfm --metric max --max 0
    sed "s/IMAGE/$file/" sky.json >one.json
    expect_exit 0 "$program" render one.json --resolution 16x16 --spp 4 -o sky.pfm
    expect_values sky.pfm "${@:2:3}"
}
upper="1 .5 .25" lower=".1 .2 .4" middle="4 2 1"

"$program" info | grep -q "no: .exr pictures" || {
    python3 - <<'P'
import struct
from files import exr
chroma = lambda *v: [("chromaticities", "chromaticities", struct.pack("<8f", *v))]
exr("plain.exr")
exr("window.exr", data=(24, 8, 40, 24))
exr("moved.exr", data=(24, 8, 40, 24), shown=(0, 0, 64, 32), more=[("owner", "string", b"somebody")])
exr("overscan.exr", data=(-8, -4, 72, 36))
exr("rec2020.exr", more=chroma(.708, .292, .17, .797, .131, .046, .3127, .329))
exr("blender.exr", layer="ViewLayer.Combined.")
exr("red.exr", channels="R")
exr("luminance.exr", channels="Y")
P
    expect_picture plain.exr "$upper" "$middle" "$lower"
    expect_picture window.exr "0 0 0" "$middle" "0 0 0"
    expect_picture overscan.exr "$upper" "$middle" "$lower"
    expect_says err "outside of the display window"
    expect_picture rec2020.exr "1.348 .440 .211" "5.394 1.759 .845" ".019 .211 .426"
    expect_says err "chromaticities to Rec. 709"
    expect_picture blender.exr "$upper" "$middle" "$lower"
    expect_picture red.exr "1 1 1" "4 4 4" ".1 .1 .1"
    expect_picture luminance.exr "1 1 1" "4 4 4" ".1 .1 .1"
    expect_exit 0 "$program" develop blender.exr --layer ViewLayer.Combined -o layer.pfm
    expect_exit 0 "$program" develop blender.exr -o all.pfm
    expect_exit 0 "$program" compare layer.pfm all.pfm --metric max --max 0
    expect_exit 3 "$program" compare blender.exr plain.exr --layer ViewLayer.Combined
    expect_says err "plain.exr: found no layer ViewLayer.Combined"
    expect_exit 3 "$program" develop all.pfm --layer R -o never.png
    expect_says err "have no layers"

    # Crops keep their place, and together are the whole picture, bit for bit.
    render=("$program" render gen:blob:200 --resolution 48x32 --spp 2)
    expect_exit 0 "${render[@]}" -o whole.exr
    expect_exit 0 "${render[@]}" --crop 0,0,17,32 -o left.exr
    expect_exit 0 "${render[@]}" --crop 17,0,48,9 -o top.exr
    expect_exit 0 "${render[@]}" --crop 17,9,48,32 -o right.exr
    expect_exit 0 "$program" develop --merge left.exr top.exr right.exr -o merged.exr
    for layer in R G B A Z N Albedo; do
        expect_exit 0 "$program" develop whole.exr --layer $layer -o whole.pfm
        expect_exit 0 "$program" develop merged.exr --layer $layer -o merged.pfm
        expect_true "the merged layer $layer has the bits of the whole one" cmp -s whole.pfm merged.pfm
    done
    expect_exit 0 "$program" develop top.exr -o top.pfm
    expect_true "a crop is shown in its picture" test "$(sed -n 2p top.pfm)" = "48 32"
    expect_exit 0 "$program" develop top.exr right.exr --merge -o part.exr
    expect_says err "544 of the 1536 pixels are in no file"
    expect_exit 0 "$program" develop --merge part.exr left.exr -o merged.exr
    expect_exit 0 "$program" compare merged.exr whole.exr --metric max --max 0
    expect_exit 3 "$program" develop --merge left.exr whole.exr -o never.exr
    expect_says err "overlap"
    expect_exit 3 "$program" develop --merge left.exr window.exr -o never.exr
    expect_says err "its display window has 64 x 32 pixels"
    expect_exit 2 "$program" develop --merge left.exr top.exr
    expect_says err "-o FILE"
    expect_exit 2 "$program" develop left.exr top.exr -o never.exr
    expect_says err "found top.exr after left.exr; --merge"
    expect_true "nothing is written after an error" test ! -e never.exr
}

python3 - <<'P'
from files import hdr
for i, size in enumerate(("-Y 32 +X 64", "-Y 32 -X 64", "+Y 32 +X 64", "+Y 32 -X 64",
                          "+X 64 -Y 32", "-X 64 -Y 32", "+X 64 +Y 32", "-X 64 +Y 32")):
    hdr("turned%d.hdr" % i, size=size)
hdr("old.hdr", old=True)
hdr("xyze.hdr", "FORMAT=32-bit_rle_xyze\n", xyz=True)
hdr("windows.hdr", end="\r\n")
hdr("formless.hdr", "# no format\n")
hdr("exposed.hdr", "EXPOSURE=2\nFORMAT=32-bit_rle_rgbe\nEXPOSURE=4\n", scale=(8, 8, 8))
hdr("corrected.hdr", "FORMAT=32-bit_rle_rgbe \nCOLORCORR=2 1 .5\n", scale=(2, 1, .5))
hdr("cut.hdr", cut=4 * 64 * 16 + 1)
P
for name in turned0 turned1 turned2 turned3 turned4 turned5 turned6 turned7 old xyze windows formless exposed corrected; do
    expect_picture $name.hdr "$upper" "$middle" "$lower"
done
expect_exit 0 "$program" compare turned0.hdr turned5.hdr --metric max --max 0
cp turned0.hdr sky.rgbe # the contents tell the format
expect_exit 0 "$program" compare sky.rgbe turned0.hdr --metric max --max 0
expect_exit 3 "$program" develop files.py -o never.png
expect_says err "unknown image suffix"
sed "s/IMAGE/cut.hdr/" sky.json >one.json
for command in "develop cut.hdr" "compare cut.hdr turned0.hdr" "render one.json --spp 1"; do
    # shellcheck disable=SC2086
    expect_exit 3 "$program" $command
    expect_says err "cut.hdr: truncated: the file ends in scanline 16 of 32"
done

# One feature of a file is changed: another picture, or a message. What describes nothing of the picture changes nothing.
cat >changes.py <<'P'
import struct, subprocess, sys
from files import exr, hdr
program, kinds = sys.argv[1], sys.argv[2].split()
chroma = ("chromaticities", "chromaticities", struct.pack("<8f", .7, .3, .3, .6, .15, .06, .3127, .329))
cases = {
    "exr": (exr, [dict(shown=(0, 0, 64, 31)), dict(shown=(1, 0, 65, 32)), dict(shown=(-9, 0, 64, 32)), dict(data=(0, 0, 63, 32)),
                  dict(data=(0, 1, 64, 32)), dict(shown=(70, 0, 80, 9)), dict(layer="x.", channels="BG"), dict(channels="GR"),
                  dict(channels="R"), dict(channels="XYZ"),
                  dict(more=[chroma]), dict(more=[("chromaticities", "float", bytes(4))]),
                  dict(aspect=2), dict(compression=8), dict(compression=3), dict(compression=77), dict(kind=b"deepscanline")],
            [dict(more=[("owner", "string", b"me")]), dict(kind=b"scanlineimage"), dict(layer="any.layer.")]),
    "hdr": (hdr, [dict(lines="EXPOSURE=2\n"), dict(lines="COLORCORR=1 1 2\n"), dict(lines="FORMAT=32-bit_rle_xyze\n"),
                  dict(lines="FORMAT=32-bit\n"), dict(lines="PRIMARIES=.7 .3 .3 .6 .15 .06 .3127 .329\n"), dict(lines="GAMMA=2.2\n"),
                  dict(lines="PIXASPECT=.5\n"), dict(lines="EXPOSURE=\n"), dict(cut=1), dict(size="-Y 64 +X 32"),
                  dict(size="-Y 31 +X 64"), dict(scale=(1, 1, 1.5))],
            [dict(lines="VIEW=-vtv -vh 90\n"), dict(lines="SOFTWARE=some\n"), dict(lines=""), dict(end="\r\n")]),
}


def seen(kind):
    run = subprocess.run([program, "develop", "one." + kind, "-o", "seen.pfm"], capture_output=True, text=True)
    assert run.returncode in (0, 3), (kind, run)
    if run.returncode:
        assert run.stderr.count("\n") == 1 and "one." + kind in run.stderr, run.stderr
        return None, run.stderr
    with open("seen.pfm", "rb") as f:
        return f.read(), run.stderr


failures = 0
for kind in kinds:
    write, loud, silent = cases[kind]
    for change in [{}] + loud + silent:
        write("one." + kind, **change)
        picture, said = seen(kind)
        if not change:
            base = picture
            assert picture and not said, said
            continue
        differs = picture != base or bool(said)
        if differs != (change in loud):
            failures += 1
            print(kind, change, "the same picture without a message" if not differs else "another picture or a message: " + said)
sys.exit(failures > 0)
P
kinds="hdr exr"
"$program" info | grep -q "no: .exr pictures" && kinds="hdr"
expect_true "a change is seen or told" python3 changes.py "$program" "$kinds"

# Files that OpenEXR's own programs make of one of ours.
command -v exrmaketiled >/dev/null && [[ $kinds == *exr ]] && {
    for compression in none rle zip piz pxr24 b44; do
        for levels in -o -m -r; do
            exrmaketiled $levels -t 16 8 -z $compression window.exr tiled.exr
            expect_exit 0 "$program" compare tiled.exr window.exr --metric max --max 0.0001
        done
    done
    exrmaketiled -z dwaa window.exr tiled.exr
    expect_exit 3 "$program" develop tiled.exr -o never.png
    expect_says err "DWAA compression is not supported"
}
command -v exrmultipart >/dev/null && [[ $kinds == *exr ]] && {
    exrmultipart -combine -i plain.exr::first red.exr::second -o parts.exr >/dev/null
    expect_exit 0 "$program" compare parts.exr plain.exr --metric max --max 0
    expect_says err "using the part first of first, second"
    expect_exit 0 "$program" develop parts.exr --layer second -o seen.pfm
    expect_values seen.pfm "1 1 1" "4 4 4" ".1 .1 .1"
}
command -v exrmultiview >/dev/null && [[ $kinds == *exr ]] && {
    exrmultiview left plain.exr right red.exr views.exr
    expect_exit 0 "$program" compare views.exr plain.exr --metric max --max 0
    expect_exit 0 "$program" develop views.exr --layer right -o seen.pfm
    expect_values seen.pfm "1 1 1" "4 4 4" ".1 .1 .1"
}
command -v exrenvmap >/dev/null && [[ $kinds == *exr ]] && {
    exrenvmap -li -c -w 64 plain.exr cube.exr
    sed "s/IMAGE/cube.exr/" sky.json >one.json
    expect_exit 0 "$program" render one.json --resolution 16x16 --spp 16 -o cube.pfm
    exrenvmap -m -l -w 128 cube.exr latlong.exr
    expect_picture latlong.exr "$upper" "$middle" "$lower"
    sed "s/IMAGE/latlong.exr/" sky.json >one.json
    expect_exit 0 "$program" render one.json --resolution 16x16 --spp 16 -o latlong.pfm
    expect_exit 0 "$program" compare cube.pfm latlong.pfm --metric rmse --max 0.15
    expect_values cube.pfm "$upper" "$middle" "$lower"
}
expect_done
