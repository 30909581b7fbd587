"""Runs `kandela bench build` and reads costs, references and hashes of trees, but no times."""

import json
import os
import subprocess
import tempfile

VARIANTS = {"Ct 1, empty 0.8": "C_t 1, empty 0.8", "rays": "C_t 1.5"}


def tree_costs(program, models, builders):
    """Returns the benchmark's rows as {(model, builder, variant): row}."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.json")
        subprocess.run(
            [program, "bench", "build", "--devices", "cpu", "--runs", "1", "--json", path]
            + ["--models", ",".join("gen:" + model for model in models), "--builders", ",".join(builders)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        with open(path, encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
    return {(row["case"], row["builder"], row["variant"]): row for row in rows if "sah_cost" in row}
