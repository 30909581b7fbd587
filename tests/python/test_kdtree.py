"""`KDTree` against SciPy and exact distances: one state, ids, norms, scalar types and wrong values."""

import copy
import pickle

import numpy as np
import pytest
import scipy.spatial

import kandela
from kandela import KDTree

DRAW = np.random.default_rng(8)


@pytest.mark.parametrize("copy_data", [False, True])
@pytest.mark.parametrize("boxsize", [None, 1.0])
@pytest.mark.parametrize("dims", [1, 3])
def test_all_calls_answer_for_the_points_that_were_given(dims, boxsize, copy_data):
    given, x = DRAW.random((400, dims)), DRAW.random((20, dims))
    points, expected = given.copy(), scipy.spatial.cKDTree(given.copy(), boxsize=boxsize)
    tree = KDTree(points, copy_data=copy_data, boxsize=boxsize)
    points += 50
    np.testing.assert_array_equal(tree.data, given)
    for p in (1, 2, 3, np.inf):
        for one, other in zip(tree.query(x, 4, p=p), expected.query(x, 4, p=p)):
            np.testing.assert_allclose(one, other, rtol=1e-14)
        balls = tree.query_ball_point(x, 0.2, p=p)
        assert balls.tolist() == [sorted(row) for row in expected.query_ball_point(x, 0.2, p=p)]
        assert tree.query_pairs(0.1, p=p) == expected.query_pairs(0.1, p=p)
        assert tree.count_neighbors(tree, 0.1, p=p) == expected.count_neighbors(expected, 0.1, p=p)
    for again in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
        np.testing.assert_array_equal(again.data, given)
        np.testing.assert_array_equal(again.query(x, 3, p=1)[0], tree.query(x, 3, p=1)[0])
    with pytest.raises(ValueError):
        tree.data[0] = 1


@pytest.mark.parametrize("points", ["uniform", "lattice", "clusters"])
@pytest.mark.parametrize("p", [1, 2, np.inf])
@pytest.mark.parametrize("boxsize", [None, 1.0, [1.0, 0.0, 2.0]])
@pytest.mark.parametrize("r", [0.05, 0.45])
def test_rows_pairs_and_counts_equal_brute_force(r, boxsize, p, points):
    x = {"uniform": DRAW.random((300, 3)), "lattice": DRAW.integers(0, 10, (300, 3)) / 10,
         "clusters": (DRAW.integers(0, 2, (300, 3)) + 1e-5 * DRAW.random((300, 3))) % 1}[points]
    d = abs(x[:, None] - x)
    if boxsize is not None:
        sides = np.broadcast_to(boxsize, 3)
        d = np.where(sides > 0, np.minimum(d, abs(sides - d)), d)
    if p == 2:
        d = d * d
    d = d.max(-1) if p == np.inf else d[..., 0] + d[..., 1] + d[..., 2]
    tree, near = KDTree(x, boxsize=boxsize), d <= (r * r if p == 2 else r)
    order = np.lexsort((np.broadcast_to(np.arange(300), d.shape), d))  # ties by the index
    d = np.sqrt(d) if p == 2 else d
    found, ids = tree.query(x, 40, p=p)
    np.testing.assert_array_equal(found, np.take_along_axis(d, order, 1)[:, :40])
    np.testing.assert_array_equal(ids, order[:, :40])
    assert tree.query_ball_point(x, r, p=p).tolist() == [np.flatnonzero(row).tolist() for row in near]
    np.testing.assert_array_equal(tree.query_ball_point(x, r, p=p, return_length=True), near.sum(1))
    assert tree.query_pairs(r, p=p) == {(i, j) for i, j in np.argwhere(near) if i < j}
    pairs = tree.query_pairs(r, p=p, output_type="ndarray")
    assert pairs.dtype == np.intp and len(pairs) == np.triu(near, 1).sum()
    radii = np.concatenate([[-1, 0], DRAW.random(9)])
    np.testing.assert_array_equal(tree.count_neighbors(tree, radii, p=p), [(d <= one).sum() for one in radii])
    weights = DRAW.random(300)
    np.testing.assert_allclose(tree.count_neighbors(tree, radii, p=p, weights=weights),
                               [weights @ (d <= one) @ weights for one in radii], rtol=1e-12)
    matrix = tree.sparse_distance_matrix(tree, r, p=p, output_type="coo_matrix").toarray()
    np.testing.assert_array_equal(matrix, np.where(near, d, 0))


