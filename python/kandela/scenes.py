"""Scenes and pictures of them."""

from __future__ import annotations

import difflib
import json
import os
import tempfile

import numpy as np

from . import _c
from .mesh import TriangleMesh

#: What the library says of its options, by name: {"kind": "integer", "count": 1, "initial": "64", ...}
_ROWS = {row["name"]: row for row in map(_c.kd_render_option_get_info, range(_c.kd_render_option_count()))}
TONEMAPS = tuple(_ROWS["tonemap"]["expected"].replace(" or ", ", ").split(", "))


def _option(options, name):
    """An option's value: int, float, str, None for no file; a tuple of several numbers."""
    text, row = _c.kd_render_options_get(options, name), _ROWS[name]
    if row["kind"] in ("name", "file"):
        return text or None
    number = int if row["kind"] == "integer" else lambda part: float("nan" if part == "auto" else part)
    values = tuple(number(part) for part in text.replace("x", ",").split(","))
    return values if row["count"] > 1 else values[0]


def _text(name, value):
    """What the command line calls `value`: "640x480" of (640, 480)."""
    if isinstance(value, (tuple, list, np.ndarray)):
        between = "x" if "x" in _ROWS[name]["initial"] else ","
        return between.join(_text(name, part) for part in value)
    if isinstance(value, (bool, np.bool_)) or (_ROWS[name]["expected"] == "off or on" and value in (0, 1)):
        return "on" if value else "off"
    if isinstance(value, (float, np.floating)):
        return "auto" if value != value else repr(float(value))
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


class Scene:
    """A scene in memory, made by load_scene.

    options: what its file says of rendering, changed by what `render` is given. counts: triangles,
    materials, lights.
    """

    def __init__(self, held, options):
        self._c, self._options = held, options
        self.counts = _c.kd_scene_count(held)

    @property
    def options(self) -> dict:
        """What the scene says of rendering: a dict of all options."""
        return {name: _option(self._options, name) for name, row in _ROWS.items() if not row["alias"]}

    def __repr__(self):
        return f"<kandela.Scene of {self.counts['triangles']} triangles>"


class Picture:
    """A rendered picture. Planes are float32 (height, width), rows from the top; not copies but for rgb,
    albedo and normal, which are (height, width, 3)."""

    def __init__(self, held, exposure, tonemap):
        self._c, self._exposure, self._tonemap = held, exposure, tonemap
        self.width, self.height = _c.kd_image_width(held), _c.kd_image_height(held)
        self.samples = _c.kd_image_samples(held)  #: per pixel, at least
        self.hash = _c.kd_image_hash(held)  #: of the bits of rgb
        self.interrupted = held.interrupted  #: `progress` ended it: what was finished by then

    def channel(self, name) -> np.ndarray:
        """One plane by its name: R G B A Z N.X N.Y N.Z Albedo.R Albedo.G Albedo.B; KeyError for another.

        >>> render("gen:blob:100", width=8, height=6, spp=1).channel("A").shape
        (6, 8)
        """
        plane = _c.kd_image_channel(self._c, name)
        if plane is None:
            raise KeyError(f"the picture has no channel {name!r}")
        return plane

    def _three(self, names):
        return np.stack([self.channel(name) for name in names], -1)

    @property
    def rgb(self) -> np.ndarray:
        """Radiance in W/(sr m^2), linear Rec. 709."""
        return self._three("RGB")

    @property
    def alpha(self) -> np.ndarray:
        """How much of each pixel something was met in, 0 to 1."""
        return self.channel("A")

    @property
    def depth(self) -> np.ndarray:
        """Distance along the view axis in the scene's unit; inf where nothing was met."""
        return self.channel("Z")

    @property
    def normal(self) -> np.ndarray:
        """Normals of what is seen, in world space."""
        return self._three(("N.X", "N.Y", "N.Z"))

    @property
    def albedo(self) -> np.ndarray:
        """Colours of what is seen, without its light."""
        return self._three(("Albedo.R", "Albedo.G", "Albedo.B"))

    def save(self, path, exposure=None, tonemap=None) -> None:
        """By suffix: .png, .jpg, .webp (8 bit sRGB, `exposure` stops brighter, nan: by the picture; tonemap
        "linear", "reinhard", "aces", "agx" or "neutral"; None: as the options said), .exr, .hdr, .pfm.

        >>> path = os.path.join(tempfile.mkdtemp(), "one.png")
        >>> render("gen:blob:100", width=8, height=6, spp=1).save(path, tonemap="agx")
        """
        tonemap = self._tonemap if tonemap is None else TONEMAPS.index(tonemap)
        exposure = self._exposure if exposure is None else exposure
        _c.kd_image_write(self._c, os.fspath(path), exposure, tonemap)

    def _repr_png_(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "picture.png")
            self.save(path)
            with open(path, "rb") as file:
                return file.read()

    def __repr__(self):
        return f"<kandela.Picture of {self.width} x {self.height} pixels, {self.samples} samples>"


