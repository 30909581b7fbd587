#include "tools/program/verb.h"

kd_status verb_arguments(const option_line *line, const verb *of, int least, int most) {
    KD_REQUIRE(line->argument_count >= least, KD_ERROR_USAGE, "%s needs an argument: kandela %s %s",
               of->name, of->name, of->arguments);
    KD_REQUIRE(most < 0 || line->argument_count <= most, KD_ERROR_USAGE,
               "%s: unexpected argument \"%s\"", of->name, line->arguments[most]);
    return KD_OK;
}
