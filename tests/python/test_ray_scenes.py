"""Scenes of rays against loops over all triangles of all instances; ray makers against their
definitions."""

import copy
import pickle

import numpy as np
import pytest

import kandela
from kandela.mesh import NO_TRIANGLE
from test_meshes_and_clouds import sphere

COUNT, WORLDS = 12, 3


def random_transforms(count, seed, far=(0, 0, 0)):
    draw = np.random.default_rng(seed)
    m = np.zeros((count, 3, 4))
    m[:, :, :3] = draw.normal(size=(count, 3, 3))  # rotated, scaled, sheared, half of them mirrored
    m[:, :, 3] = draw.uniform(-3, 3, (count, 3)) + far
    return m


class Case:
    """A scene, and its triangles in world space."""

    def __init__(self, seed=0, far=(0, 0, 0)):
        draw = np.random.default_rng(seed)
        self.meshes = [sphere(4), (draw.normal(size=(9, 3)), draw.integers(0, 9, (14, 3))), (np.zeros((3, 3)), [[0, 1, 2]])]
        self.scene = kandela.RayScene(worlds=WORLDS)
        for vertices, faces in self.meshes:
            self.scene.add_geometry(vertices, faces)
        self.geometry = draw.integers(0, 3, COUNT)
        self.mask = draw.choice([1, 2, 3, 0, 1 << 31], COUNT)
        self.world = draw.choice([0, 1, 2, int(kandela.EVERY_WORLD)], COUNT)
        self.transforms = random_transforms(COUNT, seed, far)
        ids = self.scene.add_instances(self.geometry, self.transforms, mask=self.mask, world=self.world)
        np.testing.assert_array_equal(ids, np.arange(COUNT))
        self.scene.commit()
        self.far = np.asarray(far, float)

    def triangles(self, mask, world):
        """Yield instance and its triangles, relative to `far`, of the instances that are seen."""
        for i in range(COUNT):
            if self.mask[i] & mask and self.world[i] in (world, int(kandela.EVERY_WORLD)):
                vertices, faces = self.meshes[self.geometry[i]]
                m = self.transforms[i]
                yield i, (vertices @ m[:, :3].T + (m[:, 3] - self.far))[np.asarray(faces)]

    def rays(self, count, seed=1):
        draw = np.random.default_rng(seed)
        origins, targets = draw.uniform(-5, 5, (count, 3)), draw.uniform(-2, 2, (count, 3))
        return origins + self.far, targets - origins

    def hits(self, origin, direction, mask, world, skip=None):
        """Return (t, instance, triangle) of all hits in order, and whether some are uncertain."""
        found, unsure = [], False
        for i, corners in self.triangles(mask, world):
            a, b, c = corners.transpose(1, 0, 2)
            s, p = origin - self.far - a, np.cross(direction, c - a)
            with np.errstate(all="ignore"):
                inverse = 1 / ((b - a) * p).sum(1)
                q = np.cross(s, b - a)
                u, v, t = (s * p).sum(1) * inverse, (q @ direction) * inverse, ((c - a) * q).sum(1) * inverse
                near = np.minimum(np.minimum(u, v), 1 - u - v)
            unsure |= bool((np.abs(near) < 1e-4).any() | (np.abs(t) < 1e-4).any())
            found += [(t[k], i, k) for k in np.flatnonzero((near >= 0) & (t > 0)) if (i, k) != skip]
        found.sort()
        return found, unsure or any(b[0] - a[0] < 1e-4 for a, b in zip(found, found[1:]))