@pytest.mark.parametrize("dims", [1, 3, 7, 12])
def test_one_query_a_call_equals_a_batch(dims):
    x, queries = DRAW.random((500, dims)), DRAW.random((50, dims))
    tree = KDTree(x)
    found, ids = tree.query(queries)
    balls, nearest = tree.query_ball_point(queries, 0.3), [tree.query(one) for one in queries]
    assert [one[0] for one in nearest] == found.tolist() and [one[1] for one in nearest] == ids.tolist()
    assert [tree.query_ball_point(one, 0.3, return_sorted=True) for one in queries] == balls.tolist()
    assert [sorted(tree.query_ball_point(one, 0.3)) for one in queries] == balls.tolist()
    assert tree.query(queries[0], distance_upper_bound=1e-9) == (np.inf, 500)
    assert type(tree.query(x[7])[0]) is np.float64 and tree.query(x[7]) == (0, 7)
    assert tree.query_ball_point(x[7], -1.0) == [] and tree.query_ball_point(x[7], 0.0) == [7]
    for wrong in (np.full(dims, np.nan), np.full(dims, np.inf), np.zeros(dims + 1)):
        with pytest.raises(ValueError):
            tree.query(wrong)
        with pytest.raises(ValueError):
            tree.query_ball_point(wrong, 0.1)
    assert tree.query_ball_point(np.full(dims, 1e200), 1.0) == []
    assert tree.query(np.zeros(dims, np.float32))[0] == tree.query(np.zeros(dims))[0]
    assert tree.query(queries.T.copy().T[0])[0] == found[0]


def test_ids_mean_the_same_in_every_call():
    x, ids = DRAW.random((60, 2)), DRAW.permutation(1000)[:60]
    tree, plain = KDTree(x, ids=ids), KDTree(x)
    np.testing.assert_array_equal(tree.query(x, 3)[1], ids[plain.query(x, 3)[1]])
    np.testing.assert_array_equal(tree.query(x, 3, p=1)[1], ids[plain.query(x, 3, p=1)[1]])
    assert tree.query(x[0])[1] == ids[0] and (tree.query(x, 61)[1][:, 60] == -1).all()
    assert tree.query_ball_point(x, 0.2).tolist() == [sorted(ids[row].tolist())
                                                      for row in plain.query_ball_point(x, 0.2)]
    assert tree.query_ball_tree(tree, 0.2) == tree.query_ball_point(x, 0.2).tolist()
    assert tree.query_pairs(0.2) == {tuple(sorted((ids[i], ids[j]))) for i, j in plain.query_pairs(0.2)}
    np.testing.assert_array_equal(tree.query_radius(x, 0.2)[1], ids[plain.query_radius(x, 0.2)[1]])
    matrix = tree.sparse_distance_matrix(tree, 0.2, output_type="coo_matrix").toarray()
    np.testing.assert_array_equal(matrix[np.ix_(ids, ids)],
                                  plain.sparse_distance_matrix(plain, 0.2, output_type="coo_matrix").toarray())
    np.testing.assert_array_equal(tree.indices, ids[plain.indices])
    for again in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
        np.testing.assert_array_equal(again.query(x, 3)[1], tree.query(x, 3)[1])


@pytest.mark.parametrize("offset", [0, 1e7, 2.46e6, 1.7e9, -5.4e6])
def test_far_from_the_origin(offset):
    x = DRAW.random((3000, 3)) + [offset, 0, offset]
    q = x[::30] + [1e-3, 1e-4, 0]
    for p in (1, 2, np.inf):
        for one, other in zip(KDTree(x).query(q, 5, p=p), scipy.spatial.cKDTree(x).query(q, 5, p=p)):
            np.testing.assert_allclose(one, other, rtol=1e-13)


@pytest.mark.parametrize("dims", [1, 2, 3, 6])
def test_clusters_far_from_each_other(dims):
    x = DRAW.random((4000, dims)) + 10.0**DRAW.integers(0, 12, (4000, 1)) * DRAW.choice([-1, 1], (4000, 1))
    q = np.concatenate([x[::40] + 1e-3, DRAW.normal(size=(20, dims)), x[::200] * 1.5])
    tree = kandela.Points(x, device="cpu")
    for k in (1, 5, 20):
        for one, other in zip(tree.nearest(q, k, method="leaves"), tree.nearest(q, k, method="walk")):
            np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(KDTree(x).query(q, 5)[0], scipy.spatial.cKDTree(x).query(q, 5)[0])


