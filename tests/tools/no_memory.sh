# shellcheck shell=bash
# Sourced: makes one allocation after the other fail, each in a separate run. Each run must exit
# with 0 or 4, print one line that gives the reason, and leave no partial or temporary file.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
build=$(dirname "$(dirname "$program")")
if ! grep -q '^KD_SANITIZE:STRING=$' "$build/CMakeCache.txt"; then
    echo "a sanitizer has an allocator of its own: skipped"
    exit 77
fi
cc -O1 -shared -fPIC -o "$scratch/fail.so" "$source_folder/tests/tools/fail_allocation.c" -ldl || exit 1
cp "$source_folder"/tests/tools/box.{obj,mtl} .
export KANDELA_DEVICE=cpu # a CUDA driver would make allocations of its own
tiny=(--resolution 8x6 --spp 1 --threads 1)
"$program" render box.obj -q "${tiny[@]}" -o wall.png -o sky.pfm >/dev/null
printf 'newmtl m\nKd .5 .5 .5\nmap_Kd wall.png\n' >textured.mtl
sed 's/^mtllib.*/mtllib textured.mtl/; s/^usemtl.*/usemtl m/' box.obj >textured.obj
echo '{"kandela": 1, "meshes": [{"file": "textured.obj"}, {"file": "box.obj"}]}' >s.json

# Runs the program with allocation number FAIL_ALLOCATION failing. Expects each of FILES to be
# complete, as in whole/, or missing if the program failed.
try() { # WHAT FILES COMMAND...
    local what=$1 files=$2 code file
    shift 2
    # shellcheck disable=SC2086
    rm -f $files
    LD_PRELOAD=$scratch/fail.so timeout 60 "$program" "$@" >out 2>err </dev/null
    code=$?
    if ((code == 4)); then
        grep -qiE 'memory|bytes were needed' err || expect_fail "$what prints the cause: $(head -c 200 err)"
    elif ((code != 0)); then
        expect_fail "$what has exit code 0 or 4 (it was $code): $(head -c 300 err)"
    fi
    for file in $files; do
        if [[ -e $file ]]; then
            cmp -s "$file" "whole/$file" || [[ $file == *.json || $file == *.exr ]] ||
                expect_fail "$what: $file is complete or absent"
        elif ((code == 0)); then
            expect_fail "$what: $file exists after exit code 0"
        fi
    done
    [[ ! -e s.stats.json || ! " $files " == *" s.stats.json "* ]] ||
        python3 -c 'import json, sys
def keys(v): return {k: keys(w) for k, w in v.items()} if isinstance(v, dict) else 0
a, b = (keys(json.load(open(n))) for n in sys.argv[1:])
sys.exit(a != b)' s.stats.json whole/s.stats.json || expect_fail "$what: the statistics are complete"
    [[ -z $(find . -name '*.tmp') ]] || expect_fail "$what: no temporary file remains: $(find . -name '*.tmp')"
    find . -name '*.tmp' -delete
}

sweep() { # STEP FILES COMMAND...: fails every STEPth allocation of COMMAND in turn
    local step=$1 files=$2 count i
    shift 2
    mkdir -p whole
    # shellcheck disable=SC2086
    rm -f $files
    FAIL_COUNT=count LD_PRELOAD=$scratch/fail.so "$program" "$@" >out 2>err || expect_fail "$* succeeds with all allocations"
    # shellcheck disable=SC2086
    mv $files whole/
    count=$(<count)
    ((count > 20)) || expect_fail "allocations are counted: $count"
    for ((i = 1; i <= count; i += step)); do
        FAIL_ALLOCATION=$i try "allocation $i of $count, $1" "$files" "$@"
        ((i % 2)) && FAIL_ALL=1 FAIL_ALLOCATION=$i try "allocations from $i on, $1" "$files" "$@"
    done
    echo "$count allocations of: $*"
}

sweep_all() { # STEP
    local files="a.png a.pfm s.stats.json"
    local outputs=(-o a.png -o a.pfm --stats s.stats.json)
    if "$program" --version | grep -q 'OpenEXR *[0-9]'; then
        files+=" a.exr"
        outputs+=(-o a.exr)
    fi
    sweep "$1" "$files" render s.json -q "${tiny[@]}" "${outputs[@]}"
    sweep "$1" "a.png a.png.state" render s.json -q "${tiny[@]}" --integrator sppm --photons 100 --save-every 0 -o a.png
    sweep "$1" "a.kdp" photons s.json -q --threads 1 --photons 100 -o a.kdp
}