@pytest.mark.parametrize("far", [(0, 0, 0), (500000, 5000000, 40)])
def test_rays_match_loops(far):
    case = Case(3, far)
    origins, directions = case.rays(400)
    draw = np.random.default_rng(5)
    mask, world = draw.choice([1, 2, 0xFFFFFFFF], 400), draw.integers(0, WORLDS, 400)
    given = {"mask": mask, "world": world}
    closest, first = case.scene.intersect(origins, directions, **given), case.scene.first_hits(origins, directions, 2, **given)
    counts, rows = case.scene.count_hits(origins, directions, **given), case.scene.all_hits(origins, directions, **given)
    occluded = case.scene.occluded(origins, directions, **given)
    np.testing.assert_array_equal(np.diff(rows.offsets), counts)
    assert case.scene.origin.any() == any(far)
    sure = 0
    for i in range(400):
        expected, unsure = case.hits(origins[i], directions[i], mask[i], world[i])
        if unsure:
            continue
        sure += len(expected)
        row = slice(rows.offsets[i], rows.offsets[i + 1])
        assert counts[i] == len(expected) and occluded[i] == closest.hit[i] == bool(expected)
        np.testing.assert_array_equal(rows.hits.instance[row], [hit[1] for hit in expected])
        np.testing.assert_array_equal(rows.hits.triangle[row], [hit[2] for hit in expected])
        np.testing.assert_allclose(rows.hits.t[row], [hit[0] for hit in expected], atol=2e-5)
        assert (first.instance[i] != kandela.NO_INSTANCE).sum() == min(2, len(expected))
        if expected:
            assert (closest.instance[i], closest.triangle[i]) == expected[0][1:] == (first.instance[i, 0], first.triangle[i, 0])
            assert closest.geometry[i] == case.geometry[closest.instance[i]]
            again, unsure = case.hits(origins[i], directions[i], mask[i], world[i], expected[0][1:])
            passed = case.scene.intersect(origins[i], directions[i], mask=mask[i], world=world[i],
                                          ignore=(closest.instance[i], closest.triangle[i]))
            assert passed.hit == bool(again) and (not again or (passed.instance, passed.triangle) == again[0][1:])
    assert sure > 40
    points = case.scene.positions(closest)
    np.testing.assert_allclose(points[closest.hit], (origins + closest.t[:, None] * directions)[closest.hit], atol=1e-4)
    assert np.isnan(points[~closest.hit]).all()
    for t, instance, triangle, normal in zip(closest.t, closest.instance, closest.triangle, closest.normal):
        if instance != kandela.NO_INSTANCE:
            (corners,) = (x for i, x in case.triangles(0xFFFFFFFF, case.world[instance]) if i == instance)
            a, b, c = corners[triangle]
            n = np.cross(b - a, c - a) * np.sign(np.linalg.det(case.transforms[instance, :, :3]))
            np.testing.assert_allclose(normal, n / np.linalg.norm(n), atol=1e-4)


def point_distance(p, a, b, c):
    """Return the distance of a point to a triangle, by its plane and its edges."""
    best = np.inf
    for x, y in ((a, b), (b, c), (c, a)):
        d = y - x
        t = np.clip((p - x) @ d / max(d @ d, 1e-300), 0, 1)
        best = min(best, np.linalg.norm(p - x - t * d))
    n = np.cross(b - a, c - a)
    if n @ n > 0:
        inside = [np.cross(y - x, p - x) @ n >= 0 for x, y in ((a, b), (b, c), (c, a))]
        best = min(best, abs((p - a) @ n) / np.linalg.norm(n)) if all(inside) else best
    return best


@pytest.mark.parametrize("far", [(0, 0, 0), (500000, 5000000, 40)])
def test_nearest_points_match_loops(far):
    case = Case(4, far)
    points = np.random.default_rng(6).uniform(-5, 5, (10, 6, 3)) + far
    near = case.scene.closest_point(points, world=1, mask=3)
    assert near.distance.shape == (10, 6) and near.point.shape == (10, 6, 3)
    for k in np.ndindex(10, 6):
        expected = min(point_distance(points[k] - case.far, *corner) for _, corners in case.triangles(3, 1) for corner in corners)
        assert abs(near.distance[k] - expected) < 1e-4
        assert abs(np.linalg.norm(points[k] - near.point[k]) - expected) < 1e-4
    none = case.scene.closest_point(points[0, 0], max_distance=0)
    assert np.isinf(none.distance) and none.instance == kandela.NO_INSTANCE and none.triangle == NO_TRIANGLE


