#!/usr/bin/env bash
# Rendering under mpirun: the same bits as one process, a rank that is killed, states resumed by
# another number of ranks. Skipped without MPI, unless KANDELA_MPI_EXPECTED is set.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
cp "$source_folder"/tests/tools/box.{obj,mtl} .
plugin=$(dirname "$program")/../lib/kandela-mpi.so
if [[ ! -e $plugin ]] || ! command -v mpirun >/dev/null; then
    [[ -z ${KANDELA_MPI_EXPECTED-} ]] && exit 77
    expect_fail "the build has MPI, and mpirun is installed"
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
# containers forbid this mechanism, and Open MPI would print a message
export OMPI_MCA_btl_vader_single_copy_mechanism=none
export ASAN_OPTIONS=detect_leaks=0 # MPI itself leaks

needs_mpi() { readelf -d "$1" | grep -q 'NEEDED.*libmpi'; }
expect_true "the program does not link with MPI" eval '! needs_mpi "$program"'
library=$(dirname "$program")/../lib/libkandela.so
[[ ! -e $library ]] || expect_true "the library does not link with MPI" eval '! needs_mpi "$library"'
expect_true "the plug-in links with MPI" needs_mpi "$plugin"

render_on_ranks() { # RANKS ARGUMENT...: renders on so many ranks
    local ranks=$1
    shift
    mpirun --bind-to none -n "$ranks" "$program" render --quiet "$@" >out 2>err
}
path=(box.obj --resolution 40x33 --spp 24 --save-every 1000)
sppm=(box.obj --resolution 24x17 --integrator sppm --passes 6 --photons 2000 --save-every 1000)
"$program" render --quiet "${path[@]}" -o path.pfm && "$program" render --quiet "${sppm[@]}" -o sppm.pfm
equals_single() { # NAME: compares picture and state with those of the last run
    cmp "$1.pfm" many.pfm && cmp "$1.pfm.state" many.pfm.state
}
for ranks in 2 4; do
    expect_true "path succeeds on $ranks ranks" render_on_ranks $ranks "${path[@]}" -o many.pfm --stats many.json
    expect_true "path on $ranks ranks equals one process" equals_single path
done
expect_true "the statistics contain every rank" test "$(grep -c idle_share many.json)" = 4
# Rank 1 has no input files: rank 0 sends their contents.
mkdir elsewhere
expect_true "a rank without input files succeeds" mpirun --bind-to none -n 1 "$program" render --quiet "${path[@]}" -o many.pfm : \
    -n 1 -wdir "$PWD/elsewhere" "$program" render --quiet "${path[@]}" -o many.pfm >out
expect_true "path with a rank without input files equals one process" equals_single path
expect_true "sppm succeeds on 3 ranks" render_on_ranks 3 "${sppm[@]}" -o many.pfm
expect_true "sppm on 3 ranks equals one process" equals_single sppm

# Photons that stay on the rank that traced them: the same bits, and both plan and statistics say
# so.
photon=(box.obj --resolution 20x15 --integrator photon --spp 4 --photons 1500 --gather 20 --save-every 1000)
"$program" render --quiet "${photon[@]}" -o photon.pfm
for ranks in 1 3 4; do
    expect_true "sppm with distributed photons succeeds on $ranks ranks" render_on_ranks $ranks "${sppm[@]}" --ranks-maps apart -o many.pfm --stats many.json
    expect_true "sppm with distributed photons on $ranks ranks equals one process" equals_single sppm
    expect_true "photon with distributed photons succeeds on $ranks ranks" render_on_ranks $ranks "${photon[@]}" --ranks-maps apart -o many.pfm
    expect_true "photon with distributed photons on $ranks ranks equals one process" equals_single photon
done
render_on_ranks 3 "${photon[@]}" --ranks-maps apart -o many.pfm --stats many.json
expect_true "the statistics state that photons are distributed" grep -q '"chosen":.*"apart"' many.json
large=(box.obj --device cpu --integrator sppm --photons 8M --radius 0.1 --resolution 64x48 --plan)
expect_true "a plan with a whole map on each rank succeeds" render_on_ranks 4 "${large[@]}" --ranks-maps whole
expect_true "the plan states whole maps" grep -q 'photons  *whole' out
expect_says out 'sent with photons apart'
expect_true "a plan for less memory than whole maps need succeeds" render_on_ranks 4 "${large[@]}" --max-memory 1500M
expect_true "the plan states distributed photons" grep -q 'photons  *apart' out
render_on_ranks 2 "${large[@]}" --max-memory 400M
expect_true "maps that fit only in batches are rejected with exit code 4" test $? = 4
expect_says err 'ranks-inexact'
expect_true "maps that fit only in batches are accepted with --ranks-inexact" render_on_ranks 2 "${large[@]}" --max-memory 400M --ranks-inexact

