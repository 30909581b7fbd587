#!/usr/bin/env python3
"""Statistics of the compiled CUDA kernels.

usage: tools/kernels.py architectures BINARY     by cuobjdump: "75 80 90 90+", as kandela info prints
       tools/kernels.py figures LOG...           a row per kernel and architecture, from ptxas -v
       tools/kernels.py check TABLE LOG...       fails if a kernel spills, or uses more shared memory,
                                                 than TABLE allows
       tools/kernels.py allow LOG...             prints a TABLE that allows the values of LOG

LOG is the output of nvcc with -Xptxas=-v (cmake -DCMAKE_CUDA_FLAGS=-Xptxas=-v; cmake --build | tee
LOG). A kernel that TABLE does not list must not spill; none may use more than 100 KB of shared memory,
the capacity of a multiprocessor of compute capability 8.6 and 8.9. Exits with 1 if a check fails.
"""
import collections
import os
import re
import shutil
import subprocess
import sys

SHARED_MAX = 100 << 10
# Kernels of CUB, whose names contain the CUDA release and all architectures; they are not checked.
FOREIGN = re.compile(r"^_ZN3cub|CUB_[0-9]+_")
figures = collections.namedtuple("figures", "registers stack spill shared")


def cuobjdump():
    found = os.environ.get("KANDELA_CUOBJDUMP") or shutil.which("cuobjdump")
    if not found:
        sys.exit("cuobjdump not found; it comes with CUDA, or from the Python registry's "
                 "nvidia-cuda-cuobjdump; or set KANDELA_CUOBJDUMP to its path")
    return found


def architectures(binary):
    codes = []
    for option, pattern, mark in (("--list-elf", r"\.sm_(\d+)\.cubin", ""),
                                  ("--list-ptx", r"\.sm_(\d+)\.ptx", "+")):
        done = subprocess.run([cuobjdump(), option, binary], capture_output=True, text=True)
        found = {int(of) for of in re.findall(pattern, done.stdout)}
        codes += [f"{of}{mark}" for of in sorted(found)]
    return " ".join(codes)


def read_logs(paths):
    """Return {(kernel, architecture): figures}."""
    read, name, of, stack, spill = {}, None, 0, 0, 0
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as log:
            for line in log:
                if found := re.search(r"Compiling entry function '(\S+)' for 'sm_(\d+)\w*'", line):
                    name, of = found[1], int(found[2])
                elif found := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores", line):
                    stack, spill = int(found[1]), int(found[2])
                elif name and (found := re.search(r"Used (\d+) registers", line)):
                    shared = re.search(r"(\d+) bytes smem", line)
                    read[name, of] = figures(int(found[1]), stack, spill,
                                             int(shared[1]) if shared else 0)
                    name = None
    if not read:
        sys.exit("no kernels in " + " ".join(paths) + ": expected nvcc's output with -Xptxas=-v")
    return read


def plain(names):
    names = sorted(names)
    shown = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True)
    return dict(zip(names, shown.stdout.split("\n")))


def short(name):
    """Return the name without arguments and anonymous namespaces, as in TABLE."""
    name = re.sub(r"\(anonymous namespace\)::", "", name)
    end, open_ = len(name), 0
    while name.endswith(")") and end and not (end < len(name) and open_ == 0):
        end -= 1
        open_ += (name[end] == ")") - (name[end] == "(")
    return re.sub(r"^void ", "", name[:end])


def worst(read):
    """Return {short name: (bytes spilled, bytes of shared memory)} of our kernels, the maxima over
    architectures."""
    shown = plain({name for name, _ in read})
    most = collections.defaultdict(lambda: (0, 0))
    for (name, _), of in read.items():
        if not FOREIGN.search(name):
            key = short(shown[name])
            most[key] = (max(most[key][0], of.spill), max(most[key][1], of.shared))
    return most


def check(table, logs):
    with open(table, encoding="utf-8") as rows:
        allowed = dict(row.rstrip("\n").split("\t") for row in rows if not row.startswith("#"))
    wrong = 0
    for name, (spill, shared) in sorted(worst(read_logs(logs)).items()):
        most = int(allowed.get(name, 0))
        if spill > most:
            print(f"{name}: spills {spill} bytes, allowed {most} ({table})")
            wrong = 1
        if shared > SHARED_MAX:
            print(f"{name}: {shared} bytes of shared memory, expected at most {SHARED_MAX}")
            wrong = 1
    return wrong


def main(words):
    if len(words) == 2 and words[0] == "architectures":
        print(architectures(words[1]))
    elif len(words) > 1 and words[0] == "figures":
        read = read_logs(words[1:])
        shown = plain({name for name, _ in read})
        print("kernel\tarchitecture\tregisters\tstack\tspilled\tshared")
        for (name, of), row in sorted(read.items(), key=lambda at: (shown[at[0][0]], at[0][1])):
            print(short(shown[name]), of, *row, sep="\t")
    elif len(words) > 2 and words[0] == "check":
        return check(words[1], words[2:])
    elif len(words) > 1 and words[0] == "allow":
        print("# kernel\tbytes it may spill, on the architecture that spills most")
        for name, (spill, _) in sorted(worst(read_logs(words[1:])).items()):
            if spill:
                print(name, spill, sep="\t")
    else:
        sys.exit(__doc__.strip())
    return 0


sys.exit(main(sys.argv[1:]))