def test_moved_instances_and_updated_meshes():
    case = Case(7)
    origins, directions = case.rays(200)
    case.transforms[2:9] = random_transforms(7, 99)
    case.scene.set_transforms(np.arange(2, 9), case.transforms[2:9])
    with pytest.raises(kandela.KandelaError, match="commit"):
        case.scene.intersect(origins, directions)
    case.scene.set_masks([0, 3], 0)
    case.mask[[0, 3]] = 0
    v, f = case.meshes[0]
    case.meshes[0] = (v * (1, 2, 0.5) + 1e4, f)  # far from its origin: the tree has a centre
    case.transforms[:, :, 3] -= (case.transforms[:, :, :3] * 1e4).sum(2) * (case.geometry == 0)[:, None]
    case.scene.set_transforms(np.arange(COUNT), case.transforms)
    case.scene.update_geometry(0, case.meshes[0][0])
    case.scene.commit()
    checked = 0
    hits = case.scene.intersect(origins, directions, world=2)
    for i in range(200):
        expected, unsure = case.hits(origins[i], directions[i], 0xFFFFFFFF, 2)
        if not unsure:
            checked += len(expected) > 0
            assert hits.hit[i] == bool(expected)
            assert not expected or (hits.instance[i], hits.triangle[i]) == expected[0][1:]
    assert checked > 20
    for other in (pickle.loads(pickle.dumps(case.scene)), copy.deepcopy(case.scene)):
        for one, two in zip(hits, other.intersect(origins, directions, world=2)):
            np.testing.assert_array_equal(one, two)


def test_shapes_and_attributes():
    case = Case(8)
    origins, directions = (x.reshape(5, 8, 3) for x in case.rays(40))
    flat = case.scene.intersect(origins.reshape(-1, 3), directions.reshape(-1, 3))
    hits = case.scene.intersect(origins, directions, world=np.zeros((5, 1), int))
    assert hits.t.shape == (5, 8) and hits.normal.shape == (5, 8, 3)
    np.testing.assert_array_equal(flat.t, hits.t.ravel())
    assert case.scene.first_hits(origins, directions, 4).t.shape == (5, 8, 4)
    assert case.scene.count_hits(origins[0, 0], directions[0, 0]).shape == ()
    assert case.scene.occluded(np.empty((0, 3)), directions[0, 0]).shape == (0,)
    near = case.scene.closest_point(origins[0, 0], world=np.arange(WORLDS))  # one ray or point in each world
    apart = case.scene.intersect(origins[0, 0], directions[0, 0], world=np.arange(WORLDS), mask=[[1], [2]])
    assert near.distance.shape == (WORLDS,) and apart.t.shape == (2, WORLDS)
    for world in range(WORLDS):
        assert apart.t[1, world] == case.scene.intersect(origins[0, 0], directions[0, 0], world=world, mask=2).t
        assert near.distance[world] == case.scene.closest_point(origins[0, 0], world=world).distance
    # the positions of the vertices as attributes
    values = case.scene.interpolate(hits, {0: case.meshes[0][0], 1: case.meshes[1][0]})
    for k in zip(*np.nonzero(hits.hit)):
        m = case.transforms[hits.instance[k]]
        np.testing.assert_allclose(m[:, :3] @ values[k] + m[:, 3], case.scene.positions(hits)[k], atol=1e-6)
    one = case.scene.interpolate(hits, case.meshes[0][0][:, 0])
    np.testing.assert_array_equal(np.isnan(one), hits.geometry != 0)


