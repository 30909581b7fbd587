"""Kandela: exact nearest-neighbour and ray queries on k-d trees, on CPUs and NVIDIA GPUs.

Examples
--------
>>> import numpy as np, kandela
>>> x = np.random.default_rng(1).random((1000, 3))
>>> distances, numbers = kandela.KDTree(x).query(x, k=8)
>>> numbers.shape
(1000, 8)
"""

from ._c import kd_version as _version
from .clouds import (dbscan, farthest_points, icp, normals, radius_outliers, statistical_outliers,
                     voxel_downsample)
from .density import kernel_density
from .errors import (CheckError, DeviceError, InputError, Interrupted, KandelaError, OutOfMemory,
                     RunError, UsageError)
from .graphs import knn, knn_graph, mean_dist2, radius, radius_graph
from .kdtree import KDTree
from .live_view import LiveView, view
from .machine import Device, builders, devices, get_num_threads, set_num_threads
from .mesh import Hits, Nearest, TriangleMesh
from .points import NO_POINT, Points
from .ray_scenes import (EVERY_WORLD, NO_INSTANCE, Rays, RayScene, SceneHits, SceneNearest, SceneRows, lidar_rays, pinhole_rays,
                         spherical_rays)
from .scenes import Photons, Picture, Scene, load_scene, photons, render

__version__ = _version()
__all__ = [
    "KDTree", "Points", "TriangleMesh", "NO_POINT", "knn_graph", "radius_graph", "knn", "radius", "mean_dist2",
    "Hits", "Nearest", "RayScene", "SceneHits", "SceneRows", "SceneNearest", "Rays", "pinhole_rays", "lidar_rays",
    "spherical_rays", "EVERY_WORLD", "NO_INSTANCE", "Scene", "Picture", "Photons", "LiveView", "load_scene", "render",
    "photons", "view", "normals", "dbscan", "icp", "farthest_points", "voxel_downsample", "statistical_outliers", "radius_outliers", "kernel_density",
    "Device", "devices", "builders", "set_num_threads", "get_num_threads", "KandelaError", "RunError", "UsageError", "InputError", "OutOfMemory", "DeviceError",
    "CheckError", "Interrupted",
]