def test_float32_points_answer_float64_queries_in_float64():
    x = (DRAW.random((5000, 3)) * [1000, 1000, 100] + [5e5, 5.4e6, 300]).astype(np.float32)
    q = DRAW.random((300, 3)) * [1000, 1000, 100] + [5e5, 5.4e6, 300]
    tree, expected = KDTree(x), scipy.spatial.cKDTree(x.astype(np.float64))
    for one, other in zip(tree.query(q, 3), expected.query(q, 3)):
        np.testing.assert_array_equal(one, other)
    assert tree.query_ball_point(q, 20.0).tolist() == [sorted(row) for row in expected.query_ball_point(q, 20.0)]
    other = KDTree(q)
    assert other.query_ball_tree(tree, 20.0) == [
        sorted(row) for row in scipy.spatial.cKDTree(q).query_ball_tree(expected, 20.0)]
    assert tree.query(q.astype(np.float32))[0].dtype == np.float32
    assert tree.query(q)[0].dtype == tree.query(q.tolist())[0].dtype == np.float64


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e-20, 1.0, 1e170, 1e300])
@pytest.mark.parametrize("p", [1, 1.5, 2, 20, 500, np.inf])
def test_norms_neither_overflow_nor_underflow(p, scale):
    x, q = DRAW.random((200, 3)), DRAW.random((10, 3))
    apart = np.abs(x * scale - (q * scale)[:, None]) / scale
    most = apart.max(2)
    exact = most if np.isinf(p) else most * ((apart / most[:, :, None])**p).sum(2)**(1 / p)
    tree = KDTree(x * scale)
    np.testing.assert_allclose(tree.query(q * scale, 5, p=p)[0] / scale, np.sort(exact, 1)[:, :5], rtol=1e-12)
    np.testing.assert_array_equal(tree.query_ball_point(q * scale, 0.5 * scale, p=p, return_length=True),
                                  (exact <= 0.5).sum(1))


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e25])
def test_float32_squares_neither_overflow_nor_underflow(scale):
    x, q = (DRAW.random((200, 3)) * scale).astype(np.float32), (DRAW.random((9, 3)) * scale).astype(np.float32)
    exact = np.linalg.norm((x.astype(np.float64) - q[:, None]) / scale, axis=2) * scale
    np.testing.assert_allclose(KDTree(x).query(q, 3)[0], np.sort(exact, 1)[:, :3], rtol=1e-6)


X = DRAW.random((30, 3))


