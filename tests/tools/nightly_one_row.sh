#!/usr/bin/env bash
# A new triangle builder, point builder and integrator cost one file and one name each: toys are added
# to a copy of the tree, and the program, its help, the benches, the property tests and the fuzzers have
# them, unasked. A fault in a toy fails each that walks its table: so it was asked, and its answer read.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
toys=$source_folder/tests/tools/one_row

mkdir house
(cd "$source_folder" && tar -c --exclude=./build* --exclude=./.git --exclude=./shared .) | tar -x -C house
rm house/tests/*/gpu_*.c house/tests/*/long_*.c house/tests/*/nightly_*.c
cp "$toys/build_toy.c" house/accel/tree/build_toy.c
cp "$toys/build_toy_points.c" house/points/tree/build_toy_points.c
cp "$toys/toy.c" house/render/integrators/toy.c
sed -i 's/ROW(median)$/ROW(median) ROW(toy)/' house/accel/builders.h
sed -i 's/ROW(recursive)$/ROW(recursive) ROW(toy)/' house/points/builders.h
sed -i 's/ROW(debug)$/ROW(debug) ROW(toy)/' house/render/integrators.h
for list in accel/builders.h points/builders.h render/integrators.h; do
    expect_true "one line of $list is another" \
        test "$(diff "$source_folder/$list" "house/$list" | grep -c '^>')" = 1
done

tests=(test_builders test_one_place test_nasty_rays test_pointtree test_integrators
    replay_triangle_tree replay_point_tree)
expect_exit 0 cmake -S house -B house/build -G Ninja -DCMAKE_BUILD_TYPE=Release -DKD_CUDA=OFF -DKD_MARCH=x86-64-v3
expect_exit 0 cmake --build house/build -j "$(nproc)" --target kandela_program "${tests[@]}"
toy=house/build/bin/kandela

expect_exit 0 "$toy" info
expect_true "info lists three toys" test "$(grep -c '^  toy  .*a test of the table' out)" = 3
expect_exit 0 "$toy" render --help
expect_true "render's help has the builder and the integrator" test "$(grep -cw toy out)" -ge 2
expect_exit 0 "$toy" --completion bash
expect_says out toy
scene=(house/scenes/cornell_caustic.json --resolution 16x16 --spp 1 --device cpu --quiet)
expect_exit 0 "$toy" render "${scene[@]}" --builder toy --integrator toy --stats toy.json -o toy.png
expect_says toy.json '"toy"'
expect_exit 0 "$toy" bench build --models gen:hall:2000 --runs 1 --devices cpu
expect_true "bench build has the toy's row" grep -q '^build .* toy ' out
expect_exit 0 "$toy" bench points --sizes 3000 --runs 1 --devices cpu
expect_true "bench points has the toy's row" grep -q '^points .* toy ' out

# shellcheck disable=SC2317 # called by name
in_house() { # TEST: as ctest calls it
    (cd house/build && case $1 in
        replay_*) tests/"$1" ../tests/fuzz/corpus/"${1#replay_}" ;;
        *) tests/"$1" ;;
    esac)
}
for test in "${tests[@]}"; do expect_exit 0 in_house "$test"; done
export KANDELA_TOY_FAULT=1
for test in "${tests[@]}"; do
    [[ $test == test_one_place ]] && continue # it counts, and a lost triangle is one less
    expect_true "a faulty toy fails $test" bash -c "! ($(declare -f in_house); in_house $test) >out 2>&1"
done
expect_exit 6 "$toy" bench build --models gen:hall:2000 --runs 1 --devices cpu
expect_exit 6 "$toy" bench points --sizes 3000 --runs 1 --devices cpu
expect_done
