#!/usr/bin/env bash
# A build with gcc, CMake, Ninja, cJSON, stb and xxHash only renders the demo; configure and
# `kandela info` report each missing library in one line.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
source_dir=$source_folder
# simulates a search that finds nothing
hidden=(-DCMAKE_DISABLE_FIND_PACKAGE_OpenEXR=ON -DKD_ASSIMP_INCLUDE= -DKD_TESTS_INCLUDE=)
mkdir few
expect_exit 0 cmake -S "$source_dir" -B few/build -G Ninja -DCMAKE_BUILD_TYPE=Release -DKD_CUDA=OFF "${hidden[@]}"
for line in "OpenEXR: no .exr" "assimp: fewer mesh formats" "cmocka: the tests are not built"; do
    expect_says out "left out: $line"
done
expect_exit 1 cmake -S "$source_dir" -B few/other -G Ninja -DKD_OPENEXR=ON -DKD_CUDA=OFF "${hidden[@]}"
expect_says err "needed: KD_OPENEXR=ON: OpenEXR"
expect_exit 0 cmake --build few/build --target kandela_program -j "$(nproc)"
expect_exit 0 few/build/bin/kandela info
expect_says out "OpenEXR       no"
expect_says out "assimp        no"
expect_says out "cmocka        no"
expect_exit 0 few/build/bin/kandela render "$source_dir/scenes/cornell_caustic.json" --spp 1 --photons 2000 -o demo.png
expect_true "the demo writes its picture" test -s demo.png
expect_done
