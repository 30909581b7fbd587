#!/usr/bin/env bash
# Misuse gives a helpful error; help, man pages and completion list every option and are readable.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

# Expects exit code 2, one line with TEXT on stderr, and nothing on stdout.
refused() { # TEXT ARGUMENT...
    local text=$1
    shift
    expect_exit 2 "$program" "$@"
    expect_empty out
    expect_says err "$text"
    expect_true "one line for: $*" test "$(wc -l <err)" = 1
}

refused "a command is missing"
refused 'unknown command "inof", did you mean info?' inof
refused 'unknown command "zzzzzzzz"' zzzzzzzz
refused 'option --quick must follow a command, as in "kandela render SCENE --quick"' --quick
refused 'did you mean --triangles?' info --triangels 5
refused 'needs an argument' info --triangles
refused 'expected a whole number' info --triangles many
refused 'expected a whole number' info --triangles 1.5
refused 'expected a whole number' info --triangles -1
refused 'takes no argument' info --quiet=yes
refused 'unexpected argument "extra"' info extra
refused 'unknown option -Z; --help=all lists all options' info -Z
refused 'expected a whole number' info --threads 5000
refused 'expected daily or all' info --help=everything
KANDELA_NUM_THREADS=lots refused 'KANDELA_NUM_THREADS=lots' info

# Words known from other programs: the message suggests the right ones.
refused '"bunny.obj" is not a command; to render it, run "kandela render bunny.obj"' bunny.obj
refused 'run "kandela render gen:sphere:100"' gen:sphere:100
touch scene
refused 'run "kandela render scene"' scene
refused 'unknown command "help": run "kandela --help"' help
refused 'run "kandela develop PICTURE"' convert a.exr
refused 'unknown option --samples; use --spp instead' render scene.json --samples 4
refused 'unknown option --samples; use --spp instead' render scene.json --samples=4
refused 'unknown option -samples; use --spp instead' render scene.json -samples 4
refused 'long options begin with two dashes: --spp' render scene.json -spp 4
refused 'unknown option -t; use --threads instead' render scene.json -t 4
refused 'unknown option --gpu; use --device cuda:0 instead' render scene.json --gpu
refused 'unexpected argument "+W640"; use --width instead' render scene.json +W640 +H480
refused 'unknown option --format: the suffix of the file of --output sets the format' render a.json --format png
# this command has no --spp
refused 'unknown option --samples; --help=all lists all options' check --samples 4 a.obj

# Counts have the same suffixes everywhere.
for count in 20000 20K 20k 0.02M 2e4; do
    expect_exit 0 "$program" info --triangles $count
    expect_says out "for 20000 triangles"
done
expect_exit 0 "$program" bench points --sizes 0.1K,2e2 --builders recursive --devices cpu --runs 1 -q
expect_true "sizes of benchmarks, too" grep -q "n 100 " out
expect_says out "n 200 "

for flag in --version --help --man --completion; do
    expect_exit 0 "$program" "$flag"
    expect_empty err
    expect_true "$flag says something" test -s out
done
expect_exit 1 bash -c "'$program' --help >/dev/full"
expect_says err "cannot write to stdout"
refused 'unknown command "rendr", did you mean render?' --man rendr

# Every command has a help text and a man page; man page and completion list all its options.
"$program" --man >page.1
"$program" --completion >words.bash
"$program" --help >help.program
sed -n '/^Laboratory:/,/^$/p' help.program >laboratory
for verb in bench estimate trace tree; do
    expect_true "$verb is in the laboratory" grep -q "^  $verb " laboratory
done
expect_true "and render is not" test "$(grep -c '^  render ' laboratory)" = 0
verbs=$(sed -n '/^\(Commands\|Laboratory\):/,/^$/s/^  \([a-z]*\) .*/\1/p' help.program)
expect_true "commands are listed" test -n "$verbs"
rows=$(sed -n 's/^COMMAND(\(.*\))$/\1/p' "$source_folder/tools/program/commands.inc" | sort)
expect_true "they are those of the table" test "$(sort <<<"$verbs")" = "$rows"
for verb in $verbs; do
    expect_says page.1 "kandela\\-$verb (1)"
    expect_exit 0 "$program" "$verb" --help=all
    expect_empty err
    mv out "help.$verb"
    "$program" --man "$verb" >"page.$verb.1"
    sed 's/\\-/-/g' "page.$verb.1" >page.plain
    options=$(grep -oE '^  (-., |    )--[a-z-]+' "help.$verb" | grep -oE -e '--[a-z-]+')
    expect_true "$verb --help has options" grep -qx -e --help <<<"$options"
    expect_true "$verb --help has each option once" test -z "$(sort <<<"$options" | uniq -d)"
    expect_says page.plain ".SH EXAMPLES"
    expect_true "the examples of $verb are its own" grep -q "^  kandela $verb " "help.$verb"
    # runs the completion for all options of a command in one shell; prints one line each
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

# The help fits the width and height of a terminal.
"$program" render --help >help.daily
expect_true "render --help has at most 60 lines" test "$(wc -l <help.daily)" -le 60
expect_true "20 to 25 options" test "$(grep -cE '^  (-., |    )--' help.daily)" -ge 20 -a \
    "$(grep -cE '^  (-., |    )--' help.daily)" -le 25
expect_true "three examples at the end" test "$(sed -n '/^Examples:/,$s/^  kandela/&/p' help.daily | wc -l)" = 3
expect_says help.daily "kandela render --help=all"
expect_true "no line has more than 80 columns" test -z "$(cat help.* | awk 'length > 80')"
for heading in Output Method Photons Picture Scene Device Laboratory; do
    expect_true "one heading $heading" test "$(grep -cx "$heading:" help.render)" = 1
done

# The help lists every option that scene files and other languages have, because all come from one
# table.
"$program" info --keys | sed -n '/^[^a-z]render[^a-z] (/,$s/^| [^a-z]\([a-z_]*\)[^a-z] .*/\1/p' | grep -vx about >keys
expect_true "keys are found" test "$(wc -l <keys)" -gt 30
while read -r key; do
    expect_true "help has $key" test "$(grep -cE "^  (-., |    )--${key//_/-}( |\$)" help.render)" = 1
done <keys

words=$(bash -c '. ./words.bash; COMP_WORDS=(kandela "") COMP_CWORD=1; _kandela
    echo "${COMPREPLY[@]}"')
for verb in $verbs; do
    expect_true "completion offers $verb" grep -qw "$verb" <<<"$words"
done
if command -v groff >/dev/null; then
    for page in page.1 page.*.1; do
        groff -man -Tutf8 -ww "$page" >page.text 2>warnings
        expect_empty warnings
    done
fi
expect_done
