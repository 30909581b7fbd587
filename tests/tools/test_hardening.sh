#!/usr/bin/env bash
# The program, the library and what else was built are hardened (hardened.sh), and are so unless a build is configured otherwise.
# Packages: nightly_deb.sh, nightly_pip.sh.
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
program_is_optimised || unchecked=1 # checked calls of the C library need the optimiser

expect_hardened "$program"
for name in lib/libkandela.so bin/kandela-import python/kandela/_c.abi3.so; do
    [[ ! -e $build/$name ]] || expect_hardened "$build/$name"
done
# the plug-in of MPI has few lines, which need neither canaries nor checks
plugin=$build/lib/kandela-mpi.so
if [[ -e $plugin ]]; then
    readelf -dW "$plugin" | grep -q NOW || expect_fail "$plugin is bound at once"
fi
expect_done
