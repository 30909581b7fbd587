"""Arrays of PyTorch, CuPy and JAX, on the CPU and on a CUDA device, give the same results as NumPy's,
as arrays of the same framework. Tests are skipped if the framework or a device is missing."""

import importlib

import numpy as np
import pytest

import kandela
import kandela.arrays


def _torch(device):
    torch = pytest.importorskip("torch")
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    return lambda x: torch.as_tensor(x).to(device)


def _cupy():
    cupy = pytest.importorskip("cupy")
    try:
        cupy.zeros(1)
    except Exception as why:
        pytest.skip(f"cupy: {why}")
    return cupy.asarray


def _jax():
    return pytest.importorskip("jax.numpy").asarray


FRAMEWORKS = {"torch": lambda: _torch("cpu"), "torch on CUDA": lambda: _torch("cuda"), "cupy": _cupy,
              "jax": _jax}


@pytest.fixture(params=FRAMEWORKS)
def to(request):
    return FRAMEWORKS[request.param]()


def host(x):
    return np.asarray(x.get() if hasattr(x, "get") else x.cpu() if hasattr(x, "cpu") else x)


def same_device(a, b):
    assert type(a) is type(b)
    assert not hasattr(a, "device") or a.device == b.device


def where(x):
    there = kandela.arrays.framework(x).on_device(x)
    return "auto" if there else "cpu"


DRAW = np.random.default_rng(5)
X = DRAW.random((3000, 3), np.float32)
Q = DRAW.random((200, 3), np.float32)


@pytest.mark.parametrize("scalar", [np.float32, np.float64])
def test_points(to, scalar):
    x, q = to(X.astype(scalar)), to(Q.astype(scalar))
    if str(x.dtype).split(".")[-1] != np.dtype(scalar).name:
        pytest.skip("JAX without 64 bits")
    tree = kandela.Points(x, device=where(x))
    plain = kandela.Points(X.astype(scalar), device="cpu")
    ids, dist2 = tree.nearest(q, 8)
    expected = plain.nearest(Q.astype(scalar), 8)
    same_device(ids, q)
    same_device(dist2, q)
    np.testing.assert_array_equal(host(ids), expected[0])
    np.testing.assert_array_equal(host(dist2), expected[1])  # bit for bit
    rows, wanted = tree.within(q, 0.1), plain.within(Q.astype(scalar), 0.1)
    for mine, theirs in zip(rows, wanted):
        same_device(mine, q)
        np.testing.assert_array_equal(host(mine), theirs)
    np.testing.assert_array_equal(host(tree.count_within(q, 0.1)), np.diff(wanted[0].astype(int)))
    few = kandela.Points(x[:2], device=where(x)).nearest(q, 3)
    assert np.isinf(host(few[1])[:, 2]).all()
    assert (host(few[0])[:, 2].astype(np.int64) == (-1 if "torch" in str(type(q)) else 0xFFFFFFFF)).all()


def test_out_arguments(to):
    torch = type(to(Q)).__module__ == "torch"
    if not torch and type(to(Q)).__module__.partition(".")[0] != "cupy":
        pytest.skip("JAX lets nobody write into its arrays")
    x, q = to(X), to(Q)
    tree = kandela.Points(x, device=where(x))
    out = to(np.zeros((200, 4), np.int32)), to(np.zeros((200, 4), np.float32))
    assert tree.nearest(q, 4, out=out)[0] is out[0]
    np.testing.assert_array_equal(host(out[0]), kandela.Points(X, device="cpu").nearest(Q, 4)[0])


@pytest.mark.parametrize("options", [{}, {"p": 1}, {"distance_upper_bound": 0.05}, {"k": [1, 3]}, {"k": 1}])
def test_kdtree(to, options):
    options = {"k": 5, **options}
    x, q = to(X), to(Q)
    tree, plain = kandela.KDTree(x, device=where(x)), kandela.KDTree(X, device="cpu")
    found, ids = tree.query(q, **options)
    wanted, numbers = plain.query(Q, **options)
    same_device(found, q)
    same_device(ids, q)
    np.testing.assert_allclose(host(found), wanted, rtol=1e-6)
    np.testing.assert_array_equal(host(ids), numbers)
    np.testing.assert_array_equal(tree.data, X)
    np.testing.assert_array_equal(tree.mins, plain.mins)
    one = tree.query(to(Q[0]), **options)
    np.testing.assert_array_equal(host(one[1]), plain.query(Q[0], **options)[1])
    assert tree.query_ball_point(Q[0], 0.1) == plain.query_ball_point(Q[0], 0.1)
    with pytest.raises(ValueError, match="finite"):
        tree.query(to(np.full((1, 3), np.nan, np.float32)))


def blob():
    draw = np.random.default_rng(0)
    v = draw.normal(size=(400, 3)).astype(np.float32)
    return v, draw.integers(0, 400, (600, 3)).astype(np.int32)


