#!/usr/bin/env bash
# Small files of large pictures: comparing them takes little memory, all textures share one budget,
# a file truncated within a row is rejected, and signals end decoding.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
command -v python3 >/dev/null || exit 77
cp "$source_folder"/tests/fuzz/corpus/image/cut_row.hdr .

# Writes PNG files of SIDE x SIDE black pixels of one bit each, whose files are tiny.
python3 - <<'END'
import struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
def png(name, side, bits, colour):
    samples = 3 if colour == 2 else 1
    rows = (b"\0" + bytes(side * bits * samples // 8)) * side
    head = struct.pack(">IIBBBBB", side, side, bits, colour, 0, 0, 0)
    with open(name, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))
png("bits.png", 8192, 1, 0)
png("large.png", 12800, 1, 0)
png("colours.png", 2048, 8, 2)
def ramp(name, first): # every 16-bit value from `first` on
    rows = b"".join(b"\0" + struct.pack(">256H", *(min(first + 256 * y + x, 65535) for x in range(256))) for y in range(256))
    with open(name, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 256, 256, 16, 0, 0, 0, 0))
                   + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
ramp("ramp.png", 0)
ramp("next.png", 1)
END

peak_below() { # LIMIT_KIB COMMAND...: expects the peak resident size of COMMAND to be lower
    local most=$1
    shift
    grep -qa __tsan_init "$program" && most=$((2 * most)) # ThreadSanitizer's shadow memory counts
    python3 - "$most" "$@" <<'END'
import resource, subprocess, sys
code = subprocess.run(sys.argv[2:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(used, "KiB", file=sys.stderr)
sys.exit(code or (used > int(sys.argv[1])))
END
}
expect_exit 0 peak_below 400000 "$program" compare bits.png bits.png
expect_exit 0 peak_below 400000 "$program" compare bits.png bits.png --metric max
expect_exit 0 "$program" compare large.png large.png --metric max # must not be rejected as damaged
expect_says out 0
expect_exit 0 "$program" compare ramp.png next.png --metric max # differs by one of 65535 steps
expect_true "16-bit pictures are compared exactly: $(cat out)" awk '{exit !($1 > 1e-6 && $1 < 1e-4)}' out

# All textures share one budget.
cat >two.json <<'END'
{"kandela": 1, "materials": {"a": {"diffuse_map": "colours.png"}, "b": {"roughness_map": "bits.png", "kind": "plastic"}},
 "meshes": [{"quad": [[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], "material": "a"},
            {"quad": [[-1, -1, 1], [1, -1, 1], [1, 1, 1], [-1, 1, 1]], "material": "b"}]}
END
expect_exit 0 "$program" render two.json --resolution 8x8 --spp 1 -o two.png
expect_exit 4 "$program" render two.json --resolution 8x8 --spp 1 -o two.png --max-texture-memory 64M
expect_says err "--max-texture-memory"
expect_says err "bits.png"
expect_true "one line of error: $(cat err)" test "$(wc -l <err)" = 1
expect_exit 0 "$program" render two.json --resolution 8x8 --spp 1 -o two.png --max-texture-memory 1G

# A regression: this file must not make the reader hang.
expect_exit 3 timeout 20 "$program" render gen:blob:100 --env cut_row.hdr -o cut.png
expect_says err "cut_row.hdr: truncated"
expect_true "one line of error" test "$(wc -l <err)" = 1
printf 'newmtl a\nmap_Kd cut_row.hdr\n' >cut.mtl
printf 'mtllib cut.mtl\nusemtl a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nf 1/1 2/1 3/1\n' >cut.obj
expect_exit 0 timeout 20 "$program" render cut.obj --resolution 8x8 --spp 1 -o cut.png
expect_says err "cut_row.hdr: truncated"
expect_exit 0 timeout 20 "$program" check cut.obj
expect_exit 3 timeout 20 "$program" develop cut_row.hdr
expect_exit 3 timeout 20 "$program" compare cut_row.hdr cut_row.hdr

# During decoding, one signal ends the program soon, and two end it at once.
expect_signalled() { # TIMES CODE: sends TIMES signals and expects the exit code CODE
    "$program" render gen:blob:100 --env bits.png --resolution 8x8 --spp 16000000 -o late.png >out 2>err &
    local child=$! i began
    sleep 0.2
    began=$(date +%s%N)
    for ((i = 0; i < $1; ++i)); do kill -TERM $child; sleep 0.05; done
    wait $child
    local code=$? took=$((($(date +%s%N) - began) / 1000000))
    [[ $code == 130 || $code == "$2" ]] || expect_fail "exit code 130 or $2 after $1 signals (it was $code)"
    ((took < 4000)) || expect_fail "$1 signals end the program within its time limit (it took $took ms)"
}
set -m
expect_signalled 1 130
expect_signalled 2 143
expect_done
