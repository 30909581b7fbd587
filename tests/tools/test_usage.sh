#!/usr/bin/env bash
# Misuse gives a helpful error; help, man pages and completion list every option and are readable.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

# Expects exit code 2, one line with TEXT on stderr, and nothing on stdout.
expect_rejected() { # TEXT ARGUMENT...
    local text=$1
    shift
    expect_exit 2 "$program" "$@"
    expect_empty out
    expect_says err "$text"
    expect_true "one line of error for: $*" test "$(wc -l <err)" = 1
}

expect_rejected "a command is missing"
expect_rejected 'unknown command "inof", did you mean info?' inof
expect_rejected 'unknown command "zzzzzzzz"' zzzzzzzz
expect_rejected 'option --quick must follow a command, as in "kandela render SCENE --quick"' --quick
expect_rejected 'did you mean --triangles?' info --triangels 5
expect_rejected 'needs an argument' info --triangles
expect_rejected 'expected a whole number' info --triangles many
expect_rejected 'expected a whole number' info --triangles 1.5
expect_rejected 'expected a whole number' info --triangles -1
expect_rejected 'takes no argument' info --quiet=yes
expect_rejected 'unexpected argument "extra"' info extra
expect_rejected 'unknown option -Z; --help=all lists all options' info -Z
expect_rejected 'expected a whole number' info --threads 5000
expect_rejected 'expected daily or all' info --help=everything
KANDELA_NUM_THREADS=lots expect_rejected 'KANDELA_NUM_THREADS=lots' info

# Words known from other programs: the message suggests the right ones.
expect_rejected '"bunny.obj" is not a command; to render it, run "kandela render bunny.obj"' bunny.obj
expect_rejected 'run "kandela render gen:sphere:100"' gen:sphere:100
touch scene
expect_rejected 'run "kandela render scene"' scene
expect_rejected 'unknown command "help": run "kandela --help"' help
expect_rejected 'run "kandela develop PICTURE"' convert a.exr
expect_rejected 'unknown option --samples; use --spp instead' render scene.json --samples 4
expect_rejected 'unknown option --samples; use --spp instead' render scene.json --samples=4
expect_rejected 'unknown option -samples; use --spp instead' render scene.json -samples 4
expect_rejected 'long options begin with two dashes: --spp' render scene.json -spp 4
expect_rejected 'unknown option -t; use --threads instead' render scene.json -t 4
expect_rejected 'unknown option --gpu; use --device cuda:0 instead' render scene.json --gpu
expect_rejected 'unexpected argument "+W640"; use --width instead' render scene.json +W640 +H480
expect_rejected 'unknown option --file-format: the suffix of the file of --output sets the format' render a.json --file-format png
expect_rejected '--format sets the format of -o -; that of a file is set by its suffix' render a.json --format png
expect_rejected '-o - can be given only once' render a.json -o - -o -
expect_rejected '--format tga: expected png' render a.json -o - --format tga
# this command has no --spp
expect_rejected 'unknown option --samples; --help=all lists all options' check --samples 4 a.obj

# Counts have the same suffixes everywhere.
for count in 20000 20K 20k 0.02M 2e4; do
    expect_exit 0 "$program" info --triangles $count
    expect_says out "for 20000 triangles"
done
expect_exit 0 "$program" bench points --sizes 0.1K,2e2 --builders recursive --devices cpu --runs 1 -q
expect_true "bench accepts suffixes of sizes" grep -q "n 100 " out
expect_says out "n 200 "

for flag in --version --help --man --completion; do
    expect_exit 0 "$program" "$flag"
    expect_empty err
    expect_true "$flag prints to stdout" test -s out
done
expect_exit 1 bash -c "'$program' --help >/dev/full"
expect_says err "cannot write to stdout"
expect_rejected 'unknown command "rendr", did you mean render?' --man rendr

# Every command has a help text and a man page; man page and completion list all its options.
"$program" --man >page.1
"$program" --completion >words.bash
"$program" --help >help.program
sed -n '/^Laboratory:/,/^$/p' help.program >laboratory
for verb in bench estimate trace tree; do
    expect_true "$verb is listed under Laboratory" grep -q "^  $verb " laboratory
