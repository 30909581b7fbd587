"""Rays against a loop over all triangles; graphs and point-cloud functions against their
definitions."""

import doctest
import importlib
import pickle

import numpy as np
import pytest

import kandela


def sphere(rings=24):
    theta, phi = np.meshgrid(np.linspace(0, np.pi, rings + 1),
                             np.linspace(0, 2 * np.pi, 2 * rings, endpoint=False), indexing="ij")
    x = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], 2)
    faces = []
    for i in range(rings):
        for j in range(2 * rings):
            a, b = i * 2 * rings + j, i * 2 * rings + (j + 1) % (2 * rings)
            faces += [[a, a + 2 * rings, b + 2 * rings], [a, b + 2 * rings, b]]
    return x.reshape(-1, 3), np.array(faces)


def test_rays_match_brute_force():
    v, f = sphere(8)
    draw = np.random.default_rng(0)
    origins, directions = 3 * draw.normal(size=(200, 3)), draw.normal(size=(200, 3))
    directions[::2] = -origins[::2] + 0.3 * directions[::2]
    hits = kandela.TriangleMesh(v, f).intersect(origins, directions)
    a, b, c = (v[f[:, k]] for k in range(3))
    for i in range(200):
        p = np.cross(directions[i], c - a)
        with np.errstate(all="ignore"):
            inverse = 1 / ((b - a) * p).sum(1)
            s = origins[i] - a
            u, q = (s * p).sum(1) * inverse, np.cross(s, b - a)
            w, t = (q @ directions[i]) * inverse, ((c - a) * q).sum(1) * inverse
        met = (u >= 0) & (w >= 0) & (u + w <= 1) & (t > 0)
        assert met.any() == hits.hit[i] or np.abs(np.stack([u, w, 1 - u - w])).min() < 1e-5
        if met.any() and hits.hit[i]:
            assert abs(t[met].min() - hits.t[i]) < 1e-4
    np.testing.assert_array_equal(kandela.TriangleMesh(v, f).occluded(origins, directions),
                                  hits.hit)


def test_inside_and_area():
    v, f = sphere(24)
    mesh = kandela.TriangleMesh(v, f)
    draw = np.random.default_rng(1)
    x = draw.uniform(-1.3, 1.3, (2000, 3))
    radius = np.linalg.norm(x, axis=1)
    sure = np.abs(radius - 1) > 0.02
    np.testing.assert_array_equal(mesh.contains(x)[sure], (radius < 1)[sure])
    places, faces = mesh.sample(5000)
    assert faces.max() < len(f) and np.abs(np.linalg.norm(places, axis=1) - 1).max() < 0.02
    assert np.abs(places.mean(0)).max() < 0.05


def torus(major=48, minor=24):
    p, q = np.meshgrid(np.linspace(0, 2 * np.pi, major, endpoint=False),
                       np.linspace(0, 2 * np.pi, minor, endpoint=False), indexing="ij")
    r = 1 + 0.4 * np.cos(q)
    at = (np.arange(major)[:, None] * minor + np.arange(minor)).astype(int)
    right, up = np.roll(at, -1, 0), np.roll(at, -1, 1)
    faces = np.concatenate([np.stack([at, right, np.roll(right, -1, 1)], 2).reshape(-1, 3),
                            np.stack([at, np.roll(right, -1, 1), up], 2).reshape(-1, 3)])
    return np.stack([r * np.cos(p), r * np.sin(p), 0.4 * np.sin(q)], 2).reshape(-1, 3), faces


def brute_force_distance(corner, p):
    """Distance to a triangle: the minimum over its edges and its plane, one after the other."""
    a, b, c = corner
    places = [x + np.clip((p - x) @ (y - x) / ((y - x) @ (y - x)), 0, 1) * (y - x)
              for x, y in ((a, b), (b, c), (c, a))]
    n = np.cross(b - a, c - a)
    foot = p - (p - a) @ n / (n @ n) * n
    if all(np.cross(y - x, foot - x) @ n >= 0 for x, y in ((a, b), (b, c), (c, a))):
        places.append(foot)
    return min(np.linalg.norm(p - q) for q in places)


