"""Scenes, rendered images and photons."""

from __future__ import annotations

from typing import Any

import difflib
import json
import os
import tempfile

import numpy as np

from . import _c
from .arrays import path_text
from .mesh import TriangleMesh

#: Descriptions of the options, by name: {"kind": "integer", "count": 1, "initial": "64", ...}
_ROWS = {row["name"]: row for row in map(_c.kd_render_option_get_info, range(_c.kd_render_option_count()))}
#: Options of reading a scene, which `load_scene` takes
_READING = ("allow_outside", "max_texture_memory", "clip", "frame", "frame_rate")
#: Options that `Picture.save` applies.
_FINISH = [name for name in ("exposure", "tonemap", "background", "bloom", "bloom_radius", "vignette", "contrast",
                             "saturation", "white_balance") if name in _ROWS]
TONEMAPS = tuple(_ROWS["tonemap"]["expected"].replace(" or ", ", ").split(", "))


def _option(options, name):
    """Return the value of an option: int, float, str, None for no file, or a tuple of numbers."""
    text, row = _c.kd_render_options_get(options, name), _ROWS[name]
    if row["kind"] in ("name", "file"):
        return text or None
    number = int if row["kind"] == "integer" else lambda part: float("nan" if part == "auto" else part)
    values = tuple(number(part) for part in text.replace("x", ",").split(","))
    return values if row["count"] > 1 else values[0]


def _text(name, value):
    """Return `value` in the syntax of the command line: (640, 480) becomes "640x480"."""
    if isinstance(value, (tuple, list, np.ndarray)):
        between = "x" if "x" in _ROWS[name]["initial"] else ","
        return between.join(_text(name, part) for part in value)
    if isinstance(value, (bool, np.bool_)) or (_ROWS[name]["expected"] == "off or on" and value in (0, 1)):
        return "on" if value else "off"
    if isinstance(value, (float, np.floating)):
        return "auto" if value != value else repr(float(value))
    return path_text(value if isinstance(value, os.PathLike) else str(value))


def _check_option(name, what):
    if name not in _ROWS:
        near = difflib.get_close_matches(name, _ROWS, 1)
        raise TypeError(f"{what} has no option {name!r}" + (f", did you mean {near[0]!r}?" if near else ""))


class Scene:
    """A scene in memory, made by `load_scene`.

    Attributes
    ----------
    options : dict
        Rendering options that the scene file sets, and defaults; `render` overrides them by its
        arguments.
    counts : dict
        Number of triangles, materials and lights.
    origin : tuple of 3 float
        Offset that was subtracted from all positions of a scene far from (0, 0, 0), for precision;
        zeros for other scenes. Photons are in the coordinates of the scene's files.
    """

    def __init__(self, held: Any, options: Any, source: Any) -> None:
        self._c, self._options, self._source = held, options, source
        self.counts = _c.kd_scene_count(held)
        self.origin = _c.kd_scene_origin(held)

    @property
    def options(self) -> dict[str, Any]:
        """All rendering options of the scene, by name."""
        return {name: _option(self._options, name) for name, row in _ROWS.items() if not row["alias"]}

    def __getstate__(self):
        """What the scene was made of: the path of its file, which is read again, or its description and
        the arrays of its meshes.
        """
        return self._source

    def __setstate__(self, state):
        self.__init__(*_made(state), state)

    def __repr__(self):
        return f"<kandela.Scene of {self.counts['triangles']} triangles>"


