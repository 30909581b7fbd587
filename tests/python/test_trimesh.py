"""kandela.trimesh against trimesh's own ray queries; also trimesh's ray tests, if TRIMESH_CHECKOUT
names a checkout of its repository."""

import copy
import doctest
import importlib.util
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

trimesh = pytest.importorskip("trimesh")
import kandela.trimesh  # noqa: E402


def meeting(mesh, origins, directions):
    """Returns all triangles that each ray hits as (t, face), sorted by t, by a loop in double
    precision."""
    found = []
    for o, d in zip(origins, directions):
        a, b, c = np.asarray(mesh.triangles).transpose(1, 0, 2)
        m = np.linalg.det(np.stack([np.broadcast_to(-d, a.shape), b - a, c - a], 2))
        with np.errstate(all="ignore"):
            t = np.linalg.det(np.stack([o - a, b - a, c - a], 2)) / m
            u = np.linalg.det(np.stack([np.broadcast_to(-d, a.shape), o - a, c - a], 2)) / m
            v = np.linalg.det(np.stack([np.broadcast_to(-d, a.shape), b - a, o - a], 2)) / m
        hit = np.flatnonzero((u >= 0) & (v >= 0) & (u + v <= 1) & (t > 0))
        found.append(hit[np.argsort(t[hit])])
    return found


@pytest.mark.parametrize("away", [0, 1e4])
def test_all_hits_match_brute_force(away):
    mesh = trimesh.creation.icosphere(2)
    mesh = trimesh.util.concatenate([mesh, mesh.copy().apply_scale(0.5)]).apply_translation([away] * 3)
    draw = np.random.default_rng(0)
    origins = draw.normal(size=(60, 3)) * 2
    directions = -origins + draw.normal(size=(60, 3)) * 0.7
    origins += away
    rays = kandela.trimesh.RayMeshIntersector(mesh, device="cpu")
    expected = meeting(mesh, origins, directions)
    assert max(map(len, expected)) == 4 and min(map(len, expected)) == 0
    faces, numbers, places = rays.intersects_id(origins, directions, return_locations=True)
    for i, wanted in enumerate(expected):
        np.testing.assert_array_equal(faces[numbers == i], wanted)
    first = rays.intersects_first(origins, directions)
    np.testing.assert_array_equal(first, [wanted[0] if len(wanted) else -1 for wanted in expected])
    np.testing.assert_array_equal(rays.intersects_any(origins, directions), first >= 0)
    unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    beside = np.linalg.norm(np.cross(places - origins[numbers], unit[numbers]), axis=1)
    assert beside.max() < 1e-9 * max(1, away)
    assert len(rays.intersects_location(origins, directions, multiple_hits=False)[0]) == (first >= 0).sum()
    inside = rays.contains_points([[away] * 3, [away + 5] * 3])
    assert inside.tolist() == [False, False]  # inside both spheres, and outside of both


def test_intersector_follows_mesh_and_is_copied():
    mesh = trimesh.creation.box()
    mesh.ray = kandela.trimesh.RayMeshIntersector(mesh)
    ask = [[0.1, 0.2, 3]], [[0, 0, -1]]
    for rays in (mesh.ray, copy.copy(mesh.ray), copy.deepcopy(mesh.ray), pickle.loads(pickle.dumps(mesh.ray))):
        assert rays.intersects_location(*ask)[0][:, 2].tolist() == [0.5, -0.5]
    mesh.apply_scale(2)
    assert mesh.ray.intersects_location(*ask)[0][:, 2].tolist() == [1, -1]
    with pytest.raises(ValueError, match="as many"):
        mesh.ray.intersects_any([[0, 0, 0]], [[0, 0, 1], [1, 0, 0]])


def test_examples_run():
    assert doctest.testmod(kandela.trimesh).failed == 0


def test_trimesh_ray_tests():
    checkout = os.environ.get("TRIMESH_CHECKOUT")
    if not checkout:
        pytest.skip("TRIMESH_CHECKOUT does not name a checkout of trimesh")
    checkout = Path(checkout)
    # test_contains_cavity needs manifold3d for a Boolean operation
    without = [] if importlib.util.find_spec("manifold3d") else ["--deselect", "tests/test_ray.py::test_contains_cavity"]
    here = [str(Path(kandela.__file__).parents[1]), str(Path(__file__).parent), str(checkout), str(checkout / "tests")]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "trimesh_stand_in",
         "tests/test_ray.py", "tests/test_ray_upstream.py", *without], cwd=checkout, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(here)})
    passed = re.search(r"(\d+) passed", ran.stdout)
    assert ran.returncode == 0 and int(passed[1]) >= 20, ran.stdout[-4000:] + ran.stderr[-2000:]


def test_bodies_that_touch_contain_their_points():
    one = trimesh.creation.box()
    both = trimesh.util.concatenate([one, one.copy().apply_translation([1, 0, 0])])
    x = np.random.default_rng(3).uniform([-1, -1, -1], [2, 1, 1], (500, 3))
    inside = ((x > [-0.5, -0.5, -0.5]) & (x < [1.5, 0.5, 0.5])).all(1)
    np.testing.assert_array_equal(kandela.trimesh.RayMeshIntersector(both).contains_points(x), inside)
