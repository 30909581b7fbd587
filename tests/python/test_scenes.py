"""Scenes from files and from arrays, rendering and its options, photons, cancelling a rendering."""

import copy
import doctest
import os
import pickle
import signal
import subprocess
import threading
import time

import numpy as np
import pytest

import kandela
import kandela.scenes

QUAD = np.array([[-1, 0, -1], [1, 0, -1], [1, 0, 1], [-1, 0, 1]], float)
FACES = np.array([[3, 2, 1], [3, 1, 0]])


def description(**more):
    return {"meshes": [{"vertices": QUAD, "faces": FACES,
                        "material": {"kind": "diffuse", "diffuse": [0.5, 0.25, 0.125]}}],
            "camera": {"eye": [0, 2, 0], "look_at": [0, 0, 0], "up": [0, 0, 1], "fov": 30},
            "environment": {"radiance": [1, 1, 1]},
            "render": {"resolution": [16, 12], "spp": 16, "integrator": "path"}, **more}


def test_white_sky_gives_plane_its_albedo():
    picture = kandela.render(description())
    assert picture.rgb.shape == (12, 16, 3) and picture.samples == 16
    np.testing.assert_allclose(picture.rgb.mean((0, 1)), [0.5, 0.25, 0.125], rtol=1e-3)
    np.testing.assert_allclose(picture.albedo[6, 8], [0.5, 0.25, 0.125], rtol=1e-5)
    np.testing.assert_allclose(picture.normal[6, 8], [0, 1, 0], atol=1e-5)
    np.testing.assert_allclose(picture.depth, 2, rtol=1e-5)
    assert (picture.alpha == 1).all()


def test_arrays_match_files(tmp_path):
    with open(tmp_path / "quad.obj", "w") as file:
        file.writelines(f"v {x} {y} {z}\n" for x, y, z in QUAD)
        file.writelines("f {} {} {}\n".format(*(face + 1)) for face in FACES)
    words = description()
    of_arrays = kandela.render(words)
    mesh = {"mesh": kandela.TriangleMesh(QUAD, FACES), "material": words["meshes"][0]["material"]}
    of_mesh = kandela.render(dict(words, meshes=[mesh]))
    file = {"file": "quad.obj", "material": mesh["material"]}
    of_file = kandela.render(kandela.load_scene(dict(words, meshes=[file]), folder=tmp_path))
    assert of_arrays.hash == of_mesh.hash == of_file.hash
    words["camera"]["fov"] = 80  # so that edges are in the picture and its hash depends on the seed
    seeds = [kandela.render(words, seed=seed).hash for seed in (1, 2)]
    assert seeds[0] != seeds[1] and kandela.render(words, seed=1, threads=1).hash == seeds[0]


def test_scenes_and_pictures_are_copied(tmp_path):
    """A pickled scene is that of its arrays when it was loaded; a picture keeps all channels, bit for bit."""
    vertices = QUAD.astype(np.float32)
    words = description()
    words["meshes"][0]["vertices"] = vertices
    scene = kandela.load_scene(words)
    vertices += 9
    (tmp_path / "scene.json").write_text('{"kandela": 1, "meshes": [{"file": "gen:blob:100"}], "environment": {"radiance": 1}}')
    for one in (scene, kandela.load_scene(tmp_path / "scene.json", max_texture_memory=1 << 20), kandela.load_scene("gen:blob:100")):
        picture = kandela.render(one, width=16, height=12, spp=2, bloom=0.1, background="white")
        for again in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
            assert repr(again.options) == repr(one.options) and again.counts == one.counts
            assert kandela.render(again, width=16, height=12, spp=2).hash == kandela.render(one, width=16, height=12, spp=2).hash
        for again in (pickle.loads(pickle.dumps(picture)), copy.deepcopy(picture)):
            assert (again.hash, again.samples, again.interrupted) == (picture.hash, 2, False)
            for name in ("R", "A", "Z", "N.X", "Albedo.B"):
                np.testing.assert_array_equal(again.channel(name), picture.channel(name))
            again.save(tmp_path / "again.png", exposure=0)
            picture.save(tmp_path / "picture.png", exposure=0)
            assert (tmp_path / "again.png").read_bytes() == (tmp_path / "picture.png").read_bytes()
    picture.save(tmp_path / "picture.exr")
    assert kandela.Picture.load(tmp_path / "picture.exr").hash == picture.hash
    assert kandela.Picture.load(tmp_path / "picture.png").rgb.shape == (12, 16, 3)
    (tmp_path / "picture.exr").write_bytes(b"nothing")
    with pytest.raises(kandela.InputError):
        kandela.Picture.load(tmp_path / "picture.exr")


