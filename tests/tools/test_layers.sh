#!/usr/bin/env bash
# Each rule of tools/check_layers.py detects its violation and reports file and line.
set -euo pipefail
command -v python3 >/dev/null || exit 77
python3 "$2/tests/tools/check_rules.py" "$2/tools"
