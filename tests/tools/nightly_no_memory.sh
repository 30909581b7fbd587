#!/usr/bin/env bash
# Every allocation of small renderings fails once; with KANDELA_SWEEP=3 every third.
# shellcheck source=tests/tools/no_memory.sh
. "$(dirname "${BASH_SOURCE[0]}")/no_memory.sh"
sweep_all "${KANDELA_SWEEP:-1}"
expect_done
