#!/usr/bin/env bash
# Runs the program on a system with small stacks: main has 192 KB, and each thread the size it
# requests.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
program_is_optimised || { echo "compiled without optimisation, which makes stack frames larger: skipped" >&2 && exit 77; }
ulimit -s 192

small=(--resolution 24x16 --spp 2)
for integrator in path direct light whitted ao photon sppm debug; do
    expect_exit 0 "$program" render "$source_folder/scenes/cornell_caustic.json" "${small[@]}" --integrator "$integrator" \
        --passes 2 --photons 500 --caustic-photons 500 --final-gather 2 -o "$integrator.png"
done
expect_exit 0 "$program" render gen:blob:20000 "${small[@]}" --threads 1 -o a.exr
expect_exit 0 "$program" develop a.exr -o b.jpg
expect_exit 0 "$program" compare a.exr a.exr
expect_exit 0 "$program" check "$source_folder/tests/tools/box.obj" --json
expect_exit 0 "$program" photons "$source_folder/scenes/cornell_caustic.json" --photons 2000 --caustic-photons 500 -o map.kdp
expect_exit 0 "$program" tree gen:blob:3000
expect_exit 0 "$program" info
expect_done
