#!/usr/bin/env bash
# A picture has the same bytes with AVX2, without it, and on a CPU that lacks it (qemu's Nehalem).
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
build=$(dirname "$(dirname "$program")")
if ! grep -q '^KD_SANITIZE:STRING=$' "$build/CMakeCache.txt" ||
    ! grep -q '^KD_MARCH:STRING=$' "$build/CMakeCache.txt"; then
    echo "not the build that everybody gets: skipped"
    exit 77
fi
[[ $(uname -m) == x86_64 ]] || exit 77
demo=$source_folder/scenes/cornell_caustic.json
how=(--device cpu --threads 2 --quiet --resolution 40x30 --spp 1 --photons 2000 --caustic-photons 2000)
# Spheres of few triangles: building the demo's trees takes long on an emulated CPU.
sed -E 's/"triangles": [0-9]+/"triangles": 300/' "$demo" >small.json

same() { # SCENE INTEGRATOR FILE: expects the same bytes with both instruction sets, and leaves them in FILE
    expect_exit 0 "$program" render "$1" "${how[@]}" --integrator "$2" -o "$3"
    expect_exit 0 env KANDELA_CPU=base "$program" render "$1" "${how[@]}" --integrator "$2" -o plain.pfm
    cmp "$3" plain.pfm || expect_fail "$1, $2: both instruction sets give the same picture"
}
same "$demo" photon demo.pfm
for integrator in path photon; do
    same small.json $integrator $integrator.pfm
done
expect_exit 0 env KANDELA_CPU=base "$program" info
expect_says out "x86-64, AVX2, AVX-512: plain x86-64 is used"
if ! command -v qemu-x86_64 >/dev/null; then
    ((expect_failures == 0)) || expect_done
    echo "no qemu-x86_64 (package qemu-user): the rest is skipped"
    exit 77
fi
expect_exit 0 qemu-x86_64 -cpu Nehalem "$program" info
expect_says out "x86-64, AVX2, AVX-512: plain x86-64 is used"
for integrator in path photon; do
    expect_exit 0 qemu-x86_64 -cpu Nehalem "$program" render small.json "${how[@]}" --integrator $integrator -o old.pfm
    cmp $integrator.pfm old.pfm || expect_fail "$integrator: an emulated old CPU gives the same picture"
done
expect_done
