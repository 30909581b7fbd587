"""A pytest plugin that makes trimesh use kandela.trimesh for rays, so that trimesh's own ray tests
run on it."""

import trimesh
import trimesh.base
import trimesh.ray.ray_pyembree
import trimesh.ray.ray_triangle

import kandela.trimesh

Ours = kandela.trimesh.RayMeshIntersector
trimesh.base.has_embree = trimesh.base.ray.has_embree = False
trimesh.ray.ray_triangle.RayMeshIntersector = trimesh.ray.ray_pyembree.RayMeshIntersector = Ours


def pytest_sessionfinish(session):
    made = trimesh.creation.box().ray
    assert type(made) is Ours, f"meshes have {type(made)}"
