#!/usr/bin/env python3
"""usage: target_error.py KANDELA [--scenes NAME...] [--targets E...] [--seeds N] [--spp N] [--threads N]

Measures what `kandela render --target-error` promises: renders small scenes by path tracing until it
reports that each target is reached, and compares the figure that it reports with the error against a
long reference (`kandela compare --metric relmse`, its root). The first seed is rendered at four
brightnesses, all lights x 100, 1, 0.1, 0.001, which must take the same number of samples. A run that
reaches --spp first is printed with "-" and not counted. Prints a line per scene and target: the
samples of each seed, the median, smallest and largest ratio of the true error to the reported one;
then the shares of all runs within 20 % and below twice. Exit status 1 if brightness changed the
number of samples, or if a ratio is above 2.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

SIZE = 24
BRIGHTNESS = (1, 100, 0.1, 0.001)
REPOSITORY = Path(__file__).resolve().parent.parent


def quad(*corners, material="white"):
    return {"quad": list(corners), "material": material}


def ball(centre, radius, material):
    return {"sphere": {"centre": centre, "radius": radius, "triangles": 4000}, "material": material}


def box(lo, hi, material="white", **more):
    return {"box": {"lo": lo, "hi": hi}, "material": material, **more}


def lamp(x, y, z, half, power=20):
    return {"kind": "area", "corner": [x - half, y, z - half], "edge_u": [2 * half, 0, 0],
            "edge_v": [0, 0, 2 * half], "power": power}


MATERIALS = {
    "white": {"diffuse": 0.72}, "red": {"diffuse": [0.63, 0.065, 0.05]}, "green": {"diffuse": [0.12, 0.42, 0.12]},
    "glass": {"kind": "glass", "ior": 1.5}, "mirror": {"kind": "mirror"},
    "metal": {"kind": "conductor", "roughness": 0.35, "specular": 0.9},
    "gloss": {"kind": "plastic", "diffuse": 0.3, "roughness": 0.25},
    "coated": {"kind": "principled", "diffuse": [0.8, 0.3, 0.1], "roughness": 0.3, "coat": 1, "metallic": 0.5},
    "frosted": {"kind": "principled", "roughness": 0.2, "transmission_weight": 1}}


def scene(meshes, lights=(), eye=(0, 1, 4.2), to=(0, 1, 0), fov=35, camera=None, **more):
    return {"kandela": 1, "materials": MATERIALS, "meshes": meshes, "lights": list(lights),
            "camera": {"eye": list(eye), "look_at": list(to), "fov": fov, **(camera or {})}, **more}


def room(things, lights, **more):
    walls = [quad([-1, 0, 1], [1, 0, 1], [1, 0, -1], [-1, 0, -1]), quad([-1, 2, -1], [1, 2, -1], [1, 2, 1], [-1, 2, 1]),
             quad([-1, 0, -1], [1, 0, -1], [1, 2, -1], [-1, 2, -1]),
             quad([-1, 0, 1], [-1, 0, -1], [-1, 2, -1], [-1, 2, 1], material="red"),
             quad([1, 0, -1], [1, 0, 1], [1, 2, 1], [1, 2, -1], material="green")]
    return scene(walls + things, lights, **more)


def made():
    block = box([-0.6, 0, -0.6], [0, 1.1, 0])
    ceiling = [lamp(0, 1.99, 0, 0.3)]
    ground = quad([-4, 0, 4], [4, 0, 4], [4, 0, -4], [-4, 0, -4])
    leaves = {"quad": [[-0.1, 0, 0], [0.1, 0, 0], [0.1, 0.3, 0], [-0.1, 0.3, 0]],
              "material": {"diffuse": [0.2, 0.6, 0.1], "opacity": 0.8},
              "scatter": {"count": 400, "seed": 3, "lo": [-2, 0, -2], "hi": [2, 1.2, 2]}}
    outside = {"eye": (0, 1.5, 5), "to": (0, 0.5, 0), "fov": 40}
    rooms = [box([-2, 0, -2], [4, 2.5, 2], inward=True), box([0.95, 0, -2], [1.05, 2.5, 0.6]),
             box([0.95, 0, 0.75], [1.05, 2.5, 2])]
    house = [quad([-2, 0, 2], [2, 0, 2], [2, 0, -2], [-2, 0, -2]), quad([-2, 2.5, -2], [2, 2.5, -2], [2, 2.5, 2], [-2, 2.5, 2]),
             quad([-2, 0, -2], [2, 0, -2], [2, 2.5, -2], [-2, 2.5, -2]), quad([2, 0, 2], [-2, 0, 2], [-2, 2.5, 2], [2, 2.5, 2]),
             quad([-2, 0, 2], [-2, 0, -2], [-2, 2.5, -2], [-2, 2.5, 2])]
    for low, high, near, far in ((0, 0.9, -2, 2), (1.9, 2.5, -2, 2), (0.9, 1.9, -2, -0.5), (0.9, 1.9, 0.5, 2)):
        house.append(quad([2, low, near], [2, low, far], [2, high, far], [2, high, near]))
    return {
        "box": room([block, box([0.2, 0, -0.1], [0.7, 0.5, 0.4])], ceiling),
        "caustic": room([ball([0.3, 0.4, 0.2], 0.4, "glass")], ceiling),
        "caustic, small lamp": room([ball([0.3, 0.4, 0.2], 0.4, "glass")], [lamp(-0.3, 1.99, -0.2, 0.04)]),
        "16 lamps": room([box([-0.6, 0, -0.6], [0, 1.1, 0], "gloss")],
                         [lamp(-0.9 + 0.12 * i, 1.95 - 0.02 * (i % 3), -0.8 + 0.3 * (i % 5), 0.02, 1 + i % 4) for i in range(16)]),
        "fog": room([ball([0, 0.7, 0], 0.4, "white")], [lamp(0, 1.99, 0, 0.2)], fog="m",
                    media={"m": {"scattering": 0.6, "absorption": 0.05, "g": 0.5}}),
        "sky": scene([ground, ball([0, 0.7, 0], 0.7, "red"), ball([1.3, 0.4, 0.5], 0.4, "gloss")],
                     environment={"radiance": [0.6, 0.8, 1]}, **outside),
        "metal, small lamp": room([ball([-0.35, 0.45, 0], 0.45, "metal"), box([0.2, 0, -0.4], [0.8, 0.9, 0.2], "gloss")],
                                  [lamp(0.2, 1.9, 0.4, 0.02)]),
        "lit side of a door": scene(rooms, [lamp(2.5, 2.4, -1, 0.3)], eye=(3.8, 1.4, 1.6), to=(1, 1, 0.4), fov=60),
        "depth of field": room([ball([-0.4, 0.3, -0.5], 0.3, "red"), ball([0.3, 0.3, 0.3], 0.3, "gloss"), ball([0.1, 1.2, -0.2], 0.2, "metal")],
                               [lamp(0, 1.99, 0, 0.25)], camera={"lens_radius": 0.15}),
        "moving camera": room([block], ceiling, camera={"keys": [{"frame": 0, "eye": [-0.3, 1, 4.2]}, {"frame": 1, "eye": [0.3, 1, 4.2]}]}),
        "mirror": room([ball([-0.35, 0.45, -0.2], 0.45, "mirror"), ball([0.5, 0.3, 0.3], 0.3, "metal")], [lamp(0, 1.99, 0, 0.15)]),
        "spot": room([block], [{"kind": "spot", "position": [0, 1.9, 0.5], "look_at": [0.3, 0, 0], "inner_degrees": 10, "outer_degrees": 20, "intensity": 8},
                               {"kind": "point", "position": [-0.8, 1.5, 0.5], "intensity": 0.4}]),
        "principled": room([ball([-0.4, 0.4, 0], 0.4, "coated"), ball([0.45, 0.4, 0.2], 0.4, "frosted")], [lamp(0, 1.99, 0, 0.1)]),
        "visible lamp": room([], [lamp(0, 1.5, 0, 0.1)], eye=(0, 0.2, 2.5), to=(0, 1.2, 0), fov=60),
        "window": scene(house, eye=(-1.6, 1.3, 1.7), to=(0.6, 1, -1), fov=60, environment={"radiance": [1, 1.2, 1.5]}),
        "leaves": scene([ground, leaves], [{"kind": "directional", "direction": [-1, -2, -1], "irradiance": 3}],
                        environment={"radiance": [0.5, 0.6, 0.8]}, **outside),
        **{name: json.loads((REPOSITORY / "scenes" / f"{name}.json").read_text())
           for name in ("glass_of_water", "cornell_caustic", "cornell_fog", "prism", "hall", "wedge")}}


def scaled(node, factor, key=None):
    """Returns the scene with all light multiplied."""
    if isinstance(node, dict):
        return {k: scaled(v, factor, k) for k, v in node.items()}
    if isinstance(node, list):
        return [scaled(v, factor, key) for v in node]
    light = key in ("power", "intensity", "radiance", "irradiance", "emission")
    return node * factor if light and not isinstance(node, (bool, str)) else node


class Measuring:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder

    def run(self, *arguments):
        done = subprocess.run([self.options.kandela, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"target_error.py: {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def render(self, content, name, *more):
        path = self.folder / "scene.json"
        path.write_text(json.dumps(content))
        stats = self.folder / "stats.json"
        moves = ("--frames", "0-0", "--shutter", 1) if "keys" in content["camera"] else ()
        self.run("render", path, "-o", self.folder / name, "--resolution", f"{SIZE}x{SIZE}", "--integrator", "path",
                 "--stats", stats, "--threads", self.options.threads, "--quiet", *moves, *more)
        return json.loads(stats.read_text())

    def ratios(self, name, content, target):
        """Prints a line; returns the ratios and whether brightness changed the number of samples."""
        samples, ratios, changed = [], [], False
        for seed in range(1, self.options.seeds + 1):
            arguments = ("--seed", seed, "--spp", self.options.spp, "--target-error", target)
            stats = self.render(content, "seen.exr", *arguments)
            if stats["outcome"] != "target error":
                samples.append("-")
                continue
            samples.append(stats["image"]["samples"])
            square = float(self.run("compare", self.folder / "seen.exr", self.folder / "long.exr", "--metric", "relmse"))
            ratios.append(square ** 0.5 / stats["image"]["error"])
            for factor in BRIGHTNESS[1:] if seed == 1 else ():
                other = self.render(scaled(content, factor), "other.exr", *arguments)
                changed |= other["image"]["samples"] != stats["image"]["samples"]
        ratios.sort()
        spread = f"{ratios[len(ratios) // 2]:5.2f} {ratios[0]:5.2f} {ratios[-1]:5.2f}" if ratios else 17 * " "
        print(f"{name:20s} {target:5g} {spread} {'CHANGED' if changed else ''}", *samples, flush=True)
        return ratios, changed


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n")[0][7:])
    parser.add_argument("kandela")
    parser.add_argument("--scenes", nargs="*")
    parser.add_argument("--targets", nargs="*", type=float, default=[0.1, 0.2])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--spp", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    ratios, changed = [], False
    print(f"{'scene':20s} {'target':>5s} ratio: median, smallest, largest; samples of each seed")
    with tempfile.TemporaryDirectory() as folder:
        measuring = Measuring(options, Path(folder))
        for name, content in made().items():
            if options.scenes and name not in options.scenes:
                continue
            measuring.render(content, "long.exr", "--seed", 99, "--spp", 8 * options.spp)
            for target in options.targets:
                some, differs = measuring.ratios(name, content, target)
                ratios += some
                changed |= differs
    if ratios:
        count = len(ratios)
        print(f"{count} runs: {sum(0.8 <= r <= 1.2 for r in ratios) / count:.0%} within 20 %, "
              f"{sum(r < 2 for r in ratios) / count:.0%} below twice, from {min(ratios):.2f} to {max(ratios):.2f}; "
              f"brightness {'CHANGES' if changed else 'does not change'} the number of samples")
    return changed or any(r >= 2 for r in ratios)


if __name__ == "__main__":
    sys.exit(main())