@pytest.mark.parametrize("call, words", [
    (lambda: KDTree(X, boxsize=np.inf), "`boxsize` is inf"),
    (lambda: KDTree(X, boxsize=[1, np.nan, 0]), "`boxsize` is nan along axis 1"),
    (lambda: KDTree(X, boxsize=-1), "`boxsize` is -1"),
    (lambda: KDTree(X, boxsize=[1, 1]), "`boxsize` has the shape"),
    (lambda: KDTree(X, ids=np.arange(30) - 1), "`ids` has values from -1 to 28"),
    (lambda: KDTree(X, ids=np.arange(30) + 2**32 - 30), "`ids` has values"),
    (lambda: KDTree(X, ids=np.arange(3)), "`ids` has the shape"),
    (lambda: KDTree(X, ids=np.arange(30) + 0.5), "`ids` is an array of float64"),
    (lambda: kandela.Points(X, ids=np.arange(30) - 1), "`ids` has values"),
    (lambda: kandela.Points(X).remove([-1]), "`ids` has values"),
    (lambda: kandela.Points(X).nearest(X, -1), "`k` is -1"),
    (lambda: KDTree(X).query(X, k=-1), "`k` has the value -1"),
    (lambda: KDTree(X).query(X, k=[2, 0]), "`k` has the value 0"),
    (lambda: KDTree(X).query(X, k=2**70), "`k` is 1180591620717411303424"),
    (lambda: KDTree(X).query(X, p="2"), "`p` is '2'"),
    (lambda: KDTree(X).query_ball_point(X, None), "`r` is None"),
    (lambda: KDTree(X).query([["a", "b", "c"]]), "`x` is an array of <U1"),
    (lambda: KDTree([["a"]]), "`data` is not an array of real numbers"),
    (lambda: KDTree(X, boxsize="a"), "`boxsize` is not an array of real numbers"),
    (lambda: kandela.TriangleMesh(X, [[0, 1, 2, 3], [4, 5, 6]]), "rows of `faces` differ"),
    (lambda: kandela.pinhole_rays(2, 2, intrinsic=np.zeros((3, 3))), "`intrinsic` is not invertible"),
    (lambda: KDTree(X).query(X, workers=0), "`workers` is 0"),
    (lambda: KDTree(X).query_ball_point(X, 1, workers=-2), "`workers` is -2"),
    (lambda: KDTree(X).query(X, p=0.5), "`p` is 0.5"),
    (lambda: KDTree(X).query_ball_point(X, np.nan), "`r` must not be NaN"),
    (lambda: KDTree(X).query_ball_point(X, [1, 2]), "`r` has the shape"),
    (lambda: KDTree(X).query_ball_point(X, 1, eps=-1), "`eps` is -1"),
    (lambda: KDTree(X).count_neighbors(KDTree(X), 1, weights=[1, 2]), "`weights` has the shape"),
    (lambda: KDTree(X).count_neighbors(KDTree(X), np.nan), "`r` must not be NaN"),
    (lambda: KDTree(X).sparse_distance_matrix(KDTree(X), np.nan), "`max_distance` must not be NaN"),
    (lambda: KDTree(X).query_ball_tree(KDTree(X[:, :2]), 1), "`other` has 2 dimensions"),
    (lambda: KDTree(X).query_pairs(1, output_type="x"), "`output_type` is 'x'"),
    (lambda: KDTree(X, leafsize=0), "`leafsize` is 0"),
    (lambda: kandela.Points(X).within(X, -1.0), "`radius` is -1"),
    (lambda: kandela.Points(X).within(X, np.full(30, -1.0)), "`radius` has the value -1"),
    (lambda: kandela.knn_graph(X, -1), "`k` is -1"),
    (lambda: kandela.radius_graph(X, np.nan), "`r` is nan"),
    (lambda: kandela.radius_graph(X, 1, max_neighbors=-1), "`max_neighbors` is -1"),
    (lambda: kandela.mean_dist2(X, 0), "`k` is 0"),
    (lambda: kandela.dbscan(X, -1), "`eps` is -1"),
    (lambda: kandela.dbscan(X, 1, 0), "`min_samples` is 0"),
    (lambda: kandela.normals(X, toward=[1, 2]), "`toward` has the shape"),
    (lambda: kandela.farthest_points(X, 3, start=-1), "`start` is -1"),
    (lambda: kandela.icp(X, X, iterations=0), "`iterations` is 0"),
    (lambda: kandela.TriangleMesh(X).intersect(X[:, :2], X), "`origins` has the shape"),
    (lambda: kandela.TriangleMesh(X).intersect(X[:3], X[:4]), "`origins` has 3 rows"),
    (lambda: kandela.TriangleMesh(X).intersect(X, X, tmin=[1, 2]), "`tmin` has the shape"),
    (lambda: kandela.TriangleMesh(X).sample(-1), "`count` is -1"),
])
def test_wrong_values_are_refused_by_name(call, words):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert words in str(caught.value)


def test_columns_of_larger_arrays_are_points_of_one_dimension():
    x = np.arange(20.0)
    np.testing.assert_array_equal(kandela.Points(x[:, None]).nearest(x[3:5, None], 1)[0][:, 0], [3, 4])


def test_rows_as_sparse_matrices():
    x, ids = DRAW.random((80, 3)), DRAW.permutation(200)[:80]
    tree, queries = KDTree(x), DRAW.random((30, 3))
    d = np.sqrt(((queries[:, None] - x) ** 2).sum(-1))
    near = d <= 0.4
    matrix = tree.query_radius(queries, 0.4, output_type="distance")
    assert matrix.format == "csr" and matrix.shape == (30, 80)
    np.testing.assert_allclose(matrix.toarray(), np.where(near, d, 0), rtol=1e-14)
    np.testing.assert_array_equal(tree.query_radius(queries, 0.4, output_type="connectivity").toarray(), near)
    assert tree.query_radius(x, 0.0, output_type="distance").nnz == 80  # distances of 0 are entries
    named = KDTree(x, ids=ids).query_radius(queries, 0.4, output_type="connectivity").toarray()
    np.testing.assert_array_equal(named[:, ids], near)
    with pytest.raises(ValueError, match="`output_type`"):
        tree.query_radius(x, 1.0, output_type="dense")


