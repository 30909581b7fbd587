"""Scenes of rays: many meshes, placed by instances that move between calls, in separate worlds.

A lidar in each of 1,000 worlds, which share a floor:

    scene = kandela.RayScene(worlds=1000)
    scene.add_instances(scene.add_geometry(floor), world=kandela.EVERY_WORLD)
    robots = scene.add_instances(scene.add_geometry(robot), poses, world=np.arange(1000))
    for step in range(100):
        scene.set_transforms(robots, poses)
        scene.commit()
        rays = kandela.lidar_rays(np.linspace(-15, 15, 16), np.arange(0, 360, 0.5), poses)
        hits = scene.intersect(*rays, world=np.arange(1000)[:, None, None])  # (1000, 16, 720)

Ambient occlusion from the points that a camera sees:

    hits = scene.intersect(*kandela.pinhole_rays(640, 480, fov=60, eye=(0, -3, 1)))
    points = scene.positions(hits)
    hidden = scene.occluded(points, secondary, ignore=hits)  # `secondary`: towards hits.normal

All hits along rays through walls, as rows of a sparse matrix:

    rows = scene.all_hits(origins, directions)
    rows.hits.t[rows.offsets[i]:rows.offsets[i + 1]]  # the hits of ray i, in order
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _c
from .arrays import framework, is_foreign, is_valid, settle, stream_number
from .checks import whole
from .errors import UsageError
from .mesh import NO_TRIANGLE, TriangleMesh

EVERY_WORLD = np.uint32(0xFFFFFFFF)  #: world of an instance that all rays may see
NO_INSTANCE = np.uint32(0xFFFFFFFF)  #: instance and geometry of a ray that hits nothing


class SceneHits(NamedTuple):
    """Hits of rays, in the rays' shape (...). After a miss `t` is tmax, the numbers are NO_TRIANGLE
    and NO_INSTANCE (in PyTorch -1), and the rest is 0.
    """

    t: np.ndarray  #: (...) float32, distance in lengths of the direction
    u: np.ndarray  #: (...) float32, weight of the triangle's second vertex
    v: np.ndarray  #: (...) float32, weight of its third vertex
    triangle: np.ndarray  #: (...) uint32, of the geometry
    instance: np.ndarray  #: (...) uint32
    geometry: np.ndarray  #: (...) uint32
    #: (..., 3) float32, unit normal in world space, on the side where the mesh's triangle is wound
    #: counter-clockwise
    normal: np.ndarray

    @property
    def hit(self) -> Any:
        """Boolean array, (...): which rays hit a triangle."""
        return is_valid(self.instance, NO_INSTANCE)


class SceneRows(NamedTuple):
    """All hits of rays: those of ray i, counted in the order of the rays' shape, are the elements
    offsets[i] to offsets[i + 1] - 1 of the arrays of `hits`, in order.
    """

    offsets: np.ndarray  #: (n + 1,) int64, in host memory
    hits: SceneHits


class SceneNearest(NamedTuple):
    """Nearest points of a scene, in the shape (...) of the query points. If there is none, `distance`
    is inf and the numbers are NO_TRIANGLE and NO_INSTANCE.
    """

    point: np.ndarray  #: (..., 3) float32; float64 if the scene has an `origin`
    distance: np.ndarray  #: (...) float32
    triangle: np.ndarray  #: (...) uint32, of the geometry
    instance: np.ndarray  #: (...) uint32
    geometry: np.ndarray  #: (...) uint32
    u: np.ndarray  #: (...) float32, weight of the triangle's second vertex
    v: np.ndarray  #: (...) float32, weight of its third vertex
    feature: np.ndarray  #: (...) uint32, as of `kandela.Nearest`


class Rays(NamedTuple):
    """Rays, for `scene.intersect(*rays)`."""

    origins: np.ndarray  #: (..., 3) float64
    directions: np.ndarray  #: (..., 3) float64


def _matrices(transforms: Any, name: str) -> np.ndarray:
    """Return transforms, (..., 3, 4) or (..., 4, 4), as float64 (..., 3, 4)."""
    m = np.asarray(framework(transforms).host(transforms))
    if m.dtype.kind not in "fiu":
        raise TypeError(f"`{name}` is an array of {m.dtype}; expected real numbers")
    if m.ndim < 2 or m.shape[-2:] not in ((3, 4), (4, 4)):
        raise ValueError(f"`{name}` has the shape {m.shape}; expected (..., 3, 4) or (..., 4, 4)")
    if m.shape[-2] == 4 and (m[..., 3, :] != (0, 0, 0, 1)).any():
        raise ValueError(f"the last row of `{name}` is not (0, 0, 0, 1)")
    return np.asarray(m[..., :3, :], np.float64)


def _words(values: Any, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return integers of 32 bits as uint32 of the given shape."""
    x = np.asarray(framework(values).host(values))
    if x.dtype.kind not in "iu":
        raise TypeError(f"`{name}` is an array of {x.dtype}; expected integers")
    if x.size and (x.max() > 0xFFFFFFFF or (x.min() < 0 and not (x.dtype == np.int32 and x.min() == -1))):
        raise ValueError(f"`{name}` has values from {x.min()} to {x.max()}; expected 0 to 2^32 - 1")
    try:
        return np.array(np.broadcast_to(x.astype(np.uint32), shape), order="C")
    except ValueError:
        raise ValueError(f"`{name}` has the shape {x.shape}; expected one that broadcasts to {shape}") from None