def _plain(value):
    """What JSON has no word for."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    raise TypeError(f"a description cannot hold {type(value).__name__}")


def _given(name, mesh):
    """A mesh's arrays in the types that the library takes; the entry keeps what is left."""
    arrays = [mesh.pop(key, None) for key in ("vertices", "faces", "normals", "texcoords")]
    types = (np.float32, np.uint32, np.float32, np.float32)
    return (name,) + tuple(None if array is None else np.ascontiguousarray(array, kind)
                           for array, kind in zip(arrays, types))


def load_scene(source, folder=None, *, allow_outside=False, max_texture_memory=0) -> Scene:
    """A scene of a file or of a description in memory, as Scene.

    source: a path (a JSON description, a mesh file, "gen:blob:1000"), or a dict with the keys of
    scenes/DESCRIPTION.md ("kandela": 1 may be left out). Of its "meshes" an entry may have arrays
    instead of a file: "vertices" (n, 3), "faces" (m, 3) or none, "normals" (n, 3), "texcoords"
    (n, 2); or "mesh", a TriangleMesh. folder: where relative paths in a dict begin; None: the working
    directory. allow_outside: whether the scene's files may name files outside of their folder (of `folder`, of the
    description, of the mesh). max_texture_memory: bytes that the textures may take together, with what
    reading them takes, 0 for a quarter of the machine's; more is OutOfMemory. InputError says what is wrong and where.

    >>> import kandela
    >>> scene = kandela.load_scene({
    ...     "meshes": [{"vertices": [[0, 0, 0], [1, 0, 0], [0, 1, 0]], "faces": [[0, 1, 2]],
    ...                 "material": {"kind": "diffuse", "diffuse": [0.8, 0.2, 0.1]}}],
    ...     "environment": {"radiance": 1}})
    >>> scene.counts["triangles"]
    1
    """
    options = _c.kd_render_options_default()
    _c.kd_render_options_set(options, "allow_outside", _text("allow_outside", bool(allow_outside)))
    _c.kd_render_options_set(options, "max_texture_memory", _text("max_texture_memory", max_texture_memory))
    if not isinstance(source, dict):
        return Scene(_c.kd_scene_load(os.fspath(source), options), options)
    source, meshes = dict(source), []
    source.setdefault("kandela", 1)
    entries = [dict(entry) for entry in source.get("meshes", [])]
    for i, entry in enumerate(entries):
        mesh = entry.pop("mesh", None)
        if isinstance(mesh, TriangleMesh):
            entry["vertices"], entry["faces"] = mesh.vertices, mesh.faces
        elif mesh is not None:
            raise TypeError(f"meshes[{i}]['mesh'] is a {type(mesh).__name__}, expected a kandela.TriangleMesh")
        if "vertices" in entry:
            meshes.append(_given(f"meshes[{i}]", entry))
            entry["file"] = f"mesh:meshes[{i}]"
    source["meshes"] = entries
    text = json.dumps(source, default=_plain)
    folder = None if folder is None else os.fspath(folder)
    return Scene(_c.kd_scene_parse(text, folder, meshes, options), options)


def _progress_bar():
    """progress(stage, done, total) by tqdm."""
    from tqdm.auto import tqdm

    bars = {}

    def show(stage, done, total):
        bar = bars.get(stage) or bars.setdefault(stage, tqdm(total=total, desc=stage))
        bar.total = total
        bar.update(done - bar.n)

    return show


