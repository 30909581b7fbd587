# Run at build time: writes commit and state of the version into a header, and modifies the header only if
# they have changed. A release is a clean checkout of the tag of its version or, outside of a repository,
# a version whose heading in CHANGELOG.md does not say "unreleased".
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND git -C ${SOURCE} describe --tags --exact-match --dirty --match=v${VERSION}
                OUTPUT_VARIABLE tag OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
set(heading "unreleased")
if(EXISTS ${SOURCE}/CHANGELOG.md)
  file(STRINGS ${SOURCE}/CHANGELOG.md heading REGEX "^## " LIMIT_COUNT 1)
endif()
set(state development)
if(tag STREQUAL "v${VERSION}" OR (NOT commit AND NOT heading MATCHES "unreleased"))
  set(state release)
endif()
if(NOT commit)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define KD_COMMIT \"${commit}\"\n#define KD_VERSION_STATE \"${state}\"\n")
