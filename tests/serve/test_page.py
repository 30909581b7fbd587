#!/usr/bin/env python3
"""usage: test_page.py KANDELA [FOLDER]

Opens the page of the live view in a browser and uses it as its owner and as a viewer. Writes
screenshots to FOLDER if that is given. Exits with 77 if there is no browser or no live view.
"""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import zlib

from browser import NAME, Browser

# Diffuse walls and blocks, and a glass ball, which casts a caustic.
SCENE = {"kandela": 1, "meshes": [{"file": "gen:cornell"}, {"sphere": {"centre": [0.5, 0.25, 0.7], "radius": 0.25, "triangles": 200}, "material": "glass"}],
         "materials": {"glass": {"kind": "glass", "ior": 1.5}}, "camera": {"eye": [0, 1, 4.2], "look_at": [0, 1, 0], "fov": 35}}
OPTIONS = ["--integrator", "photon", "--width", "200", "--height", "140", "--crop", "20,10,180,130", "--photons", "20000", "--caustic-photons", "20000",
           "--spp", "100000", "--threads", "2"]

READ = """(() => {{
  const part = window.kandela.{part}, gl = part.gl, canvas = part.canvas;
  {draw};
  const bytes = new Uint8Array(4 * canvas.width * canvas.height), seen = new Set();
  gl.readPixels(0, 0, canvas.width, canvas.height, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
  let sum = 0, covered = 0;
  for (let i = 0; i < bytes.length; i += 4) {{
    if (bytes[i + 3]) {{ covered++; sum += bytes[i] + bytes[i + 1] + bytes[i + 2]; }}
    if (i % 64 === 0) seen.add(bytes[i] << 16 | bytes[i + 1] << 8 | bytes[i + 2]);
  }}
  return {{ colours: seen.size, covered, mean: sum / Math.max(1, covered) / 3 }};
}})()"""
PICTURE = READ.format(part="picture", draw="part.render()")
SPACE = READ.format(part="space", draw="")
SET = """((id, value) => {{
  const input = document.getElementById(id);
  input.value = value;
  input.dispatchEvent(new Event(input.tagName === "SELECT" ? "change" : "input"));
}})({id!r}, {value!r})"""


class Server:
    def __init__(self, program):
        with open("page.json", "w", encoding="utf-8") as file:
            json.dump(SCENE, file)
        with open("reference.pfm", "wb") as file:
            file.write(b"PF\n200 140\n-1.0\n" + struct.pack("<f", 0.25) * (200 * 140 * 3))
        self.process = subprocess.Popen([program, "serve", "page.json", *OPTIONS, "--reference", "reference.pfm", "--serve=127.0.0.1:0"],
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.text = ""
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            self.text += line

    def addresses(self):
        """Returns the owner's and the viewers' address, or None if the program cannot serve."""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            found = re.findall(r"http://\S+token=\w+", self.text)
            if len(found) >= 2:
                return found[:2]
            if self.process.poll() is not None:
                self.thread.join()
                if "libmicrohttpd" in self.text or "unknown command" in self.text:
                    return None
                raise AssertionError(f"kandela serve ended:\n{self.text}")
            time.sleep(0.05)
        raise AssertionError(f"no address was printed:\n{self.text}")

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=60)


def ask(address, path, body=None, token=None):
    """Returns the status and the answer of a request outside of the browser."""
    base, own = address.split("/?token=")
    request = urllib.request.Request(base + path, data=None if body is None else json.dumps(body).encode())
    request.add_header("X-Kandela-Token", token or own)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def state(address):
    return json.loads(ask(address, "/api/state")[1])


def wait_state(address, holds, what):
    end = time.monotonic() + 120
    while not holds(now := state(address)):
        assert time.monotonic() < end, f"not so after 120 s: {what}: {now}"
        time.sleep(0.05)
    return now


def check_layout(page, width):
    page.evaluate("document.querySelectorAll('details').forEach(item => { item.open = true; })")
    inner, whole = page.evaluate("[innerWidth, document.documentElement.scrollWidth]")
    assert whole <= inner == width, f"the page is {whole} pixels wide in a window of {inner}"
    bare = page.evaluate("""[...document.querySelectorAll('button, input, select, textarea, canvas')].filter(item => {
      const text = item.getAttribute('aria-label') || item.textContent || [...(item.labels || [])].map(label => label.textContent).join('');
      return item.tagName !== 'CANVAS' && !text.trim();
    }).map(item => item.outerHTML)""")
    assert not bare, f"controls without a name: {bare}"


