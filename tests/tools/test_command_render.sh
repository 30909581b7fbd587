#!/usr/bin/env bash
# `kandela render`: pictures, statistics, precedence of options, rejected arguments and when they
# are rejected.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
cp "$source_folder"/tests/tools/box.{obj,mtl} .
render=("$program" render box.obj --resolution 32x24 --spp 2)

figure() { # FILE PATH: prints a value of a JSON file, such as "tree.nodes"
    python3 - "$@" <<'P'
import json, sys
value = json.load(open(sys.argv[1]))
for name in sys.argv[2].split('.'):
    value = value[name]
print(json.dumps(value))
P
}
expect_value() { # EXPECTED FILE PATH: expects this value
    local got
    got=$(figure "$2" "$3") || expect_fail "$2 has $3"
    [[ $got == "$1" ]] || expect_fail "$3 is $1 (it is $got)"
}

# Results go to stdout, messages to stderr, and no other file is written.
KANDELA_DEVICE=cpu expect_exit 0 "${render[@]}"
expect_true "the name of the picture is printed" test "$(cat out)" = box.png
expect_true "the default picture is a PNG file" test "$(head -c 4 box.png | tail -c 3)" = PNG
expect_says err "path on CPU"
expect_exit 0 "${render[@]}" -q -o a.png -o a.pfm --stats s.json
expect_empty err
expect_true "the names of both pictures are printed" test "$(cat out)" = $'a.png\na.pfm'
expect_true "no temporary file remains" test "$(find . -name '*.tmp' | wc -l)" = 0
if "$program" --version | grep -q 'OpenEXR *[0-9]'; then
    expect_exit 0 "${render[@]}" -q -o a.exr
    expect_exit 0 "$program" compare a.exr a.pfm --metric max --max 0
fi

# The statistics contain every name that other programs read.
for name in schema device hash_kind outcome peak_bytes rays seconds.{load,build,hash,film,emit,photon_tree,surface,develop,save} \
    seconds.{render,write,total} scene.{triangles,materials,lights,light_nodes} tree.{builder,nodes,leaves} \
    tree.{references_per_triangle,depth,sah_cost,hash} photons.{emitted,stored,hash} \
    energy_watts.{emitted,absorbed,escaped,ended} image.{hash,mean_radiance}; do
    figure s.json "$name" >/dev/null || expect_fail "the statistics contain $name"
done
expect_value 1 s.json schema
expect_value '"xxh3-64"' s.json hash_kind
expect_value 20 s.json scene.triangles
expect_value 4 s.json scene.materials
expect_value 2 s.json image.samples
python3 -c "import json; s = json.load(open('s.json')); t = s['seconds']
assert 0 < t['render'] <= t['total'] and t['total'] >= sum(v for k, v in t.items() if k != 'total')
assert all(len(h) == 16 and int(h, 16) for h in (s['tree']['hash'], s['image']['hash']))
assert len(s['image']['mean_radiance']) == 3 and min(s['image']['mean_radiance']) > 0
assert s['rays'] >= 32 * 24 * 2 and s['peak_bytes'] > 1e6" || expect_fail "the statistics are plausible"

# The summary's seconds include all stages, above all the emission of photons.
expect_exit 0 "$program" render box.obj --resolution 4x4 --spp 1 --integrator photon --photons 300000 --stats p.json -o p.pfm
python3 -c "import json, re; t = json.load(open('p.json'))['seconds']
seconds = float(re.search(r' M rays in ([0-9.]+) s$', open('err').read(), re.M)[1])
assert t['emit'] + t['render'] + t['photon_tree'] - 0.01 <= seconds <= t['total'] + 0.01, (seconds, t)" ||
    expect_fail "the seconds of the summary are those of all stages"

