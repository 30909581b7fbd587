#!/usr/bin/env bash
# `kandela trace`: the counts along a pixel's ray, leaf by leaf; heat maps; rejected arguments.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
cp "$source_folder"/tests/tools/box.{obj,mtl} .

trace=("$program" trace gen:blob:2000 --resolution 48x32)
expect_exit 0 "${trace[@]}" --pixel 24,16
expect_says out "pixel 24,16 of 48x32: "
expect_says out "hit: triangle "
expect_exit 0 "${trace[@]}" --pixel 0,0
expect_says out "hit: nothing"

# The counts of the leaves sum to the total, and the pixel reported as the worst has that many
# nodes.
expect_exit 0 "${trace[@]}" --pixel 24,16 --json
python3 - >worst <<'P' || expect_fail "the leaves contain all references"
import json
r = json.load(open('out'))
v = r['visited']
assert r['pixel'] == [24, 16] and r['resolution'] == [48, 32]
assert r['leaves'] == len(v) > 0 and r['triangles'] == sum(leaf['triangles'] for leaf in v) > 0
assert r['empty_leaves'] == sum(leaf['triangles'] == 0 for leaf in v)
assert r['nodes'] >= r['leaves'] + max(leaf['depth'] for leaf in v)
assert len({leaf['node'] for leaf in v}) == len(v)
assert all(a['from'] <= b['from'] for a, b in zip(v, v[1:]))
assert sum(leaf['hit'] for leaf in v) >= 1 and r['hit']['t'] > 0
assert all(abs(p - o - r['hit']['t'] * d) < 1e-4
           for p, o, d in zip(r['hit']['position'], r['origin'], r['direction']))
p = r['picture']
assert 1 <= p['mean_nodes'] <= p['most_nodes'] >= r['nodes']
print('%d,%d %d' % (*p['most_nodes_pixel'], p['most_nodes']))
P
read -r pixel most <worst
expect_exit 0 "${trace[@]}" --pixel "$pixel" --json
python3 -c "import json; assert json.load(open('out'))['nodes'] == $most" ||
    expect_fail "pixel $pixel of the heat map visits $most nodes"

# Other trees: other paths through them, but the same hit.
for builder in sweep median; do
    expect_exit 0 "${trace[@]}" --pixel 24,16 --json --builder $builder
    python3 -c "import json; r = json.load(open('out')); print(r['hit'], file=open('hit.$builder', 'w'))
assert r['tree']['builder'] == '$builder'" || expect_fail "$builder builds the tree"
done
expect_true "the hit is the same for every builder" cmp -s hit.sweep hit.median

if "$program" --version | grep -q 'OpenEXR *[0-9]'; then
    expect_exit 0 "$program" trace box.obj --resolution 16x12 --pixel 3,4 --heat heat.exr
    expect_true "the heat map has a channel of nodes" grep -qa KD.nodes heat.exr
    expect_true "the heat map has a channel of triangles" grep -qa KD.triangles heat.exr
fi
expect_exit 0 "$program" trace box.obj --resolution 16x12 --pixel 3,4 --heat heat.png
expect_exit 0 "$program" trace box.obj --resolution 16x12 --pixel 3,4 --report page
expect_true 'the report page contains the picture' grep -q 'data:image/png;base64' page/index.html
expect_exit 0 python3 "$source_folder/tests/tools/check_page.py" page/index.html
most=$(python3 -c "import json; print(json.load(open('page/figure-heat.json'))['most'])")
expect_true 'the scale of the heat map ends at the most nodes' grep -q "nodes read by the ray of each pixel.*<span>$most</span></div>" page/index.html
expect_true 'the picture of the report is the heat map' cmp -s heat.png page/figure-heat.png
expect_true "the heat map is a PNG file" "$program" compare heat.png heat.png

expect_exit 2 "${trace[@]}"
expect_says err "set --pixel X,Y"
expect_exit 2 "${trace[@]}" --pixel 48,0
expect_says err "pixel 48,0 is outside the image of 48x32"
expect_exit 2 "${trace[@]}" --pixel 4
expect_exit 2 "${trace[@]}" --pixel 1,1 --heat heat.txt
expect_exit 3 "$program" trace absent.obj --pixel 0,0
if "$program" info | grep -q '^  binned  *cuda'; then # a builder for devices only, which trace cannot use
    expect_exit 5 "$program" trace box.obj --builder binned --pixel 0,0
    expect_says err 'triangle tree builder "binned" needs a CUDA device'
    expect_exit 5 "$program" render box.obj --builder binned --device cpu
    expect_says err 'triangle tree builder "binned" needs a CUDA device'
fi
expect_done