class Picture:
    """A rendered image, made by `render`.

    Channels are float32 (height, width), rows from the top, and views of the library's memory;
    `rgb`, `albedo` and `normal` are copies, (height, width, 3).

    Attributes
    ----------
    width, height : int
        Pixels.
    samples : int
        Smallest number of samples that any pixel has.
    hash : int
        Hash of the bits of `rgb`.
    interrupted : bool
        True if `progress` ended the rendering; the image is then the partial result.
    """

    def __init__(self, held: Any, options: Any) -> None:
        self._c, self._exposure, self._tonemap = held, _option(options, "exposure"), TONEMAPS.index(_option(options, "tonemap"))
        self._finish = {name: _c.kd_render_options_get(options, name) for name in _FINISH}
        self.width, self.height = _c.kd_image_width(held), _c.kd_image_height(held)
        self.samples = _c.kd_image_samples(held)  #: smallest number of any pixel
        self.hash = _c.kd_image_hash(held)  #: hash of the bits of rgb
        self.interrupted = held.interrupted  #: True: a partial result, ended by `progress`

    def channel(self, name: Any) -> np.ndarray:
        """Return one channel as an array.

        Parameters
        ----------
        name : str
            R G B A Z N.X N.Y N.Z Albedo.R Albedo.G Albedo.B.

        Returns
        -------
        ndarray of float32, (height, width)

        Raises
        ------
        KeyError
            If there is no channel of that name.

        Examples
        --------
        >>> render("gen:blob:100", width=8, height=6, spp=1).channel("A").shape
        (6, 8)
        """
        plane = _c.kd_image_channel(self._c, name)
        if plane is None:
            raise KeyError(f"the image has no channel {name!r}")
        return plane

    def _three(self, names):
        return np.stack([self.channel(name) for name in names], -1)

    @property
    def rgb(self) -> np.ndarray:
        """Radiance in W/(sr m^2), linear Rec. 709."""
        return self._three("RGB")

    @property
    def alpha(self) -> np.ndarray:
        """Coverage of each pixel, from 0 to 1."""
        return self.channel("A")

    @property
    def depth(self) -> np.ndarray:
        """Distance along the view axis in scene units; inf where no surface was hit."""
        return self.channel("Z")

    @property
    def normal(self) -> np.ndarray:
        """Normals of the visible surfaces, in world space."""
        return self._three(("N.X", "N.Y", "N.Z"))

    @property
    def albedo(self) -> np.ndarray:
        """Albedo of the visible surfaces."""
        return self._three(("Albedo.R", "Albedo.G", "Albedo.B"))

    def save(self, path: Any, exposure: Any = None, tonemap: Any = None) -> None:
        """Write the image in the format of the suffix.

        Parameters
        ----------
        path : str or path-like
            .png, .jpg and .webp are 8-bit sRGB; .exr, .hdr and .pfm are linear. An .exr file of a
            crop has the place of the crop in the image.
        exposure : float, optional
            Stops by which 8-bit images are scaled; nan: chosen from the image; None: as rendered
            with.
        tonemap : {"linear", "reinhard", "aces", "agx", "neutral"}, optional
            Tone curve of 8-bit images; None: as rendered with.

        Examples
        --------
        >>> path = os.path.join(tempfile.mkdtemp(), "one.png")
        >>> render("gen:blob:100", width=8, height=6, spp=1).save(path, tonemap="agx")
        """
        tonemap = self._tonemap if tonemap is None else TONEMAPS.index(tonemap)
        exposure = self._exposure if exposure is None else exposure
        _c.kd_image_write(self._c, path_text(path), exposure, tonemap)

    @classmethod
    def load(cls, path: Any) -> Picture:
        """Read an image from a file.

        Parameters
        ----------
        path : str or path-like
            An .exr file that `save` wrote has all channels, bit for bit. Other images, of any format
            that `kandela` reads, have R, G and B, maybe A, and 0 samples.

        Returns
        -------
        Picture
            `save` finishes it by the default options of `render`.

        Raises
        ------
        InputError
            If the file is missing, damaged or not an image.

        Examples
        --------
        >>> Picture.load("/nowhere/at/all.exr")
        Traceback (most recent call last):
        kandela.errors.InputError: /nowhere/at/all.exr: cannot open: No such file or directory
        """
        options = _c.kd_render_options_default()
        return cls(_c.kd_image_read(path_text(path), options), options)

    def __getstate__(self):
        """The .exr file of `save`, which needs a build with OpenEXR, and how 8-bit files are finished."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "picture.exr")
            self.save(path)
            with open(path, "rb") as file:
                return {"file": file.read(), "finish": self._finish, "interrupted": self.interrupted,
                        "samples": self.samples}

    def __setstate__(self, state):
        options = _c.kd_render_options_default()
        for name, text in state["finish"].items():
            _c.kd_render_options_set(options, name, text)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "picture.exr")
            with open(path, "wb") as file:
                file.write(state["file"])
            self.__init__(_c.kd_image_read(path, options), options)
        self.interrupted, self.samples = state["interrupted"], state["samples"]

    def _repr_png_(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "picture.png")
            self.save(path)
            with open(path, "rb") as file:
                return file.read()

    def __repr__(self):
        return f"<kandela.Picture of {self.width} x {self.height} pixels, {self.samples} samples>"


def _plain(value):
    """Convert values that the json module does not support."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    raise TypeError(f"a scene description cannot contain a value of type {type(value).__name__}")


