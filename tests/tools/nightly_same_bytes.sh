#!/usr/bin/env bash
# Builds are reproducible: two copies of the sources, at paths of different names, give the same
# bytes of library and program. With CUDA, the copies must lie at the same path (nvcc hashes it into
# names) and KD_REPRODUCIBLE=ON is needed.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
export CCACHE_DISABLE=1
made=()
for place in one another/much/longer; do
    mkdir -p "$place"
    tar -C "$source_folder" --exclude='./build*' --exclude=./.git --exclude=./.cache --exclude=./.models -cf - . | tar -C "$place" -xf -
    folder=$place/build-${#place}
    expect_exit 0 cmake -S "$place" -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DKD_CUDA=OFF -DKD_TESTS=OFF
    expect_exit 0 cmake --build "$folder" --target kandela kandela_program
    made+=("$folder")
done
((expect_failures == 0)) || expect_done
for file in lib/libkandela.so.0 bin/kandela; do
    expect_true "$file was built" test -s "${made[0]}/$file"
    cmp "${made[0]}/$file" "${made[1]}/$file" || expect_fail "$file has the same bytes if built in two folders"
    ! grep -q "$PWD" "${made[0]}/$file" || expect_fail "$file does not contain the path of its build folder"
done
expect_done
