#!/usr/bin/env python3
"""usage: measure_live.py KANDELA SCENE [OPTION...]

Measures the live view of SCENE with the options of `kandela serve`, and prints a line for each figure: the seconds from
a change of the camera to the last byte of the first picture of the new camera, directly and through a forwarded port;
the program's memory after rounds of fifty viewers; and, if chromium-headless-shell is installed and there are
photons, the pictures a second of the page's 3-D view. CHANGES and ROUNDS in the environment are the numbers of changes
of the camera [20] and of rounds [4]. No test: the times depend on the machine.
"""

import http.client
import json
import os
import re
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time

from browser import NAME, Browser

CHANGES, ROUNDS = (int(os.environ.get(name, value)) for name, value in (("CHANGES", 20), ("ROUNDS", 4)))
PAUSE, VIEWERS = 0.7, 50


class Client:
    def __init__(self, port, token):
        self.port, self.token = port, token
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(self, path, body=None):
        method, text = ("GET", None) if body is None else ("POST", json.dumps(body))
        try:
            self.connection.request(method, path, text, {"X-Kandela-Token": self.token})
            return self.connection.getresponse().read()
        except (http.client.RemoteDisconnected, BrokenPipeError):  # the server has closed the connection, which was idle
            self.connection.close()
            self.connection.request(method, path, text, {"X-Kandela-Token": self.token})
            return self.connection.getresponse().read()

    def state(self):
        return json.loads(self.ask("/api/state"))

    def events(self):
        """Yield the states of server-sent events."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", f"/api/events?token={self.token}")
        answer = connection.getresponse()
        while line := answer.readline():
            if line.startswith(b"data: "):
                yield json.loads(line[6:])


def forward(port):
    """Forward a free port to `port`, as ssh -L does; return it."""
    listener = socket.create_server(("127.0.0.1", 0))

    def pump(source, target):
        try:
            while data := source.recv(1 << 16):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # one of both has ended

    def accept():
        while True:
            one = listener.accept()[0]
            other = socket.create_connection(("127.0.0.1", port))
            for pair in ((one, other), (other, one)):
                threading.Thread(target=pump, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def latencies(port, token):
    """Move the camera as the page does; return seconds to the first pictures, and their size."""
    client, found, size = Client(port, token), [], None
    events = client.events()
    state = next(events)
    camera = state["camera"]
    for i in range(CHANGES):
        eye = [value + 0.01 * (i + 1) for value in camera["eye"]]
        time.sleep(PAUSE)
        before, start = client.state(), time.monotonic()
        client.ask("/api/camera", {"eye": eye})
        while True:
            state = next(events)
            if state["generation"] <= before["generation"] or state["picture"] <= before["picture"]:
                continue
            *size, _, number = struct.unpack_from("<4I", client.ask("/api/picture"))
            if size[0] < state["width"] or number > before["picture"] + 1:
                break  # else it is the last picture of the old camera: the first one of the new camera is smaller
        found.append(time.monotonic() - start)
    client.ask("/api/camera", {"eye": camera["eye"]})
    return found, size


def memory(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) / 1024


def viewers_round(port, token):
    def view():
        client = Client(port, token)
        for _ in range(20):
            client.ask("/api/state")
            client.ask("/api/picture?scale=4")

    viewers = [threading.Thread(target=view) for _ in range(VIEWERS)]
    for one in viewers:
        one.start()
    for one in viewers:
        one.join()


FRAMES = """new Promise(resolve => {{
  const {{ space }} = kandela, begun = performance.now(), times = [];
  let shown = 0;
  space.afterDraw.push(() => {{ ++shown; }});
  const turn = () => {{
    const now = performance.now();
    if (now - begun > {seconds} * 1000) return resolve([shown / (now - begun) * 1000, space.drawn]);
    kandela.freeRig.set(cameraMotion.orbit(kandela.freeRig.camera, kandela.freeRig.centre, 0.01, 0));
    requestAnimationFrame(turn);
  }};
  turn();
}})"""


def frame_rates(url):
    with Browser() as browser:
        for width, height in ((1280, 800), (390, 844)):
            page = browser.page(url, width, height)
            page.wait("window.kandela && kandela.picture.image && kandela.rig.camera && live.state.photon_maps.length")
            page.evaluate("kandela.setMode('space')")
            page.evaluate("(() => { const input = document.getElementById('photon-limit'); input.value = Math.log(2e6); input.dispatchEvent(new Event('input')); })()")
            # more than the page shows at first
            page.wait("kandela.space.photons.count > Math.min(250000, 0.9 * kandela.space.photons.total) && kandela.space.complete", 300)
            count = page.evaluate("kandela.space.photons.count")
            page.evaluate(FRAMES.format(seconds=2))  # until the size of the parts has settled
            rate, drawn = page.evaluate(FRAMES.format(seconds=5))
            begun = time.monotonic()
            page.wait("performance.now() - kandela.space.movedAt > 250 && kandela.space.complete", 300)
            print(f"3-D view at {width} x {height}: {count} photons; {rate:.1f} pictures/s of {drawn} photons while it turns, all after {time.monotonic() - begun:.1f} s", flush=True)


def main():
    program = subprocess.Popen([sys.argv[1], "serve", *sys.argv[2:], "--serve=127.0.0.1:0", "--quiet"], stdout=subprocess.PIPE, text=True)
    try:
        line = program.stdout.readline()
        owner, viewer = re.findall(r"http://\S+token=\w+", line)
        port, token = int(re.search(r":(\d+)/", owner).group(1)), owner.split("=")[-1]
        client = Client(port, token)
        while not client.state()["picture"]:
            time.sleep(0.05)
        state = client.state()
        print(f"{' '.join(sys.argv[2:])}: {state['width']} x {state['height']}", flush=True)
        for name, at in (("directly", port), ("through a forwarded port", forward(port))):
            found, size = latencies(at, token)
            print(f"first picture of {size[0]} x {size[1]} after a change of the camera, {name}: median {statistics.median(found):.3f} s, "
                  f"largest of {len(found)} {max(found):.3f} s", flush=True)
        used = [memory(program.pid)]
        for _ in range(ROUNDS):
            viewers_round(port, viewer.split("=")[-1])
            used.append(memory(program.pid))
        print(f"memory [MiB] before and after rounds of {VIEWERS} viewers: " + ", ".join(f"{value:.1f}" for value in used), flush=True)
        while shutil.which(NAME) and state["integrator"] in ("photon", "sppm", "vcm") and not state["photon_maps"]:
            time.sleep(0.2)
            state = client.state()
        if shutil.which(NAME) and state["photon_maps"]:
            print(f"on {state['device']}: " + ", ".join(f"{one['count']} in {one['name']}" for one in state["photon_maps"]))
            frame_rates(owner)
    finally:
        program.terminate()
        program.wait(timeout=60)


main()
