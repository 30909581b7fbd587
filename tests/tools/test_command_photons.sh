#!/usr/bin/env bash
# Photon map files: rendering with a stored map gives the same picture; maps of other scenes are
# rejected.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
scene=$source_folder/scenes/cornell_diffuse.json
render=("$program" render "$scene" --integrator photon --photons 2000 --spp 1 --resolution 16x16)
photons=("$program" photons)

expect_exit 0 "${photons[@]}" "$scene" --photons 2000 -o a.kdp
expect_exit 0 "${photons[@]}" "$scene" --photons 2000 --seed 1 -o b.kdp
expect_exit 0 "${render[@]}" -o traced.pfm
expect_exit 0 "${render[@]}" --photon-map a.kdp -o read.pfm
expect_true "a picture from the photon file equals the rendering" cmp traced.pfm read.pfm
expect_exit 0 "${photons[@]}" merge a.kdp b.kdp -o both.kdp
expect_exit 0 "${photons[@]}" info both.kdp
expect_says out "global: 4"
expect_exit 0 "${photons[@]}" dump a.kdp
expect_true "the CSV file has one line per photon" test "$(wc -l <out)" -gt 2000
expect_exit 0 "${photons[@]}" filter a.kdp --bounce 1 -o first.kdp
expect_exit 0 "${photons[@]}" dump first.kdp
expect_true "the filtered file contains photons of the first bounce only" test "$(tail -n +2 out | cut -d, -f17 | sort -u)" = 1

# Merging in any order gives the same bytes, and no map is counted twice.
expect_exit 0 "${photons[@]}" "$scene" --photons 3000 --seed 2 -o c.kdp
expect_exit 0 "${photons[@]}" merge a.kdp b.kdp c.kdp -o abc.kdp
expect_exit 0 "${photons[@]}" merge c.kdp a.kdp b.kdp -o cab.kdp
expect_true "merging in either order gives the same file" cmp abc.kdp cab.kdp
expect_exit 3 "${photons[@]}" merge a.kdp a.kdp -o twice.kdp
expect_exit 3 "${photons[@]}" merge a.kdp b.kdp a.kdp -o twice.kdp
expect_says err "a.kdp and a.kdp contain the same photons"
expect_exit 3 "${photons[@]}" merge abc.kdp b.kdp -o twice.kdp
expect_true "a failed merge writes no file" test ! -e twice.kdp

# A state belongs to the contents of its photon map, not to the path of the file.
kept=("$program" render "$scene" --integrator photon --resolution 16x16 --photon-map map.kdp --save-every 1000)
cp a.kdp map.kdp
expect_exit 0 "${kept[@]}" --spp 2 -o kept.pfm
cp b.kdp map.kdp
expect_exit 3 "${kept[@]}" --spp 4 --resume -o kept.pfm
expect_says err "another photon map"
cp a.kdp map.kdp
expect_exit 0 "${kept[@]}" --spp 4 --resume -o kept.pfm
expect_exit 0 "${kept[@]}" --spp 4 -o whole.pfm
expect_true "a resumed rendering from the same photon file equals an uninterrupted one" cmp kept.pfm whole.pfm

# The benchmark contains its own scene.
mkdir elsewhere
expect_exit 0 bash -c 'cd elsewhere && "$0" bench photons --quick --sizes 2000 --runs 1' "$program"
expect_says out cornell_caustic.json
expect_exit 2 "${photons[@]}" info
head -c 500 a.kdp >short.kdp
expect_exit 3 "${photons[@]}" info short.kdp
expect_exit 3 "$program" render "$source_folder/scenes/furnace.json" --integrator photon \
    --photon-map a.kdp --resolution 8x8 -o none.pfm
expect_says err "another scene"
expect_done