def test_nearest_triangles_match_brute_force():
    v, f = torus(12, 8)
    v = v.astype(np.float32)
    mesh, x = kandela.TriangleMesh(v, f), np.random.default_rng(5).uniform(-2, 2, (60, 3))
    x = np.concatenate([x, v[:20]]).astype(np.float32)
    near = mesh.closest_point(x)
    for i, p in enumerate(x.astype(np.float64)):
        away = np.array([brute_force_distance(v[one].astype(np.float64), p) for one in f])
        np.testing.assert_allclose(near.distance[i], away.min(), rtol=1e-6, atol=1e-7)
        assert away[near.triangle[i]] <= away.min() + 1e-9
    u, w = near.u[:, None], near.v[:, None]
    a, b, c = (v[f[near.triangle, k]] for k in range(3))
    np.testing.assert_allclose((1 - u - w) * a + u * b + w * c, near.point, atol=1e-6)
    few = mesh.closest_point(x, max_distance=0.3)
    assert ((few.triangle == kandela.mesh.NO_TRIANGLE) == (near.distance > 0.3)).all()
    with pytest.raises(ValueError, match="`max_distance` is"):
        mesh.closest_point(x, -1)


def test_signs_match_winding_numbers():
    v, f = torus()
    mesh, draw = kandela.TriangleMesh(v, f), np.random.default_rng(6)
    x = draw.uniform(-1.6, 1.6, (3000, 3)).astype(np.float32)
    x[:1000] = mesh.vertices[draw.integers(0, len(v), 1000)] * draw.choice([0.999, 1.001], (1000, 1))
    winding = mesh.winding_number(x)
    assert mesh.is_closed and np.abs(winding - winding.round()).max() < 1e-6
    distance = mesh.signed_distance(x)
    np.testing.assert_array_equal(distance < 0, winding > 0.5)
    np.testing.assert_array_equal(mesh.contains(x), winding > 0.5)
    np.testing.assert_array_equal(np.abs(distance), mesh.closest_point(x).distance)
    rounded = np.hypot(np.hypot(x[:, 0], x[:, 1]) - 1, x[:, 2]) - 0.4
    assert np.abs(distance - rounded).max() < 0.02
    assert not mesh.contains(mesh.vertices).any()
    lost = [[np.nan, 0, 0], [1, 0, 0]]
    assert np.isnan(mesh.signed_distance(lost)).tolist() == [True, False]
    assert mesh.contains(lost).tolist() == [False, True]


def test_open_meshes_have_winding_numbers_but_no_parity():
    v, f = torus(24, 12)
    assert kandela.TriangleMesh(v, f).is_closed
    for open_faces in (f[5:], np.concatenate([f, f[:1]])):
        mesh = kandela.TriangleMesh(v, open_faces)
        assert not mesh.is_closed
        with pytest.raises(ValueError, match="not closed"):
            mesh.signed_distance([0, 0, 0], sign="parity")
        assert mesh.contains([[1, 0, 0], [0, 0, 0]]).tolist() == [True, False]
        assert (mesh.signed_distance([[1, 0, 0], [0, 0, 0]]) < 0).tolist() == [True, False]
    flipped = kandela.TriangleMesh(v, np.concatenate([f[:9, ::-1], f[9:]]))
    for sign in ("winding", "parity"):
        assert flipped.contains([[1, 0, 0], [0, 0, 0]], sign).tolist() == [True, False]
    soup = kandela.TriangleMesh(v[f].reshape(-1, 3))  # three vertices per face: equal positions are merged
    assert soup.is_closed and soup.contains([1, 0, 0])[0]


def box(lo=(0, 0, 0), hi=(1, 1, 1)):
    corner = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
    faces = np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
                      [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]])
    return np.where(corner, hi, lo).astype(np.float64), faces


def joined(*parts):
    starts = np.cumsum([0] + [len(v) for v, _ in parts])
    return (np.concatenate([v for v, _ in parts]),
            np.concatenate([f + start for (_, f), start in zip(parts, starts)]))


# Points on the planes, edges and vertices of the boxes: their rays pass through edges and vertices.
GRID = np.stack(np.meshgrid(*[np.linspace(-0.5, 2.5, 13)] * 3, indexing="ij"), -1).reshape(-1, 3)


def within(lo, hi):
    return ((GRID > lo) & (GRID < hi)).all(1)


