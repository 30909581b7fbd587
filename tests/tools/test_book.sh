#!/usr/bin/env bash
# The code quoted in the book equals the sources, and the check reports a wrong quote with file and
# line.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
command -v python3 >/dev/null || exit 77
book=(python3 "$source_folder/tools/book.py" quotes)

expect_exit 0 "${book[@]}"
expect_says out "quote what stands there"

mkdir -p docs/book core
printf 'int one(void) {\n    return 1;\n}\nint two(void) {\n    return 2;\n}\n' >core/numbers.c
# shellcheck disable=SC2016
chapter() { # QUOTE LINE [TEXT]
    printf '# Chapter\n\n<!-- quote: %s -->\n```c\n%s\n```\n%s\n' "$1" "$2" "${3-}" >docs/book/1-numbers.md
}
chapter "core/numbers.c one" "return 1;"
expect_exit 0 "${book[@]}" "$scratch"
chapter "core/numbers.c one" "return 2;"
expect_exit 1 "${book[@]}" "$scratch"
expect_says out "docs/book/1-numbers.md:3: the passage does not stand in core/numbers.c, one"
chapter "core/numbers.c three" "return 1;"
expect_exit 1 "${book[@]}" "$scratch"
expect_says out "core/numbers.c defines no three"
chapter "core/letters.c" "return 1;"
expect_exit 1 "${book[@]}" "$scratch"
expect_says out "quotes core/letters.c, which is not there"
# shellcheck disable=SC2016
chapter "core/numbers.c" "return 1;" 'As `core/letters.h` says.'
expect_exit 1 "${book[@]}" "$scratch"
expect_says out "1-numbers.md:7: core/letters.h is not there"
chapter "core/numbers.c" "return 1;" '![none](figures/none.svg)'
expect_exit 1 "${book[@]}" "$scratch"
expect_says out "the picture figures/none.svg is not there"
expect_done
