#!/usr/bin/env bash
# Fails some allocations of small renderings; nightly_no_memory.sh fails each of them.
# shellcheck source=tests/tools/no_memory.sh
. "$(dirname "${BASH_SOURCE[0]}")/no_memory.sh"
sweep_all 101
expect_done
