#!/usr/bin/env bash
# How the program answers to misuse, and that help, man page and completion name every option.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

# A refusal is exit 2, one line on stderr that holds TEXT, nothing on stdout.
refused() { # TEXT ARGUMENT...
    local text=$1
    shift
    expect_exit 2 "$program" "$@"
    expect_empty out
    expect_says err "$text"
    expect_true "one line for: $*" test "$(wc -l <err)" = 1
}

refused "which verb"
refused 'unknown verb "inof", did you mean info?' inof
refused 'unknown verb "zzzzzzzz"' zzzzzzzz
refused 'unknown option --quick' --quick
refused 'did you mean --triangles?' info --triangels 5
refused 'needs an argument' info --triangles
refused 'expected a whole number' info --triangles many
refused 'expected a whole number' info --triangles 1.5
refused 'expected a whole number' info --triangles -1
refused 'takes no argument' info --quiet=yes
refused 'unexpected argument "extra"' info extra
refused 'unknown option -Z' info -Z
refused 'expected a whole number' info --threads 5000
KANDELA_NUM_THREADS=lots refused 'KANDELA_NUM_THREADS=lots' info

for flag in --version --help --man --completion; do
    expect_exit 0 "$program" "$flag"
    expect_empty err
    expect_true "$flag says something" test -s out
done
expect_exit 1 bash -c "'$program' --help >/dev/full"
expect_says err "cannot write to stdout"

# every verb has its help; every option of it is in the man page and the completion
"$program" --man >page.1
"$program" --completion >words.bash
sed 's/\\-/-/g' page.1 >page.plain
"$program" --help | sed -n '/^Laboratory:/,/^$/p' >laboratory
for verb in bench estimate trace tree; do
    expect_true "$verb is in the laboratory" grep -q "^  $verb " laboratory
done
expect_true "and render is not" test "$(grep -c '^  render ' laboratory)" = 0
verbs=$("$program" --help | sed -n '/^\(Verbs\|Laboratory\):/,/^$/s/^  \([a-z]*\) .*/\1/p')
expect_true "verbs are listed" test -n "$verbs"
for verb in $verbs; do
    expect_exit 0 "$program" "$verb" --help
    expect_empty err
    expect_says page.plain "kandela $verb"
    options=$(grep -oE '^  (-., |    )--[a-z-]+' out | grep -oE -e '--[a-z-]+')
    expect_true "$verb --help has options" grep -qx -e --help <<<"$options"
    # one shell for all options of the verb: a line each of what the completion offers
    # shellcheck disable=SC2086
    offers=$(bash -c '. ./words.bash
        for option; do COMP_WORDS=(kandela '"$verb"' "$option") COMP_CWORD=2
            _kandela
            echo "${COMPREPLY[@]}"
        done' bash $options)
    while read -r option offer; do
        grep -qE -e "\\\\fB$option(\\\\fR|\$)" page.plain || expect_fail "man has $verb $option"
        [[ " $offer " == *" $option "* ]] || expect_fail "completion offers $verb $option"
    done < <(paste -d' ' <(printf '%s\n' "$options") <(printf '%s\n' "$offers"))
done
words=$(bash -c '. ./words.bash; COMP_WORDS=(kandela "") COMP_CWORD=1; _kandela
    echo "${COMPREPLY[@]}"')
for verb in $verbs; do
    expect_true "completion offers $verb" grep -qw "$verb" <<<"$words"
done
if command -v groff >/dev/null; then
    groff -man -Tutf8 -ww page.1 >page.text 2>warnings
    expect_empty warnings
fi
expect_done