def _made(recipe):
    """Return the scene of the C library and its options."""
    options = _c.kd_render_options_default()
    for name, text in recipe["options"].items():
        _c.kd_render_options_set(options, name, text)
    if "path" in recipe:
        return _c.kd_scene_load(recipe["path"], options), options
    return _c.kd_scene_parse(recipe["text"], recipe["folder"], recipe["meshes"], options), options


def _given(name, mesh):
    """Remove the arrays of a mesh from its description and return copies in the library's types, which
    also serve to pickle the scene.
    """
    arrays = [mesh.pop(key, None) for key in ("vertices", "faces", "normals", "texcoords")]
    if arrays[0] is not None:
        TriangleMesh._check(*(None if array is None else np.asarray(array) for array in arrays[:2]))
    types = (np.float32, np.uint32, np.float32, np.float32)
    return (name,) + tuple(None if array is None else np.array(array, kind, order="C")
                           for array, kind in zip(arrays, types))


def load_scene(source: Any, folder: Any = None, *, allow_outside: bool = False, max_texture_memory: int = 0,
               clip: Any = None, frame: float = 1, frame_rate: float = 24) -> Scene:
    """Load a scene from a file, or create one from a description in memory.

    Parameters
    ----------
    source : str, path-like or dict
        A JSON description, a mesh file or a generated scene ("gen:blob:1000"); or a dict with the
        keys of scenes/DESCRIPTION.md, of which "kandela": 1 may be omitted. In a dict, an entry of
        "meshes" may hold arrays instead of naming a file: "vertices" (n, 3), optionally "faces" (m,
        3), "normals" (n, 3) and "texcoords" (n, 2); or "mesh", a TriangleMesh.
    folder : str or path-like, optional
        Directory of relative paths in a dict; None: the working directory.
    allow_outside : bool, optional
        Allow scene files to refer to files outside of their directory.
    max_texture_memory : int, optional
        Limit on the memory of all textures, in bytes, including what decoding needs; 0: a quarter
        of the machine's memory.
    clip : str, optional
        Animation of glTF files, by name or by number from 0; "": the first; None: none, meshes are in
        their rest pose.
    frame : float, optional
        Frame at which moving meshes and instances are placed.
    frame_rate : float, optional
        Frames per second of glTF animations.

    Returns
    -------
    Scene

    Raises
    ------
    InputError
        If the scene is invalid; the message names the position.
    OutOfMemory
        If the textures need more than `max_texture_memory`.

    Examples
    --------
    >>> import kandela
    >>> scene = kandela.load_scene({
    ...     "meshes": [{"vertices": [[0, 0, 0], [1, 0, 0], [0, 1, 0]], "faces": [[0, 1, 2]],
    ...                 "material": {"kind": "diffuse", "diffuse": [0.8, 0.2, 0.1]}}],
    ...     "environment": {"radiance": 1}})
    >>> scene.counts["triangles"]
    1
    """
    options = {"allow_outside": bool(allow_outside), "max_texture_memory": max_texture_memory, "clip": clip,
               "frame": frame, "frame_rate": frame_rate}
    recipe = {"options": {name: _text(name, value) for name, value in options.items() if value is not None}}
    if not isinstance(source, dict):
        path = path_text(source)
        recipe["path"] = path if path.startswith("gen:") else os.path.abspath(path)
        return Scene(*_made(recipe), recipe)
    source, meshes = dict(source), []
    source.setdefault("kandela", 1)
    entries = [dict(entry) for entry in source.get("meshes", [])]
    for i, entry in enumerate(entries):
        mesh = entry.pop("mesh", None)
        if isinstance(mesh, TriangleMesh):
            entry["vertices"], entry["faces"] = mesh.vertices, mesh.faces
        elif mesh is not None:
            raise TypeError(f"`meshes[{i}]['mesh']` has the type {type(mesh).__name__}; expected kandela.TriangleMesh")
        if "vertices" in entry:
            meshes.append(_given(f"meshes[{i}]", entry))
            entry["file"] = f"mesh:meshes[{i}]"
    source["meshes"] = entries
    text = json.dumps(source, default=_plain)
    recipe.update(text=text, folder=os.path.abspath("." if folder is None else path_text(folder)), meshes=meshes)
    return Scene(*_made(recipe), recipe)