def test_description_cannot_name_outside_files(tmp_path):
    (tmp_path / "scene").mkdir()
    with open(tmp_path / "quad.obj", "w") as file:
        file.writelines(f"v {x} {y} {z}\n" for x, y, z in QUAD)
        file.writelines("f {} {} {}\n".format(*(face + 1)) for face in FACES)
    words = dict(description(), meshes=[{"file": "../quad.obj"}])
    with pytest.raises(kandela.InputError, match="outside the scene's folder"):
        kandela.load_scene(words, folder=tmp_path / "scene")
    allowed = kandela.load_scene(words, folder=tmp_path / "scene", allow_outside=True)
    assert allowed.counts["triangles"] == len(FACES)


def test_far_scenes_have_an_origin():
    words = {"kandela": 1, "meshes": [{"box": {"lo": [999999, -1, -1], "hi": [1000001, 1, 1]}, "inward": True}],
             "lights": [{"kind": "point", "position": [1000000, 0, 0], "power": 1}]}
    scene = kandela.load_scene(words)
    assert scene.origin == (1000000, 0, 0)
    found = kandela.photons(scene, photons=200).indirect["position"]
    assert len(found) > 50 and (abs(found - [1000000, 0, 0]) < 1.01).all()
    assert kandela.load_scene("gen:blob:100").origin == (0, 0, 0)


def test_names_with_null_characters_are_rejected(tmp_path):
    """Each would else name another file, which exists."""
    (tmp_path / "quad.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    name = str(tmp_path / "quad.obj") + "\0.png"
    points = kandela.Points(np.eye(3))
    for call in (lambda: kandela.load_scene(name), lambda: kandela.render(description()).save(name),
                 lambda: kandela.photons("gen:blob:100", photons=10).save(name), lambda: points.save(name),
                 lambda: kandela.Points.load(name), lambda: kandela.TriangleMesh(QUAD, FACES).save(name),
                 lambda: kandela.render(description(), integrator="photon", photon_map=name)):
        with pytest.raises(ValueError, match="has a null character"):
            call()
    with pytest.raises(kandela.InputError, match="found a null character"):
        kandela.load_scene(dict(description(), meshes=[{"file": "quad.obj\0.png"}]), folder=tmp_path)
    assert len((tmp_path / "quad.obj").read_text()) > 0


def test_pictures_are_saved_and_displayed(tmp_path):
    picture = kandela.render(description(), exposure=1.0)
    assert picture._repr_png_()[:8] == b"\x89PNG\r\n\x1a\n"
    picture.save(tmp_path / "one.png", tonemap="aces")
    picture.save(tmp_path / "one.pfm")
    plane = picture.channel("R")
    del picture
    assert plane.sum() > 0 and not plane.flags.writeable
    assert (tmp_path / "one.pfm").stat().st_size >= 12 * 16 * 12


def test_photons_sum_and_render_equally(tmp_path):
    lamp = {"vertices": QUAD * 0.2 + [0, 1.5, 0], "faces": FACES[:, ::-1],
            "material": {"kind": "diffuse", "diffuse": 0, "emission": [3, 2, 1]}}
    words = description()
    words["meshes"] += [lamp, {"vertices": QUAD * 0.4 + [0, 0.7, 0], "faces": FACES,
                               "material": {"kind": "glass", "ior": 1.5}}]
    scene, calls = kandela.load_scene(words), []
    found = kandela.photons(scene, photons=3000, threads=2, progress=lambda *told: calls.append(told))
    again = kandela.photons(scene, photons=3000, threads=1)
    assert {stage for stage, *_ in calls} <= {"build", "emit"}
    for name in ("indirect", "caustic"):
        mine, counts = getattr(found, name), found.counts[name]
        assert mine.tobytes() == getattr(again, name).tobytes()
        assert len(mine) == counts["stored"] and not mine.flags.writeable
        assert mine["power"].mean(1).sum() < counts["watts"]
        np.testing.assert_allclose(np.linalg.norm(mine["direction"], axis=1), 1, rtol=1e-5)
    assert found.counts["caustic"]["complete"] and (found.caustic["kind"] == 1).all()
    assert (found.indirect["kind"] == 2).all() and len(found.media) == 0
    height = found.caustic["position"][:, 1]  # below the glass, or at the lamp after reflection
    assert ((np.abs(height) < 1e-5) | (np.abs(height - 1.5) < 1e-5)).all() and (height < 1).mean() > 0.9
    found.save(tmp_path / "map.kdp")
    own = kandela.render(scene, integrator="photon", photons=3000, spp=1)
    given = kandela.render(scene, integrator="photon", spp=1, photon_map=str(tmp_path / "map.kdp"))
    assert own.hash == given.hash
    for same in (kandela.Photons.load(tmp_path / "map.kdp"), copy.deepcopy(found),
                 pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(found))))):
        assert same.counts == found.counts
        for name in ("indirect", "caustic", "media"):
            assert getattr(same, name).tobytes() == getattr(found, name).tobytes()
    (tmp_path / "map.kdp").write_bytes((tmp_path / "map.kdp").read_bytes()[:-7])
    with pytest.raises(kandela.InputError, match="map.kdp"):
        kandela.Photons.load(tmp_path / "map.kdp")
    kept = found.caustic
    del found
    assert np.isfinite(kept["position"]).all()
    with pytest.raises(kandela.Interrupted):
        kandela.photons(scene, photons=50_000_000, progress=lambda *told: True)


