#!/usr/bin/env bash
# A point tree distributed over the processes of mpirun, used by a C99 program with the public
# headers and the shared library. Skipped without MPI, unless KANDELA_MPI_EXPECTED is set.
# Usage: test_mpi_points.sh PROGRAM SOURCE_DIR
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
build=$(cd "$(dirname "$program")/.." && pwd)
if ! command -v mpicc mpirun >/dev/null; then
    [[ -z ${KANDELA_MPI_EXPECTED-} ]] && exit 77
    expect_fail "mpicc and mpirun are installed"
fi
export LD_LIBRARY_PATH="$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
if nm -D "$build/lib/libkandela.so" | grep -q "__[at]san_init"; then
    echo "skipped: the library is built with sanitizers"
    exit 77
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
# containers forbid this mechanism, and Open MPI would print a message
export OMPI_MCA_btl_vader_single_copy_mechanism=none

expect_true "mpi_points.c compiles as C99" mpicc -std=c99 -Wall -Wextra -Werror -O1 -I "$source_folder/include" \
    "$source_folder/tests/c99/mpi_points.c" -o mpi_points -L "$build/lib" -lkandela -lm
for ranks in 1 2 3 4; do
    expect_true "results on $ranks ranks equal those of a single tree" eval \
        "timeout 120 mpirun --bind-to none --oversubscribe -n $ranks ./mpi_points >out 2>err && grep -q '^ok $ranks$' out || { cat out err; false; }"
done
expect_true "the example compiles" mpicc -std=c99 -Wall -Wextra -Werror -O1 -I "$source_folder/include" \
    "$source_folder/examples/mpi_neighbours.c" -o mpi_neighbours -L "$build/lib" -lkandela -lm
expect_true "the example runs" eval "mpirun --bind-to none --oversubscribe -n 3 ./mpi_neighbours 2000 cpu >out 2>err"
expect_says out "6000 points at 3 ranks"
expect_done