def test_triangles(to):
    v, f = blob()
    o, d = Q * 4 - 2, (DRAW.random((200, 3), np.float32) - 0.5)
    there = kandela.TriangleMesh(to(v), to(f), device=where(to(v)))
    here = kandela.TriangleMesh(v, f, device="cpu")
    hits, wanted = there.intersect(to(o), to(d)), here.intersect(o, d)
    assert 20 < wanted.hit.sum() < 200
    for mine, theirs in zip(hits, wanted):
        same_device(mine, to(o))
        np.testing.assert_array_equal(host(mine).astype(theirs.dtype), theirs)
    np.testing.assert_array_equal(host(hits.hit), wanted.hit)
    np.testing.assert_array_equal(host(there.occluded(to(o), to(d))), wanted.hit)
    near, expected = there.closest_point(to(o)), here.closest_point(o)
    for mine, theirs in zip(near, expected):
        same_device(mine, to(o))
        np.testing.assert_array_equal(host(mine).astype(theirs.dtype), theirs)
    np.testing.assert_array_equal(there.faces, f)
    np.testing.assert_array_equal(there.vertices, v)


def test_kdtree_in_float64(to):
    """float64 queries of float32 points, and ids."""
    x, q = to(X), to(Q.astype(np.float64) + 1e-9)
    if "float64" not in str(q.dtype):
        pytest.skip("JAX without 64 bits")
    tree = kandela.KDTree(x, device=where(x), ids=np.arange(3000) + 9)
    found, ids = tree.query(q, 3)
    wanted, numbers = kandela.KDTree(X.astype(np.float64), device="cpu").query(host(q), 3)
    same_device(found, q)
    np.testing.assert_array_equal(host(found), wanted)
    np.testing.assert_array_equal(host(ids), numbers + 9)


def test_secondary_rays_and_sides(to):
    v, f = blob()
    o, d = Q * 4 - 2, (DRAW.random((200, 3), np.float32) - 0.5)
    there, here = kandela.TriangleMesh(to(v), to(f), device=where(to(v))), kandela.TriangleMesh(v, f, device="cpu")
    hits, wanted = there.intersect(to(o), to(d)), here.intersect(o, d)
    again, expected = (mesh.intersect(a, b, ignore=h.triangle)
                       for mesh, a, b, h in ((there, to(o), to(d), hits), (here, o, d, wanted)))
    for mine, theirs in zip(again, expected):
        same_device(mine, to(o))
        np.testing.assert_array_equal(host(mine).astype(theirs.dtype), theirs)
    for mine, theirs in zip(there.hit_points(hits, to(d)), here.hit_points(wanted, d)):
        same_device(mine, to(o))
        np.testing.assert_allclose(host(mine), theirs, rtol=1e-6)
    np.testing.assert_array_equal(host(there.contains(to(o))), here.contains(o))
    np.testing.assert_array_equal(host(there.winding_number(to(o))).astype(np.float32),
                                  here.winding_number(o).astype(np.float32))


def test_scenes_of_rays(to):
    v, f = blob()
    device = where(to(v))
    o, d = Q * 4 - 2, (DRAW.random((200, 3), np.float32) - 0.5)
    moves = np.eye(4)[None].repeat(5, 0)
    moves[:, :3, 3] = DRAW.random((5, 3)) * 3 - 1.5
    scenes = []
    for mesh in (kandela.TriangleMesh(to(v), to(f), device=device), kandela.TriangleMesh(v, f, device="cpu")):
        scenes.append(kandela.RayScene(worlds=2))
        scenes[-1].add_instances(scenes[-1].add_geometry(mesh), moves, mask=[1, 2, 3, 1, 2], world=[0, 1, 0, 1, 0])
        scenes[-1].commit()
    there, here = scenes
    mask, world = np.arange(200, dtype=np.int32) % 4, np.arange(200, dtype=np.int32) % 2

    def expect(mine, theirs):
        same_device(mine, to(o))
        np.testing.assert_array_equal(host(mine).astype(theirs.dtype), theirs)

    for m, w in ((mask, world), (3, 1)):
        given, wanted = {"mask": m, "world": w}, {"mask": m, "world": w}
        if np.ndim(m):
            given = {"mask": to(m), "world": to(w)}
        hits, expected = there.intersect(to(o), to(d), **given), here.intersect(o, d, **wanted)
        for mine, theirs in zip(hits, expected):
            expect(mine, theirs)
        for mine, theirs in zip(there.intersect(to(o), to(d), ignore=hits, **given),
                                here.intersect(o, d, ignore=expected, **wanted)):
            expect(mine, theirs)
        expect(there.occluded(to(o), to(d), **given), here.occluded(o, d, **wanted))
        expect(there.count_hits(to(o), to(d), **given), here.count_hits(o, d, **wanted))
        rows, others = there.all_hits(to(o), to(d), **given), here.all_hits(o, d, **wanted)
        np.testing.assert_array_equal(rows.offsets, others.offsets)
        for mine, theirs in zip(rows.hits, others.hits):
            expect(mine, theirs)
        for mine, theirs in zip(there.closest_point(to(o).reshape(20, 10, 3), mask=3), here.closest_point(o.reshape(20, 10, 3), mask=3)):
            expect(mine, theirs)
    np.testing.assert_allclose(host(there.positions(hits)), here.positions(expected), rtol=1e-6)
    np.testing.assert_allclose(host(there.interpolate(hits, to(v))), here.interpolate(expected, v), rtol=1e-6)


