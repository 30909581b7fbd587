#!/usr/bin/env bash
# `kandela develop` and `render --denoise`: the pictures written, the order of the steps, rejected
# arguments.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
fake=$(dirname "$program")/../tests/fake_denoiser.so
export KANDELA_OIDN=/nowhere

# Writes a PFM of 8 x 4 pixels: grey 0.1 on the left, 0.3 on the right.
python3 - <<'P'
import struct
row = [0.1] * 12 + [0.3] * 12
open('a.pfm', 'wb').write(b'PF\n8 4\n-1.0\n' + struct.pack('<96f', *(4 * row)))
P

value() { # FILE: prints the mean of its red channel
    python3 - "$1" <<'P'
import struct, sys
data = open(sys.argv[1], 'rb').read()
size = tuple(map(int, data.split(b'\n')[1].split()))
values = struct.unpack('<%df' % (3 * size[0] * size[1]), data[-12 * size[0] * size[1]:])
print('%d %d %.4f %.4f' % (*size, values[0], sum(values) / len(values)))
P
}
expect_developed() { # "WIDTH HEIGHT FIRST MEAN" ARGUMENT...: expects this size, first value and mean of the result
    local meant=$1
    shift
    expect_exit 0 "$program" develop "$@" -o out.pfm
    expect_true "develop $*: $(value out.pfm) is $meant" test "$(value out.pfm)" = "$meant"
}

expect_developed "8 4 0.1000 0.2000" a.pfm
expect_developed "4 4 0.3000 0.3000" a.pfm --crop 4,0,8,4
expect_developed "4 2 0.1000 0.2000" a.pfm --resize 4x0
expect_developed "2 2 0.3000 0.3000" a.pfm --crop 4,0,8,4 --resize 2x2
# a file of radiance gets neither exposure nor tone curve
expect_developed "8 4 0.1000 0.2000" a.pfm --exposure 3 --tonemap agx
finish=(--bloom 0.3 --bloom-radius 0.1 --vignette 0.5 --white-balance 4000K --contrast 1.2 --saturation 0.5)
expect_developed "8 4 0.1000 0.2000" a.pfm "${finish[@]}"
# rendering with the keys of a scene is rendering without, then developing
lamp='"kandela": 1, "meshes": [{"file": "gen:cornell"}]'
echo "{$lamp}" >plain.json
echo "{$lamp, \"render\": {\"bloom\": 0.3, \"bloom_radius\": 0.1, \"vignette\": 0.5, \"white_balance\": \"4000K\",
    \"contrast\": 1.2, \"saturation\": 0.5}}" >finished.json
expect_exit 0 "$program" render plain.json --resolution 16x12 --spp 1 -q -o plain.pfm -o plain.png
expect_exit 0 "$program" render finished.json --resolution 16x12 --spp 1 -q -o finished.pfm -o finished.png
expect_exit 0 "$program" develop plain.pfm "${finish[@]}" -o developed.png
expect_true "the finish leaves radiance as it is" cmp plain.pfm finished.pfm
expect_true "render and develop finish alike" cmp finished.png developed.png
expect_true "the finish changes 8-bit pictures" test "$(cksum <plain.png)" != "$(cksum <finished.png)"
expect_exit 2 "$program" develop a.pfm --white-balance mauve -o never.png
expect_says err 'the white balance is "mauve"; expected none, a temperature such as 3200K'
KANDELA_OIDN=$fake expect_developed "8 4 0.2000 0.2000" a.pfm --denoise
# the whole picture is denoised before it is cropped
KANDELA_OIDN=$fake expect_developed "4 4 0.2000 0.2000" a.pfm --denoise --crop 4,0,8,4
KANDELA_OIDN=$(dirname "$fake")/nothing expect_exit 2 "$program" develop a.pfm --denoise

expect_exit 0 "$program" develop a.pfm
expect_true "the output has the default name" test "$(cat out)" = a.png
expect_exit 0 "$program" develop a.pfm --exposure auto
expect_says err "automatic exposure"
for curve in linear reinhard aces agx neutral; do
    expect_exit 0 "$program" develop a.pfm --tonemap $curve -o $curve.png
    for other in linear reinhard aces agx neutral; do
        [[ $other == "$curve" || ! -e $other.png ]] ||
            expect_true "tone curves $curve and $other give different pictures" test "$(cksum <$curve.png)" != "$(cksum <$other.png)"
    done
done
for suffix in jpg webp exr; do
    "$program" info | grep -q "no: .$suffix pictures" && continue
    expect_exit 0 "$program" develop a.pfm -o b.$suffix
    expect_exit 0 "$program" compare b.$suffix a.pfm --metric max --max 0.01
done

expect_exit 2 "$program" develop a.pfm --denoise -o never.png
expect_says err "KANDELA_OIDN"
expect_true "one line of error" test "$(wc -l <err)" = 1
expect_true "no picture is written after an error" test ! -e never.png
expect_exit 2 "$program" develop a.pfm --crop 0,0,9,4
expect_says err "exceeds the image of 8 x 4"
expect_exit 2 "$program" develop a.pfm --resize 0x0
expect_exit 2 "$program" develop a.pfm --resize 8
expect_exit 2 "$program" develop a.pfm --tonemap filmic
expect_says err "neutral"
expect_exit 2 "$program" develop a.pfm -o a.pfm
expect_says err "overwrite"
expect_exit 2 "$program" develop a.pfm -o b.gif
expect_exit 2 "$program" develop
expect_exit 3 "$program" develop absent.exr
printf 'no picture' >bad.exr
expect_exit 3 "$program" develop bad.exr

# With guide channels: the stand-in denoiser checks the order of its calls.
render=("$program" render gen:blob:80 --resolution 16x12 --spp 1)
expect_exit 2 "${render[@]}" --denoise -o never.png
expect_true "no picture is written without a denoiser" test ! -e never.png
expect_exit 0 "${render[@]}" -o noisy.pfm
KANDELA_OIDN=$fake expect_exit 0 "${render[@]}" --denoise -o clean.pfm
expect_true "denoising preserves the mean" test "$(value noisy.pfm | cut -d' ' -f4)" = "$(value clean.pfm | cut -d' ' -f4)"
expect_true "all pixels of the denoised picture are equal" python3 -c "
data = open('clean.pfm', 'rb').read()[-12 * 16 * 12:]
import sys; sys.exit(len({data[i:i + 12] for i in range(0, len(data), 12)}) != 1)"

# --env replaces the lights of a scene: a grey picture of 0.2 illuminates a white furnace uniformly.
echo '{"kandela": 1, "materials": {"w": {"diffuse": 1}}, "environment": {"radiance": 9},
"meshes": [{"sphere": {"triangles": 200}, "material": "w"}], "camera": {"eye": [0, 0, 4]}}' >ball.json
python3 -c "open('flat.pfm', 'wb').write(b'PF\n4 2\n-1.0\n' + __import__('struct').pack('<24f', *[0.2] * 24))"
"$program" info | grep -q "no: .exr pictures" || {
    expect_exit 0 "$program" develop flat.pfm -o flat.exr
    expect_exit 0 "$program" render ball.json --env flat.exr --resolution 8x8 --spp 4 --filter gaussian -o ball.pfm
    expect_true "a furnace of radiance 0.2 has this value in the picture: $(value ball.pfm)" test "$(value ball.pfm | cut -d' ' -f3)" = 0.2000
    expect_exit 3 "$program" render ball.json --env absent.exr -o never.png
    expect_exit 2 "$program" render ball.json --env flat.exr -o flat.exr
}
expect_done
