# C99 programs compiled against the public headers and linked to the shared library: tests and
# examples.
# Usage: test_c99_programs.sh PROGRAM SOURCE_DIR
set -eu
build=$(cd "$(dirname "$1")/.." && pwd)
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH="$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
if nm -D "$build/lib/libkandela.so" | grep -q "__[at]san_init"; then
    echo "skipped: the library is built with sanitizers"
    exit 77
fi

compile() { # SOURCE OUTPUT
    ${CC:-gcc} -std=c99 -Wall -Wextra -pedantic -Werror -O1 -I "$source/include" "$1" -o "$2" \
        -L "$build/lib" -lkandela -lm
}
for header in "$source"/include/kandela/*.h; do
    name=$(basename "$header")
    printf '#include <kandela/%s>\nint main(void) { return 0; }\n' "$name" > "$work/header.c"
    compile "$work/header.c" "$work/header"
    # The example of the first comment.
    awk '/^       #include/ { on = 1 }
         on && !/^(       |$)/ { exit }
         on { end = sub(/ *\*\/.*/, ""); print; if (end) exit }' "$header" > "$work/example.c"
    grep -q '<kandela/' "$work/example.c"
    ${CC:-gcc} -std=c99 -Wall -Wextra -pedantic -Werror -I "$source/include" -c "$work/example.c" -o "$work/example.o"
done
for program in points triangles; do
    compile "$source/tests/c99/$program.c" "$work/$program"
    "$work/$program"
done

# Another language initialises structs through struct_size, and finds the point nearest to 41.2
# among 0, 1, 2, and so on.
if command -v python3 >/dev/null; then
    python3 - "$build/lib/libkandela.so" <<'P'
import ctypes, sys
from ctypes import c_size_t, c_uint64, c_uint32, c_int, c_double, c_void_p, c_char, byref, sizeof
kd = ctypes.CDLL(sys.argv[1])
class PointArray(ctypes.Structure):
    _fields_ = [("coordinates", c_void_p), ("count", c_uint64), ("stride_bytes", c_uint64),
                ("dims", c_uint32), ("scalar", c_int), ("ids", c_void_p)]
class Query(ctypes.Structure): # the leading fields of kd_points_query
    _fields_ = [("struct_size", c_size_t), ("points", PointArray), ("radii", c_void_p),
                ("max_radius", c_double)]
class Rows(ctypes.Structure): # the leading fields of kd_points_rows
    _fields_ = [("struct_size", c_size_t), ("ids", c_void_p), ("ids64", c_void_p), ("dist2", c_void_p)]
line = (c_double * 200)(*[v for i in range(100) for v in (i, 0)])
position = (c_double * 2)(41.2, 0.5)
tree, query, found = c_void_p(), Query(), c_uint32()
cloud = PointArray(ctypes.addressof(line), 100, 0, 2, 1, None)
assert kd.kd_points_open(byref(tree), byref(cloud), None) == 0
kd.kd_points_query_default_sized(byref(query), c_size_t(sizeof(query)))
query.points = PointArray(ctypes.addressof(position), 1, 0, 2, 1, None)
rows = Rows(sizeof(Rows), ctypes.addressof(found), None, None)
assert kd.kd_points_search_nearest(tree, byref(query), c_uint32(1), byref(rows)) == 0
assert found.value == 41, found.value
kd.kd_points_close(tree)
P
fi

# The library exports names that begin with kd_ only.
if nm -D --defined-only "$build/lib/libkandela.so" | awk '{print $3}' | grep -v '^kd_' |
    grep -v '^_init$\|^_fini$\|^$'; then
    echo "the library shows names that do not begin with kd_" >&2
    exit 1
fi

# Nearest neighbours in a cloud: a grid of spacing 1, and one distant point.
compile "$source/examples/cloud_neighbours.c" "$work/cloud_neighbours"
awk 'BEGIN { for (i = 0; i < 1000; ++i) print i % 10, int(i / 10) % 10, int(i / 100); print "99 99 99" }' \
    > "$work/cloud.xyz"
"$work/cloud_neighbours" "$work/cloud.xyz" | tee "$work/answer"
grep -q '^1001 points, .* 1 points stand apart$' "$work/answer"

# Kernels of users (kandela/device.cuh), as C++ on the host; nvcc, if there is one, compiles them,
# and a GPU, if there is one, runs them.
if command -v "${CXX:-g++}" >/dev/null; then
    for program in tests/c99/device.cc examples/own_kernel.cu; do
        ${CXX:-g++} -x c++ -std=c++14 -Wall -Wextra -Wconversion -Wshadow -Werror -O1 -ffp-contract=off \
            -I "$source/include" "$source/$program" -o "$work/device" -L "$build/lib" -lkandela
        "$work/device"
    done
    # More dimensions, of which the library makes no tree, do not compile.
    for dims in 8 9; do
        echo "#include <kandela/device.cuh>
            kandela::point_tree<float, $dims> tree;" > "$work/dims.cc"
        status=0
        ${CXX:-g++} -std=c++14 -I "$source/include" -fsyntax-only "$work/dims.cc" 2> "$work/messages" || status=$?
        [ $((status != 0)) -eq $((dims > 8)) ]
        [ "$dims" -eq 8 ] || grep -q "more than eight dimensions" "$work/messages"
    done
fi
if command -v nvcc >/dev/null; then
    for program in tests/c99/device.cc examples/own_kernel.cu; do
        nvcc -x cu -I "$source/include" "$source/$program" -o "$work/device" -L "$build/lib" -lkandela
        ! nvidia-smi -L >/dev/null 2>&1 || "$work/device"
    done
fi

# Registration (ICP): the error never grows by much, and ends far below its first value.
compile "$source/examples/icp.c" "$work/icp"
"$work/icp" > "$work/errors"
tail -n 1 "$work/errors"
awk '{ error = $7 } NR == 1 { first = error } END { exit !(NR > 3 && error < first / 10) }' "$work/errors"

# A cloud on two devices gives the results of one, both distributed and replicated.
compile "$source/examples/many_devices.c" "$work/many_devices"
"$work/many_devices" 20000 3000 8 cpu,cpu | tee "$work/answer"
grep -q ' parts: ' "$work/answer" && grep -q ' copies: ' "$work/answer" && grep -q '^the same answers$' "$work/answer"

# Shadows of a ball: some visible points lie in it, most do not.
compile "$source/examples/ray_shadows.c" "$work/ray_shadows"
"$work/ray_shadows" 2> "$work/figures" > "$work/picture.pgm"
cat "$work/figures"
awk '{ exit !($1 > 10000 && $6 > 1000 && $6 < $1 / 2) }' "$work/figures"
[ "$(wc -c < "$work/picture.pgm")" -eq $((240 * 240 + 15)) ]
