#!/usr/bin/env bash
# Output files: no output may be an input or another output; a full disk, a limit of descriptors or
# a killed program neither hangs nor leaves partial files.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
cp "$source_folder"/tests/tools/box.{obj,mtl} .
options=(-q --resolution 16x12 --spp 1)
formats=(png pfm)
"$program" --version | grep -q 'OpenEXR *[0-9]' && formats+=(exr)

# --- each file has one purpose ---
checksums() { find . -type f -exec sha256sum {} + | grep -vE '/(out|err)$'; }
expect_rejected() { # WORD ARGUMENT...: expects exit code 2 before anything is written
    local word=$1 before after
    shift
    before=$(checksums)
    expect_exit 2 "$program" "$@"
    expect_says err "$word"
    after=$(checksums)
    [[ $before == "$after" ]] || expect_fail "$* leaves all files unchanged"
}
expect_exit 0 "$program" render box.obj "${options[@]}" -o grey.png -o sky.pfm
printf 'newmtl m\nKd .5 .5 .5\nmap_Kd grey.png\n' >textured.mtl
sed 's/^mtllib.*/mtllib textured.mtl/; s/^usemtl.*/usemtl m/' box.obj >textured.obj
cat >s.json <<'J'
{"kandela": 1, "meshes": [{"file": "textured.obj"}]}
J
expect_exit 0 "$program" photons s.json -q --photons 100 -o a.kdp
expect_exit 0 "$program" photons s.json -q --photons 100 --seed 1 -o b.kdp
ln -s grey.png link.png
ln grey.png hard.png
for output in grey.png ./grey.png link.png hard.png; do
    expect_rejected "would overwrite an input" render s.json "${options[@]}" -o $output
done
for input in s.json textured.obj textured.mtl grey.png; do
    expect_rejected "$input: the output would overwrite" render s.json "${options[@]}" -o new.png --stats $input
    expect_rejected "$input: the output would overwrite" photons s.json -q -o $input
done
expect_rejected "a.kdp: the output would" render s.json "${options[@]}" --integrator photon --photon-map a.kdp \
    -o new.png --stats a.kdp
expect_rejected "overwrite" photons merge a.kdp b.kdp -o b.kdp
expect_rejected "overwrite" photons filter a.kdp -o ./a.kdp
expect_rejected "overwrite" compare grey.png grey.png --diff grey.png
expect_rejected "overwrite" trace s.json --resolution 16x12 --pixel 1,1 --heat grey.png
expect_rejected "overwrite" bench build --models box.obj --json box.obj
expect_rejected "the same file" render s.json "${options[@]}" -o new.png -o ./new.png
expect_rejected "the same file" render s.json "${options[@]}" -o new.png --stats new.png
expect_rejected "the same file" render s.json "${options[@]}" --integrator sppm -o new.png \
    --stats new.png.state
mkdir report
cp grey.png report/disc-10.png
expect_rejected "report/disc-10.png" estimate a.kdp s.json --reference report/disc-10.png --report report \
    --estimators disc --ladder 10
# Exceptions: a device may be written to twice, and a state that is resumed is both input and
# output.
expect_exit 0 "$program" render s.json "${options[@]}" -o new.png --stats /dev/null
expect_exit 0 "$program" render s.json "${options[@]}" --save-every 100 -o kept.png
expect_exit 0 "$program" render s.json "${options[@]}" --save-every 100 -o kept.png --resume

# --- standard output: a picture, and nothing else ---
for suffix in "${formats[@]}"; do
    expect_exit 0 "$program" render box.obj "${options[@]}" -o "file.$suffix"
    expect_exit 0 "$program" render box.obj --resolution 16x12 --spp 1 -o - --format "$suffix" -o "beside.$suffix"
    mv out "out.$suffix"
    "$program" render box.obj "${options[@]}" -o - --format "$suffix" | cat >"piped.$suffix"
    for file in out beside piped; do # an .exr file also has the time
        expect_exit 0 "$program" compare "$file.$suffix" "file.$suffix" --metric max --max 0
    done
done
"$program" render box.obj --resolution 16x12 --spp 1 -o - -o beside.png >out 2>err
for text in beside.png "samples per pixel"; do expect_says err "$text"; done
expect_true "the default format is .png" cmp -s out file.png
expect_exit 0 "$program" develop file.pfm -o - # 32-bit radiance to a .png file
expect_true "develop writes a .png file to standard output" test "$(head -c 4 out | tail -c 3)" = PNG
expect_exit 0 "$program" render box.obj "${options[@]}" --integrator sppm --passes 2 -o - --format pfm
expect_true "no file is named after standard output" test "$(find . -name '-*' | wc -l)" = 0
expect_exit 2 "$program" render box.obj "${options[@]}" -o - --resume
expect_says err "--resume and --save-every need a picture that is a file"
"$program" render box.obj "${options[@]}" -o - >/dev/full 2>err
expect_true "exit code 1 if standard output cannot be written" test $? = 1
expect_says err "cannot write to standard output: No space left on device"
expect_exit 0 "$program" render box.obj "${options[@]}" --frames 1-3 -o - --format pfm
expect_true "three frames follow each other" test "$(wc -c <out)" = "$((3 * $(wc -c <file.pfm)))"

