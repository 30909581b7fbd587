#!/usr/bin/env bash
# The demo's bytes are the same with AVX2, without it, and on a CPU that has none (qemu's Nehalem).
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
build=$(dirname "$(dirname "$program")")
if ! grep -q '^KD_SANITIZE:STRING=$' "$build/CMakeCache.txt" ||
    ! grep -q '^KD_MARCH:STRING=$' "$build/CMakeCache.txt"; then
    echo "not the build that everybody gets: skipped"
    exit 77
fi
[[ $(uname -m) == x86_64 ]] || exit 77
scene=$source_folder/scenes/cornell_caustic.json
picture=(render "$scene" --device cpu --threads 2 --quiet --resolution 40x30 --spp 1 --photons 2000)

for integrator in path photon; do
    expect_exit 0 "$program" "${picture[@]}" --integrator $integrator -o best.pfm
    expect_exit 0 env KANDELA_CPU=base "$program" "${picture[@]}" --integrator $integrator -o plain.pfm
    cmp best.pfm plain.pfm || expect_fail "$integrator: the same picture by both sets of instructions"
done
expect_exit 0 env KANDELA_CPU=base "$program" info
expect_says out "plain x86-64 is used"
if ! command -v qemu-x86_64 >/dev/null; then
    ((expect_failures == 0)) || expect_done
    echo "no qemu-x86_64 (package qemu-user): the rest is skipped"
    exit 77
fi
expect_exit 0 qemu-x86_64 -cpu Nehalem "$program" info
expect_says out "plain x86-64 is used"
expect_exit 0 qemu-x86_64 -cpu Nehalem "$program" "${picture[@]}" --integrator photon -o old.pfm
cmp best.pfm old.pfm || expect_fail "the same picture on an old CPU"
expect_done
