#!/usr/bin/env python3
"""usage: light_figures.py KANDELA [--size N] [emission] [lamps] [leaks] [glass] [grass]

Measures, by small scenes, what the documents say of light (needs numpy). Prints a line per scene and
integrator; without names, all of:
  emission  open scenes: share of photon emission in the time of a pass, with and without the trial
            before the first, and relMSE x processor seconds relative to `path`
  lamps     corridors of 32, 200 and 20,000 lamps: relMSE and processor seconds at equal samples
  leaks     radiance behind a wall that has light on its other side only, relative to that side
  glass     floor beside a glass cube that holds a torus: photon maps relative to `vcm`
  grass     floors covered with blades of grass: photon maps relative to `path`
Shares are of wall-clock time on one thread, so the machine should be quiet.
"""
import json
import math
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from target_error import ball, box, lamp, quad, scene

WHITE = {"diffuse": 0.75}
GLASS = {"kind": "glass", "ior": 1.5}


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = path, Path(folder)

    def render(self, content, size, integrator, *more):
        """Returns the picture, processor seconds and the statistics."""
        (self.folder / "scene.json").write_text(json.dumps(content))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([self.path, "render", self.folder / "scene.json", "-o", self.folder / "out.pfm", "--quiet", "--threads", "1",
                        "--resolution", f"{size}x{size}", "--integrator", integrator, "--stats", self.folder / "stats.json",
                        *map(str, more)], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(self.folder / "out.pfm", "rb") as file:
            file.readline()
            width, height = map(int, file.readline().split())
            file.readline()
            picture = np.frombuffer(file.read(), "<f4").reshape(height, width, 3)[::-1].astype(float)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return picture, seconds, json.loads((self.folder / "stats.json").read_text())


def relmse(picture, truth):
    floor = 0.05 * np.sqrt((truth ** 2).sum(-1)).mean()
    return (((picture - truth) ** 2).sum(-1) / ((truth ** 2).sum(-1) + floor ** 2)).mean()


def blocks(picture, side=8):
    high, wide = (n // side * side for n in picture.shape[:2])
    return picture[:high, :wide].mean(-1).reshape(high // side, side, wide // side, side).mean((1, 3))


def open_scenes():
    ground = {"quad": [[-10, 0, 10], [10, 0, 10], [10, 0, -10], [-10, 0, -10]], "material": {"diffuse": 0.4}}
    balls = [ground, {**ball([0, 1, 0], 1, "glass")}, ball([2.2, 1, 0], 1, "white")]
    camera = {"eye": (0, 2, 8), "to": (0.8, 0.8, 0), "fov": 30}
    ring = [ground] + [ball([2.5 * math.cos(a), 0.6, 2.5 * math.sin(a)], 0.6, ("glass", "white", "mirror")[i % 3])
                       for i, a in enumerate(2 * math.pi * j / 9 for j in range(9))]
    sun = [{"kind": "directional", "direction": [-1, -2, -1], "irradiance": 3}]
    house = [ground] + [box(lo, hi) for lo, hi in (
        ((-2.2, 2.6, -2.2), (2.2, 2.8, 2.2)), ((-2.2, 0, -2.2), (-2, 2.6, 2.2)), ((2, 0, -2.2), (2.2, 2.6, 2.2)),
        ((-2, 0, 2), (2, 2.6, 2.2)), ((-2, 0, -2.2), (-0.5, 2.6, -2)), ((0.5, 0, -2.2), (2, 2.6, -2)),
        ((-0.5, 0, -2.2), (0.5, 1, -2)), ((-0.5, 2, -2.2), (0.5, 2.6, -2)))]
    return {
        "balls, far lamp": scene(balls, [lamp(-40, 60, 20, 2, 30000)], **camera),
        "balls, sky": scene(balls, environment={"radiance": 1}, **camera),
        "ring, sun and sky": scene(ring, sun, environment={"radiance": 0.5}, eye=(0, 4, 8), to=(0, 0.4, 0), fov=40),
        "lamp in glass": scene([ground, ball([0, 1, 0], 0.5, "glass"), ball([0, 1, 0], 0.05, "lamp")], eye=(0, 2, 4), to=(0, 0.5, 0),
                               fov=40, materials={"glass": GLASS, "lamp": {"diffuse": 0, "emission": 100}}),
        "room, window": scene(house, environment={"radiance": 1}, eye=(-1.2, 1.5, 1.8), to=(0.3, 1, -1), fov=70),
    }


def emission(program, size):
    for name, content in open_scenes().items():
        truth = program.render(content, size // 4, "vcm", "--spp", 128, "--seed", 9)[0]
        work = {}
        for method, options in (("path", ("--spp", 16)), ("photon", ("--spp", 8)), ("sppm", ("--passes", 4)), ("vcm", ("--spp", 8))):
            picture, seconds, stats = program.render(content, size, method, *options)
            small = picture.reshape(size // 4, 4, size // 4, 4, 3).mean((1, 3))
            work[method] = relmse(small, truth) * seconds
            print(f"{name:18s} {method:6s} {seconds:6.2f} s, relMSE x s {work[method]:8.4f}, of path's {work[method] / work['path']:6.3f}",
                  end="")
            if method in ("photon", "sppm"):
                stage = stats["seconds"]
                whole = stage["emit"] + stage["photon_tree"] + stage["surface"] + stage["render"]
                more = 4 if method == "sppm" else 1
                photons = stats["photons"]
                print(f"; emission {stage['emit'] / whole:.2f} of all passes, {photons['emitted'] / more / size ** 2:.1f} paths a "
                      f"pixel and pass, {photons['stored'] + photons['caustics_stored']} photons", end="")
            print(flush=True)


def corridor(count):
    end = -1.5 * count - 2
    lamps = [{**lamp(0, 3, -1.5 * i, 0.3), "camera_visible": False} for i in range(count)]
    return scene([quad([-4, 0, 2], [4, 0, 2], [4, 0, end], [-4, 0, end]), box([-1, 0, -4], [0, 1, -3])], lamps,
                 eye=(0, 2.5, 4), to=(0, 0, 1), fov=50, materials={"white": {"diffuse": 0.6}})


def lamps(program, _):
    first = None
    for count in (32, 200, 20000):
        content = corridor(count)
        truth = program.render(content, 48, "path", "--spp", 1024, "--max-depth", 3, "--seed", 9)[0]
        errors, times = [], []
        for seed in (1, 2, 3):
            picture, seconds, stats = program.render(content, 48, "path", "--spp", 16, "--max-depth", 3, "--seed", seed)
            errors.append(relmse(picture, truth))
            times.append(stats["seconds"]["render"])
        first = first or (np.mean(errors), min(times))
        print(f"lamps {count:6d}  relMSE {np.mean(errors):.2e}, {np.mean(errors) / first[0]:.2f} of that of 32; "
              f"a sample {min(times) / first[1]:.2f} of 32's", flush=True)


def leaks(program, _):
    for wall in (0.1, 0.02):
        def sealed(eye, to):
            lit = {"diffuse": 0, "emission": 60}
            return scene([box([-2, 0, -4], [2, 2.4, 2], inward=True), box([-2, 0, -1 - wall / 2], [2, 2.4, -1 + wall / 2]),
                          quad([-1, 2.39, -3], [1, 2.39, -3], [1, 2.39, -2], [-1, 2.39, -2], material="lit")],
                         eye=eye, to=to, fov=60, materials={"white": WHITE, "lit": lit})
        bright = program.render(sealed((-0.8, 1.4, -1.2), (0.2, 1, -4)), 32, "path", "--spp", 64)[0].mean()
        dark = sealed((-0.8, 1.4, 1.9), (0.2, 1, -1))
        for method, options in (("photon", ("--spp", 4)), ("photon", ("--spp", 4, "--final-gather", 8)), ("sppm", ("--passes", 8))):
            picture = program.render(dark, 48, method, *options)[0]
            print(f"sealed, {100 * wall:.0f} cm  {method} {' '.join(map(str, options)):25s} mean {picture.mean() / bright:.1e}, "
                  f"largest pixel {picture.max() / bright:.1e} of the lit side", flush=True)
    thin = scene([box([-2, 0, -1], [2, 1, 1], inward=True), quad([0, 0, -1], [0, 0, 1], [0, 1, 1], [0, 1, -1])],
                 [{"kind": "area", "corner": [-1.5, 0.98, -0.5], "edge_u": [1, 0, 0], "edge_v": [0, 0, 1], "radiance": 5}],
                 eye=(1, 0.95, 0), to=(0.3, 0, 0), camera={"up": [0, 0, 1]}, fov=100, materials={"white": {"diffuse": 0.7}})
    for method, options in (("photon", ("--spp", 4)), ("sppm", ("--passes", 8))):
        picture = program.render(thin, 48, method, *options)[0]
        print(f"thin wall  {method} mean {picture.mean():.1e}, largest pixel {picture.max():.1e} (lit side 0.79)", flush=True)


def inside(things, **more):
    return scene([box([-1, 0, -1], [1, 2, 1], inward=True)] + things,
                 [{"kind": "area", "corner": [-0.3, 1.99, -0.3], "edge_u": [0.6, 0, 0], "edge_v": [0, 0, 0.6], "radiance": 10}],
                 eye=(-0.8, 1.3, 0.95), to=(0.1, 0.4, -0.2), fov=65, **more)


def glass(program, _):
    torus = {"torus": {"radius": 0.25, "tube_radius": 0.07, "centre": [0, 0.07, 0]}, "material": "white"}
    content = inside([torus, box([-0.4, 0, -0.4], [0.4, 0.3, 0.4], "glass")], materials={"white": WHITE, "glass": GLASS})
    truth = program.render(content, 48, "vcm", "--spp", 512, "--seed", 9)[0]
    for method, options in (("photon", ("--spp", 8)), ("sppm", ("--passes", 16)), ("sppm", ("--passes", 120, "--photons", "20K", "--caustic-photons", "20K"))):
        picture = program.render(content, 48, method, *options)[0]
        ratio = blocks(picture) / blocks(truth)
        print(f"torus in a cube  {method} {' '.join(map(str, options)):50s} mean {picture.mean() / truth.mean():.4f}, blocks {ratio.min():.3f} "
              f"to {ratio.max():.3f}, relMSE {relmse(picture, truth):.1e}", flush=True)


def blades(count, height, width):
    random.seed(1)
    made = []
    for _ in range(count):
        x, z = random.uniform(-0.95, 0.95), random.uniform(-0.95, 0.95)
        a, b = random.uniform(0, 2 * math.pi), random.uniform(0, 2 * math.pi)
        tall = height * random.uniform(0.6, 1.2)
        lean = random.uniform(-0.5, 0.5) * tall
        u, v = width / 2 * math.cos(a), width / 2 * math.sin(a)
        p, q = x + lean * math.cos(b), z + lean * math.sin(b)
        made.append(((x - u, 0, z - v), (x + u, 0, z + v), (p + u / 2, tall, q + v / 2), (p - u / 2, tall, q - v / 2)))
    return made


def grass(program, _):
    for count, height, width in ((20000, 0.12, 0.014), (4000, 0.3, 0.03)):
        lines = [f"v {x:.6f} {y:.6f} {z:.6f}\n" for one in blades(count, height, width) for x, y, z in one]
        lines += [f"f {4 * i + 1} {4 * i + 2} {4 * i + 3} {4 * i + 4}\n" for i in range(count)]
        (program.folder / "blades.obj").write_text("".join(lines))
        content = inside([{"file": "blades.obj", "material": "blade"}], materials={"white": WHITE, "blade": {"diffuse": [0.3, 0.6, 0.2]}})
        truth = program.render(content, 48, "path", "--spp", 256, "--seed", 9)[0]
        for method, options in (("photon", ("--spp", 4, "--photons", "40K")), ("photon", ("--spp", 4)),
                                ("sppm", ("--passes", 16, "--photons", "20K")), ("sppm", ("--passes", 8))):
            picture = program.render(content, 48, method, *options)[0]
            print(f"{count} blades  {method} {' '.join(map(str, options)):26s} mean {picture.mean() / truth.mean():.4f}, relMSE "
                  f"{relmse(picture, truth):.2e}", flush=True)


def main():
    parts = {"emission": emission, "lamps": lamps, "leaks": leaks, "glass": glass, "grass": grass}
    arguments = sys.argv[1:]
    size = 256
    if "--size" in arguments:
        at = arguments.index("--size")
        size = int(arguments[at + 1])
        del arguments[at:at + 2]
    if not arguments or set(arguments[1:]) - set(parts):
        sys.exit(__doc__.split("\n")[0])
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments[1:] or parts:
            parts[name](Program(arguments[0], folder), size)


if __name__ == "__main__":
    main()