class RayScene:
    """Scene of meshes for rays and nearest points.

    Add geometries, place them by instances, `commit`, then query. Changes (`update_geometry`,
    `set_transforms`, `set_masks`, more instances) take effect with the next `commit`, which rebuilds
    the top level only, in about two microseconds per instance.

    Parameters
    ----------
    worlds : int, optional
        Number of separate worlds; a ray sees the instances of its world only, and those of
        EVERY_WORLD.
    device : str, optional
        "auto" (default): where the meshes are; arrays in host memory are built on the CPU. "cpu" or
        "cuda:N". All meshes must be on one device.
    builder : str, optional
        As for `TriangleMesh`.

    Notes
    -----
    Hits equal those on one mesh of all triangles, transformed to world space and rounded to float32
    relative to `origin`, bit for bit, on every device: no ray passes between two triangles that share
    an edge. Of hits at the same t the one with the smallest instance, then triangle, comes first.
    Rays with a NaN hit nothing. Threads may query a scene at once, but not while one changes it.

    Examples
    --------
    >>> import numpy as np, kandela
    >>> scene = kandela.RayScene()
    >>> triangle = scene.add_geometry([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> lower, upper = scene.add_instances(triangle, [np.eye(4), np.eye(4)])
    >>> scene.set_transforms(upper, [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 2]])
    >>> scene.commit()
    >>> hits = scene.intersect([0.25, 0.25, 3], [0, 0, -1])
    >>> float(hits.t), int(hits.instance), hits.normal.tolist()
    (1.0, 1, [0.0, 0.0, 1.0])
    """

    def __init__(self, worlds: int = 1, *, device: str = "auto", builder: str = "auto") -> None:
        self._given = {"device": device, "builder": builder}
        self._worlds = whole(worlds, "worlds", 1, 0xFFFFFFFE)
        self._meshes: list[TriangleMesh] = []
        self._boxes = np.empty((0, 2, 3))  # centre and half the size of each mesh
        self._transforms, self._numbers = np.empty((0, 3, 4)), np.empty((0, 3), np.uint32)
        self._count = self._sent = 0
        self._changed = False
        self._dirty = (0, 0)  # instances that are sent and have changed
        self.origin = np.zeros(3)  #: (3,) float64, the position to which the scene is relative
        self._c = _c.kd_ray_scene_open(self._worlds)

    # --- changes ---

    def _mesh(self, vertices: Any, faces: Any) -> TriangleMesh:
        if isinstance(vertices, TriangleMesh):
            return vertices
        given = dict(self._given)
        if given["device"] == "auto" and not framework(vertices).on_device(vertices):
            given["device"] = "cpu"
        return TriangleMesh(vertices, faces, **given)

    @staticmethod
    def _box(mesh: TriangleMesh) -> np.ndarray:
        info = mesh.describe()
        lo, hi = np.array(info["lo"]), np.array(info["hi"])
        return np.array([(lo + hi) / 2, (hi - lo) / 2]) if (lo <= hi).all() else np.zeros((2, 3))

    def add_geometry(self, vertices: Any, faces: Any = None) -> int:
        """Add a mesh, which nothing sees until it is placed by an instance.

        Parameters
        ----------
        vertices : TriangleMesh, or array_like (n, 3)
        faces : array_like of int, (m, 3), optional
            As for `TriangleMesh`.

        Returns
        -------
        int
            The geometry's number.

        Examples
        --------
        >>> scene = RayScene()
        >>> scene.add_geometry(TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]]))
        0
        """
        mesh = self._mesh(vertices, faces)
        number: int = _c.kd_ray_scene_add_geometry(self._c, mesh._c)
        self._meshes.append(mesh)
        self._boxes = np.concatenate([self._boxes, self._box(mesh)[None]])
        self._changed = True
        return number

    def update_geometry(self, geometry: int, vertices: Any, faces: Any = None) -> None:
        """Replace a mesh in all of its instances, such as one that deforms.

        Parameters
        ----------
        geometry : int
        vertices : TriangleMesh, or array_like (n, 3)
        faces : array_like of int, (m, 3), optional
            None: those of the mesh before.

        Notes
        -----
        The mesh's tree is rebuilt, not refitted: about two seconds of processor time per million
        triangles on a CPU, milliseconds on a CUDA device.

        Examples
        --------
        >>> scene = RayScene()
        >>> scene.update_geometry(scene.add_geometry([[0, 0, 0], [1, 0, 0], [0, 1, 0]]),
        ...                       [[0, 0, 1], [1, 0, 1], [0, 1, 1]])
        """
        geometry = whole(geometry, "geometry", 0, len(self._meshes) - 1)
        if faces is None and not isinstance(vertices, TriangleMesh):
            faces = self._meshes[geometry].faces
        mesh = self._mesh(vertices, faces)
        _c.kd_ray_scene_set_geometry(self._c, geometry, mesh._c)
        self._meshes[geometry] = mesh
        self._boxes[geometry] = self._box(mesh)
        self._dirty = (0, self._sent)  # transforms are relative to the centre of the mesh
        self._changed = True

    def add_instances(self, geometry: Any, transforms: Any = None, *, mask: Any = 0xFFFFFFFF, world: Any = 0) -> Any:
        """Place geometries in the scene.

        Parameters
        ----------
        geometry : int or array_like of int, (n,)
        transforms : array_like, (3, 4), (4, 4), (n, 3, 4) or (n, 4, 4), optional
            From the mesh's to world space; None: the identity.
        mask : int or array_like of int, (n,), optional
            A ray sees an instance if their masks have a bit in common. 0: no ray sees it.
        world : int or array_like of int, (n,), optional
            The world of each instance, or EVERY_WORLD.

        Returns
        -------
        int, or ndarray of int64, (n,)
            The numbers of the instances; an int if all arguments are those of one instance.

        Examples
        --------
        >>> scene = RayScene(worlds=2)
        >>> mesh = scene.add_geometry([[0, 0, 0], [1, 0, 0], [0, 1, 0]])
        >>> scene.add_instances(mesh)
        0
        >>> scene.add_instances(mesh, world=[0, 1]).tolist()
        [1, 2]
        """
        m = _matrices(np.eye(4) if transforms is None else transforms, "transforms")
        try:
            shape = np.broadcast_shapes(np.shape(geometry), m.shape[:-2], np.shape(mask), np.shape(world))
        except ValueError:
            raise ValueError("`geometry`, `transforms`, `mask` and `world` are of different lengths") from None
        if len(shape) > 1:
            raise ValueError(f"the arguments have the shape {shape}; expected one transform, or (n, 3, 4)")
        numbers = np.stack([_words(geometry, "geometry", shape), _words(mask, "mask", shape),
                            _words(world, "world", shape)], -1).reshape(-1, 3)
        if len(numbers) and numbers[:, 0].max() >= len(self._meshes):
            raise ValueError(f"`geometry` is {numbers[:, 0].max()}; the scene has {len(self._meshes)} geometries")
        if ((numbers[:, 2] >= self._worlds) & (numbers[:, 2] != EVERY_WORLD)).any():
            raise ValueError(f"`world` is {numbers[:, 2].max()}; the scene has {self._worlds} worlds")
        begin, self._count = self._count, self._count + len(numbers)
        if self._count > len(self._numbers):
            room = self._count + self._count // 2 - len(self._numbers)
            self._transforms = np.concatenate([self._transforms, np.zeros((room, 3, 4))])
            self._numbers = np.concatenate([self._numbers, np.zeros((room, 3), np.uint32)])
        self._transforms[begin:self._count], self._numbers[begin:self._count] = m, numbers
        self._changed = True
        return np.arange(begin, self._count) if shape else begin

    def _touch(self, instances: Any) -> np.ndarray:
        """Return numbers of instances, after noting that they change."""
        ids = np.asarray(instances)
        if ids.dtype.kind not in "iu" or ids.ndim > 1:
            raise TypeError(f"`instances` is an array of {ids.dtype} with the shape {ids.shape}; expected integers, (n,)")
        if ids.size and not (0 <= ids.min() and ids.max() < self._count):
            raise ValueError(f"`instances` has values from {ids.min()} to {ids.max()}; the scene has {self._count} instances")
        if ids.size:
            lo, hi = int(ids.min()), int(ids.max()) + 1
            self._dirty = (min(lo, self._dirty[0]), max(hi, self._dirty[1])) if self._dirty[1] else (lo, hi)
        self._changed = True
        return ids

    def set_transforms(self, instances: Any, transforms: Any) -> None:
        """Move instances; call `commit` afterwards.

        Parameters
        ----------
        instances : int or array_like of int, (n,)
        transforms : array_like, (3, 4), (4, 4), (n, 3, 4) or (n, 4, 4)

        Examples
        --------
        >>> scene = RayScene()
        >>> one = scene.add_instances(scene.add_geometry([[0, 0, 0], [1, 0, 0], [0, 1, 0]]))
        >>> scene.set_transforms(one, [[1, 0, 0, 5], [0, 1, 0, 0], [0, 0, 1, 0]])
        >>> scene.commit()
        >>> bool(scene.occluded([5.25, 0.25, 1], [0, 0, -1]))
        True
        """
        m, ids = _matrices(transforms, "transforms"), np.asarray(instances)
        if m.shape[:-2] not in ((), ids.shape):
            raise ValueError(f"`transforms` has the shape {m.shape} for {ids.size} instances")
        self._transforms[self._touch(instances)] = m

    def set_masks(self, instances: Any, mask: Any) -> None:
        """Set the masks of instances; call `commit` afterwards.

        Parameters
        ----------
        instances : int or array_like of int, (n,)
        mask : int or array_like of int, (n,)
            0: unseen.

        Examples
        --------
        >>> scene = RayScene()
        >>> one = scene.add_instances(scene.add_geometry([[0, 0, 0], [1, 0, 0], [0, 1, 0]]))
        >>> scene.set_masks(one, 0)
        >>> scene.commit()
        >>> bool(scene.occluded([0.25, 0.25, 1], [0, 0, -1]))
        False
        """
        words = _words(mask, "mask", np.shape(instances))
        self._numbers[self._touch(instances), 1] = words

    def _placed(self, begin: int, end: int) -> np.ndarray:
        """Return the transforms of instances, applied to meshes relative to their centres."""
        m = self._transforms[begin:end].copy()
        centres = np.array([mesh.centre for mesh in self._meshes]).reshape(-1, 3)[self._numbers[begin:end, 0]]
        with np.errstate(invalid="ignore"):
            m[:, :, 3] += (m[:, :, :3] * centres[:, None]).sum(2)
        return m

    def _middle(self) -> np.ndarray:
        """Return the position to which the scene is relative, as `TriangleMesh` chooses it."""
        if not self._count:
            return np.zeros(3)
        m, box = self._transforms[:self._count], self._boxes[self._numbers[:self._count, 0]]
        with np.errstate(invalid="ignore", over="ignore"):
            at = (m[:, :, :3] * box[:, None, 0]).sum(2) + m[:, :, 3]
            half = (np.abs(m[:, :, :3]) * box[:, None, 1]).sum(2)
            return TriangleMesh._centre_of(np.concatenate([at - half, at + half]))

    def commit(self) -> None:
        """Apply all changes since the last call.

        Raises
        ------
        InputError
            If the transform of an instance is not finite or not invertible.
        UsageError
            If the meshes are on different devices.

        Notes
        -----
        If it fails or is interrupted, geometries and instances are kept, but queries raise UsageError
        until a call succeeds.

        Examples
        --------
        >>> RayScene().commit()
        """
        lo, hi = self._dirty[0], min(self._dirty[1], self._sent)
        if lo < hi:
            _c.kd_ray_scene_set_instances(self._c, lo, self._placed(lo, hi), self._numbers[lo:hi].copy())
        if self._sent < self._count:
            _c.kd_ray_scene_add_instances(self._c, self._placed(self._sent, self._count),
                                          self._numbers[self._sent:self._count].copy())
        self._dirty, self._sent = (0, 0), self._count
        self.origin = self._middle()
        _c.kd_ray_scene_set_origin(self._c, *self.origin.tolist())
        _c.kd_ray_scene_commit(self._c)
        self._changed = False

    # --- queries ---

    def _check(self) -> None:
        if self._changed:
            raise UsageError("the scene has changes that are not committed; call commit() first")

    def _relative(self, row: Any, x: Any) -> Any:
        """Return positions relative to the origin."""
        return x - row.of_host(x, self.origin) if self.origin.any() else x

    def _arguments(self, like: Any, shape: tuple[int, ...], mask: Any, world: Any) -> list[Any]:
        """Return masks and worlds for `shape` rays where `like` is; None for the defaults."""
        row, made = framework(like), []
        for name, values in (("mask", mask), ("world", world)):
            if values is None:
                made.append(None)
                continue
            values = values if is_foreign(values) else _words(values, name, shape)
            if name == "world" and 0 not in values.shape:
                least, most = int(values.min()), int(values.max())
                if least < 0 or most >= self._worlds:
                    raise UsageError(f"`world` has values from {least} to {most}; the scene has {self._worlds} worlds")
            if is_foreign(values):
                made.append(row.plain(values.expand(shape) if hasattr(values, "expand") else row.xp.broadcast_to(values, shape),
                                      np.int32).reshape(-1))
            else:
                words = values.reshape(-1)
                made.append(row.of_host(like, words.view(np.int32)) if is_foreign(like) else words)
        return made

    def _ignored(self, like: Any, shape: tuple[int, ...], ignore: Any) -> Any:
        """Return instances and triangles that rays pass through, (n, 2)."""
        if ignore is None:
            return None
        instance, triangle = (ignore.instance, ignore.triangle) if isinstance(ignore, SceneHits) else ignore
        row = framework(like)
        pair = np.stack([_words(row.host(instance) if is_foreign(instance) else instance, "ignore", shape),
                         _words(row.host(triangle) if is_foreign(triangle) else triangle, "ignore", shape)], -1)
        pair = pair.reshape(-1, 2)
        return row.of_host(like, pair.view(np.int32)) if is_foreign(like) else pair

    def _rays(self, origins: Any, directions: Any, tmin: Any, tmax: Any, mask: Any,
              world: Any) -> tuple[Any, tuple[int, ...]]:
        """Return rays, (n, 8) float32, and their shape."""
        row = framework(origins)
        if is_foreign(origins):
            shape = tuple(origins.shape[:-1])
            if tuple(origins.shape) != tuple(directions.shape) or origins.shape[-1] != 3:
                raise ValueError(f"`origins` and `directions` have the shapes {tuple(origins.shape)} and "
                                 f"{tuple(directions.shape)}; expected the same, (..., 3)")
            o = row.plain(self._relative(row, origins), np.float32).reshape(-1, 3)
            d = row.plain(directions, np.float32).reshape(-1, 3)
            low, high = (t.reshape(-1, 1) if is_foreign(t) else row.xp.full_like(o[:, :1], float(t)) for t in (tmin, tmax))
            return row.plain(row.joined([o, low, d, high]), np.float32), shape
        o, d = (framework(x).host(x) for x in (origins, directions))
        for name, x in (("origins", o), ("directions", d)):
            if x.dtype.kind not in "fiu":
                raise TypeError(f"`{name}` is an array of {x.dtype}; expected real numbers")
            if x.ndim < 1 or x.shape[-1] != 3:
                raise ValueError(f"`{name}` has the shape {x.shape}; expected (..., 3)")
        try:
            rest = {name: np.shape(x) for name, x in (("tmin", tmin), ("tmax", tmax), ("mask", mask), ("world", world))
                    if x is not None}
            shape = np.broadcast_shapes(o.shape[:-1], d.shape[:-1], *rest.values())
        except ValueError:
            given = ", ".join(f"`{name}` {x}" for name, x in rest.items() if x)
            raise ValueError(f"`origins` {o.shape}, `directions` {d.shape}{given and ', '}{given} do not broadcast") from None
        rays = np.empty((*shape, 8), np.float32)
        with np.errstate(over="ignore"):
            pair = [np.ascontiguousarray(np.broadcast_to(x, (*shape, 3)), np.float32).reshape(-1, 3)
                    for x in (self._relative(row, o), d)]
            _c.rays_pack(*pair, *(float(t) if np.ndim(t) == 0 else 0.0 for t in (tmin, tmax)), rays.reshape(-1, 8))
            for column, t in ((3, tmin), (7, tmax)):
                if np.ndim(t):
                    rays[..., column] = t
        return rays.reshape(-1, 8), shape

    def _query(self, given: tuple[Any, ...]) -> tuple[Any, Any, tuple[int, ...], int]:
        """Return the query of a call's arguments, an array like its results, and the rays' shape and
        number.
        """
        origins, directions, tmin, tmax, mask, world, ignore, stream = given
        self._check()
        rays, shape = self._rays(origins, directions, tmin, tmax, mask, world)
        like = origins if is_foreign(origins) else rays
        masks, worlds = self._arguments(like, shape, mask, world)
        return (_c.kd_ray_query_default(rays, masks, worlds, self._ignored(like, shape, ignore),
                                        stream_number(stream, like) if is_foreign(like) else 0),
                like, shape, len(rays))

    @staticmethod
    def _hits(row: Any, found: Any, shape: tuple[int, ...]) -> SceneHits:
        """Return hits, (n, 9) numbers of 32 bits, as arrays of a shape."""
        numbers = row.bits(found[:, 3:6], np.uint32)
        columns = [found[:, k].reshape(shape) for k in range(3)] + [numbers[:, k].reshape(shape) for k in range(3)]
        return SceneHits(*columns, found[:, 6:].reshape((*shape, 3)))

    def intersect(self, origins: Any, directions: Any, tmin: Any = 0.0, tmax: Any = np.inf, *, mask: Any = None,
                  world: Any = None, ignore: Any = None, stream: Any = None) -> SceneHits:
        """Find the closest hit of each ray.

        Parameters
        ----------
        origins, directions : array_like, (..., 3)
            NumPy arrays broadcast, also with those below; arrays of PyTorch, CuPy and JAX must be of the
            same shape. Directions need not be normalised.
        tmin, tmax : float or array_like, (...), optional
            Open interval of t, in lengths of the direction.
        mask : int or array_like of int, (...), optional
            32 bits; default: all set.
        world : int or array_like of int, (...), optional
            Default: 0.
        ignore : SceneHits, or (instance, triangle), optional
            A triangle for each ray that the ray passes through, such as that on which it begins.
        stream : optional
            CUDA stream, as for `kandela.Points`.

        Returns
        -------
        SceneHits
            Arrays of the framework, and on the device, of the rays.

        Raises
        ------
        UsageError
            If a world does not exist, or changes are not committed.

        Examples
        --------
        >>> scene = RayScene()
        >>> _ = scene.add_instances(scene.add_geometry([[0, 0, 0], [1, 0, 0], [0, 1, 0]]))
        >>> scene.commit()
        >>> scene.intersect([[[0.25, 0.25, 1]], [[2, 2, 2]]], [0, 0, -2]).t.tolist()
        [[0.5], [inf]]
        """
        query, like, shape, count = self._query((origins, directions, tmin, tmax, mask, world, ignore, stream))
        row = framework(like)
        found = row.empty(like, (count, 9), np.float32)
        _c.kd_ray_scene_intersect(self._c, query, row.target(found))
        return self._hits(row, row.done(like, found), shape)

    def occluded(self, origins: Any, directions: Any, tmin: Any = 0.0, tmax: Any = np.inf, *, mask: Any = None,
                 world: Any = None, ignore: Any = None, stream: Any = None) -> Any:
        """Test whether each ray hits anything; arguments as for `intersect`.

        Returns
        -------
        array of bool, (...)

        Examples
        --------
        >>> scene = RayScene()
        >>> _ = scene.add_instances(scene.add_geometry([[0, 0, 0], [1, 0, 0], [0, 1, 0]]))
        >>> scene.commit()
        >>> scene.occluded([[0.25, 0.25, 1], [2, 2, 2]], [0, 0, -2]).tolist()
        [True, False]
        """
        query, like, shape, count = self._query((origins, directions, tmin, tmax, mask, world, ignore, stream))
        row = framework(like)
        found = row.empty(like, count, np.uint8)
        _c.kd_ray_scene_occluded(self._c, query, row.target(found))
        return (row.done(like, found) != 0).reshape(shape)

    def count_hits(self, origins: Any, directions: Any, tmin: Any = 0.0, tmax: Any = np.inf, *, mask: Any = None,
                   world: Any = None, ignore: Any = None, stream: Any = None) -> Any:
        """Count the triangles that each ray hits; arguments as for `intersect`.

        Returns
        -------
        array of uint32, (...)
            In PyTorch int32. A ray through an edge hits each triangle that shares it.

        Examples
        --------
        >>> scene = RayScene()
        >>> _ = scene.add_instances(scene.add_geometry([[0, 0, 0], [1, 0, 0], [0, 1, 0]]), world=[0, 0])
        >>> scene.commit()
        >>> int(scene.count_hits([0.25, 0.25, 1], [0, 0, -2]))
        2
        """
        query, like, shape, count = self._query((origins, directions, tmin, tmax, mask, world, ignore, stream))
        row = framework(like)
        found = row.empty(like, count, np.int32)
        _c.kd_ray_scene_count(self._c, query, row.target(found))
        return row.bits(row.done(like, found), np.uint32).reshape(shape)

    def first_hits(self, origins: Any, directions: Any, k: int, tmin: Any = 0.0, tmax: Any = np.inf, *, mask: Any = None,
                   world: Any = None, ignore: Any = None, stream: Any = None) -> SceneHits:
        """Find the first k hits of each ray, in order; arguments as for `intersect`.

        Returns
        -------
        SceneHits
            Arrays (..., k); misses after the last hit.

        Examples
        --------
        >>> scene = RayScene()
        >>> _ = scene.add_instances(scene.add_geometry([[0, 0, 0], [1, 0, 0], [0, 1, 0]]), world=[0, 0])
        >>> scene.commit()
        >>> scene.first_hits([0.25, 0.25, 1], [0, 0, -2], 3).t.tolist()
        [0.5, 0.5, inf]
        """
        k = whole(k, "k", 1, 0xFFFFFFFF)
        query, like, shape, count = self._query((origins, directions, tmin, tmax, mask, world, ignore, stream))
        row = framework(like)
        found = row.empty(like, (count * k, 9), np.float32)
        _c.kd_ray_scene_first(self._c, query, k, row.target(found), None)
        return self._hits(row, row.done(like, found), (*shape, k))

    def all_hits(self, origins: Any, directions: Any, tmin: Any = 0.0, tmax: Any = np.inf, *, mask: Any = None,
                 world: Any = None, ignore: Any = None, stream: Any = None) -> SceneRows:
        """Find all hits of each ray, in order, as rows of a sparse matrix; arguments as for
        `intersect`.

        Returns
        -------
        SceneRows

        Examples
        --------
        >>> scene = RayScene()
        >>> _ = scene.add_instances(scene.add_geometry([[0, 0, 0], [1, 0, 0], [0, 1, 0]]), world=[0, 0])
        >>> scene.commit()
        >>> rows = scene.all_hits([[2, 2, 1], [0.25, 0.25, 1]], [0, 0, -2])
        >>> rows.offsets.tolist(), rows.hits.instance.tolist()
        ([0, 0, 2], [0, 1])
        """
        query, like, _, count = self._query((origins, directions, tmin, tmax, mask, world, ignore, stream))
        row = framework(like)
        counts = row.empty(like, count, np.int32)
        _c.kd_ray_scene_count(self._c, query, row.target(counts))
        offsets = np.zeros(count + 1, np.int64)
        np.cumsum(row.host(row.done(like, counts)), out=offsets[1:])
        found = row.empty(like, (int(offsets[-1]), 9), np.float32)
        _c.kd_ray_scene_all(self._c, query, offsets, row.target(found))
        return SceneRows(offsets, self._hits(row, row.done(like, found), (int(offsets[-1]),)))

    def closest_point(self, points: Any, max_distance: float = np.inf, *, mask: Any = None, world: Any = None,
                      stream: Any = None) -> SceneNearest:
        """Find the point of the scene nearest to each query point.

        Parameters
        ----------
        points : array_like, (..., 3)
        max_distance : float, optional
        mask, world, stream
            As for `intersect`.

        Returns
        -------
        SceneNearest

        Notes
        -----
        Exact for every transform, and fast if it scales all axes alike. Of equally near triangles the
        one with the smallest instance, then triangle, is returned.

        Examples
        --------
        >>> scene = RayScene()
        >>> _ = scene.add_instances(scene.add_geometry([[0, 0, 0], [1, 0, 0], [0, 1, 0]]), 2 * np.eye(4)[:3])
        >>> scene.commit()
        >>> near = scene.closest_point([0.5, 0.5, 3])
        >>> float(near.distance), near.point.tolist(), float(near.u)
        (3.0, [0.5, 0.5, 0.0], 0.25)
        """
        self._check()
        row = framework(points)
        x = points if is_foreign(points) else np.asarray(points)
        if not is_foreign(x) and x.dtype.kind not in "fiu":
            raise TypeError(f"`points` is an array of {x.dtype}; expected real numbers")
        if len(x.shape) < 1 or x.shape[-1] != 3:
            raise ValueError(f"`points` has the shape {tuple(x.shape)}; expected (..., 3)")
        shape = tuple(x.shape[:-1])
        if not is_foreign(x):
            try:
                shape = np.broadcast_shapes(shape, *(np.shape(value) for value in (mask, world) if value is not None))
            except ValueError:
                raise ValueError(f"`points` {x.shape}, `mask` {np.shape(mask)} and `world` {np.shape(world)} do not "
                                 "broadcast") from None
            x = np.broadcast_to(x, (*shape, 3))
        flat = row.plain(self._relative(row, x), np.float32).reshape(-1, 3)
        masks, worlds = self._arguments(flat, shape, mask, world)
        found = row.empty(flat, (len(flat), 10), np.float32)
        settle(flat, found)
        _c.kd_ray_scene_closest_point(self._c, _c.kd_point_query_default(
            flat, masks, worlds, max_distance, stream_number(stream, flat) if is_foreign(flat) else 0), row.target(found))
        found = row.done(flat, found)
        numbers = row.bits(found[:, 6:], np.uint32)
        near = found[:, :3].reshape((*shape, 3))
        if self.origin.any():
            near = row.plain(near, np.float64) + row.of_host(near, self.origin)
        triangle, feature, instance, geometry = (numbers[:, k].reshape(shape) for k in range(4))
        distance, u, v = (found[:, k].reshape(shape) for k in (3, 4, 5))
        return SceneNearest(near, distance, triangle, instance, geometry, u, v, feature)

    # --- attributes of hits, in host memory ---

    def _mean(self, hits: SceneHits, rows: dict[int, np.ndarray], width: int) -> tuple[np.ndarray, np.ndarray]:
        """Return means of rows of vertices at hits, (n, width) float64, NaN for other hits; and the
        instances, (n,).
        """
        host = framework(hits.t).host
        triangle, geometry, instance = (np.asarray(host(x)).astype(np.int64).reshape(-1) & 0xFFFFFFFF
                                        for x in (hits.triangle, hits.geometry, hits.instance))
        u, v = (np.asarray(host(x), np.float64).reshape(-1, 1) for x in (hits.u, hits.v))
        mean = np.full((len(triangle), width), np.nan)
        for number, vertices in rows.items():
            at = np.flatnonzero(geometry == number)
            corner = self._meshes[number].faces[triangle[at]]
            mean[at] = ((1 - u[at] - v[at]) * vertices[corner[:, 0]] + u[at] * vertices[corner[:, 1]]
                        + v[at] * vertices[corner[:, 2]])
        return mean, instance

    def positions(self, hits: Any) -> Any:
        """Compute the positions of hits in world space, on the triangles themselves.

        Parameters
        ----------
        hits : SceneHits

        Returns
        -------
        array of float64, (..., 3)
            NaN for misses. Computed on the host.

        Examples
        --------
        >>> scene = RayScene()
        >>> _ = scene.add_instances(scene.add_geometry([[0, 0, 0], [1, 0, 0], [0, 1, 0]]))
        >>> scene.commit()
        >>> scene.positions(scene.intersect([0.25, 0.5, 1], [0, 0, -2])).tolist()
        [0.25, 0.5, 0.0]
        """
        used = np.unique(framework(hits.t).host(hits.geometry).astype(np.int64) & 0xFFFFFFFF)
        rows = {int(g): self._meshes[g].vertices.astype(np.float64) for g in used if g < len(self._meshes)}
        mean, instance = self._mean(hits, rows, 3)
        valid = instance < self._count
        m = self._transforms[np.where(valid, instance, 0)] if self._count else np.zeros((len(mean), 3, 4))
        at = (m[:, :, :3] * mean[:, None]).sum(2) + m[:, :, 3]
        at[~valid] = np.nan
        return self._like(hits, at.reshape((*hits.t.shape, 3)))

    def interpolate(self, hits: Any, attribute: Any) -> Any:
        """Interpolate attributes of vertices at hits.

        Parameters
        ----------
        hits : SceneHits
        attribute : array_like (vertices,) or (vertices, width), or dict of geometry to such arrays
            One array is that of geometry 0.

        Returns
        -------
        array of float64, (...) or (..., width)
            NaN for misses and for geometries without the attribute. Computed on the host.

        Examples
        --------
        >>> scene = RayScene()
        >>> _ = scene.add_instances(scene.add_geometry([[0, 0, 0], [1, 0, 0], [0, 1, 0]]))
        >>> scene.commit()
        >>> float(scene.interpolate(scene.intersect([0.25, 0.5, 1], [0, 0, -2]), [0, 4, 8]))
        5.0
        """
        given = attribute if isinstance(attribute, dict) else {0: attribute}
        rows = {}
        for number, values in given.items():
            number = whole(number, "geometry", 0, len(self._meshes) - 1)
            rows[number] = np.asarray(framework(values).host(values), np.float64)
            if rows[number].ndim not in (1, 2) or len(rows[number]) != self._meshes[number]._sizes[0]:
                raise ValueError(f"the attribute of geometry {number} has the shape {rows[number].shape}; expected "
                                 f"({self._meshes[number]._sizes[0]},) or ({self._meshes[number]._sizes[0]}, width)")
        widths = {values.shape[1:] for values in rows.values()}
        if len(widths) != 1:
            raise ValueError("the attributes of the geometries are of different widths")
        tail = widths.pop()
        mean, _ = self._mean(hits, {number: values.reshape(len(values), -1) for number, values in rows.items()},
                             int(np.prod(tail)))
        return self._like(hits, mean.reshape((*hits.t.shape, *tail)))

    @staticmethod
    def _like(hits: SceneHits, x: np.ndarray) -> Any:
        """Return a NumPy array as one of the framework of hits."""
        return framework(hits.t).of_host(hits.t, x) if is_foreign(hits.t) else x

    # --- the object ---

    def describe(self) -> dict[str, Any]:
        """Return statistics of the scene as of the last commit: the fields of `kd_ray_scene_info`.

        Examples
        --------
        >>> RayScene(worlds=3).describe()["worlds"]
        3
        """
        info: dict[str, Any] = _c.kd_ray_scene_describe(self._c)
        return info

    def close(self) -> None:
        """Free the memory of the scene now, not of its meshes. Any later query raises UsageError.

        Examples
        --------
        >>> RayScene().close()
        """
        _c.kd_ray_scene_close(self._c)

    def __getstate__(self) -> dict[str, Any]:
        return {"given": self._given, "worlds": self._worlds, "meshes": self._meshes, "committed": not self._changed,
                "transforms": self._transforms[:self._count], "numbers": self._numbers[:self._count]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["worlds"], **state["given"])  # type: ignore[misc]
        for mesh in state["meshes"]:
            self.add_geometry(mesh)
        if len(state["numbers"]):
            geometry, mask, world = state["numbers"].T
            self.add_instances(geometry, state["transforms"], mask=mask, world=world)
        if state["committed"]:
            self.commit()

    def __repr__(self) -> str:
        return f"<kandela.RayScene of {self._count} instances of {len(self._meshes)} meshes in {self._worlds} worlds>"


