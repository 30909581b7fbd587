#!/usr/bin/env bash
# `--background` and `--view` of `kandela render`, and `--background` of `kandela develop`.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
scene() { # NAME REST: a ball on a floor; the corners of the picture show neither
    printf '{"kandela": 1, "meshes": [{"sphere": {"centre": [0, 0.5, 0], "radius": 0.5, "triangles": 500}},
        {"quad": [[-1, 0, 1], [1, 0, 1], [1, 0, -1], [-1, 0, -1]]}],
        "camera": {"eye": [0, 1, 4], "look_at": [0, 0.3, 0]}, %s}\n' "$2" >"$1.json"
}
scene lamp '"lights": [{"kind": "point", "position": [2, 3, 2], "power": 100}]'
scene sky '"environment": {"radiance": 0.7}'
render() { # SCENE OPTION...
    local name=$1
    shift
    expect_exit 0 "$program" render "$name.json" --resolution 32x24 --spp 4 --passes 2 --photons 1000 --threads 2 \
        --device cpu "$@"
}
colour_type() { od -An -tu1 -j25 -N1 "$1" | tr -d ' '; } # of a .png file: 2 without alpha, 6 with it
corner() { # FILE.pfm: prints the bottom left pixel
    python3 -c "import struct, sys
b = open(sys.argv[1], 'rb').read()
print(*('%g' % v for v in struct.unpack('<3f', b[-32 * 24 * 12:][:12])))" "$1"
}
expect_corner() { # FILE VALUES
    expect_true "the corner of $1 is $2, not $(corner "$1")" test "$(corner "$1")" = "$2"
}
expect_type() { expect_true "$1 has the colour type $2" test "$(colour_type "$1")" = "$2"; }

# By default pictures are opaque, whatever lights the scene.
render lamp -o lamp.png -o lamp.pfm --exposure auto
stops() { sed -n 's/^automatic exposure: \([-+.0-9]*\) stops.*/\1/p' err; }
opaque=$(stops)
expect_type lamp.png 2
expect_corner lamp.pfm "0 0 0"
render lamp -o clear.png -o clear.pfm --exposure auto --background transparent
expect_type clear.png 6
expect_true "the exposure ignores the background: $opaque, $(stops)" \
    awk -v a="$opaque" -v b="$(stops)" 'BEGIN { exit !(a - b < 0.3 && b - a < 0.3) }'
expect_exit 0 cmp lamp.pfm clear.pfm
render sky -o sky.png -o sky.pfm
expect_type sky.png 2
expect_corner sky.pfm "0.7 0.7 0.7"

# A background replaces the environment where the camera sees it, and changes nothing else.
render sky -o clear.png -o clear.pfm --background transparent
expect_type clear.png 6
expect_corner clear.pfm "0 0 0"
for file in sky clear; do expect_exit 0 "$program" develop $file.pfm -q --crop 14,10,18,14 -o $file-ball.pfm; done
expect_exit 0 cmp sky-ball.pfm clear-ball.pfm
for how in path direct whitted photon sppm light ao; do
    render sky --integrator $how --background '#ff0080' -o red.png -o red.pfm --exposure -2 -q
    expect_type red.png 2
    expect_corner red.pfm "0 0 0"
    expect_exit 0 "$program" develop red.png -q -o red.pfm
    expect_corner red.pfm "1 0 0.215861"
done
for colour in '#FFFFFF' white 1,1,1; do
    render sky --background $colour -o white.png -q
    expect_exit 0 "$program" develop white.png -q -o white.pfm
    expect_corner white.pfm "1 1 1"
done
sed 's/"camera"/"render": {"background": "white"}, "camera"/' sky.json >white.json
render white -o described.png -q
expect_exit 0 cmp described.png white.png
if "$program" --version | grep -q 'OpenEXR *[0-9]'; then
    render sky --background transparent -o clear.exr -q
    expect_exit 0 "$program" develop clear.exr -q -o clear.png
    expect_type clear.png 6
    expect_exit 0 "$program" develop clear.exr -q --background white -o white.png
    expect_exit 0 cmp described.png white.png
    expect_exit 2 "$program" develop clear.exr -q --background mauve -o white.png
    expect_says err 'the background is "mauve"; expected environment, transparent, #rrggbb'
fi
for colour in mauve '#12345' '#1234567' 1,2,1 1,1 1,1,1,1 '#12345g' white: white:red:grey ''; do
    expect_exit 2 "$program" render sky.json -q --background "$colour" -o refused.png
    expect_says err "expected environment, transparent, #rrggbb, r,g,b (0 to 1), white, grey, black, TOP:BOTTOM"
