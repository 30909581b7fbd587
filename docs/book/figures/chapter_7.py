"""Figures of chapter 7: the noise of an estimate in a furnace, where the density is known (render
--integrator debug), and the error against k where light varies (kandela estimate)."""

import csv
import math
import os
import struct
import subprocess
import tempfile

from svg import Plot

SCENES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "scenes")
PHOTONS, AREA = 20000, 24.0  # area of the furnace, a box of side 2
VIEWS = 8


def run(program, *words):
    subprocess.run([program, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def read_pfm(path):
    with open(path, "rb") as file:
        for _ in range(3):
            file.readline()
        numbers = file.read()
    return struct.unpack(f"<{len(numbers) // 4}f", numbers)


def towards(view):
    """Returns directions distributed evenly over the sphere."""
    height = 1 - 2 * (view + 0.5) / VIEWS
    radius, angle = math.sqrt(1 - height * height), view * 2.399963
    return f"{radius * math.cos(angle):.6f},{radius * math.sin(angle):.6f},{height:.6f}"


def furnace_noise(program, folder, kernel, k):
    """Returns the mean square of (density found / true density - 1) over views with independent
    photons."""
    total = count = 0
    picture = os.path.join(folder, "density.pfm")
    for view in range(VIEWS):
        run(
            program, "render", os.path.join(SCENES, "furnace.json"), "--device", "cpu", "--quiet",
            "--integrator", "debug", "--channel", "density", "--photons", str(PHOTONS),
            "--gather", str(k), "--kernel", kernel, "--resolution", "16x16", "--spp", "1",
            "--seed", str(view), "--eye=0.01,0.02,0.03", "--look-at=" + towards(view),
            "--up=0.3,0.5,0.8", "--fov", "90", "-o", picture,
        )  # fmt: skip
        for density in read_pfm(picture):
            total += (density * AREA / PHOTONS - 1) ** 2
            count += 1
    return total / count


def draw_furnace(program, folder, scratch):
    ladder = (4, 8, 20, 50, 100, 200)
    plot = Plot((3, 260), (0.003, 1), "photons of an estimate, k", "relative mean squared error", True, True)
    for k in (5, 10, 20, 50, 100, 200):
        plot.tick_x(k, k)
    for value in (0.01, 0.1, 1):
        plot.tick_y(value, value)
    for kernel in ("disc", "cone"):
        plot.curve([(k, furnace_noise(program, scratch, kernel, k)) for k in ladder], kernel)
    plot.curve([(k, 1 / (k - 2)) for k in ladder], "1 / (k - 2)")
    plot.write(os.path.join(folder, "furnace_noise.svg"))


def draw_cornell(program, folder, scratch):
    scene = os.path.join(SCENES, "cornell_diffuse.json")
    reference, photons = os.path.join(scratch, "r.exr"), os.path.join(scratch, "p.kdp")
    report = os.path.join(scratch, "report")
    run(program, "render", scene, "--device", "cpu", "--resolution", "24x24", "--spp", "1024", "-o", reference)
    run(program, "photons", scene, "--photons", str(PHOTONS), "-o", photons)
    run(
        program, "estimate", photons, scene, "--reference", reference, "--spp", "8",
        "--estimators", "disc,cone,fixed,adaptive", "--ladder", "5,10,20,50,100,200,400,800",
        "--report", report,
    )  # fmt: skip
    with open(os.path.join(report, "estimates.csv"), encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    errors = [float(row["relmse"]) for row in rows]
    plot = Plot((4, 1000), (min(errors) * 0.8, max(errors) * 1.2), "photons of an estimate, k", "relMSE", True, True)
    for k in (5, 10, 20, 50, 100, 200, 400, 800):
        plot.tick_x(k, k)
    for value in (0.002, 0.003, 0.005, 0.01):
        if plot.y_range[0] <= value <= plot.y_range[1]:
            plot.tick_y(value, value)
    for name in ("disc", "cone", "fixed", "adaptive"):
        plot.curve([(int(r["k"]), float(r["relmse"])) for r in rows if r["estimator"] == name], name)
    plot.write(os.path.join(folder, "error_against_k.svg"))


def draw(program, folder):
    with tempfile.TemporaryDirectory() as scratch:
        draw_furnace(program, folder, scratch)
        draw_cornell(program, folder, scratch)
