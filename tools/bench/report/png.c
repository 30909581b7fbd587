#include "tools/bench/report/png.h"
#include "core/files/file.h"
#include "tools/plots.h"
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { NO_MATPLOTLIB = 77, NO_PYTHON = 127 };

static kd_status write_script(const char *path) {
    file_output output;
    KD_TRY(file_output_open(&output, path));
    fwrite(plots_script, 1, sizeof plots_script, output.stream);
    return file_output_commit(&output);
}

kd_status png_plots(const char *folder, bool *drawn) {
    char path[4096], usual[] = "python3", system[] = "/usr/bin/python3";
    char *const name = access(system, X_OK) == 0 ? system : usual; /* packages are for that one */
    const int length = snprintf(path, sizeof path, "%s/plots.py", folder);
    *drawn = false;
    KD_REQUIRE(length > 0 && (size_t)length < sizeof path, KD_ERROR_USAGE, "%s: too long a name",
               folder);
    KD_TRY(write_script(path));
    char *const arguments[] = {name, path, NULL};
    pid_t child;
    int state = 0;
    if (posix_spawnp(&child, name, NULL, NULL, arguments, environ) != 0) return KD_OK;
    if (waitpid(child, &state, 0) != child || !WIFEXITED(state)) return KD_OK;
    const int code = WEXITSTATUS(state);
    if (code == NO_PYTHON || code == NO_MATPLOTLIB) return KD_OK;
    KD_REQUIRE(code == 0, KD_ERROR_RUNTIME, "%s failed: python3 ended with %d", path, code);
    *drawn = true;
    return KD_OK;
}
