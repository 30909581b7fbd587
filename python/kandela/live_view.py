"""A page in a browser that shows a rendering while it runs: `view`."""

from __future__ import annotations

from typing import Any

import atexit
import html
import http.client
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.request
import webbrowser

import numpy as np

from . import _c, errors
from .arrays import path_text
from .scenes import _READING, Scene, _check_option, _text, load_scene

#: Runs the program until it ends or the standard input does, which it does with this interpreter.
_SHELL = '''exec 3<&0; "$@" </dev/null 3<&- & program=$!
{ read -r _ <&3; kill $program; } >/dev/null 2>&1 & watcher=$!
exec 3<&-; trap "" INT; wait $program; code=$?; kill $watcher; exit $code'''
_ERRORS = {2: errors.UsageError, 3: errors.InputError, 4: errors.OutOfMemory, 5: errors.DeviceError}


def _program(named):
    """Return the path of the program `kandela`."""
    beside = os.path.join(os.path.dirname(__file__), "..", "..", "bin", "kandela")  # in a build directory
    found = path_text(named) if named else os.environ.get("KANDELA_PROGRAM") or shutil.which("kandela") or beside
    if not shutil.which(found):
        raise errors.RunError(
            f"cannot find the program {found if named else 'kandela'}; build or install it, and set program= or the "
            "environment variable KANDELA_PROGRAM to its path" + ("" if named else ", or add its directory to PATH"))
    return found


def _write_mesh(path, vertices, faces, normals, texcoords):
    """Write a binary PLY file."""
    columns = [(array, names) for array, names in ((vertices, "xyz"), (normals, ("nx", "ny", "nz")), (texcoords, "uv"))
               if array is not None]
    rows = np.hstack([np.asarray(array, "<f4").reshape(len(vertices), -1) for array, _ in columns])
    if faces is None:
        faces = np.arange(len(vertices)).reshape(-1, 3)
    corners = np.empty(len(faces), [("count", "u1"), ("corners", "<u4", 3)])
    corners["count"], corners["corners"] = 3, faces
    head = ["ply", "format binary_little_endian 1.0", f"element vertex {len(rows)}",
            *(f"property float {name}" for _, names in columns for name in names),
            f"element face {len(faces)}", "property list uchar uint vertex_indices", "end_header", ""]
    with open(path, "wb") as file:
        file.write("\n".join(head).encode() + rows.tobytes() + corners.tobytes())


def _named_files(value, folder, key=""):
    """Return a description with absolute paths in place of those relative to `folder`."""
    if isinstance(value, dict):
        return {name: _named_files(part, folder, name) for name, part in value.items()}
    if isinstance(value, list):
        return [_named_files(part, folder, key) for part in value]
    names = isinstance(value, str) and (key in ("file", "placements", "image") or key.endswith("_map"))
    return value if not names or value.startswith("gen:") else os.path.join(folder, value)