def space(page):
    """Returns what the 3-D view shows when all photons are drawn."""
    page.wait("kandela.space.complete")
    return page.evaluate(SPACE)


def stage(page):
    return page.evaluate("(() => { const box = document.getElementById('stage').getBoundingClientRect();"
                         "return [box.left, box.top, box.width, box.height]; })()")


def check_picture(page):
    page.wait("window.kandela && kandela.picture.image && kandela.rig.camera")
    page.wait(f"{PICTURE}.colours > 50")  # the first may be black
    first = page.evaluate(PICTURE)
    assert first["covered"] > 1000, first
    page.evaluate(SET.format(id="exposure", value="3"))
    bright = page.evaluate(PICTURE)
    assert bright["mean"] > 1.2 * first["mean"], (first, bright)
    page.evaluate(SET.format(id="exposure", value="0"))
    for curve in ("reinhard", "aces", "agx", "neutral", "linear"):
        page.evaluate(SET.format(id="curve", value=curve))
        page.wait(f"{PICTURE}.colours > 50")
    for channel, colours in (("depth", 20), ("cost", 5), ("density", 20), ("material", 2)):
        page.wait(f"live.state.channels.includes('{channel}')")
        page.evaluate(SET.format(id="channel", value=channel))
        page.wait(f"kandela.picture.image.channel === '{channel}'")
        page.wait(f"document.getElementById('legend').hidden === {'true' if channel == 'material' else 'false'}")
        page.wait(f"{PICTURE}.colours > {colours}")
    page.evaluate(SET.format(id="channel", value="beauty"))
    page.wait("kandela.picture.image.channel === 'beauty'")
    page.evaluate("document.getElementById('zoom-one').click()")
    page.wait("document.getElementById('zoom').textContent === '100 %'")
    page.evaluate("document.getElementById('zoom-fit').click()")


def check_camera(page, owner):
    before = state(owner)
    x, y, width, height = stage(page)
    page.drag(x + 0.5 * width, y + 0.5 * height, x + 0.6 * width, y + 0.45 * height)
    wait_state(owner, lambda now: now["camera"] != before["camera"] and now["generation"] > before["generation"], "a drag moves the camera")
    page.wait("kandela.sender.idle")
    page.evaluate("[...document.querySelectorAll('button')].find(item => item.textContent === 'Undo').click()")
    wait_state(owner, lambda now: all(abs(a - b) < 1e-4 for a, b in zip(now["camera"]["eye"], before["camera"]["eye"])), "undo returns")
    page.wait("kandela.sender.idle")
    last = state(owner)["generation"]
    page.mouse("mouseWheel", x + 0.5 * width, y + 0.5 * height, deltaX=0, deltaY=-100, button="none", buttons=0)
    wait_state(owner, lambda now: now["generation"] > last, "the wheel moves the camera")
    page.wait("kandela.sender.idle")
    for key, code in (("ArrowLeft", "ArrowLeft"), ("w", "KeyW")):
        last = state(owner)["generation"]
        page.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=code)
        wait_state(owner, lambda now, last=last: now["generation"] > last, f"the key {key} moves the camera")
        page.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=code)
        page.wait("kandela.sender.idle")
    assert page.evaluate("kandela.firstCamera.fov") > 0, "the first camera is that of the loaded scene"
    page.evaluate("kandela.resetCamera()")  # on a busy machine the key W may have led anywhere
    page.wait("kandela.sender.idle")

    def double_click():
        for count in (1, 2):
            page.mouse("mousePressed", x + 0.5 * width, y + 0.9 * height, clickCount=count)
            page.mouse("mouseReleased", x + 0.5 * width, y + 0.9 * height, clickCount=count, buttons=0)
        time.sleep(1)
        return page.evaluate("Boolean(kandela.rig.pivot)")

    assert any(double_click() for _ in range(20)), "a double click sets the centre of motion"  # refused while a picture is prepared


