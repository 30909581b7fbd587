/* kandela bench load: how fast mesh files are read. The rate is in bytes of the file. */
#include "core/files/file.h"
#include "core/job.h"
#include "scenes/describe/readers.h"
#include "tools/lab/bench/bench.h"
#include <string.h>

static kd_status load_model(const bench_request *request, const char *path) {
    file_view file;
    KD_TRY(file_open(&file, path));
    const char *slash = strrchr(path, '/');
    bench_row row = {.bench = "load",
                     .builder = mesh_reader_find(path)->name,
                     .device = "cpu",
                     .runs = request->runs};
    row.set = slash ? slash + 1 : path;
    row.n = file.count;
    row.items = (double)file.count;
    file_close(&file);
    for (int run = -1; run < row.runs; ++run) {
        mesh read;
        const double started = timing_now();
        KD_TRY(mesh_load(&read, path, NULL, NULL));
        if (run >= 0)
            row.seconds[run] = timing_now() - started;
        else
            row.checked = read.triangle_count > 0;
        row.triangles = read.triangle_count;
        mesh_close(&read);
    }
    return bench_report(request, &row);
}

kd_status bench_load(const bench_request *request) {
    KD_REQUIRE(request->models.count > 0, KD_ERROR_USAGE, "bench load needs --models FILE.obj,...");
    for (int i = 0; i < request->models.count; ++i)
        KD_TRY(load_model(request, request->models.items[i]));
    return KD_OK;
}
