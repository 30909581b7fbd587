#!/usr/bin/env bash
# Ranks by mpirun: the bits of one process, a rank that is killed, states that other numbers of ranks
# go on with. Skipped where there is no MPI, unless KANDELA_MPI_EXPECTED says that there is.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
cp "$source_folder"/tests/tools/box.{obj,mtl} .
plugin=$(dirname "$program")/../lib/kandela-mpi.so
if [[ ! -e $plugin ]] || ! command -v mpirun >/dev/null; then
    [[ -z ${KANDELA_MPI_EXPECTED-} ]] && exit 77
    expect_fail "a build with MPI, and mpirun"
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none # containers forbid it, with a message
export ASAN_OPTIONS=detect_leaks=0 # of MPI's own

needs_mpi() { readelf -d "$1" | grep -q 'NEEDED.*libmpi'; }
expect_true "the program needs no MPI" eval '! needs_mpi "$program"'
library=$(dirname "$program")/../lib/libkandela.so
[[ ! -e $library ]] || expect_true "nor does the library" eval '! needs_mpi "$library"'
expect_true "the plug-in does" needs_mpi "$plugin"

on() { # RANKS ARGUMENT...
    local ranks=$1
    shift
    mpirun --bind-to none -n "$ranks" "$program" render --quiet "$@" >out 2>err
}
path=(box.obj --resolution 40x33 --spp 24 --save-every 1000)
sppm=(box.obj --resolution 24x17 --integrator sppm --passes 6 --photons 2000 --save-every 1000)
"$program" render --quiet "${path[@]}" -o path.pfm && "$program" render --quiet "${sppm[@]}" -o sppm.pfm
same() { # NAME
    cmp "$1.pfm" many.pfm && cmp "$1.pfm.state" many.pfm.state
}
for ranks in 2 4; do
    expect_true "path on $ranks ranks" on $ranks "${path[@]}" -o many.pfm --stats many.json
    expect_true "path's bits on $ranks ranks" same path
done
expect_true "figures of each rank" test "$(grep -c idle_share many.json)" = 4
# Rank 1 has no files: rank 0 sends them.
mkdir elsewhere
expect_true "a rank without files" mpirun --bind-to none -n 1 "$program" render --quiet "${path[@]}" -o many.pfm : \
    -n 1 -wdir "$PWD/elsewhere" "$program" render --quiet "${path[@]}" -o many.pfm >out
expect_true "path's bits with a rank without files" same path
expect_true "sppm on 3 ranks" on 3 "${sppm[@]}" -o many.pfm
expect_true "sppm's bits on 3 ranks" same sppm

# Photons that stay with the rank that has traced them: the same bits, said in plan and figures.
photon=(box.obj --resolution 20x15 --integrator photon --spp 4 --photons 1500 --gather 20 --save-every 1000)
"$program" render --quiet "${photon[@]}" -o photon.pfm
for ranks in 1 2 3 4; do
    expect_true "sppm, photons apart, $ranks ranks" on $ranks "${sppm[@]}" --ranks-maps apart -o many.pfm --stats many.json
    expect_true "sppm's bits, photons apart, $ranks ranks" same sppm
    expect_true "photon, photons apart, $ranks ranks" on $ranks "${photon[@]}" --ranks-maps apart -o many.pfm
    expect_true "photon's bits, photons apart, $ranks ranks" same photon
done
on 3 "${photon[@]}" --ranks-maps apart -o many.pfm --stats many.json
expect_true "said in the figures" grep -q '"chosen":.*"apart"' many.json
large=(box.obj --integrator sppm --photons 8M --radius 0.1 --resolution 64x48 --plan)
expect_true "a plan of whole maps" on 4 "${large[@]}" --ranks-maps whole
expect_true "whole maps in the plan" grep -q 'photons  *whole' out
expect_says out 'sent with photons apart'
expect_true "a plan of maps that do not fit" on 4 "${large[@]}" --max-memory 1500M
expect_true "photons apart in the plan" grep -q 'photons  *apart' out
on 2 "${large[@]}" --max-memory 400M
expect_true "what fits in batches only is refused" test $? = 4
expect_says err 'ranks-inexact'
expect_true "or allowed" on 2 "${large[@]}" --max-memory 400M --ranks-inexact

