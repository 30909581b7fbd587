"""Figure of chapter 8: the hash of one picture rendered in seven ways that must not change it and
in two that must."""

import json
import os
import subprocess
import tempfile

import svg

SCENE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../scenes/cornell_caustic.json")
USUAL = "--integrator sppm --passes 4 --photons 3000 --caustic-photons 3000 --resolution 48x48 --quiet".split()
WAYS = (
    ("one thread", {}, ["--threads", "1"]),
    ("two threads", {}, ["--threads", "2"]),
    ("three threads", {}, ["--threads", "3"]),
    ("without AVX2", {"KANDELA_CPU": "base"}, []),
    ("tree by zhou", {}, ["--builder", "zhou"]),
    ("tree by median", {}, ["--builder", "median"]),
    ("two passes, then resumed", None, []),
    ("another seed", {}, ["--seed", "7"]),
    ("one pass less", {}, ["--passes", "3"]),
)


def render(program, folder, environment, arguments):
    stats = os.path.join(folder, "stats.json")
    command = [program, "render", SCENE, *USUAL, *arguments, "--stats", stats, "-o", os.path.join(folder, "a.pfm")]
    subprocess.run(command, capture_output=True, check=True, env={**os.environ, **environment})
    with open(stats, encoding="utf-8") as file:
        return json.load(file)["image"]["hash"]


def hash_of(program, environment, arguments):
    with tempfile.TemporaryDirectory() as folder:
        if environment is not None:
            return render(program, folder, environment, arguments)
        render(program, folder, {}, ["--passes", "2", "--save-every", "0"])
        return render(program, folder, {}, ["--passes", "4", "--resume"])


def draw(program, folder):
    canvas = svg.Drawing(640, 44 + 28 * len(WAYS))
    canvas.text(12, 24, "48 x 48 pixels of scenes/cornell_caustic.json by sppm: the hash of all channels", 13)
    first = None
    for row, (name, environment, arguments) in enumerate(WAYS):
        told = hash_of(program, environment, arguments)
        first = first or told
        y = 40 + 28 * row
        canvas.text(12, y + 16, name, 12)
        for at, digit in enumerate(told):
            shade = 235 - 12 * int(digit, 16)
            colour = f"#{shade:02x}{shade:02x}ff" if told == first else f"#ff{shade:02x}{shade:02x}"
            canvas.box(190 + 18 * at, y, 18, 22, colour, "white", 0.6, apart=True)
        canvas.text(490, y + 16, told, 12)
    canvas.write(f"{folder}/eight_hashes.svg")
