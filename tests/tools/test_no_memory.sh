#!/usr/bin/env bash
# Some allocations of small renderings fail; nightly_no_memory.sh has all.
# shellcheck source=tests/tools/no_memory.sh
. "$(dirname "${BASH_SOURCE[0]}")/no_memory.sh"
sweep_all 101
expect_done
