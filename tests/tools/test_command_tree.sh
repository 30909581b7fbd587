#!/usr/bin/env bash
# `kandela tree`: the levels sum to the tree, random lines visit as many nodes as their surface
# areas predict, exports are complete.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
tree=("$program" tree gen:blob:3000 --builder sweep)
expect_exit 0 "${tree[@]}" --level-stats --export levels.json --report page
expect_says out 'leaves by triangles:'
expect_exit 0 "${tree[@]}" --export boxes.ply --max-level 3
expect_exit 0 "${tree[@]}" --export graph.dot --max-level 3
python3 - <<'P' || expect_fail 'the exported trees are complete'
import json, re
t = json.load(open('levels.json'))
levels = t['levels']
assert sum(l['nodes'] for l in levels) == t['nodes'] and levels[0]['nodes'] == 1
assert sum(l['leaves'] for l in levels) == t['leaves'] == sum(t['leaf_sizes'])
assert sum(l['references'] for l in levels) == t['references']
assert len(levels) == t['depth'] + 1
for above, below in zip(levels, levels[1:]):
    assert below['nodes'] == 2 * (above['nodes'] - above['leaves'])
cost = sum(l['inner_cost'] + l['leaf_cost'] for l in levels)
assert abs(cost / t['sah_cost'] - 1) < 1e-6, (cost, t['sah_cost'])
# geometric probability, level by level: the mean over 20,000 lines is close
assert abs(levels[0]['met'] - 1) < 1e-12
for l in levels:
    if l['expected'] > 0.5:
        assert abs(l['met'] / l['expected'] - 1) < 0.03, l
expected = sum(l['expected'] for l in levels)
assert abs(sum(l['met'] for l in levels) / expected - 1) < 0.02
assert 0 < t['nodes_read'] < expected # a ray ends at its hit, a line does not
boxes = sum(l['nodes'] for l in levels[:4])
ply = open('boxes.ply').read()
head, body = ply.split('end_header\n')
assert f'element vertex {8 * boxes}\n' in head and f'element edge {12 * boxes}\n' in head
lines = body.splitlines()
assert len(lines) == 20 * boxes
assert all(0 <= int(i) < 8 * boxes for line in lines[8 * boxes:] for i in line.split()[:2])
dot = open('graph.dot').read()
assert len(re.findall(r'^  n\d+ \[', dot, re.M)) == boxes
assert len(re.findall(r'->', dot)) == boxes - 1
P
expect_true 'the report contains the data of three pictures' cmp levels.json page/levels.json
expect_true 'the report page contains three pictures' test "$(grep -o '<figure>' page/index.html | wc -l)" = 3
expect_exit 0 python3 "$source_folder/tests/tools/check_page.py" page/index.html
expect_exit 2 "${tree[@]}" --export tree.png
expect_says err 'expected .ply, .dot or .json'
expect_exit 3 "$program" tree none.obj
expect_done
