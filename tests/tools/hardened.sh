# shellcheck shell=bash
# Sourced beside expect.sh, by the tests of what is built and of what is packed.

# The program or library runs at an address unknown before (PIE), the linker's tables are read-only before
# main (full RELRO), no memory is writable and code, frames have canaries, the C library's calls are checked.
expect_hardened() { # FILE
    local file=$1 headers dynamic names
    headers=$(readelf -lW "$file")
    dynamic=$(readelf -dW "$file")
    names=$(readelf -sW --dyn-syms "$file")
    grep -q 'GNU_RELRO' <<<"$headers" || expect_fail "$file has GNU_RELRO"
    grep -qE '\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW|\(BIND_NOW\)' <<<"$dynamic" || expect_fail "$file is bound at once"
    grep -qE 'GNU_STACK +[^ ]+ [^ ]+ [^ ]+ [^ ]+ [^ ]+ RW ' <<<"$headers" || expect_fail "$file has a stack that is no code"
    grep -qE ' LOAD .* RWE ' <<<"$headers" && expect_fail "$file has no memory that is both writable and code"
    grep -q 'TEXTREL' <<<"$dynamic" && expect_fail "$file has code that is not written to"
    readelf -hW "$file" | grep -qE 'Type: +DYN' || expect_fail "$file can be anywhere"
    [[ $file == *.so* ]] || grep -q 'PIE' <<<"$dynamic" || expect_fail "$file is a PIE"
    grep -q '__stack_chk_fail' <<<"$names" || expect_fail "$file has a stack protector"
    [[ -n ${unchecked-} ]] || grep -qE '__[a-z]+_chk' <(grep -v stack_chk <<<"$names") || expect_fail "$file has checked calls"
}

