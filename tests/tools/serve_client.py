"""usage: serve_client.py PROGRAM SCENE

Clients of the live view (test_serve.sh): starts PROGRAM and checks its answers.
"""

import json
import math
import os
import socket
import struct
import subprocess
import threading
import time

from serve_session import PATIENCE, PROGRAM, SCENE, SMALL, Session, check_same, half, render


def check_access(session):
    assert session.ask("/", token="")[0] == 403
    assert session.ask("/api/state", token="0" * 32)[0] == 403
    assert session.ask("/api/state", token=session.viewer)[0] == 200
    assert session.ask("/api/state", Host="example.org")[0] == 403
    assert session.ask("/api/state", Host="localhost:1234")[0] == 200, "a forwarded port"
    assert session.ask("/api/state", Origin="http://example.org")[0] == 403
    assert session.ask("/api/state", Origin=f"http://127.0.0.1:{session.port}")[0] == 200
    assert session.ask("/api/camera", {}, token=session.viewer)[0] == 403
    assert session.ask("/api/nothing")[0] == 404
    assert session.ask("/../../etc/passwd")[0] == 404
    assert session.ask("/api/camera")[0] == 405
    assert session.ask("/api/state", {})[0] == 405
    assert session.ask("/api/state", method="DELETE")[0] == 405
    assert b"<html" in session.ask("/")[1]
    assert json.loads(session.ask("/api/state", token=session.viewer)[1])["owner"] is False
    for path, body in (
        ("/api/camera", b"{"),
        ("/api/camera", [1]),
        ("/api/camera", {"eye": [1, 2]}),
        ("/api/camera", {"eye": "here"}),
        ("/api/camera", {"eye": [1e39, 0, 0]}),
        ("/api/camera", {"up": [0, 0, 0]}),
        ("/api/camera", {"up": [1e-200, 0, 0]}),
        ("/api/camera", {"eye": [1, 2, 3], "look_at": [1, 2, 3 + 1e-12]}),
        ("/api/camera", {"eye": [-3e38, 0, 0], "look_at": [3e38, 0, 0]}),
        ("/api/camera", {"fov": 0}),
        ("/api/camera", {"colour": 1}),
        ("/api/settings", {"spp": 0}),
        ("/api/settings", {"spp": 1.5}),
        ("/api/settings", {"integrator": "none"}),
        ("/api/settings", {"photon_map": "/etc/passwd"}),
        ("/api/settings", {"output": "there.png"}),
        ("/api/control", {"action": "stop"}),
    ):
        status, content = session.ask(path, body)
        assert status == 400 and json.loads(content)["error"], (path, body, status, content)
    try:
        assert session.ask("/api/camera", b" " * 70000)[0] == 413
    except urllib.error.URLError:
        pass  # closed while the body was being sent


def check_camera(session):
    state = session.wait(lambda state: state["status"] == "done")
    first = check_same(session)
    assert state["crop"] == [0, 0, 48, 32], "all of the picture"
    views = {view["name"]: view["camera"] for view in state["views"]}
    assert views["scene"] == state["camera"] and views["top"]["eye"][1] > views["front"]["eye"][1]
    eye = [value + 0.25 for value in state["camera"]["eye"]]
    text = ",".join(repr(value) for value in eye)
    look_at = ",".join(repr(value) for value in state["camera"]["look_at"])
    state = session.post("/api/camera", {"eye": eye})
    assert all(math.isclose(*pair, rel_tol=1e-6) for pair in zip(state["camera"]["eye"], eye)), "rounded to float"
    second = check_same(session, "--eye", text, "--look-at", look_at, "--fov", repr(state["camera"]["fov"]))
    assert second != first
    width, height, components, values = session.picture(scale=4)
    assert (width, height, components) == (12, 8, 3) and values[:3] == second[:3]
    depth = session.picture("depth")
    assert depth[2] == 1 and any(map(math.isfinite, depth[3]))
    assert set(session.picture("samples")[3]) == {4}
    noise, variance = session.picture("noise")[3], session.picture("variance")[3]
    assert min(noise) >= 0 and max(noise) > 0 and all(math.isclose(4 * a * a, b, rel_tol=3e-3, abs_tol=1e-6) for a, b in zip(noise, variance))
    assert session.get("/api/file?kind=png")[:4] == b"\x89PNG"
    assert session.ask("/api/file?kind=../picture.png")[0] == 400
    saved = json.loads(session.get("/api/file?kind=scene"))
    assert saved["camera"] == state["camera"] and saved["render"]["spp"] == 4
    with open("saved.json", "w", encoding="utf-8") as file:
        json.dump({"kandela": 1, "meshes": [{"file": SCENE}], **saved}, file)
    check_same(session, scene="saved.json")
    session.post("/api/settings", {"spp": 2})
    assert session.state()["passes"] == 2


