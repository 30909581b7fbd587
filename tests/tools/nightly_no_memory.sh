#!/usr/bin/env bash
# Fails every allocation of small renderings in turn; with KANDELA_SWEEP=3, every third one.
# shellcheck source=tests/tools/no_memory.sh
. "$(dirname "${BASH_SOURCE[0]}")/no_memory.sh"
sweep_all "${KANDELA_SWEEP:-1}"
expect_done
