#include "tools/bench/report/png.h"
#include "core/files/file.h"
#include "core/system/place.h"
#include "core/system/process.h"
#include "tools/plots.h"
#include <string.h>

enum { NO_MATPLOTLIB = 77, NO_PYTHON = 127 };

static kd_status write_script(const char *path) {
    file_output output;
    KD_TRY(file_output_open(&output, path));
    fwrite(plots_script, 1, sizeof plots_script, output.stream);
    return file_output_commit(&output);
}

kd_status png_plots(const char *folder, bool *drawn) {
    char path[4096], usual[] = "python3", system[] = "/usr/bin/python3";
    char *const name =
        place_allows(system, PLACE_RUNNABLE) ? system : usual; /* packages are for that one */
    const int length = snprintf(path, sizeof path, "%s/plots.py", folder);
    *drawn = false;
    KD_REQUIRE(length > 0 && (size_t)length < sizeof path, KD_ERROR_USAGE, "%s: too long a name",
               folder);
    KD_TRY(write_script(path));
    char *const arguments[] = {name, path, NULL};
    const int code = process_run(arguments);
    if (code < 0 || code == NO_PYTHON || code == NO_MATPLOTLIB) return KD_OK;
    KD_REQUIRE(code == 0, KD_ERROR_RUNTIME, "%s failed: python3 ended with %d", path, code);
    *drawn = true;
    return KD_OK;
}
