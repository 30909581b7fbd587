#!/usr/bin/env bash
# Without an NVIDIA card CMake builds no CUDA kernels by default, and prints how to enable them. Packages
# that are not found are one message, with their names on Debian.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
# shellcheck source=tools/setup.sh
. "$source_folder/tools/setup.sh"
if ! command -v cmake >/dev/null || setup_gpu_found; then
    echo "no cmake, or a card: skipped"
    exit 77
fi
generator=()
command -v ninja >/dev/null && generator=(-G Ninja)
expect_exit 0 cmake -S "$source_folder" -B made "${generator[@]}" -DKD_TESTS=OFF -DKD_MPI=OFF
expect_says out "no NVIDIA GPU found; CUDA kernels are not built (-DKD_CUDA=ON builds them anyway)"
expect_says out "CUDA FALSE"
expect_true "nothing alarming is printed: $(cat out err)" test -z "$(cat err)" -a "$(grep -ciE 'does not exist|fail|error' out)" = 0

absent=(-DKD_DEFLATE_INCLUDE= -DKD_WEBP_INCLUDE= -DKD_DRACO_INCLUDE=) # as if the search had found nothing
expect_exit 0 cmake -S "$source_folder" -B few "${generator[@]}" -DKD_TESTS=OFF -DKD_MPI=OFF "${absent[@]}"
expect_true "one message" test "$(grep -c 'Kandela: not found' out)" = 1
for text in "left out: libdeflate" "left out: libwebp: no .webp pictures" "left out: Draco" \
    "apt install libdraco-dev g++ libdeflate-dev libwebp-dev"; do
    expect_says out "$text"
done
expect_exit 1 cmake -S "$source_folder" -B fewer "${generator[@]}" -DKD_TESTS=OFF -DKD_MPI=OFF -DKD_JPEG=ON \
    -DKD_CJSON_INCLUDE= -DKD_STB_INCLUDE= -DKD_XXHASH_INCLUDE= -DKD_JPEG_INCLUDE= "${absent[@]}"
for text in "needed: cJSON" "needed: stb" "needed: xxHash" "needed: KD_JPEG=ON" "left out: libdeflate" \
    "apt install libcjson-dev libstb-dev libxxhash-dev libdraco-dev g++ libdeflate-dev libjpeg-dev libwebp-dev"; do
    expect_says err "$text"
done
expect_done
