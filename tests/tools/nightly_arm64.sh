#!/usr/bin/env bash
# An arm64 build renders the same bytes as the native one: the program is cross-built, run under
# qemu, and its pictures are compared. Needs gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and
# qemu-user. The arm64 libraries come from KANDELA_ARM64_ROOT (unpacked Debian packages), or are
# fetched by apt-get into a directory of this test, without changing the system's list of
# architectures.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
unset CFLAGS LDFLAGS CC

skip() {
    echo "$*: skipped"
    exit 77
}
emulator=$(command -v qemu-aarch64 || command -v qemu-aarch64-static) || skip "no qemu-aarch64 (package qemu-user)"
command -v aarch64-linux-gnu-gcc >/dev/null || skip "no aarch64-linux-gnu-gcc (package gcc-aarch64-linux-gnu)"
echo 'int main(void) { return 0; }' >empty.c
aarch64-linux-gnu-gcc empty.c -o empty 2>err || skip "no C library for arm64 (package libc6-dev-arm64-cross)"

libraries=${KANDELA_ARM64_ROOT-}
if [[ -z $libraries ]]; then
    "$source_folder/tools/package/arm64" packages bookworm libcjson1 libcjson-dev libstb-dev libxxhash-dev >log 2>&1 </dev/null || {
        tail -3 log
        skip "no libraries for arm64 (KANDELA_ARM64_ROOT is not set, apt-get could not fetch them)"
    }
    libraries=$scratch/packages/root
fi
[[ -e $libraries/usr/lib/aarch64-linux-gnu/libcjson.so ]] || skip "no cJSON for arm64 in $libraries"
export KANDELA_ARM64_ROOT=$libraries

expect_exit 0 cmake -S "$source_folder" -B build -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_TOOLCHAIN_FILE="$source_folder/cmake/arm64.cmake" \
    -DKD_OPENEXR=OFF -DKD_ASSIMP=OFF -DKD_TESTS=OFF -DKD_CUDA=OFF
expect_exit 0 cmake --build build --target kandela_installed -j "$(nproc)"
((expect_failures == 0)) || expect_done
expect_true "the arm64 program has written the man page" test -s build/share/man/man1/kandela.1
arm=("$emulator" -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=$libraries/usr/lib/aarch64-linux-gnu"
    build/bin/kandela)
expect_exit 0 "${arm[@]}" info
expect_says out "$("$program" info | head -1)"

picture=(render "$source_folder/scenes/cornell_diffuse.json" --device cpu --threads 2 --quiet
    --resolution 48x48 --spp 2 --photons 2000)
for integrator in path photon; do
    expect_exit 0 "$program" "${picture[@]}" --integrator $integrator -o here.pfm
    expect_exit 0 "${arm[@]}" "${picture[@]}" --integrator $integrator -o arm.pfm
    cmp here.pfm arm.pfm || expect_fail "$integrator: the picture on arm64 has the same bytes"
done
expect_done
