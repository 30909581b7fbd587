#!/usr/bin/env bash
# What is installed can be used from outside, and shows nothing but kd_.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
build=$(dirname "$(dirname "$program")")
if ! grep -q '^KD_SANITIZE:STRING=$' "$build/CMakeCache.txt"; then
    echo "a build with sanitizers is not for installing: skipped"
    exit 77
fi

expect_exit 0 cmake --install "$build" --prefix "$scratch/usr"
library=$(find usr -name 'libkandela.so.0')
expect_true "the shared library is there" test -n "$library"
strangers=$(nm -D --defined-only "$library" | awk '$3 !~ /^kd_/ {print $3}' |
    grep -vE '^(_init|_fini|_edata|_end|__bss_start)$')
expect_true "only kd_ is visible, not: $strangers" test -z "$strangers"
expect_true "kd_version is visible" grep -qw kd_version <(nm -D --defined-only "$library")
expect_exit 0 usr/bin/kandela --version
page=$(find usr -name kandela.1)
"$program" --man | cmp - "$page" || expect_fail "the man page is the program's"
find usr -name kandela -path '*bash-completion*' | grep -q . || expect_fail "completion is there"

# every header alone is C99
for header in usr/include/kandela/*.h; do
    gcc -std=c99 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I usr/include -x c "$header" ||
        expect_fail "$header is C99"
done

cat >user.c <<'C'
#include <kandela/render.h>
#include <kandela/version.h>
#include <stdio.h>
int main(void) {
    kd_render_options options;
    kd_render_options_default(&options);
    puts(kd_version());
    return options.width > 0 ? 0 : 1;
}
C
PKG_CONFIG_PATH=$(dirname "$(find "$scratch/usr" -name kandela.pc)")
export PKG_CONFIG_PATH
if command -v pkg-config >/dev/null; then
    read -ra flags < <(pkg-config --cflags --libs kandela)
    expect_exit 0 gcc -std=c99 user.c -o shared_user "${flags[@]}"
    expect_exit 0 env LD_LIBRARY_PATH="$(dirname "$scratch/$library")" ./shared_user
    expect_says out "$(pkg-config --modversion kandela)"
    read -ra flags < <(pkg-config --static --cflags --libs kandela)
    expect_exit 0 gcc -std=c99 user.c -o static_user "${flags[@]/#-lkandela/-l:libkandela.a}"
    expect_exit 0 ./static_user
fi

mkdir user
cp user.c user/
cat >user/CMakeLists.txt <<'C'
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C)
find_package(kandela 0.1 REQUIRED)
add_executable(user user.c)
target_link_libraries(user PRIVATE kandela::kandela)
C
expect_exit 0 cmake -S user -B user/build -DCMAKE_PREFIX_PATH="$scratch/usr"
expect_exit 0 cmake --build user/build
expect_exit 0 user/build/user
expect_done