# A seed gives the same bits for any number of threads; another seed gives other bits.
for threads in 1 3; do
    "${render[@]}" -q --threads $threads --stats "t$threads.json" >/dev/null
    expect_value "$(figure s.json image.hash)" "t$threads.json" image.hash
    expect_value $threads "t$threads.json" threads
done
"${render[@]}" -q --seed 5 --stats other.json >/dev/null
expect_true "another seed gives another picture" test "$(figure s.json image.hash)" != "$(figure other.json image.hash)"

# The command line overrides the environment, which overrides the default.
KANDELA_NUM_THREADS=2 "${render[@]}" -q --stats t.json >/dev/null
expect_value 2 t.json threads
KANDELA_NUM_THREADS=2 "${render[@]}" -q --threads 1 --stats t.json >/dev/null
expect_value 1 t.json threads
KANDELA_DEVICE=abacus expect_exit 5 "${render[@]}"
KANDELA_DEVICE=abacus expect_exit 0 "${render[@]}" --device cpu

# Both override the scene file, which overrides the default.
cat >scene.json <<'J'
{"kandela": 1,
 "meshes": [{"box": {"lo": [-1, -1, -1], "hi": [1, 1, 1]}, "inward": true,
             "material": {"diffuse": 0.5, "emission": 1}}],
 "camera": {"eye": [0.3, 0.1, 0.4], "look_at": [-1, -0.2, -1], "fov": 70},
 "render": {"integrator": "direct", "resolution": [16, 12], "spp": 3, "threads": 1,
            "device": "cuda:99", "seed": 7}}
J
described=("$program" render scene.json -q --stats t.json)
expect_exit 5 env -u KANDELA_DEVICE "${described[@]}"
KANDELA_DEVICE=cpu expect_exit 0 "${described[@]}"
expect_true "the default name of the picture is that of the scene" test "$(cat out)" = scene.png
expect_value '"direct"' t.json options.integrator
expect_value 3 t.json image.samples
expect_value 16 t.json image.width
expect_value 1 t.json threads
expect_value 7 t.json options.seed
KANDELA_DEVICE=cuda:98 KANDELA_NUM_THREADS=2 expect_exit 0 "${described[@]}" --device cpu \
    --spp 5 --integrator path --resolution 8x9
expect_value '"path"' t.json options.integrator
expect_value 5 t.json image.samples
expect_value 9 t.json image.height
expect_value 2 t.json threads
KANDELA_NUM_THREADS=2 expect_exit 0 "${described[@]}" --device cpu --threads 3
expect_value 3 t.json threads
expect_exit 0 "${described[@]}" --device cpu --spp 64 --integrator path
python3 -c "import json; mean = json.load(open('t.json'))['image']['mean_radiance']
assert all(abs(m - 2) < 0.1 for m in mean), mean" || expect_fail "a furnace of albedo 0.5 has the radiance 2 Le"

# Blender's MTL does not mark glass as such; it is read as glass if the command line requests it.
printf '%s\n' "# Blender 5.0.1 MTL File: ''" "newmtl g" "Kd 1 1 1" "Ks .5 .5 .5" "Ns 1000" "Ni 1.45" \
    "d 1" "illum 2" >g.mtl
printf '%s\n' "mtllib g.mtl" "v 0 0 0" "v 1 0 0" "v 0 1 0" "v 0 0 1" "usemtl g" "f 1 3 2" "f 1 2 4" \
    "f 2 3 4" "f 3 1 4" >g.obj
glassy=("$program" render g.obj --device cpu --resolution 16x16 --spp 4 --stats t.json)
expect_exit 0 "${glassy[@]}"
expect_says err "g.mtl:2: found a shiny material with Ni 1.45"
opaque=$(figure t.json image.hash)
expect_exit 0 "${glassy[@]}" --glass-by-ni
expect_true "the glass material changes the picture" test "$(figure t.json image.hash)" != "$opaque"