def check_scene(session):
    pixel = json.loads(session.get("/api/pixel?x=24&y=16"))
    ray = json.loads(session.get("/api/ray?x=24&y=16"))
    assert pixel["triangle"] == ray["hit"]["triangle"]
    assert math.dist(pixel["position"], ray["hit"]["position"]) < 1e-3
    assert ray["steps"] == len(ray["nodes"]) and ray["nodes"][0]["leaf"] in (True, False)
    count, stride, _ = struct.unpack_from("<3I", session.get("/api/boxes?level=0"))
    assert (count, stride) == (1, 28)
    assert session.ask("/api/pixel?x=48&y=0")[0] == 400
    assert session.ask("/api/photons")[0] == 409


def check_lights():
    """A light scaled by a power of two gives pictures scaled by it; with a clamp, which is not linear, they begin anew."""
    with open("lamp.json", "w", encoding="utf-8") as file:
        meshes = [{"quad": [[-1, 0, 1], [1, 0, 1], [1, 0, -1], [-1, 0, -1]], "material": {"diffuse": [0.5, 0.5, 0.5]}},
                  {"quad": [[-1, 2, -1], [1, 2, -1], [1, 2, 1], [-1, 2, 1]], "material": {"emission": [1, 2, 3]}}]
        camera = {"eye": [0, 1, 4], "look_at": [0, 0.5, 0]}
        json.dump({"kandela": 1, "meshes": meshes, "camera": camera}, file)
    session = Session("serve", "lamp.json", *SMALL, "--clamp", "1000")
    try:
        state = session.wait(lambda state: state["status"] == "done")
        (lamp,) = state["lights"]
        before = session.picture()[3]
        session.post("/api/lights", [{"name": lamp["name"], "scale": 2}])
        assert session.picture()[3] == tuple(2 * value for value in before) and max(before) > 0
        assert session.ask("/api/lights", [{"name": "none", "scale": 2}])[0] == 400
        assert session.ask("/api/lights", [{"name": lamp["name"], "scale": -1}])[0] == 400
        session.post("/api/lights", [{"name": lamp["name"], "scale": 0}])
        assert max(session.picture()[3]) < 1e-6
        session.post("/api/lights", [{"name": lamp["name"], "scale": 1}])
        assert session.picture()[3] == before
        assert session.end() == 0
    finally:
        session.program.kill()


def check_photons(session):
    session.post("/api/settings", {"integrator": "photon", "photons": 3000})
    maps = {one["name"]: one["count"] for one in session.state()["photon_maps"]}
    content = session.get("/api/photons?map=global&limit=2000000")
    count, stride, total = struct.unpack_from("<3I", content)
    assert count == total == maps["global"] and stride == 32 and len(content) == 12 + 32 * count
    photons = [struct.unpack_from("<6fBBH4b", content, 12 + 32 * i) for i in range(count)]
    assert all(sum(one[3:6]) > 0 and one[6] > 0 for one in photons)
    few = session.get("/api/photons?map=global&limit=100")
    count, _, _ = struct.unpack_from("<3I", few)
    assert 50 < count <= 100
    known = {content[12 + 32 * i : 44 + 32 * i] for i in range(total)}
    assert all(few[12 + 32 * i : 44 + 32 * i] in known for i in range(count))
    assert few == session.get("/api/photons?map=global&limit=100")
    assert session.ask("/api/photons?map=none")[0] == 400