def _taken(scene, options, what):
    """A Scene, and its options with those of the caller."""
    if not isinstance(scene, Scene):
        reading = {name: options[name] for name in ("allow_outside", "max_texture_memory") if name in options}
        scene = load_scene(scene, **reading)
    taken = scene._options.copy()
    for name, value in options.items():
        if name not in _ROWS:
            near = difflib.get_close_matches(name, _ROWS, 1)
            raise TypeError(f"{what} has no option {name!r}" +
                            (f", did you mean {near[0]!r}?" if near else ""))
        _c.kd_render_options_set(taken, name, _text(name, value))
    return scene, taken


def render(scene, *, progress=None, **options) -> Picture:
    """A picture of a scene, as Picture.

    scene: a Scene, or what load_scene takes. options: those of `kandela render` that are not about files, with _
    for -: resolution=(640, 480), spp=16, integrator="photon", time=20, ... (all below). progress: True for tqdm's bars, or called about ten times a second
    as progress(stage, done, total) in this thread; when it returns True the picture is what was
    finished. Other threads of Python run meanwhile; Ctrl-C raises KeyboardInterrupt.

    >>> import kandela
    >>> picture = kandela.render("gen:blob:2000", width=32, height=24, spp=2)
    >>> picture.rgb.shape, picture.depth.dtype
    ((24, 32, 3), dtype('float32'))
    """
    scene, taken = _taken(scene, options, "render")
    if progress is True:
        progress = _progress_bar()
    held = _c.kd_render(scene._c, taken, progress)
    return Picture(held, _option(taken, "exposure"), TONEMAPS.index(_option(taken, "tonemap")))


def _listed(name, row):
    """A line of render's docstring."""
    said = [row["help"], f"; {row['expected']}" if row["kind"] != "file" else "", f", {row['unit']}" if row["unit"] else "",
            f" [{row['initial']}]" if row["initial"] else ""]
    return f"    {name}: {''.join(said)}"


if render.__doc__:  # none with python -OO
    render.__doc__ += "\n    Options [defaults]:\n\n" + "\n".join(_listed(*item) for item in _ROWS.items()) + "\n"


#: A photon, as the C library has it.
PHOTON = np.dtype([("position", "f4", 3), ("power", "f4", 3), ("direction", "f4", 3), ("normal", "f4", 3),
                   ("triangle", "u4"), ("path", "u4"), ("light", "u2"), ("bounce", "u1"), ("kind", "u1")])


class Photons:
    """The photons of a scene, made by `photons`: a structured array a map, in the order of (path, bounce),
    not copies and not to be written.

    caustic: light that only mirrors, glass and metal passed on; indirect: light that a surface scattered
    before; media: light that fog or smoke scatters after it has met something. Fields: position (in the scene's
    unit), power (W, linear Rec. 709), direction and normal (length 1), triangle, path, light, bounce, kind (0 straight
    from its light, 1 through lenses, 2 scattered before).
    """

    def __init__(self, held):
        self._c = held
        self.indirect, self.caustic, self.media = (
            _c.kd_photons_list(held, i).view(PHOTON).reshape(-1) for i in range(3))
        #: Of each map: stored, emitted (paths followed), watts (that lights emitted), complete.
        self.counts = {name: _c.kd_photons_count(held, i)
                       for i, name in enumerate(("indirect", "caustic", "media"))}

    def save(self, path) -> None:
        """A file (.kdp) that `render(..., photon_map=path)` and `kandela photons` take.

        >>> photons("gen:blob:100", photons=100).save(os.path.join(tempfile.mkdtemp(), "map.kdp"))
        """
        _c.kd_photons_write(self._c, os.fspath(path))

    def __repr__(self):
        return (f"<kandela.Photons: {len(self.indirect)} indirect, {len(self.caustic)} caustic, "
                f"{len(self.media)} in media>")


def photons(scene, *, progress=None, **options) -> Photons:
    """Emits the photons of a scene, as Photons; the same for any number of threads.

    scene: a Scene, or what load_scene takes. options: photons (to store in the map of indirect light),
    caustic_photons and media_photons (as many, if 0), max_depth, seed, threads. progress: as of `render`; when it
    returns True Interrupted is raised. UsageError, InputError as of the C library.

    >>> import kandela
    >>> found = kandela.photons("gen:blob:2000", photons=1000)
    >>> found.indirect["position"].shape[1], found.indirect["power"].dtype
    (3, dtype('float32'))
    """
    scene, taken = _taken(scene, options, "photons")
    if progress is True:
        progress = _progress_bar()
    return Photons(_c.kd_photons_emit(scene._c, taken, progress))