def check_region(page, owner):
    """The whole picture, and a rectangle of it that is dragged on the page."""
    crop = state(owner)["crop"]
    page.wait("document.getElementById('region').textContent === 'Whole picture'")
    page.evaluate("document.getElementById('region').click()")
    wait_state(owner, lambda now: now["crop"] == [0, 0, now["width"], now["height"]], "the whole picture")
    page.wait("document.getElementById('region').textContent === 'Region' && kandela.picture.image && kandela.picture.image.width > 180")
    page.evaluate("document.getElementById('region').click()")
    x, y, width, height = stage(page)
    place = page.evaluate("kandela.picture.place()")
    page.drag(x + 0.5 * width, y + 0.5 * height, x + place["left"] + 40.5 * place["scale"], y + place["top"] + 20.5 * place["scale"])
    wait_state(owner, lambda now: now["crop"][:2] == [40, 20] and now["crop"][2] in (100, 101) and now["crop"][3] in (70, 71), "a dragged rectangle")
    page.wait("kandela.picture.image && kandela.picture.image.width <= 61 && document.getElementById('rectangle').hidden")
    before = state(owner)["generation"]
    assert ask(owner, "/api/settings", {"crop": crop})[0] == 200
    page.wait(f"kandela.generation > {before} && kandela.picture.image && kandela.picture.image.width > 100")


PROJECTED = """(() => {
  const { matrix: m } = kandela.space.view(kandela.spaceScene()), p = kandela.inspected.position, { width, height } = kandela.picture.canvas;
  const [x, y, w] = [0, 1, 3].map(row => m[row] * p[0] + m[4 + row] * p[1] + m[8 + row] * p[2] + m[12 + row]), place = kandela.picture.place();
  return [(0.5 + 0.5 * x / w) * width - place.left - (kandela.selected[0] + 0.5) * place.scale,
          (0.5 - 0.5 * y / w) * height - place.top - (kandela.selected[1] + 0.5) * place.scale];
})()"""


def check_pixel(page):
    x, y, width, height = stage(page)
    page.click(x + 0.5 * width, y + 0.8 * height)
    page.wait("kandela.inspected && kandela.inspected.position")
    page.evaluate("kandela.setMode('overlay')")
    offset = page.evaluate(PROJECTED)
    assert max(map(abs, offset)) < 0.5, f"the overlay is {offset} screen pixels off the picture"
    page.evaluate("document.getElementById('follow-ray').click()")
    page.wait("kandela.space.walk.nodes.length > 1 && kandela.mode === 'overlay'")