def check_control(session):
    session.ask("/api/settings", {"integrator": "path", "spp": 1 << 20})
    session.wait(lambda state: state["status"] == "rendering" and state["spp"] > 0)
    session.ask("/api/control", {"action": "pause"})
    paused = session.wait(lambda state: state["status"] == "paused")
    assert session.ask("/api/control", {"action": "save"})[0] == 409, "no file was named"
    time.sleep(0.3)
    assert session.state()["spp"] == paused["spp"]
    session.ask("/api/control", {"action": "resume"})
    session.wait(lambda state: state["status"] == "rendering" and state["spp"] > paused["spp"])


def check_two_hosts(session):
    with socket.create_connection(("127.0.0.1", session.port)) as one:
        one.settimeout(PATIENCE)
        one.sendall(f"GET /api/state?token={session.owner} HTTP/1.1\r\nHost: 127.0.0.1\r\nhost: example.org\r\n\r\n".encode())
        assert one.recv(12) == b"HTTP/1.1 400"


def check_crop():
    """Pictures and pixels of a crop count from its corner, which the state names."""
    session = Session("serve", SCENE, *SMALL, "--crop", "8,4,20,16")
    try:
        state = session.wait(lambda state: state["status"] == "done")
        assert (state["width"], state["height"], state["crop"]) == (48, 32, [8, 4, 20, 16])
        check_same(session, "--crop", "8,4,20,16")
        assert session.ask("/api/pixel?x=11&y=11")[0] == 200 and session.ask("/api/pixel?x=12&y=0")[0] == 400
        for crop in ([30, 1, 48, 2], [0, 31, 1, 32], None):
            state = session.post("/api/settings", {"crop": crop})
            assert state["crop"] == (crop or [0, 0, 48, 32])
            check_same(session, *(["--crop", ",".join(map(str, crop))] if crop else []))
        session.post("/api/settings", {"crop": [30, 1, 48, 2]})
        assert json.loads(session.get("/api/file?kind=scene"))["render"]["crop"] == [30, 1, 48, 2]
        assert session.post("/api/settings", {"width": 40})["crop"] == [0, 0, 40, 32], "a crop that does not fit is dropped"
        for crop in ([0, 0, 41, 32], [3, 3, 3, 4], [0, 0, 1.5, 2], [-1, 0, 1, 1], [0, 0, 1], "all", 1):
            assert session.ask("/api/settings", {"crop": crop})[0] == 400, crop
        assert session.end() == 0
    finally:
        session.program.kill()


def check_state():
    """A rendering goes on from a downloaded state with the bits of one that was not interrupted."""
    session = Session("serve", SCENE, *SMALL, "--spp", str(1 << 20))
    try:
        session.wait(lambda state: state["status"] == "rendering" and state["spp"] > 0)
        session.ask("/api/control", {"action": "pause"})
        session.wait(lambda state: state["status"] == "paused")
        more = ["--spp", str(int(max(session.picture("samples")[3])) + 2)]
        with open("direct.pfm.state", "wb") as file:
            file.write(session.get("/api/file?kind=state"))
        assert render(*more, "--resume") == render(*more)
        (lamp, *_) = session.state()["lights"]
        session.ask("/api/lights", [{"name": lamp["name"], "scale": 0.5}])
        session.wait(lambda state: state["generation"] > 1 and state["spp"] > 0)
        assert session.get("/api/file?kind=state")[:8] == b"KDSTATE\0", "lights that are scaled at once leave the state as it is"
        session.ask("/api/settings", {"clamp": 1000})
        session.wait(lambda state: state["generation"] > 2 and state["spp"] > 0)
        assert session.ask("/api/file?kind=state")[0] == 409, "not one of other lights"
        assert session.end() == 0
    finally:
        session.program.kill()


