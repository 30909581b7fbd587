#!/usr/bin/env bash
# The program, the library and other binaries are hardened (hardened.sh) unless the build is
# configured otherwise. nightly_deb.sh and nightly_pip.sh test the packages.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
# shellcheck source=tests/tools/hardened.sh
. "$source_folder/tests/tools/hardened.sh"
build=$(dirname "$(dirname "$program")")
grep -qE '^KD_SANITIZE:STRING=$' "$build/CMakeCache.txt" || { echo "sanitizers bring their own" >&2 && exit 77; }
expect_true "builds are hardened by default" grep -qE '^option\(KD_HARDENING .* ON\)$' "$source_folder/CMakeLists.txt"
if ! grep -qE '^KD_HARDENING:BOOL=(ON|TRUE|1)$' "$build/CMakeCache.txt" && ((expect_failures == 0)); then
    echo "configured with -DKD_HARDENING=OFF" >&2
    exit 77
fi
command -v readelf >/dev/null || { echo "no readelf" >&2 && exit 77; }
# FORTIFY needs optimisation
grep -q '^CMAKE_BUILD_TYPE:STRING=Debug$' "$build/CMakeCache.txt" && unchecked=1

expect_hardened "$program"
for name in lib/libkandela.so bin/kandela-import python/kandela/_c.abi3.so; do
    [[ ! -e $build/$name ]] || expect_hardened "$build/$name"
done
# The MPI plug-in is so small that the compiler inserts neither canaries nor checks.
plugin=$build/lib/kandela-mpi.so
if [[ -e $plugin ]]; then
    readelf -dW "$plugin" | grep -q NOW || expect_fail "$plugin is bound at once"
fi
expect_done
