"""A running program with a live view, for its tests (serve_client.py, serve_light.py)."""

import json
import re
import signal
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request

PROGRAM, SCENE = sys.argv[1:3]
SMALL = ["--resolution", "48x32", "--spp", "4", "--threads", "2", "--look", "plain", "--device", "cpu"]
PATIENCE = 120  # seconds, for slow machines


class Session:
    """A running program with a live view."""

    def __init__(self, *arguments, **process):
        self.program = subprocess.Popen([PROGRAM, *arguments, "--serve=0", *([] if "stderr" in process else ["--quiet"])], stdout=subprocess.PIPE, text=True, **process)
        line = self.program.stdout.readline()
        found = re.match(r"live view: http://127\.0\.0\.1:(\d+)/\?token=(\w{32}) \(viewers: http.*token=(\w{32})\)$", line)
        assert found, line
        self.port, (self.owner, self.viewer) = int(found.group(1)), found.groups()[1:]

    def ask(self, path, body=None, token=None, method=None, **headers):
        """Return the status and the content of an answer."""
        headers["X-Kandela-Token"] = self.owner if token is None else token
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as answer:
            return answer.code, answer.read()

    def get(self, path):
        status, content = self.ask(path)
        assert status == 200, (path, status, content)
        return content

    def state(self):
        return json.loads(self.get("/api/state"))

    def post(self, path, body):
        """Change something, and wait for the picture that it begins."""
        before = self.state()["generation"]
        status, content = self.ask(path, body)
        assert status == 200, (path, status, content)
        return self.wait(lambda state: state["generation"] > before and state["status"] == "done")

    def wait(self, condition):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            state = self.state()
            if condition(state):
                return state
            time.sleep(0.02)
        raise AssertionError(f"still {state['status']} at {state['spp']} samples per pixel")

    def picture(self, channel="beauty", scale=1):
        content = self.get(f"/api/picture?channel={channel}&scale={scale}")
        width, height, components, _ = struct.unpack_from("<4I", content)
        values = struct.unpack_from(f"<{width * height * components}e", content, 16)
        assert len(content) == 16 + 2 * len(values)
        return width, height, components, values

    def end(self):
        self.program.send_signal(signal.SIGINT)
        return self.program.wait(timeout=PATIENCE)


def render(*arguments, scene=SCENE):
    """Return the size and the values of a picture that is rendered without a live view."""
    subprocess.run([PROGRAM, "render", scene, *SMALL, *arguments, "-o", "direct.pfm", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    with open("direct.pfm", "rb") as file:
        content = file.read()
    kind, size, scale = content.split(b"\n", 3)[:3]
    assert kind == b"PF" and float(scale) < 0
    width, height = map(int, size.split())
    values = struct.unpack(f"<{3 * width * height}f", content[-12 * width * height :])
    rows = [values[3 * width * y : 3 * width * (y + 1)] for y in range(height)]
    return width, height, [value for row in reversed(rows) for value in row]


def half(value):
    return struct.unpack("<e", struct.pack("<e", value))[0]


def check_same(session, *arguments, scene=SCENE):
    width, height, values = render(*arguments, scene=scene)
    seen = session.picture()
    assert seen[:3] == (width, height, 3)
    assert seen[3] == tuple(map(half, values)), "the picture is that of kandela render"
    return seen[3]