def check_motion():
    """A change of the camera leaves its movement in what it does not change."""
    keys = [{"frame": 1, "eye": [0, 1, 4]}, {"frame": 2, "eye": [1, 1, 4]}]
    with open("motion.json", "w", encoding="utf-8") as file:
        meshes = [{"quad": [[-1, 0, 1], [1, 0, 1], [1, 0, -1], [-1, 0, -1]], "material": {"emission": [1, 2, 3]}}]
        json.dump({"kandela": 1, "meshes": meshes, "camera": {"look_at": [0, 0.5, 0], "keys": keys}}, file)
    for integrator in ("path", "vcm"):
        options = ["--shutter", "1", "--integrator", integrator, "--passes", "4", "--photons", "1000"]
        session = Session("serve", "motion.json", *SMALL, *options)
        try:
            state = session.wait(lambda state: state["status"] == "done")
            assert state["camera"]["eye"] == [0, 1, 4], "that at which the shutter opens"
            first = check_same(session, *options, scene="motion.json")
            session.post("/api/camera", {})
            assert session.picture()[3] == first
            session.post("/api/camera", {"fov": 45})
            assert check_same(session, *options, "--fov", "45", scene="motion.json") != first
            session.post("/api/camera", {"eye": [0, 1.5, 4]})
            check_same(session, *options, "--fov", "45", "--eye", "0,1.5,4", scene="motion.json")
            assert session.end() == 0
        finally:
            session.program.kill()


def check_memory():
    """--max-memory also limits pictures after a change."""
    session = Session("serve", SCENE, *SMALL, "--max-memory", "30M")
    try:
        session.wait(lambda state: state["status"] == "done")
        assert session.ask("/api/settings", {"width": 4000, "height": 4000, "spp": 1})[0] == 200
        state = session.wait(lambda state: state["generation"] > 1 and state["status"] in ("done", "failed"))
        assert state["status"] == "failed" and "only 31457280 are allowed" in state["error"], state["error"]
        assert session.post("/api/settings", {"width": 48, "height": 32})["error"] == ""
        assert session.end() == 0
    finally:
        session.program.kill()


def check_pause():
    """Time in pause counts neither against --time nor as seconds of the picture."""
    session = Session("serve", SCENE, *SMALL, "--spp", str(1 << 20), "--time", "3")
    try:
        session.wait(lambda state: state["status"] == "rendering" and state["spp"] > 0)
        session.ask("/api/control", {"action": "pause"})
        paused = session.wait(lambda state: state["status"] == "paused")
        time.sleep(4)
        session.ask("/api/control", {"action": "resume"})
        done = session.wait(lambda state: state["status"] == "done")
        assert done["spp"] > paused["spp"], "it continues after a pause that is longer than --time"
        assert done["seconds"] - paused["seconds"] < 4, (paused["seconds"], done["seconds"])
        assert session.end() == 0
    finally:
        session.program.kill()


def check_bad_clients(session):
    """Clients that are slow, die, or send what is not HTTP do no harm to others."""
    sockets = [socket.create_connection(("127.0.0.1", session.port)) for _ in range(30)]
    events = f"GET /api/events?token={session.viewer} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    for i, one in enumerate(sockets):
        one.sendall((events, b"GET / HT", b"\x00\xff" * 100, events.replace(b"events", b"picture"))[i % 4])
    for one in sockets[::2]:
        one.close()
    for _ in range(5):
        assert session.state()["status"] == "rendering"
    with socket.create_connection(("127.0.0.1", session.port)) as one:
        one.sendall(events)
        one.settimeout(PATIENCE)
        received = b""
        while received.count(b"event: state") < 2:
            received += one.recv(65536)
    for one in sockets[1::2]:
        one.close()


def check_odd_requests(session):
    """Tokens and hosts in unusual places and forms, heads that are too large, and connections half closed by the client."""
    host, token = f"Host: 127.0.0.1:{session.port}\r\n", session.owner

    def code(path, head="", host=host):
        with socket.create_connection(("127.0.0.1", session.port), timeout=PATIENCE) as one:
            try:
                one.sendall(f"GET {path} HTTP/1.1\r\n{host}{head}Connection: close\r\n\r\n".encode())
                one.shutdown(socket.SHUT_WR)
                return int(one.recv(12)[9:] or 0)
            except (BrokenPipeError, ConnectionResetError):
                return 0  # refused while the head was being sent

    state = f"/api/state?token={token}"
    assert code(state) == 200
    for path, head in (("/api/state", f"Cookie: token={token}\r\n"), ("/api/state", f"Authorization: Bearer {token}\r\n"), (f"/{token}/api/state", ""),
                       (f"/api/state#token={token}", ""), (f"{state}%00", ""), (f"{state}%00x", ""), (state, "X-Kandela-Token: 0\r\n"),
                       (f"/api/state?token=0&token={token}", ""), (state, "Origin: null\r\n")):
        assert code(path, head) == 403, (path, head)
    assert code(f"/api/pixel?token={token}&x=1%00&y=1") == 400 and code(f"/api/../api/state?token={token}") == 404
    assert code(state, "X: " + "a" * 100000 + "\r\n") in (0, 413, 431) and code(state + "&a=" + "b" * 60000) in (0, 413, 414, 431)
    for name, expected in (("localhost", 200), ("[::1]:8000", 200), ("localhost.example.org", 403), ("127.0.0.1:80@example.org", 403), ("[::1", 403), ("", 403)):
        assert code(state, host=f"Host: {name}\r\n") in (expected, 400 if expected > 200 else 200), name