# --- rays of sensors ---


def _posed(directions: np.ndarray, pose: Any) -> Rays:
    """Return rays from the origin of a pose, or of each of several."""
    m = _matrices(np.eye(4) if pose is None else pose, "pose")
    lead = m.shape[:-2] + (1,) * (directions.ndim - 1)
    turned = (m[..., :3, :3].reshape((*lead, 3, 3)) @ directions[..., None])[..., 0]
    return Rays(np.array(np.broadcast_to(m[..., 3].reshape((*lead, 3)), turned.shape)), turned)


def pinhole_rays(width: int, height: int, *, intrinsic: Any = None, extrinsic: Any = None, fov: Any = None,
                 eye: Any = (0, 0, 0), center: Any = (0, 0, 0), up: Any = (0, 0, 1)) -> Rays:
    """Make the rays of a pinhole camera through the centres of its pixels.

    Parameters
    ----------
    width, height : int
        In pixels.
    intrinsic : array_like, (3, 3), optional
        The camera matrix K in pixels; (0, 0) is the upper left corner of the picture. t of a hit is
        its depth along the camera's axis.
    extrinsic : array_like, (4, 4) or (3, 4), optional
        From world to camera space, in which x points to the right, y down, z forwards; default: the
        identity. As in Open3D.
    fov : float, optional
        Instead of these: the horizontal field of view in degrees,
    eye, center, up : array_like, (3,), optional
        the camera's position, the point that it looks at, and the direction that is up in the
        picture.

    Returns
    -------
    Rays
        Arrays (height, width, 3), the picture's rows from top to bottom.

    Examples
    --------
    >>> rays = pinhole_rays(3, 1, fov=90, eye=(0, -5, 0))
    >>> rays.origins[0, 0].tolist(), rays.directions.round(3)[0, ::2, 0].tolist()
    ([0.0, -5.0, 0.0], [-0.667, 0.667])
    """
    width, height = whole(width, "width", 1), whole(height, "height", 1)
    if (fov is None) == (intrinsic is None):
        raise ValueError("expected either `fov`, with `eye`, `center` and `up`, or `intrinsic`, with `extrinsic`")
    if fov is not None:
        if not 0 < fov < 180 or extrinsic is not None:
            raise ValueError(f"`fov` is {fov}; expected 0 to 180 degrees, without `extrinsic`")
        focal = width / 2 / np.tan(np.radians(fov) / 2)
        intrinsic = [[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1]]
        forward = np.asarray(center, np.float64) - np.asarray(eye, np.float64)
        right = np.cross(forward, np.asarray(up, np.float64))
        if not np.linalg.norm(right) > 0:
            raise ValueError("`up` is parallel to the view from `eye` to `center`, or these are one point")
        z, x = forward / np.linalg.norm(forward), right / np.linalg.norm(right)
        pose = np.column_stack([x, np.cross(z, x), z, np.asarray(eye, np.float64)])
    else:
        m = _matrices(np.eye(4) if extrinsic is None else extrinsic, "extrinsic")
        inverse = np.linalg.inv(m[:, :3])
        pose = np.column_stack([inverse, -inverse @ m[:, 3]])
    k = np.asarray(intrinsic, np.float64)
    if k.shape != (3, 3):
        raise ValueError(f"`intrinsic` has the shape {k.shape}; expected (3, 3)")
    if not abs(np.linalg.det(k)) > 0:
        raise ValueError("`intrinsic` is not invertible")
    x, y = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    return _posed(np.stack([x, y, np.ones_like(x)], -1) @ np.linalg.inv(k).T, pose)


