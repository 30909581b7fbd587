#!/usr/bin/env bash
# Every allocation of small renderings fails once.
# shellcheck source=tests/tools/no_memory.sh
. "$(dirname "${BASH_SOURCE[0]}")/no_memory.sh"
sweep_all 1
expect_done