def _write_scene(directory, text, folder, meshes):
    """Write a description from memory with its arrays; return its path."""
    scene = _named_files(json.loads(text), os.path.abspath(folder or "."))
    for i, (name, *arrays) in enumerate(meshes):
        mesh = scene["meshes"][int(name[len("meshes["):-1])]
        mesh["file"] = os.path.join(directory, f"{i}.ply")
        _write_mesh(mesh["file"], *arrays)
    path = os.path.join(directory, "scene.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(scene, file)
    return path


def _arguments(options):
    """Return the options of the command line."""
    for name, value in options.items():
        _check_option(name, "view")
        if name == "allow_outside":
            if value not in (False, "off"):
                yield "--allow-outside"
        else:
            yield f"--{name.replace('_', '-')}={_text(name, value)}"


def _drain(process):
    for _ in process.stdout:
        pass  # a full pipe would stop the program
    process.stdout.close()


def _stop(process, folder):
    """End the program, and remove the scene that was written for it."""
    process.stdin.close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if folder:
        folder.cleanup()


class LiveView:
    """A page that shows a rendering, made by `view`.

    It ends with `close`, with the `with` block, or with the interpreter. A notebook shows the page if
    the object is the value of a cell.

    Attributes
    ----------
    url : str
        Address of the page for its owner, who can change the camera and the options.
    viewer_url : str
        Address for viewers, who cannot.
    """

    def __init__(self, command: list[str], folder: Any) -> None:
        process = subprocess.Popen(["/bin/sh", "-c", _SHELL, "sh", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
        self._process, self._folder = process, folder
        atexit.register(self.close)
        said = []
        try:
            for line in process.stdout:
                found = re.findall(r"http://\S+?token=\w+", line)
                if len(found) == 2:
                    self.url, self.viewer_url = found
                    if self._is_loaded():
                        threading.Thread(target=_drain, args=(process,), daemon=True).start()
                        return
                else:
                    said.append(line.strip())
            code = process.wait()
        except BaseException:  # Ctrl-C while the scene is loaded; the caller has no object to close
            self.close()
            process.stdout.close()
            raise
        process.stdout.close()
        self.close()
        raise _ERRORS.get(code, errors.RunError)(re.sub("^kandela: ", "", "\n".join(said)) or f"kandela ended with code {code}")

    def _is_loaded(self):
        """Wait for the scene; return False if the program ends before."""
        open_url = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
        while self._process.poll() is None:
            try:
                with open_url(self.url.replace("/?", "/api/state?"), timeout=60) as answer:
                    if json.load(answer)["generation"] > 0:
                        return True
            except (OSError, http.client.HTTPException):
                pass  # the program ends
            time.sleep(0.02)
        return False

    def close(self) -> None:
        """End the rendering and its page; calls after the first do nothing.

        Examples
        --------
        >>> page = kandela.view("gen:blob:2000", browser=False)  # doctest: +SKIP
        >>> page.close()  # doctest: +SKIP
        """
        if not self._process.stdin.closed:
            atexit.unregister(self.close)
            _stop(self._process, self._folder)

    @property
    def closed(self) -> bool:
        """True if the rendering has ended."""
        return self._process.poll() is not None

    def __enter__(self) -> LiveView:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _repr_html_(self):
        if self.closed:
            return "<p>This live view has ended.</p>"
        return f'<iframe src="{html.escape(self.url)}" title="Kandela, live view" width="100%" height="760" style="border: 0"></iframe>'

    def __repr__(self):
        return f"<kandela.LiveView {'closed' if self.closed else self.url}>"


def _in_notebook():
    """Return True in a notebook, which shows the page itself."""
    try:
        return get_ipython().__class__.__name__ == "ZMQInteractiveShell"  # type: ignore[name-defined]
    except NameError:
        return False


def view(scene: Any, *, browser: bool | None = None, address: str = "127.0.0.1:0", program: Any = None, **options: Any) -> LiveView:
    """Show a scene on a page in a browser while it is rendered: camera, options, photons and trees.

    The program `kandela` renders in a process of its own, which ends with the interpreter at the
    latest. docs/live.md describes the page.

    Parameters
    ----------
    scene : Scene, or anything that `load_scene` accepts
        Arrays of a scene in memory are those of the call of `load_scene`.
    browser : bool, optional
        Open a tab of the browser; None: except in notebooks, which show the object itself.
    address : str, optional
        Address and port to listen on; port 0: any that is free.
    program : str or path-like, optional
        The program; None: the environment variable KANDELA_PROGRAM, or `kandela` in PATH.
    **options
        As for `render`.

    Returns
    -------
    LiveView

    Raises
    ------
    RunError
        If the program is missing or cannot listen on the address.
    DeviceError
        If the program has no live view: its plug-in is missing.

    Examples
    --------
    >>> import kandela
    >>> kandela.view("gen:blob:2000", integrator="photon", photons=50_000)  # doctest: +SKIP
    <kandela.LiveView http://127.0.0.1:41235/?token=...>
    >>> kandela.view("gen:blob:2000", program="/nowhere/kandela")
    Traceback (most recent call last):
    kandela.errors.RunError: cannot find the program /nowhere/kandela; ...
    """
    found, given = _program(program), dict(options)
    if isinstance(scene, dict):
        reading = {name: given.pop(name) for name in _READING if name in given}
        scene = load_scene(scene, **reading)
    folder, source = None, scene
    if isinstance(scene, Scene):
        source, initial = scene._source, _c.kd_render_options_default()
        reading = {name: text for name, text in source["options"].items() if text != _c.kd_render_options_get(initial, name)}
        given = {**reading, **given}
    arguments = list(_arguments(given))
    if isinstance(source, dict) and "path" in source:
        source = source["path"]
    elif isinstance(source, dict):
        folder = tempfile.TemporaryDirectory(prefix="kandela-view-")
        source = _write_scene(folder.name, source["text"], source["folder"], source["meshes"])
        if "--allow-outside" not in arguments:  # load_scene has checked the files; here they are absolute
            arguments.append("--allow-outside")
    page = LiveView([found, "serve", path_text(source), f"--serve={address}", *arguments], folder)
    if browser or (browser is None and not _in_notebook()):
        webbrowser.open(page.url)
    return page