# Every method tells what its ranks did.
for method in path direct light whitted ao photon ppm sppm; do
    expect_true "$method on 2 ranks" on 2 box.obj --integrator $method --resolution 16x12 --spp 2 --passes 2 \
        --photons 500 -o figures.pfm --stats figures.json
    expect_true "$method's figures of ranks" test "$(grep -c -e idle_share -e bytes_sent -e waited figures.json)" = 6
done

# One line, and the code of what was wrong.
on 2 missing.obj -o many.pfm
code=$?
expect_true "exit 3 for a file that is missing" test $code = 3
expect_true "said once" test "$(grep -c 'rank . of 2: missing.obj' err)" = 1
expect_says err "rank 0 of 2: missing.obj"

set -m # children of a script without it ignore SIGINT
# Renders sppm without end on 3 ranks, as the job $run, until it has saved its state.
begin() {
    rm -f many.*
    mpirun --bind-to none -n 3 "$program" render --quiet "${endless[@]}" --passes 1000000 \
        --save-every 0.2 --stats many.json -o many.pfm >out 2>err &
    run=$!
    for ((tries = 0; tries < 600; ++tries)); do
        [[ -e many.pfm.state ]] && return
        sleep 0.05
    done
    expect_fail "a state after half a minute"
}
a_rank() { # a child of mpirun
    basename "$(dirname "$(grep -l "^PPid:[[:space:]]*$run\$" /proc/[0-9]*/status 2>/dev/null | tail -1)")"
}
# What lies there goes on with two ranks to the bits of one process.
has_next() {
    local passes
    passes=$(resumed_passes)
    expect_true "2 ranks go on" on 2 "${endless[@]}" --passes "$passes" --save-every 1000 --resume -o many.pfm
    "$program" render --quiet "${endless[@]}" --passes "$passes" --save-every 1000 -o sppm.pfm
    expect_true "with the bits of one" same sppm
}
# The passes that every pixel has, the fewest: of the state the 17th word of each pixel's 18 of 4 bytes.
resumed_passes() {
    tail -c +305 many.pfm.state | od -An -v -tu4 -w72 | awk '
        NR == 1 || $17 < least {least = $17} END {print least + 2}'
}
endless=(box.obj --resolution 24x17 --integrator sppm --photons 1000)

# A rank is killed once there is a state: the run ends, and what was saved goes on.
begin
started=$SECONDS
kill -9 "$(a_rank)"
wait $run
code=$?
expect_true "it ends within seconds" test $((SECONDS - started)) -lt 20
expect_true "with a code" test $code != 0
expect_says err 'signal 9'
has_next

# A rank that stands still for a while changes no bit, and ends nothing.
slow=(box.obj --resolution 60x45 --spp 256 --save-every 1000)
"$program" render --quiet "${slow[@]}" -o slow.pfm
mpirun --bind-to none -n 3 "$program" render --quiet "${slow[@]}" -o many.pfm >out 2>err &
run=$!
for ((tries = 0; tries < 200; ++tries)); do
    stopped=$(a_rank) && [[ $stopped != . ]] && break
    sleep 0.02
done
kill -STOP "$stopped"
sleep 1
kill -CONT "$stopped"
wait $run
expect_true "a rank that stood still" test $? = 0
expect_true "leaves the bits" same slow

# A signal to any rank ends all and keeps what is there. (One to mpirun does, too, if saving takes less than the
# second that Open MPI grants.)
begin
kill -INT "$(a_rank)"
wait $run
expect_says many.json '"interrupted"'
has_next
expect_done