def check_photons(page, owner):
    wait_state(owner, lambda now: now["photon_maps"], "there are photons")
    page.evaluate("document.querySelector('input[value=overlay]').click()")
    page.wait("kandela.space.photons.count > 1000")
    page.evaluate("document.querySelector('input[value=space]').click()")
    seen = [space(page)]
    page.evaluate(SET.format(id="point-size", value="6"))
    seen.append(space(page))
    assert seen[0]["covered"] > 500 and seen[1]["covered"] > 1.2 * seen[0]["covered"], seen
    for colouring in range(1, 4):
        page.evaluate(SET.format(id="colouring", value=str(colouring)))
        assert space(page)["covered"] > 500
    page.evaluate(SET.format(id="photon-limit", value="7"))  # e^7
    page.wait("kandela.space.photons.count < 2500")
    # while the camera moves, the first photons alone are drawn, always the same ones; then all
    counts = page.evaluate("""(() => {
      const { space } = kandela;
      space.batch = { moving: 300, resting: 500 };
      space.fence = null; // of the frame before
      space.movedAt = performance.now();
      space.version++;
      space.frame();
      return [space.drawn, space.photons.count];
    })()""")
    assert 0 < counts[0] <= 300 and counts[0] == -(-counts[1] // 2 ** next(k for k in range(20) if -(-counts[1] // 2 ** k) <= 300)), counts
    page.evaluate("new Promise(resolve => setTimeout(() => { kandela.space.draw(); resolve(); }, 250))")
    page.wait("kandela.space.complete && kandela.space.drawn === kandela.space.photons.count")
    before = page.evaluate("kandela.freeRig.camera.eye")
    x, y, width, height = stage(page)
    page.drag(x + 0.5 * width, y + 0.5 * height, x + 0.6 * width, y + 0.5 * height)
    assert page.evaluate("kandela.freeRig.camera.eye") != before, "the 3-D view has a camera of its own"


def check_light_paths(page):
    """Light paths as lines; a click on a photon in the 3-D view marks its own."""
    page.evaluate("document.getElementById('show-light-paths').click()")
    page.wait("kandela.space.lightPaths.length > 50")
    page.evaluate("kandela.setMode('space'); document.getElementById('show-photons').click()")
    many = space(page)["covered"]
    page.evaluate(SET.format(id="light-path-bounces", value="0"))
    assert space(page)["covered"] < many, "fewer bounces draw fewer lines"
    page.evaluate("document.getElementById('show-light-paths').click(); document.getElementById('show-photons').click()")
    x, y, photon = page.evaluate("""(() => {
      const { space } = kandela, { matrix: m } = space.view(space.scene()), box = space.canvas.getBoundingClientRect();
      const values = new Float32Array(space.photonsBytes.buffer), p = values.subarray(0, 3);
      const [x, y, w] = [0, 1, 3].map(row => m[row] * p[0] + m[4 + row] * p[1] + m[8 + row] * p[2] + m[12 + row]);
      return [box.left + (0.5 + 0.5 * x / w) * box.width, box.top + (0.5 - 0.5 * y / w) * box.height, space.pick(
        (0.5 + 0.5 * x / w) * space.canvas.width, (0.5 - 0.5 * y / w) * space.canvas.height)];
    })()""")
    page.click(x, y)
    page.wait("kandela.space.chosen")
    chosen = page.evaluate("kandela.space.chosen")
    ends = [point["position"] for point in chosen["points"] if point["stored"]]
    assert any(max(abs(a - b) for a, b in zip(end, photon["position"])) < 1e-4 for end in ends) and chosen["points"][0]["kind"] == 0, (chosen, photon)


def check_caustics(page):
    """The map of caustics by itself, and its light paths, which pass through the glass ball."""
    page.evaluate("kandela.setMode('space')")
    page.evaluate(SET.format(id="photon-map", value="caustic"))
    page.wait("kandela.space.photonsBytes && kandela.space.photons.count > 20 && new DataView(kandela.space.photonsBytes.buffer, kandela.space.photonsBytes.byteOffset).getUint16(26, true) === 1")
    assert space(page)["covered"] > 100
    page.evaluate(SET.format(id="light-path-map", value="caustic"))
    page.evaluate("document.getElementById('show-light-paths').click()")
    page.wait("kandela.space.lightPaths.length > 20 && kandela.space.lightPaths.every(path => path.points.some(point => point.kind === 2))")
    page.evaluate("document.getElementById('show-light-paths').click()")
    page.evaluate(SET.format(id="photon-map", value=""))


def check_trees(page):
    """Boxes of both trees, planes of that of photons, the nodes of a point, and the costs."""
    page.evaluate("document.getElementById('show-boxes').click()")
    page.wait("kandela.space.boxes.count > 1")
    page.wait("document.querySelectorAll('.chart .column').length > 20")
    shares = page.evaluate("[...document.querySelectorAll('.chart .column title')].map(item => item.textContent).filter(text => text.startsWith('Level')).map(text => parseFloat(text.split(':')[1].replace('−', '-')))")
    assert abs(sum(shares) - 100) < 1, shares
    page.evaluate(SET.format(id="tree", value="global"))
    page.evaluate(SET.format(id="tree-level", value="3"))
    page.wait("kandela.space.boxes.count === 16")  # eight boxes and their planes
    page.evaluate("kandela.setMode('overlay'); document.getElementById('follow-ray').click()")
    page.wait("kandela.space.walk.nodes.length > 3")
    nodes, point = page.evaluate("[kandela.space.walk.nodes, kandela.inspected.position]")
    assert nodes[-1]["leaf"] and all(a["points"] > b["points"] for a, b in zip(nodes, nodes[1:])), nodes
    page.evaluate(SET.format(id="tree", value=""))
    page.evaluate("document.getElementById('show-boxes').click()")


def check_disc(page):
    """The disc of the density estimate follows the mouse."""
    x, y, width, height = stage(page)
    page.mouse("mouseMoved", x + 0.4 * width, y + 0.85 * height, button="none", buttons=0)
    page.wait("document.getElementById('readout').textContent.includes('disc of radius')")
    seen = page.evaluate("kandela.space.disc")
    assert seen["radius"] > 0 and len(seen["photons"]) > 5 and seen["tiles"], seen


def check_settings(page, owner):
    before = state(owner)
    value = {item["name"]: item["value"] for item in before["settings"]}
    page.evaluate("""(() => {
      const input = document.querySelector('#setting-photons');
      input.value = Math.log(5000);
      input.dispatchEvent(new Event('input'));
    })()""")
    after = wait_state(owner, lambda now: now["generation"] > before["generation"], "a slider acts")
    changed = {item["name"]: item["value"] for item in after["settings"]}
    assert changed["photons"] != value["photons"] and 4000 < changed["photons"] < 6000, (value, changed)
    page.evaluate(SET.format(id="light-0", value="0.5"))
    wait_state(owner, lambda now: now["lights"] and now["lights"][0]["scale"] == 0.5, "a light is scaled")
    page.evaluate("document.getElementById('pause').click()")
    wait_state(owner, lambda now: now["status"] == "paused", "pause")
    page.wait("document.getElementById('pause').textContent === 'Resume'")
    page.evaluate("document.getElementById('pause').click()")
    wait_state(owner, lambda now: now["status"] == "rendering", "resume")


def check_files(page):
    """The buttons of files download what the server sends."""
    page.evaluate("""(() => {
      const make = URL.createObjectURL;
      window.downloads = [];
      URL.createObjectURL = blob => { downloads.push(blob.size); return make.call(URL, blob); };
    })()""")
    for count, kind in enumerate(("png", "exr", "state", "scene"), 1):
        page.evaluate(f"document.getElementById('file-{kind}').click()")
        page.wait(f"downloads.length === {count}")
    assert min(page.evaluate("downloads")) > 100 and page.evaluate("document.getElementById('notice').className") != "notice error"


def check_comparison(page):
    page.wait("kandela.picture.kept && kandela.picture.kept.channel === 'reference'")  # the file is B from the start
    sizes = page.evaluate("[kandela.picture.kept, kandela.picture.image].map(image => [image.width, image.height])")
    assert sizes[0] == [160, 120], sizes  # the rendered part
    page.evaluate("document.getElementById('compare').closest('details').open = true")
    page.evaluate(SET.format(id="compare", value="4"))
    page.wait("[...document.querySelectorAll('th')].some(item => item.textContent === 'Mean FLIP')")
    page.evaluate(SET.format(id="channel", value="reference"))
    page.wait("kandela.picture.image.channel === 'reference'")
    page.wait("kandela.picture.flip.mean < 1e-3")  # the reference beside itself
    page.evaluate(SET.format(id="channel", value="beauty"))
    page.wait("kandela.picture.image.channel === 'beauty'")
    page.evaluate("document.querySelector('input[value=picture]').click(); document.getElementById('keep').click()")
    page.wait("!document.getElementById('handle').hidden")
    page.wait(f"{PICTURE}.colours > 50")
    page.evaluate(SET.format(id="compare", value="2"))
    page.wait("!document.getElementById('legend').hidden")
    page.evaluate(SET.format(id="compare", value="0"))


def write_png(path, width, height, values):
    rows = b"".join(b"\0" + bytes(values[3 * width * y:3 * width * (y + 1)]) for y in range(height))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for kind, data in ((b"IHDR", struct.pack("!IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")):
            file.write(struct.pack("!I", len(data)) + kind + data + struct.pack("!I", zlib.crc32(kind + data)))


def check_flip(page, program):
    """The page's FLIP of two 8-bit pictures is that of kandela compare."""
    width, height, paths, images = 48, 40, [], []
    page.evaluate("document.getElementById('pause').click()")
    page.wait("live.state.status === 'paused'")
    for name, least in (("flip_b", 0), ("flip_a", 64)):
        draws, value = [], 12345
        for i in range(width * height * 3):
            value = (1103515245 * value + 12345) % 2**31
            draws.append(max(least, (value >> 16 & 127) + (96 if i // 3 % width > 20 else 0)))
        paths.append(f"{name}.png")
        write_png(paths[-1], width, height, draws)
        linear = [x / 255 / 12.92 if x < 11 else ((x / 255 + 0.055) / 1.055) ** 2.4 for x in draws]
        halves = list(struct.unpack(f"<{len(linear)}H", struct.pack(f"<{len(linear)}e", *linear)))
        images.append(f"{{width: {width}, height: {height}, components: 3, number: 0, channel: 'beauty', values: new Uint16Array({halves})}}")
    page.evaluate(SET.format(id="compare", value="4"))
    # One evaluation: between two, the page may show the program's own picture again.
    mean, same = page.evaluate(f"""(() => {{
      const {{ picture }} = kandela, mean = () => {{ picture.render(); return picture.flip.mean; }};
      picture.setImage({images[0]});
      picture.keep();
      picture.setImage({images[1]});
      const means = [mean()];
      picture.keep();
      return [...means, mean()];
    }})()""")
    expected = float(subprocess.run([program, "compare", paths[1], paths[0], "--metric", "flip"], stdout=subprocess.PIPE, check=True).stdout)
    assert expected > 0.05 and abs(mean - expected) < 0.002, (mean, expected)
    assert same < 1e-3, same
    page.evaluate(SET.format(id="compare", value="0"))
    page.evaluate("kandela.control('resume')")


def check_viewer(page, owner, viewer):
    page.wait("window.kandela && kandela.picture.image && kandela.generation !== undefined")
    assert page.evaluate("!document.getElementById('role').hidden && document.getElementById('pause').disabled")
    assert page.evaluate("[...document.querySelectorAll('[data-owner]')].every(item => item.disabled)")
    before = state(owner)
    x, y, width, height = stage(page)
    page.drag(x + 0.5 * width, y + 0.5 * height, x + 0.6 * width, y + 0.5 * height)
    assert state(owner)["camera"] == before["camera"] and not page.evaluate("kandela.picture.view.fit"), "a viewer moves the picture alone"
    assert ask(viewer, "/api/camera", before["camera"])[0] == 403
    assert ask(owner, "/api/state", token="0" * 32)[0] in (401, 403)
    assert ask(owner, "/", token="0" * 32)[0] in (401, 403)
    assert ask(viewer, "/api/state")[0] == 200


def check(program, owner, viewer, folder):
    with Browser() as browser:
        pages = []

        def look(page, name):
            if folder:
                page.screenshot(os.path.join(folder, name + ".png"))

        wide = browser.page(owner, 1280, 800)
        pages.append(wide)
        check_picture(wide)
        look(wide, "picture")
        check_camera(wide, owner)
        check_region(wide, owner)
        check_files(wide)
        check_settings(wide, owner)
        check_photons(wide, owner)
        look(wide, "space")
        wide.evaluate("document.querySelector('input[value=picture]').click()")
        check_pixel(wide)
        look(wide, "overlay")
        check_disc(wide)
        check_trees(wide)
        check_light_paths(wide)
        check_caustics(wide)
        look(wide, "caustics")
        check_comparison(wide)
        check_flip(wide, program)
        check_layout(wide, 1280)
        narrow = browser.page(viewer, 390, 844, "dark")
        pages.append(narrow)
        check_viewer(narrow, owner, viewer)
        check_layout(narrow, 390)
        look(narrow, "narrow")
        last = state(owner)["generation"]
        wide.evaluate("kandela.control('restart')")
        for page in pages:
            page.wait(f"kandela.generation > {last}")
            assert not page.errors, page.errors


def main():
    program = sys.argv[1]
    if not shutil.which(NAME):
        print(f"skipped: {NAME} is not installed")
        return 77
    server = Server(program)
    try:
        addresses = server.addresses()
        if not addresses:
            print(f"skipped: this kandela has no live view: {server.text.strip()}")
            return 77
        check(program, *addresses, sys.argv[2] if len(sys.argv) > 2 else None)
    finally:
        server.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
