#!/usr/bin/env bash
# Without an NVIDIA card CMake builds no CUDA kernels by default, and prints how to enable them.
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
expect_done