def test_bodies_that_are_inside_out_or_overlap_or_touch():
    v, f = box()
    assert kandela.TriangleMesh(v, f).volume == 1 and kandela.TriangleMesh(v, f[:, ::-1]).volume == -1
    other, beside = box((0.5, 0.5, 0.5), (2, 2, 2)), box((1, 0, 0), (2, 1, 1))
    one, two, three = within(0, 1), within(0.5, 2), within((1, 0, 0), (2, 1, 1))
    for winding in (1, -1):
        mesh = kandela.TriangleMesh(v, f[:, ::winding])
        for sign in ("winding", "parity"):
            np.testing.assert_array_equal(mesh.contains(GRID, sign), one)
            np.testing.assert_array_equal(mesh.signed_distance(GRID, sign) < 0, one)
        assert mesh.winding_number([[0.5, 0.5, 0.5]]) == winding
        for second in (1, -1):  # in a hollow body, the inner faces are wound inwards
            shell = kandela.TriangleMesh(*joined((v, f[:, ::winding]), (v / 2 + 0.25, f[:, ::second])))
            assert shell.contains([[0.5, 0.5, 0.5], [0.1, 0.5, 0.5]]).tolist() == [winding == second, True]
            assert shell.contains([[0.5, 0.5, 0.5], [0.1, 0.5, 0.5]], "parity").tolist() == [False, True]
    both = kandela.TriangleMesh(*joined((v, f), other))
    surface = both.closest_point(GRID).distance < 1e-9
    np.testing.assert_array_equal(both.contains(GRID)[~surface], (one | two)[~surface])
    np.testing.assert_array_equal(both.contains(GRID, "parity")[~surface], (one ^ two)[~surface])
    np.testing.assert_array_equal(both.signed_distance(GRID)[~surface] < 0, (one | two)[~surface])
    touching = kandela.TriangleMesh(*joined((v, f), beside))  # two faces of each coincide
    for sign in ("winding", "parity"):
        np.testing.assert_array_equal(touching.contains(GRID, sign), one | three)
    with pytest.raises(ValueError, match="`sign` is 'odd'"):
        both.contains(GRID, "odd")