def test_wrong_arguments_are_refused():
    scene = kandela.RayScene(worlds=2)
    with pytest.raises(ValueError, match="geometries"):
        scene.add_instances(0)
    mesh = scene.add_geometry(*sphere(4))
    for wrong, text in ((dict(transforms=np.eye(3)), "shape"), (dict(world=2), "worlds"), (dict(mask=-7), "mask"),
                        (dict(transforms=np.zeros((2, 3, 4)), world=[0, 0, 1]), "lengths"),
                        (dict(transforms=np.ones((4, 4))), "last row")):
        with pytest.raises(ValueError, match=text):
            scene.add_instances(mesh, **wrong)
    scene.add_instances(mesh, np.zeros((3, 4)))
    with pytest.raises(kandela.InputError, match="instance 0: .*determinant"):
        scene.commit()
    scene.set_transforms(0, np.eye(4))
    scene.commit()
    up = np.array([0.0, 0, 1])
    for call, rest in ((scene.intersect, [up]), (scene.closest_point, [])):
        with pytest.raises(kandela.UsageError, match="`world` has values from 0 to 2; the scene has 2 worlds"):
            call(np.zeros((2, 3)), *rest, world=[0, 2])
    with pytest.raises(TypeError, match="mask"):
        scene.intersect(np.zeros(3), up, mask=1.5)
    with pytest.raises(ValueError, match="broadcast"):
        scene.intersect(np.zeros((2, 3)), np.zeros((3, 3)))
    assert not scene.intersect([0, np.nan, 0], up).hit and not scene.intersect([0, 0, 0], [0, 0, 0]).hit
    with pytest.raises(ValueError, match="instances"):
        scene.set_masks(1, 1)
    scene.close()
    with pytest.raises(kandela.UsageError, match="closed"):
        scene.intersect(np.zeros(3), up)


def test_ray_makers():
    k = [[100, 0, 32], [0, 120, 20], [0, 0, 1]]
    turn = np.array([[0, -1, 0, 0.5], [1, 0, 0, -2], [0, 0, 1, 3], [0, 0, 0, 1]])
    rays = kandela.pinhole_rays(64, 40, intrinsic=k, extrinsic=turn)
    for x, y in ((0, 0), (63, 39), (10, 30)):
        point = rays.origins[y, x] + 7 * rays.directions[y, x]
        camera = turn[:3, :3] @ point + turn[:3, 3]
        assert abs(camera[2] - 7) < 1e-9  # t is the depth
        np.testing.assert_allclose((np.array(k) @ camera / camera[2])[:2], (x + 0.5, y + 0.5))
    view = kandela.pinhole_rays(4, 2, fov=90, eye=(1, 2, 3), center=(1, 9, 3))
    np.testing.assert_allclose(view.directions[0, 0] / view.directions[0, 0, 1], (-0.75, 1, 0.25))  # upper left
    np.testing.assert_array_equal(view.origins[1, 1], (1, 2, 3))
    poses = random_transforms(5, 3)
    lidar = kandela.lidar_rays([-10, 0, 20], np.arange(0, 360, 30), poses)
    assert lidar.origins.shape == lidar.directions.shape == (5, 3, 12, 3)
    e, a = np.radians((20, 90))
    np.testing.assert_allclose(lidar.directions[4, 2, 3], poses[4, :, :3] @ (np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)))
    np.testing.assert_allclose(lidar.origins[4, 1, 7], poses[4, :, 3])
    globe = kandela.spherical_rays(64, 32).directions
    np.testing.assert_allclose(np.linalg.norm(globe, axis=-1), 1)
    assert (globe[0, :, 2] > 0.99).all() and globe[16, 32, 0] > 0.99 and globe[16, 16, 1] > 0.99
    with pytest.raises(ValueError, match="either"):
        kandela.pinhole_rays(4, 4)
    with pytest.raises(ValueError, match="parallel"):
        kandela.pinhole_rays(4, 4, fov=60, eye=(0, 0, 1), center=(0, 0, 0))