def _progress_bar():
    """Return a progress callback that shows bars by tqdm."""
    from tqdm.auto import tqdm

    bars = {}

    def show(stage, done, total):
        bar = bars.get(stage) or bars.setdefault(stage, tqdm(total=total, desc=stage))
        bar.total = total
        bar.update(done - bar.n)

    return show


def _taken(scene, options, what):
    """Return the Scene, and its options overridden by those of the caller."""
    if not isinstance(scene, Scene):
        reading = {name: options[name] for name in _READING if name in options}
        scene = load_scene(scene, **reading)
    taken = scene._options.copy()
    for name, value in options.items():
        _check_option(name, what)
        _c.kd_render_options_set(taken, name, _text(name, value))
    return scene, taken


def render(scene: Any, *, progress: Any = None, **options: Any) -> Picture:
    """Render a scene to an image.

    Parameters
    ----------
    scene : Scene, or anything that `load_scene` accepts
    progress : callable or True, optional
        Called about ten times a second, in this thread, as progress(stage, done, total). If it
        returns True, the rendering ends with a partial result. True: show bars by tqdm.
    **options
        The options of `kandela render` that do not concern files, with _ for -, as listed below:
        resolution=(640, 480), spp=16, integrator="photon", time=20, ...

    Returns
    -------
    Picture

    Raises
    ------
    UsageError
        If an option is invalid.
    KeyboardInterrupt
        On Ctrl-C. Other Python threads run during the rendering.

    Examples
    --------
    >>> import kandela
    >>> picture = kandela.render("gen:blob:2000", width=32, height=24, spp=2)
    >>> picture.rgb.shape, picture.depth.dtype
    ((24, 32, 3), dtype('float32'))
    """
    scene, taken = _taken(scene, options, "render")
    if progress is True:
        progress = _progress_bar()
    held = _c.kd_render(scene._c, taken, progress)
    return Picture(held, taken)


def _listed(name, row):
    """Return the lines that describe one option in the docstring of `render`."""
    said = [row["help"], f"; {row['expected']}" if row["kind"] != "file" else "", f", {row['unit']}" if row["unit"] else "",
            f" [{row['initial']}]" if row["initial"] else ""]
    return f"    {name}: {''.join(said)}"


if render.__doc__:  # None with python -OO
    render.__doc__ += "\n    Options [defaults]:\n\n" + "\n".join(_listed(*item) for item in _ROWS.items()) + "\n"