# --- reported before rendering, which would take hours here ---
expect_failure() { # WORD ARGUMENT...: expects exit code 1 at once
    local word=$1
    shift
    expect_exit 1 timeout 60 "$program" render box.obj -q --resolution 2048x2048 --spp 100000 "$@"
    expect_says err "$word"
}
mkfifo unread.png
mkdir folder.png closed
expect_failure "unread.png: cannot write: no program reads from this pipe" -o unread.png
expect_failure "unread.png: cannot write: no program" -o new.png --stats unread.png
expect_failure "folder.png: cannot write: it is a folder" -o folder.png
expect_failure "/proc/new.png: cannot write" -o /proc/new.png
expect_failure "absent/new.png: cannot write: No such file" -o absent/new.png
expect_failure "absent/stats.json: cannot write: No such file" -o new.png --stats absent/stats.json
expect_failure "/dev/full: cannot write: No space left" -o new.png --stats /dev/full
expect_failure "new.png/stats.json: cannot write: Not a directory" -o again.png --stats new.png/stats.json
if ((EUID == 0)) && command -v setpriv >/dev/null; then
    chmod 755 "$scratch" && chmod 555 closed
    expect_exit 1 timeout 60 setpriv --reuid 65534 --clear-groups "$program" render box.obj -q \
        --resolution 2048x2048 --spp 100000 -o closed/new.png
    expect_says err "closed/new.png: cannot write: Permission denied"
fi
# With any number of descriptors: either a picture, or an error before rendering.
for limit in 4 5 6 7 8 9 10 12; do
    rm -f few.png
    (ulimit -n $limit && exec timeout 60 "$program" render box.obj "${options[@]}" -o few.png) >out 2>err
    code=$?
    ((code == 0)) && [[ -s few.png ]] && continue
    ((code == 127)) && continue # too few descriptors for the system's loader
    ((code == 1 || code == 3)) && [[ ! -e few.png ]] || expect_fail "with $limit descriptors the exit code is 1 or 3 and no picture is written (exit code $code)"
    grep -q 'samples per pixel' err && expect_fail "with $limit descriptors the error is reported before rendering"
done
exec 9<>unread.png # the picture is smaller than the pipe's buffer
expect_exit 0 timeout 60 "$program" render box.obj "${options[@]}" -o unread.png
expect_true "the picture is written to a pipe that has a reader" test "$(timeout 60 head -c 4 <&9 | tail -c 3)" = PNG
exec 9>&-
mkdir to
ln -s to/made.png dangling.png
expect_exit 0 "$program" render box.obj "${options[@]}" -o dangling.png
expect_true "a dangling symbolic link remains a link" test -L dangling.png
expect_true "the target of the dangling link is created" test "$(head -c 4 to/made.png | tail -c 3)" = PNG
ln -s to/made2.png dangling2.png
expect_rejected "the same file" render box.obj "${options[@]}" -o dangling2.png -o to/made2.png
rm -r to

# --- a full disk ---
for suffix in "${formats[@]}"; do
    ln -s /dev/full "full.$suffix"
    expect_exit 1 timeout 60 "$program" render box.obj "${options[@]}" -o "full.$suffix"
    expect_says err "full.$suffix: cannot write: No space left on device"
    rm "full.$suffix"
    printf old >"limited.$suffix"
    (ulimit -f 8 && exec timeout 60 "$program" render box.obj -q --resolution 256x256 --spp 1 \
        -o "limited.$suffix" >out 2>err)
    (($? == 1)) || expect_fail "exit code 1 if the limit of file sizes is reached, $suffix"
    expect_says err "limited.$suffix: cannot write: File too large"
    expect_true "limited.$suffix is unchanged" test "$(<"limited.$suffix")" = old
done

# --- temporary files of killed programs ---
printf old >box.png.0.tmp # as kill -9 leaves them
printf old >box.png.2.tmp
expect_exit 0 "$program" render box.obj "${options[@]}"
expect_true "temporary files of a killed program are removed" test "$(find . -name '*.tmp' | wc -l)" = 0
exec 9>box.png.0.tmp
flock -x 9 # another program is writing this file
expect_exit 0 "$program" render box.obj "${options[@]}"
expect_true "the temporary file of another program is kept" test -e box.png.0.tmp
expect_true "the picture is written" test "$(head -c 4 box.png | tail -c 3)" = PNG
exec 9>&-
expect_exit 0 "$program" render box.obj "${options[@]}"
expect_true "no temporary file remains" test "$(find . -name '*.tmp' | wc -l)" = 0
expect_done
