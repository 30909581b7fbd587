#!/usr/bin/env bash
# What was built is hardened (hardened.sh); packages: nightly_deb.sh, nightly_pip.sh.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
# shellcheck source=tests/tools/hardened.sh
. "$source_folder/tests/tools/hardened.sh"
build=$(dirname "$(dirname "$program")")
grep -qE '^KD_SANITIZE:STRING=$' "$build/CMakeCache.txt" || { echo "sanitizers bring their own" >&2 && exit 77; }
command -v readelf >/dev/null || { echo "no readelf" >&2 && exit 77; }
grep -q '^CMAKE_BUILD_TYPE:STRING=Debug$' "$build/CMakeCache.txt" && unchecked=1 # that needs the optimiser

for name in bin/kandela-import python/kandela/_c.abi3.so; do
    [[ ! -e $build/$name ]] || expect_hardened "$build/$name"
done
grep -qE '^KD_HARDENING:BOOL=(ON|TRUE|1)$' "$build/CMakeCache.txt" || unprotected=1
expect_hardened "$program"
[[ ! -e $build/lib/libkandela.so ]] || expect_hardened "$build/lib/libkandela.so"
# the plug-in of MPI has few lines, which need neither canaries nor checks
plugin=$build/lib/kandela-mpi.so
if [[ -e $plugin ]]; then
    readelf -dW "$plugin" | grep -q NOW || expect_fail "$plugin is bound at once"
fi
expect_done