#: Layout of `kd_photon`.
PHOTON = np.dtype([("position", "f4", 3), ("power", "f4", 3), ("direction", "f4", 3), ("normal", "f4", 3),
                   ("triangle", "u4"), ("path", "u4"), ("light", "u2"), ("bounce", "u1"), ("kind", "u1")])


class Photons:
    """The photons of a scene, made by `photons`: one read-only structured array per map.

    The arrays are views of the library's memory, ordered by (path, bounce). Their fields are
    position (scene units), power (W, linear Rec. 709), direction and normal (unit vectors),
    triangle, path, light, bounce and kind (0: direct, 1: caustic, 2: indirect).

    Attributes
    ----------
    indirect : ndarray
        Photons of the global map: light that a surface scattered before.
    caustic : ndarray
        Photons that met only mirrors, glass and metal before.
    media : ndarray
        Photons that a medium scattered after an earlier scattering event.
    counts : dict
        For each map: stored, emitted (paths), watts (emitted power), complete.
    """

    def __init__(self, held: Any) -> None:
        self._c = held
        self.indirect, self.caustic, self.media = (
            _c.kd_photons_list(held, i).view(PHOTON).reshape(-1) for i in range(3))
        #: for each map: stored, emitted (paths), watts (emitted power), complete
        self.counts = {name: _c.kd_photons_count(held, i)
                       for i, name in enumerate(("indirect", "caustic", "media"))}

    def save(self, path: Any) -> None:
        """Write a file (.kdp) that `render(..., photon_map=path)` and `kandela photons` accept.

        Examples
        --------
        >>> photons("gen:blob:100", photons=100).save(os.path.join(tempfile.mkdtemp(), "map.kdp"))
        """
        _c.kd_photons_write(self._c, path_text(path))

    @classmethod
    def load(cls, path: Any) -> Photons:
        """Read a file (.kdp) that `save` or the program wrote; it must not change while the object exists.

        Raises
        ------
        InputError
            If the file is missing, truncated, modified or not a photon map.

        Examples
        --------
        >>> Photons.load("/nowhere/at/all")
        Traceback (most recent call last):
        kandela.errors.InputError: /nowhere/at/all: cannot open: No such file or directory
        """
        return cls(_c.kd_photons_load(path_text(path)))

    def __getstate__(self):
        """The file of `save`."""
        with tempfile.TemporaryDirectory() as folder:
            self.save(os.path.join(folder, "map.kdp"))
            with open(os.path.join(folder, "map.kdp"), "rb") as file:
                return {"file": file.read()}

    def __setstate__(self, state):
        number, path = tempfile.mkstemp(".kdp")
        with os.fdopen(number, "wb") as file:
            file.write(state["file"])
        self.__init__(_c.kd_photons_load(path))
        try:
            os.remove(path)  # the photons stay mapped
        except OSError:
            pass  # Windows does not remove a mapped file

    def __repr__(self):
        return (f"<kandela.Photons: {len(self.indirect)} indirect, {len(self.caustic)} caustic, "
                f"{len(self.media)} in media>")


def photons(scene: Any, *, progress: Any = None, **options: Any) -> Photons:
    """Emit the photons of a scene. They are the same for any number of threads.

    Parameters
    ----------
    scene : Scene, or anything that `load_scene` accepts
    progress : callable or True, optional
        As for `render`; if it returns True, Interrupted is raised.
    **options
        photons (to store in the map of indirect light), caustic_photons, media_photons (0: as many
        as photons), max_depth, seed, threads.

    Returns
    -------
    Photons

    Raises
    ------
    UsageError
        If an option is invalid.

    Examples
    --------
    >>> import kandela
    >>> found = kandela.photons("gen:blob:2000", photons=1000)
    >>> found.indirect["position"].shape[1], found.indirect["power"].dtype
    (3, dtype('float32'))
    """
    scene, taken = _taken(scene, options, "photons")
    if progress is True:
        progress = _progress_bar()
    return Photons(_c.kd_photons_emit(scene._c, taken, progress))
