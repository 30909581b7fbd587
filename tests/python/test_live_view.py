"""The live view of scenes from files and from memory: a program in a process of its own."""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
import webbrowser

import numpy as np
import pytest

import kandela
from test_scenes import FACES, QUAD, description

PROGRAM = os.environ.get("KANDELA_PROGRAM", "")


def served():
    """Returns True if the program has a live view."""
    try:
        kandela.view("gen:blob:100", browser=False, width=4, height=4, spp=1).close()
    except kandela.RunError:
        return False
    except kandela.DeviceError as error:
        assert "libmicrohttpd" in str(error)
        return False
    return True


needs_server = pytest.mark.skipif(not PROGRAM or not served(), reason="KANDELA_PROGRAM is not set, or it has no live view")


def get(page, path):
    with urllib.request.urlopen(page.url.replace("/?", f"{path}{'&' if '?' in path else '?'}"), timeout=60) as answer:
        return answer.read()


def done(page):
    end = time.monotonic() + 60
    while (state := json.loads(get(page, "/api/state")))["status"] != "done":
        assert time.monotonic() < end and state["status"] == "rendering", state
        time.sleep(0.05)
    return state


@needs_server
def test_page_shows_picture_of_arrays_and_files(tmp_path):
    (tmp_path / "tile.obj").write_text("v -1 0.5 -1\nv 0 0.5 -1\nv 0 0.5 0\nf 3 2 1\n")
    kandela.render("gen:blob:100", width=8, height=8, spp=1).save(tmp_path / "map.png")
    words = description()
    words["meshes"][0].update(normals=np.tile([0, 1, 0], (4, 1)), texcoords=QUAD[:, ::2])
    words["meshes"][0]["material"] = {"kind": "diffuse", "diffuse_map": "map.png"}
    words["meshes"] += [{"file": "tile.obj"}, {"vertices": QUAD[FACES].reshape(-1, 3) * 0.5 + [0, 0.2, 0],
                                               "material": {"kind": "diffuse", "diffuse": 0.5}}]
    scene = kandela.load_scene(words, folder=tmp_path)
    wanted = kandela.render(scene, spp=4)
    with kandela.view(scene, browser=False, spp=4) as page:
        assert done(page)["spp"] == 4 and not page.closed and page.url in page._repr_html_()
        answer = get(page, "/api/picture?channel=beauty&scale=1")
        assert np.frombuffer(answer, "<u4", 3).tolist() == [16, 12, 3]
        shown = np.frombuffer(answer, "<f2", offset=16).reshape(12, 16, 3)
        np.testing.assert_array_equal(shown, wanted.rgb.astype(np.float16))
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(urllib.request.Request(page.viewer_url.replace("/?", "/api/control?"), b'{"action": "pause"}'))
        folder = page._folder.name
        assert os.path.exists(folder)
    assert page.closed and not os.path.exists(folder) and "ended" in page._repr_html_() and "closed" in repr(page)


@needs_server
def test_tab_opens_unless_told_not_to(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    (tmp_path / "scene.json").write_text(json.dumps({"kandela": 1, "meshes": [{"file": "gen:blob:100"}]}))
    for scene, options in ((tmp_path / "scene.json", {}), (kandela.load_scene(tmp_path / "scene.json"), {"browser": False})):
        with kandela.view(scene, width=8, height=6, spp=1, allow_outside=True, **options) as page:
            state = done(page)
            assert (state["width"], state["height"]) == (8, 6) and opened == [opened[0] if options else page.url]


@needs_server
def test_server_ends_with_interpreter():
    code = "import kandela, os, sys; page = kandela.view('gen:blob:100', browser=False); print(page.url, flush=True); "
    for end in ("", "os.kill(os.getpid(), 9)"):
        run = subprocess.run([sys.executable, "-c", code + end], capture_output=True, text=True, timeout=60)
        address, limit = run.stdout.strip(), time.monotonic() + 10
        with pytest.raises(OSError):
            while time.monotonic() < limit:
                urllib.request.urlopen(address, timeout=10).close()
                time.sleep(0.05)


@needs_server
def test_interrupted_start_ends_program(monkeypatch):
    started = []

    def interrupt(page):
        started.append(page)
        raise KeyboardInterrupt

    monkeypatch.setattr(kandela.LiveView, "_is_loaded", interrupt)
    with pytest.raises(KeyboardInterrupt):
        kandela.view("gen:blob:100", browser=False)
    assert started[0].closed


def test_what_is_missing_is_named(tmp_path, monkeypatch):
    with pytest.raises(kandela.RunError, match="cannot find the program /nowhere/kandela"):
        kandela.view("gen:blob:100", program="/nowhere/kandela")
    with pytest.raises(TypeError, match="did you mean 'photons'"):
        kandela.view("gen:blob:100", fotons=3, program=sys.executable)
    if not PROGRAM:
        return
    with pytest.raises(kandela.InputError, match="nothing.json"):
        kandela.view("nothing.json", browser=False)
    with pytest.raises(kandela.UsageError, match="spp"):
        kandela.view("gen:blob:100", browser=False, spp=-1)
    shutil.copy(PROGRAM, tmp_path / "kandela")
    with pytest.raises(kandela.DeviceError, match="libmicrohttpd"):
        kandela.view("gen:blob:100", browser=False, program=tmp_path / "kandela")
