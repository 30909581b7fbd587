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
has() { dpkg-deb -c copy/build-deb/packages/"$1"_*.deb | grep -qE "$2" || expect_fail "$1 has $2"; }
has libkandela0 'usr/lib/.*/libkandela\.so\.0'
has libkandela-dev 'usr/include/kandela/points\.h'
has libkandela-dev 'pkgconfig/kandela\.pc'
has kandela 'usr/bin/kandela$'
has kandela 'man1/kandela\.1'
has kandela 'man1/kandela-render\.1'
dpkg-deb -f copy/build-deb/packages/kandela_*.deb Depends >depends
expect_says depends "libc6"
dpkg-deb -c copy/build-deb/packages/libkandela0_*.deb >listed
expect_true "the runtime has no headers" test -z "$(grep '\.h$' listed)"
# shellcheck source=tests/tools/hardened.sh
. "$source_folder/tests/tools/hardened.sh"
for package in copy/build-deb/packages/*.deb; do dpkg-deb -x "$package" unpacked; done
for file in unpacked/usr/bin/kandela unpacked/usr/lib/*/libkandela.so.0 unpacked/usr/libexec/kandela/kandela-import; do
    [[ ! -e $file ]] || expect_hardened "$file"
done
expect_done