# Each integrator reports the work of its ranks.
for method in path direct light whitted ao photon sppm; do
    expect_true "$method succeeds on 2 ranks" render_on_ranks 2 box.obj --integrator $method --resolution 16x12 --spp 2 --passes 2 \
        --photons 500 -o figures.pfm --stats figures.json
    expect_true "the statistics of $method contain the work of both ranks" test "$(grep -c -e idle_share -e bytes_sent -e waited figures.json)" = 6
done

# An error gives one line and its usual exit code.
render_on_ranks 2 missing.obj -o many.pfm
code=$?
expect_true "exit code 3 for a missing file" test $code = 3
expect_true "the missing file is reported once" test "$(grep -c 'rank . of 2: missing.obj' err)" = 1
expect_says err "rank 0 of 2: missing.obj"

set -m # without job control a script's children ignore SIGINT
# Starts an endless sppm rendering on 3 ranks as job $run, and waits until it has saved its state.
start_endless() {
    rm -f many.*
    mpirun --bind-to none -n 3 "$program" render --quiet "${endless[@]}" --passes 1000000 \
        --save-every 0.2 --stats many.json -o many.pfm >out 2>err &
    run=$!
    for ((tries = 0; tries < 600; ++tries)); do
        [[ -e many.pfm.state ]] && return
        sleep 0.05
    done
    expect_fail "the state is saved within 30 seconds"
}
rank_pid() { # prints the process id of a child of mpirun, which is a rank
    basename "$(dirname "$(grep -l "^PPid:[[:space:]]*$run\$" /proc/[0-9]*/status 2>/dev/null | tail -1)")"
}
# Resumes the saved state on two ranks; the result has the bits of one process.
expect_resumed() {
    local passes
    passes=$(resumed_passes)
    expect_true "2 ranks resume the state" render_on_ranks 2 "${endless[@]}" --passes "$passes" --save-every 1000 --resume -o many.pfm
    "$program" render --quiet "${endless[@]}" --passes "$passes" --save-every 1000 -o sppm.pfm
    expect_true "the resumed picture equals that of one process" equals_single sppm
}
# The smallest number of passes over all pixels: word 20 of the 22 32-bit words that the state holds
# per pixel.
resumed_passes() {
    tail -c +313 many.pfm.state | od -An -v -tu4 -w88 | awk '
        NR == 1 || $20 < least {least = $20} END {print least + 2}'
}
endless=(box.obj --resolution 24x17 --integrator sppm --photons 1000)

# If a rank is killed after the state was saved, the run ends, and the state can be resumed.
start_endless
started=$SECONDS
kill -9 "$(rank_pid)"
wait $run
code=$?
expect_true "the run ends within 20 seconds after a rank was killed" test $((SECONDS - started)) -lt 20
expect_true "the exit code is not 0 after a rank was killed" test $code != 0
expect_says err 'signal 9'
expect_resumed

# A rank that pauses for a while neither changes the bits nor ends the run.
slow=(box.obj --resolution 60x45 --spp 256 --save-every 1000)
"$program" render --quiet "${slow[@]}" -o slow.pfm
mpirun --bind-to none -n 3 "$program" render --quiet "${slow[@]}" -o many.pfm >out 2>err &
run=$!
for ((tries = 0; tries < 200; ++tries)); do
    stopped=$(rank_pid) && [[ $stopped != . ]] && break
    sleep 0.02
done
kill -STOP "$stopped"
sleep 1
kill -CONT "$stopped"
wait $run
expect_true "the run succeeds although a rank paused" test $? = 0
expect_true "the picture is unchanged although a rank paused" equals_single slow

# A signal to any rank ends the run and saves its results. (A signal to mpirun does so, too, if
# saving takes less than the second that Open MPI grants.)
start_endless
kill -INT "$(rank_pid)"
wait $run
expect_says many.json '"interrupted"'
expect_resumed
expect_done
