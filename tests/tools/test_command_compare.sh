#!/usr/bin/env bash
# `kandela compare`: values computed by hand, exit codes, the picture of differences.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

# Writes a PFM of WIDTH x 2 pixels: grey LEFT in its left half, RIGHT elsewhere.
picture() { # FILE WIDTH LEFT RIGHT
    python3 - "$@" <<'P'
import struct, sys
name, width, left, right = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
row = [left] * (3 * (width // 2)) + [right] * (3 * (width - width // 2))
with open(name, 'wb') as f:
    f.write(b'PF\n%d 2\n-1.0\n' % width + struct.pack('<%df' % (6 * width), *(row + row)))
P
}
picture a.pfm 8 0.25 0.75
picture b.pfm 8 0.25 0.25
picture c.pfm 8 0.75 0.25
picture small.pfm 4 0.25 0.25
picture nan.pfm 8 nan 0.25

value() { # EXPECTED ARGUMENT...
    local expected=$1
    shift
    expect_exit 0 "$program" compare "$@"
    expect_empty err
    python3 -c "import sys; a, b = float(open('out').read()), float('$expected')
sys.exit(not (a == b or abs(a - b) <= 1e-6 * abs(b)))" || expect_fail "compare $*: $(cat out) is $expected"
}
value 0 a.pfm a.pfm
value 0.5 a.pfm b.pfm --metric max
value 0.353553390593 a.pfm b.pfm
value 1.9950124688279303 a.pfm b.pfm --metric relmse # half of the pixels have .25 / (.0625 + .0125^2)
value 9.030899869919436 a.pfm b.pfm --metric psnr
value inf a.pfm a.pfm --metric psnr
value 0 a.pfm a.pfm --metric flip
value 0.5 a.pfm c.pfm
value 0 a.pfm c.pfm --block 8 # the halves are exchanged, so block means are equal
value 0.25 a.pfm b.pfm --metric max --block 8

expect_exit 6 "$program" compare a.pfm b.pfm --max 0.1
expect_true "the value is printed also if it exceeds the limit" test "$(wc -l <out)" = 1
expect_says err "worse than the limit 0.1"
value 0.353553390593 a.pfm b.pfm --max 0.4
expect_exit 6 "$program" compare a.pfm b.pfm --metric psnr --max 20
expect_exit 3 "$program" compare a.pfm small.pfm
expect_empty out
expect_exit 3 "$program" compare a.pfm nan.pfm
expect_exit 3 "$program" compare a.pfm absent.pfm
expect_exit 2 "$program" compare a.pfm
expect_exit 2 "$program" compare a.pfm b.pfm c.pfm
expect_exit 2 "$program" compare a.pfm b.pfm --metric rms
expect_says err "did you mean rmse?"
expect_exit 2 "$program" compare a.pfm b.pfm --max nan
expect_exit 2 "$program" compare a.pfm b.pfm --block 0
expect_exit 2 "$program" compare a.pfm b.pfm --diff d.gif
expect_exit 0 "$program" compare a.pfm b.pfm --diff d.png
expect_true "--diff writes a PNG file" test "$(head -c 4 d.png | tail -c 3)" = PNG
expect_exit 1 "$program" compare a.pfm b.pfm --diff nowhere/d.png
expect_done