def test_options_match_command_line():
    scene = kandela.load_scene(description())
    help_text = subprocess.run([os.environ["KANDELA_PROGRAM"], "render", "--help=all"], capture_output=True, text=True, check=True).stdout
    for name in [*scene.options, "resolution"]:
        assert f"--{name.replace('_', '-')} " in help_text, name
        assert f"    {name}: " in kandela.render.__doc__, name
    usual = scene.options
    assert usual["spp"] == 16 and usual["crop"] == (0, 0, 0, 0) and usual["photon_map"] is None
    assert usual["kernel"] == "cone" and usual["sah_costs"] == (1.5, 1.0) and usual["maps_ahead"] == "on"
    picture = kandela.render(scene, resolution=(12, 8), spp=1, filter="gaussian", time=1e3, precompute=False)
    assert picture.rgb.shape == (8, 12, 3)
    for wrong in ({"spp": 0}, {"filter": "round"}, {"resolution": (1, 2, 3)}, {"clamp": -1}, {"threads": 0.5}):
        with pytest.raises(kandela.UsageError, match=next(iter(wrong))):
            kandela.render(scene, **wrong)


def test_progress_is_reported_and_can_cancel():
    scene, calls = kandela.load_scene(description()), []

    def on_progress(stage, done, total):
        calls.append((stage, done, total, threading.get_ident()))
        return stage == "render" and len(calls) > 3

    picture = kandela.render(scene, width=300, height=300, spp=100000, progress=on_progress)
    assert picture.interrupted and picture.rgb.shape == (300, 300, 3)
    assert {ident for *_, ident in calls} == {threading.get_ident()}
    assert all(0 <= done <= total for _, done, total, _ in calls)

    def fail(stage, done, total):
        raise ZeroDivisionError("from the callback")

    with pytest.raises(ZeroDivisionError, match="from the callback"):
        kandela.render(scene, width=300, height=300, spp=100000, progress=fail)


def test_ctrl_c_ends_rendering():
    # SIGINT is ignored if a shell started this process in the background
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        _interrupt_a_rendering()
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupt_a_rendering():
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        kandela.render(description(), width=500, height=500, spp=1000000, time=20)
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("kind, words, call", [
    (TypeError, "did you mean 'width'", lambda: kandela.render(description(), wdith=3)),
    (kandela.UsageError, "integrator", lambda: kandela.render(description(), integrator="none")),
    (kandela.InputError, "kamera", lambda: kandela.load_scene(description(kamera={}))),
    (kandela.InputError, "vertex index 9", lambda: kandela.load_scene(
        {"meshes": [{"vertices": QUAD, "faces": [[0, 1, 9]]}]})),
    (kandela.InputError, "finite", lambda: kandela.load_scene(
        {"meshes": [{"vertices": QUAD * np.nan, "faces": FACES}]})),
    (ValueError, "shape", lambda: kandela.load_scene({"meshes": [{"vertices": QUAD[:, :2]}]})),
    (kandela.KandelaError, "nowhere", lambda: kandela.load_scene("nowhere.json")),
])
def test_invalid_arguments_are_rejected(kind, words, call):
    with pytest.raises(kind, match=words):
        call()


def test_docstring_examples():
    assert doctest.testmod(kandela.scenes).failed == 0
