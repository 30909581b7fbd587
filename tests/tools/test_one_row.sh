#!/usr/bin/env bash
# A density kernel is one table row: the test of integrals, which iterates over the table, covers a
# toy added to a copy of it. A wrong integral makes the test fail, and a row without an integral
# does not compile. nightly_one_row.sh adds a toy of every kind to a copy of the whole source tree.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
toys=$source_folder/tests/tools/one_row
# shellcheck source=tests/tools/one_row/add_kernel.sh
. "$toys/add_kernel.sh"
compiler=${CC:-cc}
mkdir -p over/photon/density
cp "$source_folder/photon/density/kernels.h" over/photon/density/kernels.h
add_toy_kernel "$toys" over/photon/density/kernels.h
# shellcheck disable=SC2317 # called by name
build() { # FLAG...: compiles the test with the table in over/
    "$compiler" -std=c17 -D_GNU_SOURCE -O1 -ffp-contract=off -Werror=implicit-function-declaration "$@" -Iover -I"$source_folder" -I"$source_folder/include" -I"$source_folder/tests" \
        -o integrals "$source_folder/tests/photon/test_triangle_integral.c" "$source_folder/core/status.c" -lcmocka -lm -pthread
}
# shellcheck disable=SC2317 # called by name
fails() {
    ! "$@" >out 2>&1
}
expect_exit 0 build
expect_exit 0 ./integrals
expect_exit 0 build -DKERNEL_TOY_FAULT
expect_true "the test fails if the toy kernel has a wrong integral" fails ./integrals
expect_says out 'kernel 4'
sed -i 's/float kernel_toy_reach/float kernel_toy_forgotten/' over/photon/density/kernels.h
expect_true "a table row that lacks an integral does not compile" fails build
expect_done
