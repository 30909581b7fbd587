"""Neighbours against brute force; array types, error messages, threads and forked processes."""

import gc
import os
import pickle
import resource
import threading

import numpy as np
import pytest

import kandela


def brute(data, x, k):
    difference = x[:, None].astype(np.float64) - data[None]
    dist2 = (difference * difference).sum(2)
    order = np.argsort(dist2, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(dist2, order, 1)


@pytest.mark.parametrize("scalar", [np.float32, np.float64])
@pytest.mark.parametrize("dims", range(2, 9))
def test_nearest_is_brute_force(scalar, dims):
    draw = np.random.default_rng(dims)
    data, x = draw.random((500, dims)).astype(scalar), draw.random((50, dims)).astype(scalar)
    tree = kandela.Points(data)
    ids, dist2 = tree.nearest(x, 7)
    expected, expected2 = brute(data, x, 7)
    assert ids.dtype == np.uint32 and dist2.dtype == scalar
    np.testing.assert_allclose(dist2, expected2, rtol=1e-5 if scalar == np.float32 else 1e-13)
    assert (ids == expected).mean() > 0.99  # except for ties that rounding resolves differently
    offsets, within, found = tree.within(x, 0.4)
    np.testing.assert_array_equal(np.diff(offsets.astype(int)),
                                  [(row <= 0.16).sum() for row in brute(data, x, 500)[1]])
    assert (found <= 0.16 + 1e-6).all() and len(within) == offsets[-1]
    np.testing.assert_array_equal(tree.count_within(x, 0.4), np.diff(offsets.astype(int)))


@pytest.mark.parametrize("data", [
    np.empty((0, 3)), np.zeros((1, 3)), np.zeros((100, 3)),
    np.repeat(np.arange(64.0)[:, None], 3, 1), np.arange(63 * 3.0).reshape(63, 3) * 1e-30,
    np.arange(64 * 3.0).reshape(64, 3) * 1e30
])
def test_odd_sets(data):
    tree = kandela.Points(data)
    x = np.ones((3, 3))
    ids, dist2 = tree.nearest(x, 2)
    there = min(2, len(data))
    expected2 = brute(data, x, there)[1] if len(data) else np.empty((3, 0))
    np.testing.assert_array_equal(dist2[:, :there], expected2)
    assert (ids[:, there:] == kandela.NO_POINT).all() and np.isinf(dist2[:, there:]).all()


def test_what_is_given_is_not_copied_or_changed():
    data = np.random.default_rng(0).random((1000, 3), np.float32)
    wide = np.zeros((1000, 5), np.float32)
    wide[:, :3] = data
    tree, strided = kandela.Points(data), kandela.Points(wide[:, :3])
    out = np.empty((1000, 4), np.uint32), np.empty((1000, 4), np.float32)
    ids, dist2 = tree.nearest(data, 4, out=out)
    assert ids is out[0] and dist2 is out[1]
    np.testing.assert_array_equal(strided.nearest(data, 4)[0], ids)
    assert tree.describe()["hash"] == strided.describe()["hash"]


@pytest.mark.parametrize("kind, call", [
    (TypeError, lambda tree: tree.nearest(np.zeros((1, 3), np.float32), 1)),
    (TypeError, lambda tree: tree.nearest([[0.0, 0.0, 0.0]], 1)),
    (ValueError, lambda tree: tree.nearest(np.zeros((1, 2)), 1)),
    (ValueError, lambda tree: tree.nearest(np.zeros((4, 4, 3)), 1)),
    (ValueError, lambda tree: tree.nearest(np.asfortranarray(np.zeros((4, 3))), 1)),
    (ValueError, lambda tree: tree.nearest(np.zeros((4, 3)), 0)),
    (ValueError, lambda tree: tree.nearest(np.zeros((4, 3)), 2, out=(np.zeros((3, 2), np.uint32),
                                                                    np.zeros((4, 2))))),
    (kandela.InputError, lambda tree: kandela.Points(np.array([[0.0, np.nan, 0.0]]))),
    (kandela.UsageError, lambda tree: kandela.Points(np.zeros((1, 3)), builder="none")),
    (kandela.KandelaError, lambda tree: kandela.Points(np.zeros((1, 3)), device="cuda:99")),
    (kandela.KandelaError, lambda tree: kandela.Points.load("no/such/file")),
])
def test_what_makes_no_sense_is_refused_with_words(kind, call):
    with pytest.raises(kind) as caught:
        call(kandela.Points(np.zeros((5, 3))))
    assert str(caught.value)


def test_radii_are_those_of_the_points():
    from kandela import _c

    tree, query = kandela.Points(np.zeros((5, 3))), _c.kd_points_query_default()
    query.points = np.zeros((4, 3))
    query.radii = np.full(4, 0.5)
    query.points = np.ones((100000, 3))
    offsets = np.empty(100001, np.uint64)
    _c.kd_points_within_count(tree._c, query, offsets)
    assert query.radii is None and offsets[-1] == 500000


def test_all_points_ask():
    from kandela import _c

    data = np.random.default_rng(4).random((300, 3)).astype(np.float32)
    tree, query = kandela.Points(data), _c.kd_points_query_default()
    ids, dist2 = np.empty((300, 4), np.uint32), np.empty((300, 4), np.float32)
    _c.kd_points_self_nearest(tree._c, query, 4, None, ids, dist2)
    expected, expected2 = tree.nearest(data, 4)
    np.testing.assert_array_equal(ids, expected)
    np.testing.assert_array_equal(dist2, expected2)
    query.skip_self = True
    order = np.empty(300, np.uint32)
    own = np.empty((300, 3), np.uint32)
    _c.kd_points_self_nearest(tree._c, query, 3, order, own, None)
    np.testing.assert_array_equal(own, expected[order, 1:])
    query.max_radius = 0.2
    offsets = np.empty(301, np.uint64)
    _c.kd_points_self_within_count(tree._c, query, None, offsets)
    found = np.empty(int(offsets[-1]), np.uint32)
    _c.kd_points_self_within(tree._c, query, None, offsets, found, None)
    np.testing.assert_array_equal(np.diff(offsets.astype(int)), tree.count_within(data, 0.2) - 1)


def test_norms_periods_and_boxes():
    from kandela import _c

    draw = np.random.default_rng(5)
    data, x = draw.random((400, 3)), draw.random((20, 3))
    tree, query = kandela.Points(data), _c.kd_points_query_default()
    query.points = x
    apart = np.abs(x[:, None] - data[None])
    ids, dist = np.empty(20, np.uint32), np.empty(20)
    for norm, expected in ((1, apart.sum(2)), (np.inf, apart.max(2))):
        query.norm = norm
        _c.kd_points_closest(tree._c, query, ids, dist)
        np.testing.assert_array_equal(ids, expected.argmin(1))
        np.testing.assert_allclose(dist, expected.min(1))
    query.period = [1, 0, 1]
    wrapped = apart.copy()
    wrapped[:, :, ::2] = np.minimum(apart[:, :, ::2], 1 - apart[:, :, ::2])
    _c.kd_points_closest(tree._c, query, ids, dist)
    np.testing.assert_array_equal(ids, wrapped.max(2).argmin(1))
    assert query.period[:3] == [1, 0, 1]
    lo, hi = _c.kd_point_array_make(x - 0.2), _c.kd_point_array_make(x + 0.2)
    offsets = np.empty(21, np.uint64)
    _c.kd_points_in_box_count(tree._c, lo, hi, offsets)
    found = np.empty(int(offsets[-1]), np.uint32)
    _c.kd_points_in_box(tree._c, lo, hi, offsets, found)
    for i in range(20):
        inside = np.flatnonzero((np.abs(data - x[i]) <= 0.2).all(1))
        np.testing.assert_array_equal(found[int(offsets[i]):int(offsets[i + 1])], inside)


def test_files_updates_and_levels(tmp_path):
    data = np.random.default_rng(2).random((321, 4))
    tree = kandela.Points(data, ids=np.arange(321, dtype=np.uint32) + 1000)
    tree.save(tmp_path / "tree")
    loaded = kandela.Points.load(tmp_path / "tree")
    np.testing.assert_array_equal(loaded.nearest(data, 3)[0], tree.nearest(data, 3)[0])
    assert tree.nearest(data, 1)[0].min() == 1000
    x, ids, axes = tree.level_order()
    np.testing.assert_array_equal(x, data[ids - 1000])
    tree.update(data[:10].astype(np.float32)[:, :2].copy())
    assert len(tree) == 10 and tree.m == 2 and tree.dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_points_come_and_go(dtype):
    random = np.random.default_rng(12)
    x = random.random((500, 3)).astype(dtype)
    tree, there = kandela.Points(x, device="cpu"), np.arange(500)
    for _ in range(20):
        more = random.random((random.integers(1, 60), 3)).astype(dtype)
        assert tree.insert(more) == len(x)
        there = np.append(there, np.arange(len(x), len(x) + len(more)))
        x = np.concatenate([x, more])
        gone = random.choice(there, random.integers(0, 50), replace=False)
        tree.remove(gone)
        there = np.setdiff1d(there, gone)
        assert len(tree) == len(there)
        queries = random.random((40, 3)).astype(dtype)
        ids, dist2 = tree.nearest(queries, 5)
        expected = kandela.Points(x[there], device="cpu").nearest(queries, 5)
        np.testing.assert_array_equal(ids, there[expected[0]])
        np.testing.assert_array_equal(dist2, expected[1])
    with pytest.raises(ValueError, match="no point has the id 4000000000"):
        tree.remove([4000000000])
    tree.rebuild()
    assert tree.describe()["layers"] == 1


@pytest.mark.parametrize("spread", ["parts", "copies", "auto"])
def test_several_devices_answer_as_one(spread):
    data = np.random.default_rng(4).random((2000, 3), np.float32)
    data[1000:] = data[:1000]
    one, many = kandela.Points(data, device="cpu"), kandela.Points(data, device="cpu,cpu,cpu", spread=spread)
    for expected, got in zip(one.nearest(data[:50], 6), many.nearest(data[:50], 6)):
        np.testing.assert_array_equal(expected, got)
    info = many.describe()
    assert info["parts"] == 3 and info["copies"] == (spread != "parts") and info["hash"] == one.describe()["hash"]
    with pytest.raises(ValueError):
        kandela.Points(data, device="cpu,cpu", spread="thin")


def test_arrays_one_behind_the_other():
    from kandela import _c

    data = np.random.default_rng(5).random((300, 4))
    options = _c.kd_points_options_default()
    options.device, options.first_id = "cpu,cpu", 2**40
    tree = _c.kd_points_open_arrays([_c.kd_point_array_make(data[:100]), _c.kd_point_array_make(data[100:])], options)
    query = _c.kd_points_query_default()
    query.points = data[::7]
    ids = np.empty((43, 1), np.uint64)
    _c.kd_points_nearest64(tree, query, 1, ids, None, None)
    np.testing.assert_array_equal(ids[:, 0], 2**40 + np.arange(300)[::7])


def test_a_forked_child_works():
    tree = kandela.Points(np.random.default_rng(3).random((20000, 3)))
    tree.nearest(np.zeros((5000, 3)), 4)  # starts the worker threads
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if tree.nearest(np.zeros((5000, 3)), 4)[0].shape == (5000, 4) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_other_threads_run_meanwhile():
    tree = kandela.Points(np.random.default_rng(4).random((100000, 3)))
    x, counted, stop = np.random.default_rng(5).random((100000, 3)), [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1

    other = threading.Thread(target=count)
    other.start()
    before = counted[0]
    tree.nearest(x, 16)
    after = counted[0]
    stop.set()
    other.join()
    assert after > before


def test_nothing_is_lost():
    data, x = np.random.default_rng(6).random((100, 3)), np.zeros((1, 3))

    def some(times):
        for _ in range(times):
            kandela.Points(data).nearest(x, 3)
        gc.collect()

    some(2000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    some(8000)
    # KiB; leaking one point tree per call would take 8000 x 4 KiB
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4000


def test_every_function_of_the_headers_is_there():
    from pathlib import Path
    import re

    from kandela import _c

    include = Path(__file__).parents[2] / "include" / "kandela"
    names = set()
    for header in ("points.h", "triangles.h", "ray_scenes.h", "render.h", "photons.h", "machine.h"):
        names |= {"kd_version"} | set(re.findall(r"\b(kd_(?!last)[a-z0-9_]+)\(", (include / header).read_text()))
    # Python passes arrays instead of kd_points_rows, to functions such as kd_points_nearest, and of kd_ray_instance
    names -= {name for name in names if re.match("kd_points_(search|rows|download_nodes)|kd_ray_instance_make|kd_scene_make$", name)}
    assert len(names) > 45
    assert sorted(name for name in names if not hasattr(_c, name)) == []


@pytest.mark.parametrize("name", ["tree", "innernode", "leafnode"])
def test_scipys_nodes_are_refused_by_name(name):
    with pytest.raises(AttributeError, match=f"node objects \\('{name}'\\).*level_order"):
        getattr(kandela.KDTree(np.eye(3)), name)
    assert not hasattr(kandela.KDTree(np.eye(3)), "nonsense")


def test_kdtree_extras():
    data = np.random.default_rng(7).random((200, 3))
    tree = kandela.KDTree(data, ids=np.arange(200) + 7)
    again = pickle.loads(pickle.dumps(tree))
    for one, other in zip(tree.query(data, 4), again.query(data, 4)):
        np.testing.assert_array_equal(one, other)
    r = np.linspace(0.05, 0.3, 200)
    offsets, ids, dist = tree.query_radius(data, r)
    for i in range(0, 200, 17):
        row = np.linalg.norm(data - data[i], axis=1)
        np.testing.assert_array_equal(np.sort(ids[offsets[i]:offsets[i + 1]]),
                                      np.flatnonzero(row <= r[i]) + 7)
        assert (np.diff(dist[offsets[i]:offsets[i + 1]]) >= 0).all()
    assert tree.query(data.astype(np.float32), 2)[0].dtype == np.float64


def test_visited_are_those_within():
    draw = np.random.default_rng(5)
    data, x = draw.random((3000, 3), np.float32), draw.random((700, 3), np.float32)
    tree, heard = kandela.Points(data, device="cpu"), [[] for _ in x]
    tree.visit(x, 0.1, lambda row, id, dist2, bound: heard[row].append((dist2, id)))
    offsets, ids, dist2 = tree.within(x, 0.1)
    for row, (begin, end) in enumerate(zip(offsets[:-1].astype(int), offsets[1:].astype(int))):
        assert sorted(heard[row]) == list(zip(dist2[begin:end].tolist(), ids[begin:end].tolist()))


def test_a_visitor_wants_less():
    draw = np.random.default_rng(6)
    data, x = draw.random((2000, 2)), draw.random((50, 2))
    tree, nearest, calls = kandela.Points(data, device="cpu"), {}, []

    def closest(row, id, dist2, bound):
        calls.append(id)
        nearest[row] = min(nearest.get(row, (np.inf, 0)), (dist2, id))
        return nearest[row][0]

    tree.visit(x, np.inf, closest)
    np.testing.assert_array_equal([nearest[row][1] for row in range(50)], tree.nearest(x, 1)[0][:, 0])
    assert len(calls) < 50 * 100
    once = []
    tree.visit(x, np.inf, lambda row, *_: once.append(row) or -1)
    assert sorted(once) == list(range(50))


def test_what_a_visitor_raises():
    tree = kandela.Points(np.random.default_rng(7).random((5000, 3)), device="cpu")
    calls = []

    def fails(row, id, dist2, bound):
        calls.append(row)
        raise KeyError("not this one")

    with pytest.raises(KeyError, match="not this one"):
        tree.visit(np.zeros((3000, 3)), np.inf, fails)
    assert len(calls) == 1
    with pytest.raises(RuntimeError):
        tree.visit(np.zeros((1, 3)), 1.0, lambda *_: "a word")
    with pytest.raises(kandela.UsageError):
        tree.visit(np.zeros((1, 3)), 1.0, None)
