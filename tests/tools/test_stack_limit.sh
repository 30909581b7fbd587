#!/usr/bin/env bash
# usage: test_stack_limit.sh KANDELA SOURCE_FOLDER
# Runs the program on a system with small stacks: main has 192 KB, and each thread the size it
# requests.
set -euo pipefail
kandela=$1 source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
ulimit -s 192

small=(--resolution 24x16 --spp 2)
for integrator in path direct light whitted ao photon ppm sppm debug; do
    "$kandela" render "$source/scenes/cornell_caustic.json" "${small[@]}" --integrator "$integrator" --passes 2 \
        --photons 500 --caustic-photons 500 --final-gather 2 -o "$integrator.png" >said.txt 2>&1 ||
        { echo "render by $integrator: $(tail -1 said.txt)"; exit 1; }
done
run() {
    "$@" >said.txt 2>&1 || { echo "${*:2}: status $?, $(tail -1 said.txt)"; exit 1; }
}
run "$kandela" render gen:blob:20000 "${small[@]}" --threads 1 -o a.exr
run "$kandela" develop a.exr -o b.jpg
run "$kandela" compare a.exr a.exr
run "$kandela" check "$source/tests/tools/box.obj" --json
run "$kandela" photons "$source/scenes/cornell_caustic.json" --photons 2000 --caustic-photons 500 -o map.kdp
run "$kandela" tree gen:blob:3000
run "$kandela" info
echo "the program works with 192 KB of stack"
