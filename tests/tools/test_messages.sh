#!/usr/bin/env bash
# tools/messages.py lists the messages of C, Python and shell sources and reports those that break
# its rules; the project has none of those.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
mkdir tools core
cp "$source_folder/tools/messages.py" tools
cat >core/some.c <<'C'
kd_status some(const char *path, int dims) {
    KD_REQUIRE(strcmp(path, "not a message") != 0, KD_ERROR_USAGE, /* "nor this" */
               "`dims` is %d; "
               "supported: %d to %d",
               dims, min(1, 2), 8);
    log_message(LOG_WARNING, "%s: %s", path, dims ? "truncated" : "damaged");
}
C
printf 'raise ValueError(f"`k` is {k}; expected 1 or more")\n' >core/some.py
expect_exit 0 tools/messages.py
expect_says out "core/some.c:2	KD_REQUIRE	\`dims\` is %d; supported: %d to %d"
expect_says out "core/some.c:6	log_message	%s: %s | truncated | damaged"
expect_says out "core/some.py:1	ValueError	\`k\` is {k}; expected 1 or more"
expect_says out "3 messages"
expect_empty err
printf 'int f(void) { KD_FAIL(1, "it came to grief"); }\nint g(void) { KD_FAIL(1, "It failed."); }\n' >core/bad.c
expect_exit 1 tools/messages.py core/bad.c
expect_says err "core/bad.c:1: the message has the word 'grief'"
expect_says err "core/bad.c:2: the message ends with a line end or a full stop"
expect_says out "2 messages"

expect_exit 0 "$source_folder/tools/messages.py"
expect_true "tools/messages.py finds more than 500 messages" test "$(tail -1 out | cut -d ' ' -f 1)" -gt 500
expect_done
