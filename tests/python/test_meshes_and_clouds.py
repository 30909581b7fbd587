"""Rays against a loop over all triangles; graphs and point-cloud functions against their
definitions."""

import doctest
import importlib

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


def test_open_meshes_have_winding_numbers_but_no_signs():
    v, f = torus(24, 12)
    assert kandela.TriangleMesh(v, f).is_closed
    for open_faces in (f[5:], np.concatenate([f, f[:1]]), np.concatenate([f[:9, ::-1], f[9:]])):
        mesh = kandela.TriangleMesh(v, open_faces)
        assert not mesh.is_closed
        with pytest.raises(ValueError, match="not closed"):
            mesh.signed_distance([0, 0, 0])
        assert mesh.contains([[1, 0, 0], [0, 0, 0]]).tolist() == [True, False]
    soup = kandela.TriangleMesh(v[f].reshape(-1, 3))  # three vertices per face: equal positions are merged
    assert soup.is_closed and soup.contains([1, 0, 0])[0]


def test_mesh_errors():
    with pytest.raises(ValueError, match="`faces` has vertex indices"):
        kandela.TriangleMesh(np.zeros((3, 3)), [[0, 1, 3]])
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
    few = kandela.voxel_downsample(v, 0.5)
    assert len(few) == len(np.unique(np.floor(v / np.float32(0.5)), axis=0))


@pytest.mark.parametrize("name", ["points", "kdtree", "mesh", "graphs", "clouds"])
def test_docstring_examples(name):
    assert doctest.testmod(importlib.import_module("kandela." + name)).failed == 0
