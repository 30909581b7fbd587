#!/usr/bin/env bash
# Windows gives the same bytes: the library, the program and two tests are cross-built with
# mingw-w64 and run under wine. Needs gcc-mingw-w64-x86-64-posix, g++-mingw-w64-x86-64-posix,
# wine64, and the sources of third-party libraries: from KANDELA_SOURCES, a directory made by
# tools/package/sources, or fetched. KANDELA_WINDOWS_BUILD names a build directory to reuse.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
unset CFLAGS LDFLAGS CC

skip() {
    echo "$*: skipped"
    exit 77
}
command -v x86_64-w64-mingw32-gcc-posix >/dev/null || skip "no mingw-w64"
wine=$(PATH=$PATH:/usr/lib/wine command -v wine64 || command -v wine) || skip "no wine64"
export WINEPREFIX=$scratch/wine WINEDEBUG=-all
sources=${KANDELA_SOURCES-}
if [[ -z $sources ]]; then
    sources=$scratch/sources
    timeout 300 "$source_folder/tools/package/sources" "$sources" >log 2>&1 </dev/null || {
        tail -3 log
        skip "no sources of cJSON and cmocka (KANDELA_SOURCES is not set, apt-get could not fetch them)"
    }
fi
toolchain=(-G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_TOOLCHAIN_FILE="$source_folder/cmake/windows.cmake" -DKD_SOURCES="$sources")
if [[ ! -e $sources/windows/lib/libcmocka.dll.a ]]; then
    expect_exit 0 cmake -S "$sources/cmocka" -B cmocka "${toolchain[@]}" -DWITH_EXAMPLES=OFF -DCMAKE_INSTALL_PREFIX="$sources/windows"
    expect_exit 0 cmake --build cmocka --target install
fi
build=${KANDELA_WINDOWS_BUILD:-build}
expect_exit 0 cmake -S "$source_folder" -B "$build" "${toolchain[@]}" -DKD_CUDA=OFF -DKD_TESTS=ON
expect_exit 0 cmake --build "$build" --target kandela_program test_points test_triangles test_leaf_index_nd
((expect_failures == 0)) || expect_done

cp "$sources/windows/bin/"*cmocka*.dll "$build/tests/"
for test in test_points test_triangles test_leaf_index_nd; do
    expect_exit 0 timeout 1800 "$wine" "$build/tests/$test.exe" # file access is slow under wine
done
expect_exit 0 "$wine" "$build/bin/kandela.exe" info
expect_says out "$("$program" info | head -1)"
picture=(render "$source_folder/scenes/cornell_diffuse.json" --device cpu --threads 2 --quiet
    --resolution 64x64 --spp 2 --photons 2000)
for integrator in path photon; do
    expect_exit 0 "$program" "${picture[@]}" --integrator $integrator -o here.pfm
    expect_exit 0 "$wine" "$build/bin/kandela.exe" "${picture[@]}" --integrator $integrator -o there.pfm
    cmp here.pfm there.pfm || expect_fail "$integrator: the picture on Windows has the same bytes"
done
expect_done