done

# Two colours, from top to bottom, evenly as displayed; a picture, which is cut to fill; neither is exposed.
row() { # FILE.png ROW: prints the values of its left pixel
    "$program" develop "$1" -q --crop "0,$2,1,$(($2 + 1))" -o row.pfm >/dev/null &&
        python3 -c "import struct; print(*('%.3f' % v for v in struct.unpack('<3f', open('row.pfm', 'rb').read()[-12:])))"
}
expect_row() { # FILE ROW VALUES
    expect_true "row $2 of $1 is $3, not $(row "$1" "$2")" test "$(row "$1" "$2")" = "$3"
}
render sky --background '#ff0000:0,0,1' --exposure -1 -o even.png -o even.pfm -q
expect_row even.png 0 "1.000 0.000 0.000"
expect_row even.png 12 "0.195 0.000 0.235" # 122 and 133 of 255
expect_row even.png 23 "0.000 0.000 1.000"
expect_corner even.pfm "0 0 0"
python3 -c "import struct; open('wide.pfm', 'wb').write(b'PF\n4 1\n-1.0\n' + struct.pack('<12f', *(v for v in (0, 0.25, 0.5, 9) for _ in 'rgb')))"
render sky --background wide.pfm --tonemap agx -o behind.png -q # the second of four columns remains
expect_row behind.png 0 "0.250 0.250 0.250"
expect_row behind.png 23 "0.250 0.250 0.250"
render sky --background even.png --crop 0,10,9,24 -o part.png -q
expect_row part.png 2 "0.195 0.000 0.235"
mkdir -p folder
cp even.png folder
sed 's/"camera"/"render": {"background": "even.png"}, "camera"/' sky.json >folder/named.json
render folder/named -o named.png -q
render sky --background even.png -o same.png -q
expect_exit 0 cmp named.png same.png
sed -i 's|even.png|../even.png|' folder/named.json
expect_exit 3 "$program" render folder/named.json -q -o refused.png
expect_says err 'the file "../even.png" is outside the scene'
expect_exit 3 "$program" render sky.json -q --background absent.jpg -o refused.png
expect_says err 'absent.jpg: cannot open: No such file'
expect_exit 2 "$program" render sky.json -q --background even.png -o even.png
expect_says err 'even.png: the output would overwrite an input file'
if "$program" --version | grep -q 'OpenEXR *[0-9]'; then
    render sky --background even.png -o clear.exr -q
    expect_exit 0 "$program" develop clear.exr -q --background even.png -o developed.png
    expect_exit 0 cmp developed.png same.png
fi

# Views: the middle of the picture shows that side of a box, and the border shows nothing.
box='{"kandela": 1, "meshes": [{"box": {"lo": [-1, -2, -3], "hi": [1, 2, 3]}}], "lights": []'
echo "$box}" >box.json
echo "$box, \"camera\": {\"eye\": [0, -9, 1], \"up\": [0, 0, 1]}}" >upright.json
show() { # NAME SCENE OPTION...
    local name=$1 scene=$2
    shift 2
    expect_exit 0 "$program" render "$scene" -q --integrator debug --resolution 32x24 --spp 1 "$@" -o "$name.pfm"
    expect_exit 0 "$program" develop "$name.pfm" -q --crop 15,11,17,13 -o "$name-middle.pfm"
}
check_side() { # SCENE SIDE EYE [OPTION...]
    show seen "$1" --view "$2"
    show expected "$1" --look-at 0,0,0 --eye "$3" "${@:4}"
    expect_exit 0 cmp seen-middle.pfm expected-middle.pfm
    expect_corner seen.pfm "0 0 0"
}
check_side box.json front 0,0,19
check_side box.json back 0,0,-19
check_side box.json left -19,0,0
check_side box.json right 19,0,0
check_side box.json top 0,19,0 --up 0,0,-1
check_side box.json bottom 0,-19,0 --up 0,0,1
check_side upright.json front 0,-19,0
check_side upright.json left -19,0,0
check_side upright.json top 0,0,19 --up 0,1,0
show near box.json --view iso --fov 20
show far box.json --view iso --fov 60
for name in near far; do expect_corner $name.pfm "0 0 0"; done
expect_exit 2 "$program" render box.json --view above
expect_says err "expected scene, front, back, left, right, top, bottom or iso"
expect_done
