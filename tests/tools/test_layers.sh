#!/usr/bin/env bash
# tools/check_layers.py: each of its rules can fail, and names file and line when it does.
set -euo pipefail
command -v python3 >/dev/null || exit 77
python3 "$2/tools/check_layers.py" --self-test