def test_meshes_far_away(to):
    v, f = blob()
    far = v.astype(np.float64) + [5e5, 5.4e6, 0]
    if "float64" not in str(to(far).dtype):
        pytest.skip("JAX without 64 bits")
    there, here = kandela.TriangleMesh(to(far), to(f), device=where(to(v))), kandela.TriangleMesh(far, f, device="cpu")
    np.testing.assert_array_equal(there.vertices, here.vertices)
    o, d = Q * 4 - 2 + [5e5, 5.4e6, 0], DRAW.random((200, 3)) - 0.5
    np.testing.assert_array_equal(host(there.intersect(to(o), to(d)).t), here.intersect(o, d).t)
    near, expected = there.closest_point(to(o)), here.closest_point(o)
    np.testing.assert_array_equal(host(near.point), expected.point)
    np.testing.assert_array_equal(host(there.signed_distance(to(o))), here.signed_distance(o))


def test_torch_stream_is_synchronised():
    to = _torch("cuda")
    torch = importlib.import_module("torch")
    x = to(DRAW.random((200_000, 3), np.float32))
    expected = kandela.Points(x * 2).nearest(x + 1, 4)[1].cpu()
    busy = to(np.ones((4096, 4096), np.float32))
    for stream in (torch.cuda.Stream(), torch.cuda.Stream()):
        with torch.cuda.stream(stream):
            for _ in range(20):
                busy = busy @ busy * 1e-4  # a long computation, so the tree must wait for it
            tree = kandela.Points(x * 2 + busy[0, 0] * 0)
            for _ in range(20):
                busy = busy @ busy * 1e-4
            found = tree.nearest(x + 1 + busy[0, 0] * 0, 4)[1]
        assert torch.equal(found.cpu(), expected)
    found = tree.nearest(x + 1, 4, stream=torch.cuda.current_stream())[1]
    assert torch.equal(found.cpu(), expected)


def test_no_device_memory_leaks():
    to = _torch("cuda")
    torch = importlib.import_module("torch")
    x = to(X)

    def ask():
        tree = kandela.Points(x)
        tree.nearest(x, 8)
        mesh = kandela.TriangleMesh(x, to(np.arange(3000, dtype=np.int32).reshape(-1, 3)))
        mesh.intersect(x, x)
        mesh.closest_point(x)

    for _ in range(50):
        ask()
    free = torch.cuda.mem_get_info()[0]
    for _ in range(500):
        ask()
    assert free - torch.cuda.mem_get_info()[0] < 64 << 20


def test_clouds(to):
    """Neighbours are found on the device that holds the points; the results stay there and equal
    NumPy's on the CPU, bit for bit."""
    x, sheet = to(X), to(np.hstack([X[:, :2], 0.01 * X[:, 2:]]))
    turned = to(np.ascontiguousarray(X @ np.array([[0.999, 0.02, 0], [-0.02, 0.999, 0], [0, 0, 1]], np.float32)))
    asks = {"normals": lambda c: kandela.normals(c(sheet), 12), "dbscan": lambda c: kandela.dbscan(c(x), 0.04, 4),
            "farthest": lambda c: kandela.farthest_points(c(x), 50), "voxels": lambda c: kandela.voxel_downsample(c(x), 0.1),
            "knn": lambda c: kandela.knn_graph(c(x), 6), "radius": lambda c: kandela.radius_graph(c(x), 0.05),
            "batch": lambda c: kandela.knn_graph(c(x), 4, c(to(np.arange(3000) // 1000))),
            "mean_dist2": lambda c: kandela.mean_dist2(c(x))}
    for name, ask in asks.items():
        mine, wanted = ask(lambda a: a), ask(host)
        same_device(mine, x)
        np.testing.assert_array_equal(host(mine), wanted, err_msg=name)
    for plane in (False, True):
        mine, wanted = (kandela.icp(c(turned), c(x), plane=plane, iterations=5) for c in (lambda a: a, host))
        for a, b in zip(mine, wanted):
            np.testing.assert_array_equal(a, b)