done
expect_true "render is not listed under Laboratory" test "$(grep -c '^  render ' laboratory)" = 0
verbs=$(sed -n '/^\(Commands\|Laboratory\):/,/^$/s/^  \([a-z]*\) .*/\1/p' help.program)
expect_true "--help lists commands" test -n "$verbs"
rows=$(sed -n 's/^COMMAND(\(.*\))$/\1/p' "$source_folder/tools/program/commands.inc" | sort)
expect_true "--help lists the commands of commands.inc" test "$(sort <<<"$verbs")" = "$rows"
for verb in $verbs; do
    expect_says page.1 "kandela\\-$verb (1)"
    expect_exit 0 "$program" "$verb" --help=all
    expect_empty err
    mv out "help.$verb"
    "$program" --man "$verb" >"page.$verb.1"
    sed 's/\\-/-/g' "page.$verb.1" >page.plain
    options=$(grep -oE '^  (-., |    )--[a-z-]+' "help.$verb" | grep -oE -e '--[a-z-]+')
    expect_true "$verb --help=all lists options" grep -qx -e --help <<<"$options"
    expect_true "$verb --help=all lists each option once" test -z "$(sort <<<"$options" | uniq -d)"
    expect_says page.plain ".SH EXAMPLES"
    expect_true "the examples of $verb run $verb" grep -q "^  kandela $verb " "help.$verb"
    # runs the completion for all options of a command in one shell; prints one line each
    # shellcheck disable=SC2086
    offers=$(bash -c '. ./words.bash
        for option; do COMP_WORDS=(kandela '"$verb"' "$option") COMP_CWORD=2
            _kandela
            echo "${COMPREPLY[@]}"
        done' bash $options)
    while read -r option offer; do
        grep -qE -e "\\\\fB$option(\\\\fR|\$)" page.plain || expect_fail "the man page of $verb has $option"
        [[ " $offer " == *" $option "* ]] || expect_fail "completion offers $verb $option"
    done < <(paste -d' ' <(printf '%s\n' "$options") <(printf '%s\n' "$offers"))
done

# The help fits the width and height of a terminal.
"$program" render --help >help.daily
expect_true "render --help has at most 60 lines" test "$(wc -l <help.daily)" -le 60
expect_true "render --help lists 20 to 25 options" test "$(grep -cE '^  (-., |    )--' help.daily)" -ge 20 -a \
    "$(grep -cE '^  (-., |    )--' help.daily)" -le 25
expect_true "render --help ends with three examples" test "$(sed -n '/^Examples:/,$s/^  kandela/&/p' help.daily | wc -l)" = 3
expect_says help.daily "kandela render --help=all"
expect_true "no line of help has more than 80 columns" test -z "$(cat help.* | awk 'length > 80')"
for heading in Output Method Photons Picture Scene Device Laboratory; do
    expect_true "render --help=all has the heading $heading once" test "$(grep -cx "$heading:" help.render)" = 1
done

# The help lists every option that scene files and other languages have, because all come from one
# table.
"$program" info --keys | sed -n '/^[^a-z]render[^a-z] (/,$s/^| [^a-z]\([a-z_]*\)[^a-z] .*/\1/p' | grep -vx about >keys
expect_true "info --keys lists more than 30 keys of render" test "$(wc -l <keys)" -gt 30
while read -r key; do
    expect_true "render --help=all lists the option of key $key once" test "$(grep -cE "^  (-., |    )--${key//_/-}( |\$)" help.render)" = 1
done <keys

words=$(bash -c '. ./words.bash; COMP_WORDS=(kandela "") COMP_CWORD=1; _kandela
    echo "${COMPREPLY[@]}"')
for verb in $verbs; do
    expect_true "completion offers $verb" grep -qw "$verb" <<<"$words"
done
words=$(bash -c '. ./words.bash; COMP_WORDS=(kandela bench "") COMP_CWORD=2; _kandela
    echo "${COMPREPLY[@]}"')
expect_true "completion offers the names of benchmarks: $words" test "$words" = \
    "points knn build trace load photons frame scaling changes calls worlds compare report"
if command -v groff >/dev/null; then
    for page in page.1 page.*.1; do
        groff -man -Tutf8 -ww "$page" >page.text 2>warnings
        expect_empty warnings
    done
fi
expect_done