def check_slow_strangers(session):
    """Clients without a token that go on sending, a byte at a time, keep nobody out."""
    head = f"POST /api/camera HTTP/1.1\r\nHost: 127.0.0.1:{session.port}\r\nContent-Length: 60000\r\n\r\n".encode()
    refused = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{session.port}\r\n\r\n".encode()
    sockets = []
    for i in range(200):
        sockets.append(socket.create_connection(("127.0.0.1", session.port)))
        sockets[-1].sendall((b"G", head, refused)[i % 3])
    stopped = threading.Event()

    def drip():
        while not stopped.wait(0.5):
            for one in sockets:
                try:
                    one.sendall(b"E")
                except OSError:
                    pass  # closed

    dripping = threading.Thread(target=drip, daemon=True)
    dripping.start()
    for _ in range(3):
        assert session.ask("/api/state")[0] == 200
    stopped.set()
    dripping.join()
    for one in sockets:
        one.close()


def check_floods(session):
    """Floods of connections without a token from another address, and of viewers' events, do not keep the owner out."""
    calm = socket.create_connection(("127.0.0.1", session.port))
    events = f"GET /api/events?token={session.viewer} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    viewers = []
    for _ in range(200):
        viewers.append(socket.create_connection(("127.0.0.1", session.port)))
        viewers[-1].settimeout(PATIENCE)
        viewers[-1].sendall(events)
        assert viewers[-1].recv(15) == b"HTTP/1.1 200 OK"
    strangers = [socket.create_connection(("127.0.0.1", session.port), source_address=("127.0.0.2", 0)) for _ in range(200)]
    with calm:
        calm.settimeout(PATIENCE)
        calm.sendall(f"GET /api/state?token={session.owner} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        assert calm.recv(15) == b"HTTP/1.1 200 OK", "a connection that was there before the flood"
    for _ in range(5):
        assert session.ask("/api/state")[0] == 200
    for one in viewers + strangers:
        one.close()


def resources(session):
    """Return the numbers of threads and of open files of the program; zeros where /proc does not tell."""
    folder = f"/proc/{session.program.pid}"
    return [len(os.listdir(f"{folder}/{name}")) if os.path.isdir(folder) else 0 for name in ("task", "fd")]


def start_crowd(session, stopped):
    """Start fifty viewers: some take pictures and pixels, some read events a byte at a time, some die in the middle of an answer."""
    host = f"Host: 127.0.0.1:{session.port}\r\n\r\n"

    def request(path, half=False):
        text = f"GET {path}{'&' if '?' in path else '?'}token={session.viewer} HTTP/1.1\r\n{host}".encode()
        one = socket.create_connection(("127.0.0.1", session.port), timeout=PATIENCE)
        one.sendall(text[: len(text) // 2] if half else text)
        return one

    def look():
        for path in ("/api/picture", "/api/pixel?x=1&y=1", "/api/state", "/api/photons?limit=100"):
            session.ask(path, token=session.viewer)

    def linger():
        with request("/api/events") as one:
            while not stopped.wait(0.02) and one.recv(1):
                pass

    def die():
        with request("/api/picture?channel=albedo") as one, request("/api/events", half=True):
            one.recv(1)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset, not an orderly end

    def view(act):
        try:
            while not stopped.is_set():
                act()
        except (OSError, ValueError):
            pass  # the program has ended

    viewers = [threading.Thread(target=view, args=((look, linger, die)[i % 3],), daemon=True) for i in range(50)]
    for viewer in viewers:
        viewer.start()
    return viewers


def check_crowd(session, before):
    """A crowd, and all the clients of earlier checks, leave no thread and no open file behind."""
    stopped = threading.Event()
    viewers = start_crowd(session, stopped)
    time.sleep(0.3)
    assert session.state()["status"] == "rendering", "the owner is heard"
    stopped.set()
    for viewer in viewers:
        viewer.join()
    end = time.monotonic() + PATIENCE
    while any(now > old for now, old in zip(resources(session), before)):
        assert time.monotonic() < end, (before, resources(session))
        time.sleep(0.05)


def check_render():
    """kandela render --serve writes the same file, whatever a crowd of clients does, and ends."""
    picture = ["--resolution", "64x64", "--spp", "64", "--device", "cpu", "--integrator", "sppm", "--passes", "8"]
    subprocess.run([PROGRAM, "render", SCENE, *picture, "--photons", "2000", "-o", "alone.pfm", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    session = Session("render", SCENE, *picture, "--photons", "2000", "-o", "served.pfm")
    start_crowd(session, threading.Event())
    assert session.program.wait(timeout=PATIENCE) == 0
    with open("alone.pfm", "rb") as alone, open("served.pfm", "rb") as served:
        assert alone.read() == served.read(), "the bits are those without a live view"


def check_save():
    session = Session("serve", SCENE, *SMALL, "-o", "saved.pfm")
    session.wait(lambda state: state["status"] == "done")
    status, content = session.ask("/api/control", {"action": "save"})
    assert status == 200 and json.loads(content) == {"files": ["saved.pfm"]}, content
    render()
    with open("direct.pfm", "rb") as direct, open("saved.pfm", "rb") as saved:
        assert direct.read() == saved.read()
    assert session.end() == 0


def check_reference():
    """A reference is shown as it was read, to the size of the picture; only the owner has pictures denoised."""
    width, height, values = render()
    session = Session("serve", SCENE, *SMALL, "--reference", "direct.pfm")
    try:
        state = session.wait(lambda state: state["status"] == "done")
        assert state["channels"][-1] == "reference" and state["denoise"] == {"available": True, "on": False, "picture": 0}
        assert session.picture("reference") == (width, height, 3, tuple(map(half, values)))
        assert session.ask("/api/picture?channel=denoised")[0] == 503
        assert session.ask("/api/control", {"action": "denoise"}, token=session.viewer)[0] == 403
        assert session.ask("/api/control", {"action": "denoise"})[0] == 200
        state = session.wait(lambda state: state["denoise"]["picture"] == state["picture"])
        assert state["denoise"]["on"] and "denoised" in state["channels"]
        values, denoised = session.picture()[3], session.picture("denoised")[3]
        means = [sum(values[c::3]) / (width * height) for c in range(3)]
        assert all(math.isclose(a, b, rel_tol=2e-3) for a, b in zip(means, denoised)), "as the denoiser of tests makes it"
        before = session.picture()[3]
        session.post("/api/camera", {"fov": 50})
        session.wait(lambda state: state["denoise"]["picture"] == state["picture"])
        assert session.picture()[3] != before
        assert session.ask("/api/control", {"action": "raw"})[0] == 200 and not session.state()["denoise"]["on"]
        state = session.post("/api/settings", {"width": 24})
        assert "reference" not in state["channels"] and session.ask("/api/picture?channel=reference")[0] == 409
        assert session.end() == 0
    finally:
        session.program.kill()
    session = Session("serve", SCENE, *SMALL, "--width", "24", "--reference", "direct.pfm")
    assert session.program.wait(timeout=PATIENCE) == 3, "another size"


def main():
    session = Session("serve", SCENE, *SMALL)
    try:
        check_camera(session)
        before = resources(session)
        check_access(session)
        check_two_hosts(session)
        check_scene(session)
        check_photons(session)
        check_control(session)
        check_bad_clients(session)
        check_odd_requests(session)
        check_slow_strangers(session)
        check_floods(session)
        check_crowd(session, before)
        assert session.end() == 0
    finally:
        session.program.kill()
    check_save()
    check_reference()
    check_motion()
    check_crop()
    check_state()
    check_memory()
    check_pause()
    check_lights()
    check_render()


main()
