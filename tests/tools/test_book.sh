#!/usr/bin/env bash
# The book's quotes equal the code, and the check of that reports differences by file and line.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
command -v python3 >/dev/null || exit 77
book=(python3 "$source_folder/tools/book.py" quotes)

expect_exit 0 "${book[@]}"
expect_says out "all quotes equal the code"

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
expect_says out "docs/book/1-numbers.md:3: the quote is not in core/numbers.c, function one"
chapter "core/numbers.c three" "return 1;"
expect_exit 1 "${book[@]}" "$scratch"
expect_says out "core/numbers.c defines no three"
chapter "core/letters.c" "return 1;"
expect_exit 1 "${book[@]}" "$scratch"
expect_says out "quoted file core/letters.c does not exist"
# shellcheck disable=SC2016
chapter "core/numbers.c" "return 1;" 'As `core/letters.h` says.'
expect_exit 1 "${book[@]}" "$scratch"
expect_says out "1-numbers.md:7: core/letters.h does not exist"
chapter "core/numbers.c" "return 1;" '![none](figures/none.svg)'
expect_exit 1 "${book[@]}" "$scratch"
expect_says out "the picture figures/none.svg does not exist"
expect_done
