#!/usr/bin/env bash
# An installed copy can be used by other programs, and exports names that begin with kd_ only.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
build=$(dirname "$(dirname "$program")")
if ! grep -q '^KD_SANITIZE:STRING=$' "$build/CMakeCache.txt"; then
    echo "a build with sanitizers is not for installing: skipped"
    exit 77
fi

expect_exit 0 cmake --install "$build" --prefix "$scratch/usr"
library=$(find usr -name 'libkandela.so.0')
expect_true "the shared library is installed" test -n "$library"
strangers=$(nm -D --defined-only "$library" | awk '$3 !~ /^kd_/ {print $3}' |
    grep -vE '^(_init|_fini|_edata|_end|__bss_start)$')
expect_true "the shared library exports only kd_ names, not: $strangers" test -z "$strangers"
expect_true "the shared library exports kd_version" grep -qw kd_version <(nm -D --defined-only "$library")
expect_exit 0 usr/bin/kandela --version
expect_says out "kandela $(sed -n 's/#define KANDELA_VERSION_M[AI][JN]OR /./p; s/#define KANDELA_VERSION_PATCH /./p' "$source_folder/include/kandela/version.h" | tr -d '\n' | cut -c2-) ("
for document in README.md CHANGELOG.md docs/install.md docs/book/README.md scenes/DESCRIPTION.md include/kandela/README.md \
    examples/icp.c; do
    expect_exit 0 cmp "usr/share/doc/kandela/$document" "$source_folder/$document"
done
page=$(find usr -name kandela.1)
"$program" --man | cmp - "$page" || expect_fail "the installed man page equals kandela --man"
sed -n 's/^COMMAND(\(.*\))$/\1/p' "$source_folder/tools/program/commands.inc" >commands
expect_true "kandela --help lists commands" test -s commands
while read -r command; do
    "$program" --man "$command" | cmp - "$(dirname "$page")/kandela-$command.1" || expect_fail "the man page of $command is installed"
done <commands
find usr -name kandela -path '*bash-completion*' | grep -q . || expect_fail "the shell completion is installed"

archive=$(find "$scratch/usr" -name libkandela.a)
strangers=$(nm -g --defined-only "$archive" 2>/dev/null | awk 'NF == 3 && $3 !~ /^kd_/ {print $3}')
expect_true "the static library exports only kd_ names, not: $strangers" test -z "$strangers"
if grep -nE '(^|[ =])/[^ ]*(/lib|\.(so|a))' "$(find "$scratch/usr" -name kandela.pc)"; then
    expect_fail "the .pc file contains no absolute library paths"
fi

# Each header is valid C99 on its own.
for header in usr/include/kandela/*.h; do
    gcc -std=c99 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I usr/include -x c "$header" ||
        expect_fail "$header compiles as C99"
done

cat >user.c <<'C'
#include <kandela/render.h>
#include <kandela/version.h>
#include <stdio.h>
#include <string.h>
int main(void) {
    kd_render_options options;
    kd_render_options_default(&options);
    char version[32];
    puts(kd_version());
    sprintf(version, "%d.%d.%d", KANDELA_VERSION_MAJOR, KANDELA_VERSION_MINOR,
            KANDELA_VERSION_PATCH);
    if (strcmp(version, kd_version()) != 0) return 2;
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
    # The examples link by the line of README.
    line=$(sed -n 's/.*`cc cloud\.c \(.*kandela) -lm\)`.*/\1/p' "$source_folder/README.md")
    expect_true "README has a line for C programs" test -n "$line"
    for example in cloud_neighbours icp many_devices ray_shadows; do
        expect_exit 0 bash -c "cc usr/share/doc/kandela/examples/$example.c -o $example $line"
    done
    # A program that contains its own stb_image can link the static library.
    printf '%s\n' '#define STB_IMAGE_IMPLEMENTATION' '#define STB_IMAGE_WRITE_IMPLEMENTATION' \
        '#include <stb/stb_image.h>' '#include <stb/stb_image_write.h>' >own_stb.c
    expect_exit 0 gcc -w user.c own_stb.c -o stb_user "${flags[@]/#-lkandela/-l:libkandela.a}"
    expect_exit 0 ./stb_user
fi

mkdir user
cp user.c user/
cat >user/CMakeLists.txt <<'C'
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C)
find_package(kandela 0.1 REQUIRED)
add_executable(user user.c)
target_link_libraries(user PRIVATE kandela::kandela)
add_executable(user_static user.c)
target_link_libraries(user_static PRIVATE kandela::kandela_static)
C
# as include/kandela/README.md says
link=$(sed -n 's/^    target_link_libraries(program \(.*\))$/\1/p' "$source_folder/include/kandela/README.md")
for example in cloud_neighbours icp many_devices ray_shadows; do
    echo "add_executable($example $scratch/usr/share/doc/kandela/examples/$example.c)"
    echo "target_link_libraries($example $link)"
done >>user/CMakeLists.txt
expect_exit 0 cmake -G Ninja -S user -B user/build -DCMAKE_PREFIX_PATH="$scratch/usr"
expect_exit 0 cmake --build user/build
expect_exit 0 user/build/user
expect_exit 0 user/build/user_static

# A build of the program alone can be installed, and removed by install_manifest.txt.
expect_exit 0 cmake -G Ninja -S "$source_folder" -B partial -DKD_TESTS=OFF -DKD_CUDA=OFF
mkdir -p partial/bin
cp user/build/user partial/bin/kandela # stands for the program
expect_exit 0 cmake --install partial --prefix "$scratch/part"
for text in "not built, not installed: the library" "not built, not installed: man pages and completion"; do
    expect_says out "$text"
done
expect_true "the program is installed" test -x part/bin/kandela
expect_true "no part of the library is installed" test ! -e part/include -a -z "$(find part -name 'kandela*.cmake' -o -name '*.pc')"
expect_exit 0 bash -c 'xargs rm <partial/install_manifest.txt'
expect_true "everything is removed" test -z "$(find part -type f)"
expect_done
