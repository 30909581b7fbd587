#!/usr/bin/env bash
# Symbols compiled for an instruction set have its suffix, so a CPU that lacks AVX2 or AVX-512 never
# calls one. The base variants and the rest of the program use no wide registers.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
build=$(dirname "$(dirname "$program")")
if [[ ! -d $build/CMakeFiles/kd_isa_avx2.dir ]] || ! command -v nm >/dev/null || ! command -v objdump >/dev/null; then
    echo "one instruction set, or no binutils: skipped"
    exit 77
fi
mapfile -t listed < <(sed -n 's/^ISA_FILE_AVX[0-9]*(\(.*\))$/\1/p' "$source_folder/core/isa_functions.inc")
expect_true "the list of multiversioned files is not empty" test ${#listed[@]} -gt 40
for isa in base avx2 avx512; do
    mapfile -t objects < <(find "$build/CMakeFiles/kd_isa_$isa.dir" -name '*.o' | while read -r object; do
        # skip objects left in the build directory by files that are no longer listed
        name=${object#*"kd_isa_$isa.dir/"}
        [[ " ${listed[*]} " == *" ${name%.c.o} "* ]] && echo "$object"
    done)
    expect_true "the library contains objects for $isa" test ${#objects[@]} -gt 3
    nm -g --defined-only "${objects[@]}" | awk 'NF == 3 {print $3}' | grep -v "_$isa\$" |
        grep -Ev '^(__?(asan|odr_asan|ubsan|tsan|gcov))' >names
    expect_true "every global name of the $isa objects has the suffix; others: $(tr '\n' ' ' <names)" test ! -s names
    [[ $isa == base ]] && objdump -d --no-show-raw-insn "${objects[@]}" | grep -m 3 '%[yz]mm' >wide
    [[ $isa == base ]] && expect_true "the base objects use no wide registers: $(cat wide)" test ! -s wide
    [[ $isa == avx2 ]] && objdump -d --no-show-raw-insn "${objects[@]}" | grep -c '%ymm' >wide
    [[ $isa == avx512 ]] && objdump -d --no-show-raw-insn "${objects[@]}" | grep -c '%zmm' >wide
    [[ $isa == base ]] || ! program_is_optimised || expect_true "the $isa objects use wide registers" test "$(cat wide)" -gt 100
done

nm "$program" >all
for name in radix_sort trace_wide; do
    for isa in "" _base _avx2; do
        expect_true "the program contains $name$isa" grep -q " [Tt] $name$isa\$" all
    done
done
expect_true "the program contains trace_wide_avx512" grep -q ' [Tt] trace_wide_avx512$' all
expect_exit 0 env -u KANDELA_CPU "$program" info
expect_says out "x86-64, AVX2, AVX-512: "
expect_exit 0 env KANDELA_CPU=base "$program" info
expect_says out "plain x86-64 is used"
expect_done
