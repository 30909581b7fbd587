# shellcheck shell=bash
# Sourced after expect.sh by the tests of built and packaged binaries.

# Expects that a program or library is position-independent (PIE), that the linker's tables are
# read-only before main (full RELRO), that no memory is both writable and executable, that stack
# frames have canaries, and that calls of the C library are checked (FORTIFY).
expect_hardened() { # FILE
    local file=$1 headers dynamic names
    headers=$(readelf -lW "$file")
    dynamic=$(readelf -dW "$file")
    names=$(readelf -sW --dyn-syms "$file")
    grep -q 'GNU_RELRO' <<<"$headers" || expect_fail "$file has GNU_RELRO"
    grep -qE '\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW|\(BIND_NOW\)' <<<"$dynamic" || expect_fail "$file is linked with -z now"
    grep -qE 'GNU_STACK +[^ ]+ [^ ]+ [^ ]+ [^ ]+ [^ ]+ RW ' <<<"$headers" || expect_fail "$file has a non-executable stack"
    grep -qE ' LOAD .* RWE ' <<<"$headers" && expect_fail "$file has no segment that is both writable and executable"
    grep -q 'TEXTREL' <<<"$dynamic" && expect_fail "$file has no text relocations"
    readelf -hW "$file" | grep -qE 'Type: +DYN' || expect_fail "$file is position-independent"
    [[ $file == *.so* ]] || grep -q 'PIE' <<<"$dynamic" || expect_fail "$file is a PIE"
    grep -q '__stack_chk_fail' <<<"$names" || expect_fail "$file has a stack protector"
    [[ -n ${unchecked-} ]] || grep -qE '__[a-z]+_chk' <(grep -v stack_chk <<<"$names") || expect_fail "$file calls fortified functions"
}