def lidar_rays(elevations: Any, azimuths: Any, pose: Any = None) -> Rays:
    """Make the rays of a spinning lidar.

    Parameters
    ----------
    elevations : array_like, (e,)
        In degrees, above the sensor's x-y plane.
    azimuths : array_like, (a,)
        In degrees, from x towards y.
    pose : array_like, (3, 4), (4, 4), or (..., 3, 4) for several sensors, optional
        From the sensor's to world space.

    Returns
    -------
    Rays
        Arrays (..., e, a, 3); directions are of length 1 in the sensor's space.

    Examples
    --------
    >>> lidar_rays([0, 30], [0, 90, 180]).directions.round(3)[1].tolist()
    [[0.866, 0.0, 0.5], [0.0, 0.866, 0.5], [-0.866, 0.0, 0.5]]
    """
    e, a = (np.radians(np.asarray(x, np.float64)) for x in (elevations, azimuths))
    if e.ndim != 1 or a.ndim != 1:
        raise ValueError(f"`elevations` and `azimuths` have the shapes {e.shape} and {a.shape}; expected (n,)")
    e, a = np.meshgrid(e, a, indexing="ij")
    return _posed(np.stack([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)], -1), pose)


def spherical_rays(width: int, height: int, pose: Any = None) -> Rays:
    """Make the rays of a panorama in all directions (equirectangular).

    Parameters
    ----------
    width, height : int
        In pixels; columns are azimuths from 180 to -180 degrees, rows elevations from 90 to -90.
    pose : array_like, (3, 4), (4, 4), or (..., 3, 4), optional
        From the sensor's to world space; its z axis is up, its x axis in the middle of the picture.

    Returns
    -------
    Rays
        Arrays (..., height, width, 3).

    Examples
    --------
    >>> spherical_rays(4, 1).directions.round(3)[0, :, 0].tolist()
    [-0.707, 0.707, 0.707, -0.707]
    """
    width, height = whole(width, "width", 1), whole(height, "height", 1)
    return lidar_rays(90 - 180 * (np.arange(height) + 0.5) / height, 180 - 360 * (np.arange(width) + 0.5) / width, pose)
