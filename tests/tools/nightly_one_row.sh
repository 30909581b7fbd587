#!/usr/bin/env bash
# A new triangle builder, point builder, integrator, picture format, density kernel and option need one file or entry
# and one name each. Toys are added to a copy of the sources; help, scene keys, statistics, saved states, benchmarks,
# property tests and fuzzers must then cover them. With a fault in the toys, each test that iterates over a table must fail.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
toys=$source_folder/tests/tools/one_row
# shellcheck source=tests/tools/one_row/add_kernel.sh
. "$toys/add_kernel.sh"

mkdir project
(cd "$source_folder" && tar -c --exclude=./build* --exclude=./.git --exclude=./shared .) | tar -x -C project
rm project/tests/*/gpu_*.c project/tests/*/long_*.c project/tests/*/nightly_*.c
cp "$toys/build_toy.c" project/accel/tree/build_toy.c
cp "$toys/build_toy_points.c" project/points/tree/build_toy_points.c
cp "$toys/toy.c" project/render/integrators/toy.c
sed -i 's/ROW(median)$/ROW(median) ROW(toy)/' project/accel/builders.h
sed -i 's/ROW(recursive)$/ROW(recursive) ROW(toy)/' project/points/select/builders.h
sed -i 's/ROW(debug)$/ROW(debug) ROW(toy)/' project/scenes/describe/render_options.h
cp "$toys/format_toy.c" project/core/image/toy.c
sed -i 's/ROW(pfm)$/ROW(pfm) ROW(toy)/' project/core/image/formats.h
add_toy_kernel "$toys" project/photon/density/kernels.h
sed -i 's/^} kd_render_options;/    int32_t toy;\n&/' project/include/kandela/render.h
sed -i '/{OPTION("lookup"/i {OPTION("toy", OPTION_INT32, toy), .argument = "N", .initial = "7", .minimum = 1, .maximum = 9, .help = "a test of the table"},' \
    project/scenes/describe/render_options.c
for list in accel/builders.h points/select/builders.h scenes/describe/render_options.h core/image/formats.h \
    include/kandela/render.h scenes/describe/render_options.c; do
    expect_true "exactly one line of $list was added" \
        test "$(diff "$source_folder/$list" "project/$list" | grep -c '^>')" = 1
done

tests=(test_builders test_one_place test_nasty_rays test_pointtree test_integrators
    replay_triangle_tree replay_point_tree)
without_fault=(test_render_options test_resume_options test_triangle_integral test_estimate test_media_estimate test_beams
    test_tiles test_image replay_image) # of options, kernels and formats, whose toys cannot fail
expect_exit 0 cmake -S project -B project/build -G Ninja -DCMAKE_BUILD_TYPE=Release -DKD_CUDA=OFF -DKD_MARCH=x86-64-v3
expect_exit 0 cmake --build project/build -j "$(nproc)" --target kandela_program "${tests[@]}" "${without_fault[@]}"
toy=project/build/bin/kandela

expect_exit 0 "$toy" info
expect_true "info lists the toy builders and the toy integrator" test "$(grep -c '^  toy  .*a test of the table' out)" = 3
expect_true "info lists the toy format" grep -q '^  \.png.* \.toy' out
expect_true "info lists the toy kernel" grep -q '^  disc.* toy' out
expect_exit 0 "$toy" render --help=all
expect_true "render --help lists the toy builder, integrator, kernel and option" test "$(grep -cw toy out)" -ge 4
expect_says out '--toy N'
expect_true "render --help states range and default of the toy option" bash -c "tr -s ' \n' ' ' <out | grep -q 'a test of the table (1 to 9) \[7\]'"
expect_says out '.toy'
expect_exit 0 "$toy" info --keys
expect_true "info --keys lists the key of the toy option" grep -q '^| .toy. | an integer >= 1 and <= 9 |' out
expect_true "info --keys lists the name of the toy kernel" grep -q '^| .kernel. | .*"toy"' out
expect_exit 0 "$toy" --completion bash
expect_says out toy
scene=(project/scenes/cornell_caustic.json --resolution 16x16 --spp 1 --device cpu --quiet)
expect_exit 0 "$toy" render "${scene[@]}" --builder toy --integrator toy --stats toy.json -o toy.png
expect_says toy.json '"toy"'
expect_true "the statistics contain the toy option" grep -q '"toy":.*7' toy.json
expect_exit 0 "$toy" render "${scene[@]}" --integrator photon --photons 2000 --kernel toy --toy 3 --save-every 0 -o toy.toy
expect_exit 0 "$toy" compare toy.toy toy.toy
expect_exit 3 "$toy" render "${scene[@]}" --integrator photon --photons 2000 --kernel toy --toy 4 --resume -o toy.toy
expect_exit 2 "$toy" render "${scene[@]}" --toy 10
expect_exit 2 "$toy" render "${scene[@]}" -o toy.txt
expect_says err '.toy'
printf '{"kandela": 1, "meshes": [{"box": {}}], "render": {"toy": 10}}' >toy_scene.json
expect_exit 3 "$toy" render toy_scene.json
expect_says err 'render.toy: found 10'
if python3 -c 'import nanobind, numpy' 2>/dev/null; then
    expect_exit 0 cmake -S project -B project/build -DKD_PYTHON=ON
    expect_exit 0 cmake --build project/build -j "$(nproc)" --target kandela_python
    expect_exit 0 env PYTHONPATH=project/build/python python3 -c "import kandela
assert '    toy: a test of the table' in kandela.render.__doc__
picture = kandela.render('gen:blob:100', width=8, height=8, spp=1, toy=3, integrator='photon', photons=500, kernel='toy')
picture.save('python.toy')"
fi
expect_exit 0 "$toy" bench build --models gen:hall:2000 --runs 1 --devices cpu
expect_true "bench build prints a row for the toy builder" grep -q '^build .* toy ' out
expect_exit 0 "$toy" bench points --sizes 3000 --runs 1 --devices cpu
expect_true "bench points prints a row for the toy builder" grep -q '^points .* toy ' out

# shellcheck disable=SC2317 # called by name
run_test() { # TEST, as ctest runs it
    (cd project/build && case $1 in
        replay_*) tests/"$1" ../tests/fuzz/corpus/"${1#replay_}" ;;
        *) tests/"$1" ;;
    esac)
}
for test in "${tests[@]}" "${without_fault[@]}"; do expect_exit 0 run_test "$test"; done
export KANDELA_TOY_FAULT=1
for test in "${tests[@]}"; do
    [[ $test == test_one_place ]] && continue # it counts operations; a lost triangle only reduces them
    expect_true "$test fails if the toy is faulty" bash -c "! ($(declare -f run_test); run_test $test) >out 2>&1"
done
expect_exit 6 "$toy" bench build --models gen:hall:2000 --runs 1 --devices cpu
expect_exit 6 "$toy" bench points --sizes 3000 --runs 1 --devices cpu
expect_done
