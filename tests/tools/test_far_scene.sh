#!/usr/bin/env bash
# Scenes far from (0, 0, 0): pictures equal those at the origin bit for bit, and everything that
# leaves the program is in the coordinates of the scene's files.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

# A room with a lamp, whose coordinates are exact in binary, at the origin and far from it.
python3 - <<'P'
def room(name, place):
    def at(*v):
        return [repr(float(a + b)) for a, b in zip(v, place)]
    lo, hi = (-1, -1, -1), (1, 1.25, 1.5)
    corners = [at(*((hi if i >> k & 1 else lo)[k] for k in range(3))) for i in range(8)]
    faces = [(0, 2, 6, 4), (1, 5, 7, 3), (0, 4, 5, 1), (2, 3, 7, 6), (0, 1, 3, 2)]
    with open(name + '.obj', 'w') as file:
        for c in corners:
            file.write('v ' + ' '.join(c) + '\n')
        for f in faces:
            file.write('f ' + ' '.join(str(i + 1) for i in f) + '\n')
    with open(name + '.json', 'w') as file:
        text = lambda v: '[' + ','.join(v) + ']'
        file.write('{"kandela":1,"camera":{"eye":%s,"look_at":%s},"meshes":[{"file":"%s.obj","material":{"diffuse":0.6}},'
                   '{"sphere":{"centre":%s,"radius":0.5,"triangles":200},"material":{"kind":"glass"}}],'
                   '"lights":[{"kind":"point","position":%s,"power":20}]}'
                   % (text(at(0.125, 0, 4)), text(at(0, 0.0625, 0)), name, text(at(0, -0.25, 0)), text(at(0.5, 1, 0.5))))
room('near', (0, 0, 0))
room('far', (524288, 4194304, -1048576))
P

for method in path photon sppm; do
    render=("$program" render --integrator "$method" --resolution 24x24 --spp 2 --passes 2 --photons 2000)
    expect_exit 0 "${render[@]}" near.json -o near.pfm --stats near.stats
    expect_silent_about() { ! grep -q "relative to" err; }
    expect_true "$method: nothing is said of a scene at the origin" expect_silent_about
    expect_exit 0 "${render[@]}" far.json -o far.pfm --stats far.stats
    expect_says err "far from (0, 0, 0); it is computed relative to (524288, 4194304, -1048576)"
    expect_true "$method: the line comes once" test "$(grep -c "relative to" err)" = 1
    expect_true "$method: the pictures are equal" cmp near.pfm far.pfm
done
expect_true "--stats has the origin" python3 -c "
import json
assert json.load(open('near.stats'))['scene']['origin'] == [0, 0, 0]
assert json.load(open('far.stats'))['scene']['origin'] == [524288, 4194304, -1048576]"

# The camera of the command line, with digits that a float cannot hold.
view=("$program" render --resolution 24x24 --spp 2)
expect_exit 0 "${view[@]}" near.json --eye 0.3125,0.1875,3 --look-at 0,0.0625,0 -o near.pfm
expect_exit 0 "${view[@]}" far.json --eye 524288.3125,4194304.1875,-1048573 --look-at 524288,4194304.0625,-1048576 -o far.pfm
expect_true "--eye and --look-at are in the file's coordinates" cmp near.pfm far.pfm

# Photon files: positions are local in the file, and printed in the file's coordinates.
photons=("$program" photons)
expect_exit 0 "${photons[@]}" near.json --photons 500 -o near.kdp
expect_exit 0 "${photons[@]}" far.json --photons 500 -o far.kdp
expect_exit 0 "${photons[@]}" info far.kdp
expect_says out "origin 524288,4194304,-1048576"
expect_exit 0 "${photons[@]}" dump near.kdp
mv out near.csv
expect_exit 0 "${photons[@]}" dump far.kdp
mv out far.csv
expect_true "the dumped photons are far, with all digits" python3 -c "
import csv
near, far = (list(csv.DictReader(open(name))) for name in ('near.csv', 'far.csv'))
assert len(near) == len(far) > 300
for a, b in zip(near, far):
    for axis, place in zip('xyz', (524288, 4194304, -1048576)):
        assert abs(float(b[axis]) - place - float(a[axis])) < 1e-7, (a, b)"
render=("$program" render far.json --integrator photon --resolution 16x16 --spp 1 --photons 500)
expect_exit 0 "${render[@]}" -o traced.pfm
expect_exit 0 "${render[@]}" --photon-map far.kdp -o read.pfm
expect_true "a picture from the photon file equals the rendering" cmp traced.pfm read.pfm
expect_exit 3 "$program" render near.json --integrator photon --photon-map far.kdp -o read.pfm
expect_says err "belongs to another scene"
expect_exit 0 "${photons[@]}" merge far.kdp -o merged.kdp
expect_exit 0 "${photons[@]}" info merged.kdp
expect_says out "origin 524288,4194304,-1048576"

# Exported boxes and the trace of a ray.
expect_exit 0 "$program" tree far.json --export far.ply --max-level 2
expect_true "the boxes are in the file's coordinates" grep -q "^524287 4194303 -1048577 " far.ply
expect_exit 0 "$program" trace far.json --pixel 256,300 --json
expect_true "the hit is in the file's coordinates" python3 -c "
import json
hit = json.load(open('out'))['hit']['position']
assert all(abs(a - b) < 2 for a, b in zip(hit, (524288, 4194304, -1048576))), hit"
expect_done