def test_saved_and_pickled_trees_answer_the_same(tmp_path):
    x, q = DRAW.random((100, 3)), DRAW.random((9, 3))
    tree = KDTree(x, ids=np.arange(100) * 2 + 5)
    tree.save(tmp_path / "tree")
    again = KDTree.load(tmp_path / "tree")
    np.testing.assert_array_equal(again.query(q, 3)[1], tree.query(q, 3)[1])
    np.testing.assert_array_equal(again.data, x)
    KDTree(x).save(tmp_path / "tree")
    assert KDTree.load(tmp_path / "tree", boxsize=1).query_pairs(0.1) == KDTree(x, boxsize=1).query_pairs(0.1)
    changed = kandela.Points(x)
    changed.insert(x[:5] + 1)
    changed.remove([3, 50])
    for one in (changed, kandela.Points(np.zeros((9, 3)), ids=np.arange(9)[::-1])):
        for other in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
            assert len(other) == len(one)
            np.testing.assert_array_equal(other.nearest(q, 9)[0], one.nearest(q, 9)[0])


@pytest.mark.parametrize("kind", ["uniform", "lattice", "equal", "far", "tiny", "one"])
@pytest.mark.parametrize("dims", [9, 64])
@pytest.mark.parametrize("scalar", [np.float32, np.float64])
def test_many_dimensions_equal_brute_force(scalar, dims, kind):
    x, q = DRAW.random((150, dims)), DRAW.random((20, dims))
    if kind == "lattice":
        x, q = np.round(x), np.round(q)
    scale = 1e-15 if kind == "tiny" else 1
    x, q = (x[:1], q) if kind == "one" else (np.repeat(x[:1], 90, 0), q) if kind == "equal" else (x, q)
    x, q = ((one * scale + (1e7 if kind == "far" else 0)).astype(scalar) for one in (x, q))
    wide = np.zeros((len(x), dims + 3), scalar)
    wide[:, :dims] = x
    tree, d = KDTree(wide[:, :dims]), q[:, None].astype(scalar) - x
    for p in (2, 1, np.inf):
        parts, sums = d * d if p == 2 else abs(d), np.zeros(d.shape[:2], scalar)
        for axis in range(dims):  # in the order of the definition
            sums = np.maximum(sums, parts[..., axis]) if p == np.inf else sums + parts[..., axis]
        order = np.argsort(sums, axis=1, kind="stable")
        with np.errstate(over="ignore"):
            lengths = np.sqrt(sums) if p == 2 else sums
        k = min(30, len(x))
        found, ids = tree.query(q, k, p=p)
        np.testing.assert_array_equal(found.reshape(20, k), np.take_along_axis(lengths, order, 1)[:, :k])
        np.testing.assert_array_equal(ids.reshape(20, k), order[:, :k])
        r = float(np.median(lengths))
        near = sums <= np.square(scalar(r)) if p == 2 else sums <= scalar(r)
        assert tree.query_ball_point(q, r, p=p, eps=0).tolist() == [np.flatnonzero(row).tolist() for row in near]
        np.testing.assert_array_equal(tree.query_ball_point(q, r, p=p, return_length=True), near.sum(1))
        np.testing.assert_array_equal(kandela.KDTree(q).count_neighbors(tree, [r, 2 * r], p=p),
                                      [(lengths <= r).sum(), (lengths <= 2 * r).sum()])
    for again in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
        np.testing.assert_array_equal(again.data, x)
    assert tree.query(q[0])[1] == tree.query(q)[1][0]


def test_many_dimensions_against_scipy():
    x, q = DRAW.random((400, 11)), DRAW.random((20, 11))
    mine, other = KDTree(x), scipy.spatial.cKDTree(x)
    np.testing.assert_allclose(mine.query(q, [1, 3], p=3)[0], other.query(q, [1, 3], p=3)[0], rtol=1e-13)
    assert mine.query_pairs(0.6) == other.query_pairs(0.6)
    assert mine.query_ball_point(q, 0.7, p=3).tolist() == [sorted(row) for row in other.query_ball_point(q, 0.7, p=3)]
    many = DRAW.random((2000, 11))  # few queries, on several threads
    np.testing.assert_array_equal(KDTree(many).query(q[:2], 5)[1], scipy.spatial.cKDTree(many).query(q[:2], 5)[1])
    for wrong, message in ((x[:, :0], "0 dimensions"), (np.where(x == x[3, 9], np.nan, x), "finite"),
                           (np.where(x == x[3, 9], np.inf, x), "finite")):
        with pytest.raises(ValueError, match=message):
            KDTree(wrong)
    with pytest.raises(ValueError, match="`boxsize`"):
        KDTree(x, boxsize=1)
    np.testing.assert_array_equal(KDTree((x * 9).astype(int)).data, (x * 9).astype(int))
    with pytest.raises(kandela.UsageError, match="8 dimensions"):
        kandela.Points(x).insert(x)
    with pytest.raises(ValueError, match="finite"):
        mine.query(np.full((1, 11), np.nan))