def test_fast_winding_numbers_are_near_the_exact_ones():
    v, f = torus(120, 60)
    mesh, draw = kandela.TriangleMesh(v, f[len(f) // 4:]), np.random.default_rng(9)
    x = draw.uniform(-1.6, 1.6, (500, 3)).astype(np.float32)
    corner = mesh.vertices[mesh.faces].astype(np.float64)[None] - x[:, None, None]
    a, b, c = (corner[:, :, k] for k in range(3))
    la, lb, lc = (np.linalg.norm(side, axis=2) for side in (a, b, c))
    below = la * lb * lc + (a * b).sum(2) * lc + (b * c).sum(2) * la + (c * a).sum(2) * lb
    exact = np.arctan2((a * np.cross(b, c)).sum(2), below).sum(1) / (2 * np.pi)
    np.testing.assert_allclose(mesh.winding_number(x, np.inf), exact, atol=1e-12)
    errors = [np.abs(mesh.winding_number(x, accuracy) - exact).max() for accuracy in (2, 4, 8)]
    assert errors[0] < 0.05 and errors[1] < 0.01 and errors[2] < 0.003
    for wrong in (0.5, np.nan):
        with pytest.raises(ValueError, match="`accuracy` is"):
            mesh.winding_number(x, wrong)


def test_meshes_far_from_the_origin_keep_their_shape():
    v, f = torus()
    far = np.array([5e5, 5.4e6, 300.0])
    mesh, near = kandela.TriangleMesh(v + far, f), kandela.TriangleMesh(v, f)
    draw = np.random.default_rng(10)
    x, d = draw.uniform(-1.6, 1.6, (2000, 3)), draw.normal(size=(2000, 3))
    assert mesh.is_closed and abs(mesh.volume - near.volume) < 1e-5
    np.testing.assert_allclose(mesh.vertices, v + far, atol=1e-6)
    np.testing.assert_allclose(mesh.signed_distance(x + far), near.signed_distance(x), atol=1e-6)
    np.testing.assert_allclose(mesh.closest_point(x + far).point, near.closest_point(x).point + far, atol=1e-3)
    np.testing.assert_allclose(mesh.describe()["hi"], v.max(0) + far, atol=1e-6)
    hits, expected = mesh.intersect(x + far, d), near.intersect(x, d)
    same = hits.triangle == expected.triangle
    assert same.mean() > 0.999
    np.testing.assert_allclose(hits.t[same], expected.t[same], rtol=1e-4)
    again = pickle.loads(pickle.dumps(mesh))
    np.testing.assert_array_equal(again.vertices, mesh.vertices)
    np.testing.assert_array_equal(again.intersect(x + far, d).t, hits.t)
    with pytest.raises(ValueError, match="relative to its centre"):
        mesh.save("/nowhere")


def test_secondary_rays_do_not_hit_where_they_start():
    v, f = sphere(24)
    mesh, draw = kandela.TriangleMesh(v * 3, f), np.random.default_rng(11)
    origins = draw.normal(size=(20000, 3))
    origins *= 9 / np.linalg.norm(origins, axis=1, keepdims=True)
    directions = draw.normal(size=(20000, 3)) - origins
    hits = mesh.intersect(origins, directions)
    points, normals = mesh.hit_points(hits, directions)
    assert hits.hit.mean() > 0.9 and np.isnan(points[~hits.hit]).all()
    secondary = draw.normal(size=(20000, 3))
    secondary *= np.sign((secondary * normals).sum(1, keepdims=True))
    assert not mesh.occluded(points, secondary, ignore=hits.triangle)[hits.hit].any()
    plain = origins + hits.t[:, None] * directions
    assert mesh.occluded(plain[hits.hit], secondary[hits.hit]).sum() > 100  # what this is for
    assert mesh.occluded(points, -secondary, ignore=hits.triangle)[hits.hit].mean() > 0.99


def test_ignored_triangles_are_passed():
    draw = np.random.default_rng(12)
    v = draw.normal(size=(300, 3))
    mesh, f = kandela.TriangleMesh(v), np.arange(300).reshape(-1, 3)
    origins, directions = draw.normal(size=(500, 3)), draw.normal(size=(500, 3))
    ignore = mesh.intersect(origins, directions).triangle
    ignore[::5] = draw.integers(0, 100, 100)
    hits = mesh.intersect(origins, directions, ignore=ignore)
    for i in np.flatnonzero(ignore != kandela.mesh.NO_TRIANGLE)[::7]:
        rest = np.delete(np.arange(100), ignore[i])
        expected = kandela.TriangleMesh(v, f[rest]).intersect(origins[i], directions[i])
        assert hits.t[i] == expected.t[0] and hits.hit[i] == expected.hit[0]
        assert not hits.hit[i] or hits.triangle[i] == rest[expected.triangle[0]]
    np.testing.assert_array_equal(mesh.occluded(origins, directions, ignore=ignore), hits.hit)
    plain = mesh.intersect(origins, directions)
    for none in (-1, kandela.mesh.NO_TRIANGLE, np.full(500, -1)):
        np.testing.assert_array_equal(mesh.intersect(origins, directions, ignore=none).t, plain.t)
    for wrong in (100, [1, 2], 0.5):
        with pytest.raises(ValueError, match="`ignore`"):
            mesh.intersect(origins, directions, ignore=wrong)


def test_saved_meshes_are_loaded(tmp_path):
    mesh, x = kandela.TriangleMesh(*torus(12, 8)), np.random.default_rng(13).normal(size=(50, 3))
    mesh.save(tmp_path / "mesh")
    again = kandela.TriangleMesh.load(tmp_path / "mesh")
    np.testing.assert_array_equal(again.vertices, mesh.vertices)
    np.testing.assert_array_equal(again.faces, mesh.faces)
    np.testing.assert_array_equal(again.intersect(x, -x).t, mesh.intersect(x, -x).t)
    np.testing.assert_array_equal(again.contains(x), mesh.contains(x))


def test_meshes_hold_copies():
    v, f = torus(12, 8)
    v, f = v.astype(np.float32), f.astype(np.uint32)
    mesh, kept = kandela.TriangleMesh(v, f), (v.copy(), f.copy())
    v += 5
    f[:] = 0
    np.testing.assert_array_equal(mesh.vertices, kept[0])
    np.testing.assert_array_equal(mesh.faces, kept[1])
    assert mesh.contains([[1, 0, 0], [6, 5, 5]]).tolist() == [True, False] and mesh.is_closed


@pytest.mark.parametrize("kind, faces, words", [
    (ValueError, np.arange(12).reshape(3, 4), "Split quads"),
    (ValueError, np.arange(12), "`faces` has the shape (12,)"),
    (ValueError, np.arange(12).reshape(6, 2), "`faces` has the shape (6, 2)"),
    (TypeError, [[0.9, 1.9, 2.9]], "`faces` is an array of float64"),
    (TypeError, np.ones((2, 3), bool), "`faces` is an array of bool"),
    (ValueError, [[0, 1, -1]], "`faces` has vertex indices from -1"),
])
def test_faces_that_are_no_triangles_are_refused(kind, faces, words):
    with pytest.raises(kind) as caught:
        kandela.TriangleMesh(np.random.default_rng(0).random((12, 3)), faces)
    assert words in str(caught.value)


def test_mesh_errors():
    with pytest.raises(ValueError, match="`faces` has vertex indices"):
        kandela.TriangleMesh(np.zeros((3, 3)), [[0, 1, 3]])
    with pytest.raises(ValueError, match="`vertices` has the shape"):
        kandela.TriangleMesh(np.zeros((3, 2)))
    with pytest.raises(TypeError, match="`vertices` is an array of complex"):
        kandela.TriangleMesh(np.zeros((3, 3), complex))
    with pytest.raises(kandela.InputError):
        kandela.TriangleMesh([[0, 0, np.nan], [1, 0, 0], [0, 1, 0]])
    assert not kandela.TriangleMesh(np.empty((0, 3))).intersect([0, 0, 0], [0, 0, 1]).hit[0]


def test_graphs_match_definition():
    draw = np.random.default_rng(2)
    x, batch = draw.random((120, 3)), np.sort(draw.integers(0, 7, 120))
    edges = kandela.knn_graph(x, 5, batch)
    near = kandela.radius_graph(x, 0.3, batch, max_neighbors=None)
    for i in range(120):
        others = np.flatnonzero((batch == batch[i]) & (np.arange(120) != i))
        away = np.linalg.norm(x[others] - x[i], axis=1)
        np.testing.assert_array_equal(edges[0][edges[1] == i],
                                      others[np.argsort(away, kind="stable")][:5])
        np.testing.assert_array_equal(np.sort(near[0][near[1] == i]), others[away <= 0.3])
    loops = kandela.knn_graph(x, 1, loop=True, flow="target_to_source")
    np.testing.assert_array_equal(loops, np.stack([np.arange(120)] * 2))
    away2 = ((x[:, None] - x[None]) ** 2).sum(2)
    np.testing.assert_allclose(kandela.mean_dist2(x), np.sort(away2, 1)[:, 1:4].mean(1))
    assert kandela.mean_dist2(np.zeros((9, 3))).max() == 0
    assert kandela.radius_graph(x, 0.5, max_neighbors=3)[1].size <= 360


def reference_dbscan(x, eps, least):
    near = [np.flatnonzero(np.linalg.norm(x - one, axis=1) <= eps) for one in x]
    labels, cluster = np.full(len(x), -1), 0
    for i in range(len(x)):
        if labels[i] >= 0 or len(near[i]) < least:
            continue
        stack = [i]
        while stack:
            j = stack.pop()
            if labels[j] < 0:
                labels[j] = cluster
                if len(near[j]) >= least:
                    stack += list(near[j])
        cluster += 1
    return labels


def test_clusters_match_definition():
    draw = np.random.default_rng(3)
    x = np.concatenate([draw.normal(c, 0.3, (80, 2)) for c in ([0, 0], [3, 0], [0, 4])] +
                       [draw.uniform(-3, 7, (60, 2))])[draw.permutation(300)]
    for eps, least in ((0.25, 4), (0.5, 8), (0.1, 1)):
        np.testing.assert_array_equal(kandela.dbscan(x, eps, least), reference_dbscan(x, eps, least))
    assert kandela.dbscan(np.empty((0, 3)), 1).shape == (0,)


@pytest.mark.parametrize("dims", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_clusters_by_cells_and_by_tree(dims, dtype):
    """Cells and neighbour lists give the same labels; dense data, ties at eps and far sets included."""
    draw = np.random.default_rng(dims)
    dense = np.concatenate([draw.normal(c, 0.1, (200, dims)) for c in (0, 0.7, 3)] + [draw.uniform(-1, 4, (100, dims))])
    steps = np.round(draw.uniform(0, 8, (400, dims))) / 8
    for x in (dense, dense + 1e5, steps, steps + 4096, np.repeat(dense[:25], 20, axis=0)):
        x = draw.permutation(x).astype(dtype)
        for eps, least in ((0.125, 5), (0.25, 1), (0.3, 60), (0.05, 3), (20, 5), (0, 2), (1e-200, 1), (np.inf, 3)):
            np.testing.assert_array_equal(kandela.dbscan(x, eps, least), kandela.clouds._dbscan_by_tree(x, eps, least, "cpu"))
    x[7, 0] = np.nan
    with pytest.raises(kandela.InputError, match="7"):
        kandela.dbscan(x, 1)


@pytest.mark.parametrize("plane", [False, True])
def test_registration_recovers_transform(plane):
    draw = np.random.default_rng(4)
    target = draw.normal(size=(3000, 3)) * [1, 2, 0.5]
    target[:, 2] += np.sin(3 * target[:, 0])
    angle = 0.1
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0],
                     [0, 0, 1]])
    source = (target - [0.05, 0.02, -0.03]) @ turn  # so that target = turn @ source + shift
    found = kandela.icp(source, target, plane=plane, iterations=200, tolerance=1e-12)
    assert found.rms < 1e-6
    np.testing.assert_allclose(found.rotation, turn, atol=1e-5)
    np.testing.assert_allclose(found.translation, [0.05, 0.02, -0.03], atol=1e-5)


