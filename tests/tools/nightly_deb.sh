#!/usr/bin/env bash
# tools/package/deb builds packages with the expected contents, in which lintian finds no errors.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
for tool in dpkg-shlibdeps lintian; do
    if ! command -v $tool >/dev/null; then
        echo "$tool is not installed: skipped"
        exit 77
    fi
done
mkdir copy
tar -C "$source_folder" --exclude='./build*' --exclude=./.git --exclude=./.cache --exclude=./.models -cf - . | tar -C copy -xf -
expect_exit 0 copy/tools/package/deb build-deb -DKD_CUDA=OFF
expect_contents() { dpkg-deb -c copy/build-deb/packages/"$1"_*.deb | grep -qE "$2" || expect_fail "package $1 contains $2"; }
expect_contents libkandela0 'usr/lib/.*/libkandela\.so\.0'
expect_contents libkandela-dev 'usr/include/kandela/points\.h'
expect_contents libkandela-dev 'pkgconfig/kandela\.pc'
expect_contents kandela 'usr/bin/kandela$'
expect_contents kandela 'man1/kandela\.1'
expect_contents kandela 'man1/kandela-render\.1'
dpkg-deb -f copy/build-deb/packages/kandela_*.deb Depends >depends
expect_says depends "libc6"
dpkg-deb -c copy/build-deb/packages/libkandela0_*.deb >listed
expect_true "the runtime package contains no headers" test -z "$(grep '\.h$' listed)"
# shellcheck source=tests/tools/hardened.sh
. "$source_folder/tests/tools/hardened.sh"
for package in copy/build-deb/packages/*.deb; do dpkg-deb -x "$package" unpacked; done
for file in unpacked/usr/bin/kandela unpacked/usr/lib/*/libkandela.so.0 unpacked/usr/libexec/kandela/kandela-import; do
    [[ ! -e $file ]] || expect_hardened "$file"
done
expect_done
