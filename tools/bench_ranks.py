#!/usr/bin/env python3
"""usage: bench_ranks.py [--runs N] [--cases NAME,...] [--passes N] [--spp N] [--counts N,...]
                      [--more OPTIONS] [--mpi] [--small] PROGRAM DEVICE...

Renders each case with the first device, the first two, four, eight, ... and all of them (--counts: with
these numbers of devices), and prints a row for each: seconds of photons, photon trees and samples, in
total (minimum of N runs, default 3) and each; the speed-up over one device; whether the hash of the
state is that of one device; bytes sent by a rank; the largest fraction of its time that a rank waited.
--passes and --spp shorten the cases; --more passes further options to render. Without --mpi the devices
belong to one process (--device A,B); with it each is a rank started by mpirun. --small makes every case
small enough for a trial. SPONZA names sponza.obj; without it its case is skipped. Exits with 1 if a hash
differs or a run failed.

    tools/bench_ranks.py build/bin/kandela cuda:0 cuda:1 > tools/bench/results/h200-ranks.txt
    tools/bench_ranks.py build/bin/kandela cuda:0 cuda:1 cuda:2 cuda:3
    tools/bench_ranks.py --mpi build/bin/kandela cuda:0 cuda:1 cuda:2 cuda:3 cuda:4 cuda:5 cuda:6 cuda:7
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
SPPM = "--integrator sppm --resolution 1920x1080 --passes 256 --photons 10000000 --caustic-photons 10000000"
CASES = {
    "demo": ("scenes/cornell_caustic.json", SPPM),
    "hall": ("scenes/hall.json", SPPM),
    "large": ("scenes/cornell_caustic.json", SPPM.replace("--photons 1", "--photons 25").replace("256", "4")),
    "sponza": (os.environ.get("SPONZA"), "--integrator path --resolution 1920x1080 --spp 1024"),
}
STAGES = ("emit", "photon_tree", "render")
SMALL = "--resolution 160x90 --photons 40000 --caustic-photons 20000 --passes 8 --spp 16"


def command(program, scene, options, devices, mpi, folder):
    line = [program, "render", scene, "--quiet", "--save-every", "1000000", "-o", os.path.join(folder, "p.pfm")]
    line += options.split() + ["--stats", os.path.join(folder, "stats.json")]
    if not mpi or len(devices) == 1:
        return line + ["--device", ",".join(devices)]
    whole = ["mpirun", "--oversubscribe", "--bind-to", "none"]
    for i, device in enumerate(devices):
        whole += ([":"] if i else []) + ["-n", "1"] + line + ["--device", device]
    return whole


def measure(line, folder, runs):
    fastest, statistics = None, None
    for _ in range(runs):
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(line)}: exit {done.returncode}: {done.stderr.strip()}")
        with open(os.path.join(folder, "stats.json"), encoding="utf-8") as file:
            found = json.load(file)
        # emission of photons, their trees, and rendering
        seconds = sum(found["seconds"][stage] for stage in STAGES)
        if fastest is None or seconds < fastest:
            fastest, statistics = seconds, found
    with open(os.path.join(folder, "p.pfm.state"), "rb") as file:
        return fastest, statistics, hashlib.sha256(file.read()).hexdigest()


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[0][7:])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--passes", type=int)
    parser.add_argument("--spp", type=int)
    parser.add_argument("--counts")
    parser.add_argument("--more", default="")
    parser.add_argument("--mpi", action="store_true")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("program")
    parser.add_argument("devices", nargs="+")
    options_given = parser.parse_args()
    program, wrong = os.path.abspath(options_given.program), 0
    most = len(options_given.devices)
    counts = sorted({n for n in (1, 2, 4, 8, 16, most) if n <= most})
    if options_given.counts:
        words = options_given.counts.split(",")
        if not all(word.isdecimal() and 1 <= int(word) <= most for word in words):
            parser.error(f"--counts {options_given.counts}: expected numbers from 1 to {most}, the number of devices")
        counts = [int(word) for word in words]
    unknown = [name for name in options_given.cases.split(",") if name not in CASES]
    if unknown:
        parser.error(f"--cases {unknown[0]}: expected some of {','.join(CASES)}")
    print(f"# {' '.join(sys.argv)}")
    print(f"# {subprocess.run([program, '--version'], capture_output=True, text=True, check=True).stdout.splitlines()[0]}")
    print("case devices seconds ratio same_bits sent_bytes most_idle " + " ".join(STAGES))
    for name in options_given.cases.split(","):
        scene, options = CASES[name]
        if not scene:
            print(f"# {name}: left out, SPONZA does not name sponza.obj")
            continue
        scene = scene if os.path.isabs(scene) else os.path.join(ROOT, scene)
        options += " " + SMALL if options_given.small else ""
        options += f" --passes {options_given.passes}" if options_given.passes and "--passes" in options else ""
        options += f" --spp {options_given.spp}" if options_given.spp and "--spp" in options else ""
        options += " " + options_given.more
        first = None
        for count in counts:
            with tempfile.TemporaryDirectory() as folder:
                line = command(program, scene, options, options_given.devices[:count], options_given.mpi, folder)
                seconds, statistics, state = measure(line, folder, options_given.runs)
            first = first or (seconds, state)
            wrong += state != first[1]
            ranks = statistics.get("ranks", [])
            sent = max((rank["bytes_sent"] for rank in ranks), default=0)
            idle = max((rank["idle_share"] for rank in ranks), default=0)
            same = "yes" if state == first[1] else "NO"
            stages = " ".join(f"{statistics['seconds'][stage]:.3f}" for stage in STAGES)
            print(f"{name} {count} {seconds:.3f} {first[0] / seconds:.2f} {same} {sent} {idle:.3f} {stages}", flush=True)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