def test_normals_and_downsampling():
    v = kandela.TriangleMesh(*sphere(24)).sample(4000)[0]
    n = kandela.normals(v, toward=[0, 0, 0])
    assert (n * v).sum(1).max() < -0.95
    chosen = kandela.farthest_points(v, 50)
    assert len(set(chosen.tolist())) == 50
    apart = np.linalg.norm(v[chosen][:, None] - v[chosen][None], axis=2) + 9 * np.eye(50)
    assert apart.min() > 0.35
    few = kandela.voxel_downsample(v, 0.5, origin=0)
    assert len(few) == len(np.unique(np.floor(v / np.float32(0.5)), axis=0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_normals_are_directions_of_least_variance(dtype):
    """Unit vectors whose variance is the least eigenvalue; equal eigenvalues, lines and planes included."""
    draw = np.random.default_rng(6)
    x = draw.normal(size=(400, 3))
    turn = np.linalg.qr(draw.normal(size=(3, 3)))[0]
    grid = np.stack(np.meshgrid(*[np.arange(7.)] * 3), -1).reshape(-1, 3)
    rod = x * [1, 1e-4, 1e-7] @ turn
    for cloud in (x, grid, rod, x * [1, 1, 0], x * [1, 1, 1e-9] @ turn, x * [0, 1, 0], x * [1, 1e-9, 1e-9], x + 1e7, grid + 1e6,
                  x * 1e-15, x * 1e15, np.repeat(x[:20], 20, axis=0), np.round(x)):
        cloud = cloud.astype(dtype)
        for k in (1, 2, 3, 7, 12, 27):
            found = kandela.normals(cloud, k).astype(np.float64)
            ids = kandela.Points(cloud).nearest(cloud, k)[0]
            near = cloud[ids].astype(np.float64) - cloud[ids[:, :1]]
            near -= near.mean(1, keepdims=True)
            matrix = near.transpose(0, 2, 1) @ near
            spread = np.linalg.eigvalsh(matrix)
            length = np.linalg.norm(found, axis=1)
            assert np.abs(length - 1).max() < 1e-6
            variance = np.einsum("ni,nij,nj->n", found, matrix, found) / length**2
            assert (variance <= spread[:, 0] + (1e-13 if dtype == np.float64 else 1e-12) * spread[:, 2]).all()
            assert (np.take_along_axis(found, np.abs(found).argmax(1)[:, None], 1) > 0).all()
    toward = np.array([3, -5, 40.])
    assert ((toward - x) * kandela.normals(x, 9, toward)).sum(1).min() >= 0
    with pytest.raises(ValueError, match="`toward` is"):
        kandela.normals(x, toward=[0, np.nan, 0])
    x[3, 1] = np.inf
    with pytest.raises(kandela.InputError):
        kandela.normals(x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_downsampling_matches_definition(dtype):
    """Sorted cells, a table of few cells and rows of many columns give the same means, bit for bit."""
    draw = np.random.default_rng(8)
    for dims in (1, 2, 3, 8, 9):
        x = draw.normal(size=(3000, dims))
        for cloud in (x, x + 1e6, np.round(x * 4) / 4, x * 1e-3 + 7, np.repeat(x[:2], 40, axis=0), x[:1], x[:0]):
            cloud = cloud.astype(dtype)
            for size, origin in ((0.25, None), (0.01, None), (0.7, 0), (30, None), (1, np.arange(dims) / 3)):
                where = None if origin is None else np.full(dims, origin, np.float64)
                found = kandela.voxel_downsample(cloud, size, origin=origin)
                np.testing.assert_array_equal(found, kandela.clouds._downsample_by_rows(cloud, size, where))
    # a corner of the grid is half a voxel before the least coordinates
    assert len(kandela.voxel_downsample(np.array([[0.], [0.49], [0.51]]), 1)) == 2
    for wrong in (0, -1, np.inf, np.nan):
        with pytest.raises(ValueError, match="`size` is"):
            kandela.voxel_downsample(x, wrong)
    with pytest.raises(ValueError, match="`origin` has the shape"):
        kandela.voxel_downsample(x[:, :3], 1, origin=[0, 0])
    for columns in (3, 9):
        cloud = draw.random((9, columns))
        cloud[5, 1] = np.nan
        with pytest.raises(kandela.InputError, match="point 5"):
            kandela.voxel_downsample(cloud, 1)


@pytest.mark.parametrize("name", ["points", "kdtree", "mesh", "graphs", "clouds", "density"])
def test_docstring_examples(name):
    assert doctest.testmod(importlib.import_module("kandela." + name)).failed == 0


def test_nodes_hold_every_triangle():
    rng = np.random.default_rng(5)
    mesh = kandela.TriangleMesh(rng.random((300, 3)), rng.integers(0, 300, (400, 3)))
    nodes, references = mesh.nodes()
    leaves = nodes[nodes["word"] & 3 == 3]
    assert len(nodes) == mesh.describe()["nodes"] and len(nodes) == 2 * len(leaves) - 1
    assert (leaves["word"] >> 2).sum() == len(references) and (leaves["first"] <= len(references)).all()
    area = np.linalg.norm(np.cross(*np.diff(mesh.vertices[mesh.faces], axis=1).transpose(1, 0, 2)), axis=1)
    assert set(references) == set(np.flatnonzero(area > 0))


def test_masked_elements_are_refused():
    x = np.random.default_rng(0).random((12, 3))
    masked = np.ma.masked_array(x, mask=np.zeros_like(x, bool))
    tree, mesh = kandela.KDTree(x), kandela.TriangleMesh(x)
    calls = [kandela.KDTree, kandela.Points, tree.query, lambda m: tree.query_ball_point(m, 1), kandela.TriangleMesh,
             lambda m: kandela.Points(x).nearest(m, 2), lambda m: mesh.intersect(m, x), lambda m: mesh.intersect(x, m),
             mesh.closest_point, mesh.signed_distance, lambda m: kandela.RayScene().add_geometry(m),
             lambda m: kandela.voxel_downsample(m, 1), lambda m: kandela.dbscan(m, 1), kandela.normals,
             lambda m: kandela.icp(m, x), lambda m: kandela.knn_graph(m, 2), lambda m: kandela.kernel_density(x, m, 1),
             lambda m: kandela.farthest_points(m, 2), lambda m: kandela.kernel_density(x, x, 1, weights=m[:, 1])]
    for call in calls:
        call(masked)  # nothing is masked yet
    masked[0, 1] = np.ma.masked
    for call in calls:
        with pytest.raises(TypeError, match="masked"):
            call(masked)
