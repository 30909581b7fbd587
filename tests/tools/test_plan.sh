#!/usr/bin/env bash
# The plan is an upper bound of the memory that a rendering needs besides its scene; a limit below
# it gives exit code 4.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
render=("$program" render "$source_folder/scenes/cornell_diffuse.json" --threads 1 --device cpu --spp 1)
# with so many photons per estimate, the plan contains few tiles
large=(--integrator photon --photons 300000 --caustic-photons 1 --gather 500 --resolution 256x256)

peak() { sed -n 's/.*"peak_bytes":[^0-9]*\([0-9]*\).*/\1/p' "$1"; }
expect_exit 0 "${render[@]}" "${large[@]}" --plan -o none.pfm
expect_true "--plan writes no picture" test ! -e none.pfm
planned=$(sed -n 's/^total *//p' out)
expect_exit 0 "${render[@]}" "${large[@]}" -o large.pfm --stats large.json
expect_exit 0 "${render[@]}" --integrator path --resolution 1x1 -o small.pfm --stats small.json
taken=$(($(peak large.json) - $(peak small.json)))
if ! grep -qa "__[at]san_init" "$program"; then # red zones, quarantine and shadow memory would be counted
    expect_true "the rendering takes at most the $planned bytes planned (it took $taken)" test "$taken" -le "$planned"
    expect_true "the rendering takes at least a third of the $planned bytes planned (it took $taken)" test "$((3 * taken))" -ge "$planned"
    expect_exit 0 "${render[@]}" "${large[@]}" --gather 50 --plan
    tiles=$(sed -n 's/^total *//p' out)
    expect_exit 0 "${render[@]}" "${large[@]}" --gather 50 -o large.pfm --stats large.json
    taken=$(($(peak large.json) - $(peak small.json)))
    expect_true "the rendering with tiles takes at most the $tiles bytes planned (it took $taken)" test "$taken" -le "$tiles"
fi
# Half of the memory suffices in batches, and the rendering keeps to it.
half=$((planned / 2))
batched=(--integrator photon --photons 300000 --caustic-photons 1 --gather 500 --resolution 256x256 --spp 4 --max-memory "$half")
expect_exit 0 "${render[@]}" "${batched[@]}" --plan
expect_true "the plan states 3 batches" test "$(sed -n 's/^batches *//p' out)" = 3
expect_true "the plan in batches needs at most $half bytes" test "$(sed -n 's/^total *//p' out)" -le "$half"
expect_exit 0 "${render[@]}" "${batched[@]}" -o batches.pfm --stats batches.json
expect_says err "photons are emitted in 3 batches of 1/3 each"
taken=$(($(peak batches.json) - $(peak small.json)))
if ! grep -qa "__[at]san_init" "$program"; then
    expect_true "the rendering in batches takes at most the $half bytes allowed (it took $taken)" test "$taken" -le "$half"
fi
expect_exit 4 "${render[@]}" "${large[@]}" --max-memory 1M -o none.pfm
expect_says err "only 1048576 are allowed: use"
expect_true "a rendering that exceeds its memory limit writes no picture" test ! -e none.pfm
expect_exit 0 "${render[@]}" --resolution 8x8 --max-memory 1.5G -o some.pfm
expect_exit 0 "${render[@]}" --resolution 8x8 --max-memory 1T -o some.pfm
expect_exit 4 "${render[@]}" --max-memory 1K -o none.pfm
expect_says err "only 1024 are allowed"
expect_exit 2 "${render[@]}" --max-memory 1Q -o none.pfm
expect_says err "expected bytes, such as"
expect_done
