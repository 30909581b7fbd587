#!/usr/bin/env bash
# The program, the library and other binaries are hardened (hardened.sh) unless the build is
# configured otherwise. nightly_deb.sh and nightly_pip.sh test the packages.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
# shellcheck source=tests/tools/hardened.sh
. "$source_folder/tests/tools/hardened.sh"
build=$(dirname "$(dirname "$program")")
grep -qE '^KD_SANITIZE:STRING=$' "$build/CMakeCache.txt" || { echo "sanitizers bring their own" >&2 && exit 77; }
expect_true "KD_HARDENING is on by default" grep -qE '^option\(KD_HARDENING .* ON\)$' "$source_folder/CMakeLists.txt"
if ! grep -qE '^KD_HARDENING:BOOL=(ON|TRUE|1)$' "$build/CMakeCache.txt" && ((expect_failures == 0)); then
    echo "configured with -DKD_HARDENING=OFF" >&2
    exit 77
fi
command -v readelf >/dev/null || { echo "no readelf" >&2 && exit 77; }
program_is_optimised || unchecked=1 # the C library's checked calls need optimisation

expect_hardened "$program"

# Level 3 of _FORTIFY_SOURCE, where the compiler and the C library have it: it alone checks a copy into memory whose size is
# known only at run time. The probe is compiled with the flags of one of the project's files.
cat >probe.c <<'END'
#include <stdlib.h>
#include <string.h>
char *probe(const char *from, size_t size, size_t count);
char *probe(const char *from, size_t size, size_t count) {
    char *to = (char *)malloc(size);
    return to ? (char *)memcpy(to, from, count) : to;
}
END
compiler=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
checks_bounds() { # COMMAND...: compiles probe.c
    "$@" -O2 -c probe.c -o probe.o 2>err && nm probe.o | grep -q __memcpy_chk
}
if [[ -z ${unchecked-} ]] && checks_bounds "$compiler" -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3; then
    flags=$(sed -n 's|.*"command": "\(.*\) -o [^ ]* -c [^ ]*/core/files/file.c",|\1|p' "$build/compile_commands.json" | head -1)
    [[ -n $flags ]] || expect_fail "compile_commands.json contains the command of core/files/file.c"
    read -ra flags <<<"${flags//\\\"/}"
    checks_bounds "${flags[@]}" || expect_fail "_FORTIFY_SOURCE has level 3: $(head -3 err)"
fi
for name in lib/libkandela.so bin/kandela-import python/kandela/_c.abi3.so; do
    [[ ! -e $build/$name ]] || expect_hardened "$build/$name"
done
# The MPI plug-in is so small that the compiler inserts neither canaries nor checks.
plugin=$build/lib/kandela-mpi.so
if [[ -e $plugin ]]; then
    readelf -dW "$plugin" | grep -q NOW || expect_fail "$plugin is linked with -z now"
fi
expect_done