# The command line selects one of the cameras of a glTF file.
python3 - >eyes.gltf <<'EOF'
import base64, json, struct
corners = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0)
print(json.dumps({
    "asset": {"version": "2.0"}, "scenes": [{"nodes": [0, 1, 2]}],
    "nodes": [{"mesh": 0}, {"name": "near", "camera": 0, "translation": [0, 0, 3]},
              {"name": "far", "camera": 0, "translation": [0, 0, 30]}],
    "cameras": [{"type": "perspective", "perspective": {"yfov": 0.8, "znear": 0.1}}],
    "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
    "buffers": [{"byteLength": 36, "uri":
                 "data:application/octet-stream;base64," + base64.b64encode(corners).decode()}],
    "bufferViews": [{"buffer": 0, "byteLength": 36}],
    "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}]}))
EOF
eyes=("$program" render eyes.gltf --device cpu --resolution 16x16 --spp 4 --stats t.json)
expect_exit 0 "${eyes[@]}"
near=$(figure t.json image.hash)
expect_exit 0 "${eyes[@]}" --camera near
expect_value "$near" t.json image.hash
expect_exit 0 "${eyes[@]}" --camera far
expect_true "another camera gives another picture" test "$(figure t.json image.hash)" != "$near"
expect_exit 2 "${eyes[@]}" --camera none
expect_says err "0 (near), 1 (far)"

# The camera of the command line is used; crops equal parts of the whole picture.
"${render[@]}" -q --eye 0,0,9 --look-at 0,0,0 --up 0,1,0 --fov 20 -o far.pfm >/dev/null
"${render[@]}" -q --eye 0,0,90 --look-at 0,0,0 --fov 2 -o farther.pfm >/dev/null
expect_exit 6 "$program" compare far.pfm a.pfm --max 0.001
expect_exit 6 "$program" compare far.pfm farther.pfm --max 0.001
expect_exit 0 "${render[@]}" --crop 8,4,24,20 -o crop.pfm
expect_true "the cropped picture has the size of the crop" test "$(sed -n 2p crop.pfm | head -1)" = "16 16"
expect_exit 0 "${render[@]}" --exposure 2 --tonemap aces -o bright.png
expect_exit 6 "$program" compare bright.png a.png --max 0.01

# An automatic exposure is reported. A mesh file rendered to PNG gets one by default; radiance files
# get none.
expect_exit 0 "${render[@]}" --exposure auto -o auto.png
expect_says err "automatic exposure: "
cp auto.png chosen.png
stops=$(sed -n 's/.*automatic exposure: \([-+0-9.]*\) stops.*/\1/p' err)
expect_exit 0 "${render[@]}" --exposure "$stops" -o auto.png
expect_exit 0 "$program" compare auto.png chosen.png --metric max --max 0.02
expect_exit 0 "${render[@]}" -o auto.png
expect_says err "automatic exposure: "
expect_exit 0 "${render[@]}" -o a.pfm
expect_true "no automatic exposure is reported for a radiance file" test "$(grep -c "automatic exposure" err)" = 0

# Builder and costs reach the tree.
"${render[@]}" -q --builder median --stats m.json >/dev/null
expect_value '"median"' m.json tree.builder
expect_value "$(figure s.json image.hash)" m.json image.hash
"${render[@]}" -q --sah-costs 20,1 --stats c.json >/dev/null
expect_true "a high traversal cost gives a tree of fewer nodes" test "$(figure c.json tree.nodes)" -lt \
    "$(figure s.json tree.nodes)"

# A preview has fewer pixels and prints a note; options of the command line override it.
expect_exit 0 "$program" render box.obj --quick -o q.pfm --spp 1 --stats q.json
expect_says err "quick: 320x320 pixels instead of 512x512"
expect_value 320 q.json image.width
expect_value 1 q.json image.samples
# The 4 passes of sppm share the photons.
expect_exit 0 "$program" render box.obj --quick --integrator sppm --width 16 --height 16 --stats q.json -o q.pfm
expect_says err "4 passes instead of 64, 12500 photons instead of"
expect_value 4 q.json image.samples

# A time limit ends a rendering early, which is not a failure.
KANDELA_DEVICE=cpu expect_exit 0 "${render[@]}" --spp 1000000 --time 0.2 --stats time.json
expect_value '"time limit"' time.json outcome
KANDELA_DEVICE=cpu expect_exit 0 timeout 60 "${render[@]}" --integrator photon --photons 5000000 --caustic-photons 1 --spp 1 \
    --time 0.2 --stats time.json
expect_value '"time limit"' time.json outcome
expect_says err "the time limit ended emission after"
# Emission also ends under a sky over the whole scene, where caustic photons are rare, and the
# picture is written. The limit of 30 s leaves AddressSanitizer time to mark the photons' memory;
# all 600 million photons would take minutes. On a fast machine the picture needs no more photons
# before the time is over, and the rendering is complete.
cat >sky.json <<'J'
{"kandela": 1, "environment": {"radiance": [1, 1, 1.2]},
 "materials": {"coat": {"kind": "plastic", "diffuse": [0.5, 0.3, 0.1]}},
 "meshes": [{"sphere": {"centre": [0, 0, 0], "radius": 1, "triangles": 2000}, "material": "coat"},
            {"quad": [[-9, -1, 9], [9, -1, 9], [9, -1, -9], [-9, -1, -9]], "material": "coat"}],
 "render": {"resolution": [32, 24], "photons": 300000000, "caustic_photons": 300000000}}
J
for method in photon sppm; do
    KANDELA_DEVICE=cpu expect_exit 0 timeout 60 "$program" render sky.json --integrator "$method" --time 1 -o "$method.pfm" \
        --stats time.json
    expect_true "$method ends by the time limit or the needs of the picture" python3 -c \
        "import json; exit(json.load(open('time.json'))['outcome'] not in ('time limit', 'complete'))"
    expect_says err "of 300000000 photons"
    expect_true "$method ends near its time limit" python3 -c \
        "import json; s = json.load(open('time.json'))['seconds']; exit(not s['emit'] + s['photon_tree'] + s['render'] < 30)"
    expect_true "$method writes a picture" test -s "$method.pfm"
done

# A target error also ends a rendering; a viewer that cannot be reached is one line of warning.
expect_exit 0 "${render[@]}" --spp 1000000 --target-error 0.5 --stats target.json
expect_value '"target error"' target.json outcome
expect_true "the target error is reached with fewer than 1000000 samples" test "$(sed -n 's/.*"samples":[^0-9]*\([0-9]*\).*/\1/p' target.json)" -lt 1000000
expect_exit 2 "${render[@]}" --display-server nowhere:x
expect_says err "host:port"
expect_exit 0 "${render[@]}" --display-server 127.0.0.1:1
expect_true "an unreachable viewer gives one warning" test "$(grep -c "display server" err)" = 1

# Progress as JSON: each line is valid JSON.
expect_exit 0 "${render[@]}" -q --progress json
python3 -c "import json; lines = [json.loads(l) for l in open('err')]
assert {'load', 'build', 'render', 'write'} <= {l['stage'] for l in lines}
assert all(0 <= l['share'] <= 1 for l in lines)" || expect_fail "each line of progress is valid JSON"
expect_exit 0 "${render[@]}" -q --progress bar
expect_says err "render"

# The help contains the options that users look for.
"$program" render --help=all >help
for flag in -o --integrator --spp --photons --gather --radius --final-gather --max-depth \
    --resolution --crop --eye --look-at --up --fov --exposure --tonemap --seed --threads --device \
    --builder --time --quick --stats --progress -q -v --sah-costs --empty-factor --kernel; do
    grep -qE "^ .*(^| )$flag(,| |\$)" help || expect_fail "render --help lists $flag"
done

# Rejected before anything is rendered, and nothing is written.
mkdir folder.png
rm -f box.png
expect_rejected() { # CODE TEXT ARGUMENT...: expects this exit code and an error with TEXT
    local code=$1 text=$2
    shift 2
    expect_exit "$code" "$program" render "$@"
    expect_says err "$text"
    expect_empty out
    expect_true "no picture is written for: $*" test ! -e box.png
}
expect_rejected 2 "an argument is missing"
expect_rejected 2 "unexpected argument" box.obj box.obj
expect_rejected 2 "did you mean --integrator" box.obj --integrater path
expect_rejected 2 "did you mean path" box.obj --integrator pat
expect_rejected 2 "WxH" box.obj --resolution 640
expect_rejected 2 "from 1 to 65536" box.obj --resolution 0x5
expect_rejected 2 "expected" box.obj --spp 0
expect_rejected 2 "expected a whole number from 0 to 18446744073709551615" box.obj --seed 18446744073709551616
expect_rejected 2 "the name of an output file must not be empty" box.obj -o ""
expect_rejected 2 "from -64 to 64, or auto" box.obj --exposure Auto
expect_rejected 2 "from 0 to 65536" box.obj --final-gather 65537
expect_rejected 2 "X,Y,Z" box.obj --eye 1,2
expect_rejected 2 "X,Y,Z" box.obj --eye 1,2,nan
expect_rejected 2 "expected" box.obj --fov 180
expect_rejected 2 "did you mean median" box.obj --builder medain
expect_rejected 2 "expected" box.obj --empty-factor 0
expect_rejected 2 "expected" box.obj --empty-factor 1.5
expect_rejected 2 "same point" box.obj --eye 1,2,3 --look-at 1,2,3
expect_rejected 2 "must not be 0,0,0" box.obj --up 0,0,0
expect_rejected 2 ".png" box.obj -o picture.tga
expect_rejected 2 "needs its frames" box.obj -o picture.gif
expect_rejected 2 "exceeds the image" box.obj --crop 0,0,5000,5
expect_rejected 1 "nowhere/x.png" box.obj -o nowhere/x.png
expect_rejected 1 "folder" box.obj -o folder.png
expect_rejected 1 "nowhere" box.obj --stats nowhere/s.json
expect_rejected 5 "cuda:99" box.obj --device cuda:99
expect_rejected 3 "absent.obj" absent.obj
expect_exit 3 "$program" render -v absent.obj
expect_true "-v prints the call path of an error" test "$(wc -l <err)" -gt 1
printf 'v 0 0 0\nv 1 0 0\nv 0 x 0\nf 1 2 3\n' >bad.obj
expect_rejected 3 "bad.obj:3" bad.obj
echo '{"kandela":1,"meshes":[{"file":"box.obj"}],"render":{"integrator":"phton"}}' >bad.json
expect_rejected 3 'bad.json:1:54: render.integrator: found "phton"' bad.json
expect_says err 'did you mean "photon"'
sed -i 's/integrator":"phton/builder":"swep/' bad.json
expect_rejected 3 'bad.json:1:54: render.builder: found "swep"' bad.json

# If the disk is full (simulated by a limit of the file size), the old file is kept.
echo old >keep.pfm
with_file_limit() { (
    trap '' XFSZ
    ulimit -f 1
    "$@"
); }
expect_exit 1 with_file_limit "${render[@]}" -o keep.pfm
expect_says err keep.pfm
expect_empty out
expect_true "the existing file is unchanged" test "$(cat keep.pfm)" = old
expect_true "no temporary file remains" test "$(find . -name '*.tmp' | wc -l)" = 0
cp box.obj $'odd\xff.obj' # the names of files may have any encoding; JSON requires UTF-8
expect_exit 0 "$program" render $'odd\xff.obj' -q --resolution 8x8 --spp 1 -o odd.png --stats odd.json
expect_says odd.json '"odd?.obj"'
expect_done
