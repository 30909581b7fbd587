#include "tools/lab/bench/bench.h"
#include "core/device/device_stream.h"
#include "core/option.h"
#include "tools/commit.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns a quantile of sorted values, with linear interpolation. */
static double quantile(const double *sorted, int count, double share) {
    const double place = share * (count - 1);
    const int below = (int)place;
    const int above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

bench_summary bench_summarise(const bench_row *row) {
    double sorted[BENCH_RUNS_MAX];
    memcpy(sorted, row->seconds, (size_t)row->runs * sizeof *sorted);
    qsort(sorted, (size_t)row->runs, sizeof *sorted, by_value);
    const bench_summary summary = {quantile(sorted, row->runs, 0.5), sorted[0],
                                   quantile(sorted, row->runs, 0.25),
                                   quantile(sorted, row->runs, 0.75)};
    return summary;
}

kd_status bench_time_device(bench_row *row, bool warm, kd_status (*call)(void *context),
                            void *context) {
    device_timer timer;
    kd_status status = KD_OK;
    KD_TRY(device_timer_open(&timer));
    for (int run = warm ? -1 : 0; run < row->runs; ++run) {
        double seconds = 0;
        KD_TRY_GOTO(device_timer_start(&timer, NULL));
        KD_TRY_GOTO(call(context));
        KD_TRY_GOTO(device_timer_stop(&timer, NULL, &seconds));
        if (run >= 0) row->seconds[run] = seconds;
    }
done:
    device_timer_close(&timer);
    return status;
}

static void add_number(cJSON *object, const char *name, double value) {
    if (value > 0) cJSON_AddNumberToObject(object, name, value);
}

/* Six significant digits exceed the resolution of the clock. */
static double rounded(double value) {
    char text[32];
    snprintf(text, sizeof text, "%.6g", value);
    return strtod(text, NULL);
}

/* Returns the version of the driver's kernel module, or "" without one. */
static void driver_version(char *out, size_t bytes) {
    out[0] = '\0';
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    if (!file) return;
    char line[256];
    if (fgets(line, sizeof line, file)) {
        for (char *word = strtok(line, " \t\n"); word; word = strtok(NULL, " \t\n"))
            if (word[0] >= '0' && word[0] <= '9' && strchr(word, '.')) {
                snprintf(out, bytes, "%s", word);
                break;
            }
    }
    fclose(file);
}

/* Returns the system's name of the processor, or "CPU". */
static void cpu_model(char *out, size_t size) {
    snprintf(out, size, "CPU");
    FILE *file = fopen("/proc/cpuinfo", "r");
    char text[256];
    while (file && fgets(text, sizeof text, file)) {
        const char *value = strncmp(text, "model name", 10) == 0 ? strchr(text, ':') : NULL;
        if (!value) continue;
        snprintf(out, size, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
        break;
    }
    if (file) fclose(file);
}

static void add_machine(cJSON *line, const char *device_name) {
    device device;
    const bool found = device_find(&device, device_name) == KD_OK;
    char driver[64];
    driver_version(driver, sizeof driver);
    if (found && device.kind == DEVICE_CUDA) {
        cJSON_AddStringToObject(line, "gpu", device.name);
        cJSON_AddStringToObject(line, "driver", driver);
    } else if (found) {
        char model[200], name[256];
        cpu_model(model, sizeof model);
        snprintf(name, sizeof name, "%s, %d thread%s", model, device.processors,
                 device.processors == 1 ? "" : "s");
        cJSON_AddStringToObject(line, "cpu", name);
    }
    cJSON_AddStringToObject(line, "commit", KD_COMMIT);
}

static const char *stage_name(const bench_row *row, int stage) {
    static const char *const usual[BENCH_STAGES] = {"init", "large", "small", "other"};
    return (row->stage_names ? row->stage_names : usual)[stage];
}

/* Returns the fraction of the device's memory bandwidth that a stage uses, computed from the least
   number of bytes that it must move; 0 if unknown. */
static double stage_share(const bench_row *row, int stage) {
    const double maximum = row->bandwidth * row->stage_seconds[stage];
    return maximum > 0 ? row->stage_bytes[stage] / maximum : 0;
}

static void add_stages(cJSON *line, const bench_row *row) {
    double whole = 0, bytes = 0;
    for (int i = 0; i < BENCH_STAGES; ++i) {
        whole += row->stage_seconds[i];
        bytes += row->stage_bytes[i];
    }
    cJSON *ms = whole > 0 ? cJSON_AddObjectToObject(line, "stage_ms") : NULL;
    cJSON *moved = bytes > 0 ? cJSON_AddObjectToObject(line, "stage_bytes") : NULL;
    const bool shared = whole > 0 && bytes > 0 && row->bandwidth > 0;
    cJSON *share = shared ? cJSON_AddObjectToObject(line, "stage_share") : NULL;
    for (int i = 0; i < BENCH_STAGES; ++i) {
        const char *name = stage_name(row, i);
        if (ms) cJSON_AddNumberToObject(ms, name, rounded(row->stage_seconds[i] * 1e3));
        if (moved) cJSON_AddNumberToObject(moved, name, rounded(row->stage_bytes[i]));
        if (share) cJSON_AddNumberToObject(share, name, rounded(stage_share(row, i)));
    }
    add_number(line, "bandwidth", rounded(row->bandwidth));
}

static cJSON *json_line(const bench_row *row, const bench_summary *summary) {
    cJSON *line = cJSON_CreateObject();
    cJSON_AddStringToObject(line, "bench", row->bench);
    cJSON_AddStringToObject(line, "case", row->set);
    cJSON_AddStringToObject(line, "builder", row->builder);
    cJSON_AddStringToObject(line, "device", row->device);
    if (row->variant) cJSON_AddStringToObject(line, "variant", row->variant);
    add_number(line, "n", (double)row->n);
    add_number(line, "dims", row->dims);
    add_number(line, "k", row->k);
    add_number(line, "triangles", (double)row->triangles);
    cJSON *ms = cJSON_AddObjectToObject(line, "ms");
    cJSON_AddNumberToObject(ms, "median", rounded(summary->median * 1e3));
    cJSON_AddNumberToObject(ms, "min", rounded(summary->minimum * 1e3));
    cJSON_AddNumberToObject(ms, "q1", rounded(summary->quarter * 1e3));
    cJSON_AddNumberToObject(ms, "q3", rounded(summary->three_quarters * 1e3));
    cJSON *all = cJSON_AddArrayToObject(ms, "all"); /* for comparisons of runs */
    for (int i = 0; all && i < row->runs; ++i)
        cJSON_AddItemToArray(all, cJSON_CreateNumber(rounded(row->seconds[i] * 1e3)));
    const double rate = summary->median > 0 ? row->items / summary->median : 0;
    add_number(line, "rate", rounded(rate));
    if (row->rate_name) add_number(line, row->rate_name, rounded(rate));
    add_number(line, "bytes", (double)row->bytes);
    add_number(line, "sah_cost", rounded(row->sah_cost));
    add_number(line, "references_per_triangle", rounded(row->references_per_triangle));
    add_number(line, "published", rounded(row->published));
    if (row->published_on) cJSON_AddStringToObject(line, "published_on", row->published_on);
    if (row->published_unit) cJSON_AddStringToObject(line, "published_unit", row->published_unit);
    add_number(line, "ratio", rounded(row->ratio));
    add_number(line, "threads", row->threads);
    add_number(line, "speedup", rounded(row->speedup));
    add_number(line, "cost_ratio", rounded(row->cost_ratio));
    add_number(line, "primary_rays_per_second", rounded(row->primary_rate));
    add_number(line, "diffuse_rays_per_second", rounded(row->diffuse_rate));
    add_stages(line, row);
    if (row->hash) {
        char text[32];
        snprintf(text, sizeof text, "%016" PRIx64, row->hash);
        cJSON_AddStringToObject(line, "hash", text);
    }
    cJSON_AddBoolToObject(line, "checked", row->checked);
    add_machine(line, row->device);
    return line;
}

kd_status bench_write(const bench_request *request, const bench_row *row) {
    if (!request->json) return KD_OK;
    const bench_summary summary = bench_summarise(row);
    cJSON *line = json_line(row, &summary);
    char *text = cJSON_PrintUnformatted(line);
    cJSON_Delete(line);
    KD_REQUIRE(text, KD_ERROR_MEMORY, "out of memory for a line of results");
    const bool written = fprintf(request->json, "%s\n", text) > 0 && fflush(request->json) == 0;
    cJSON_free(text);
    KD_REQUIRE(written, KD_ERROR_RUNTIME, "cannot write the results");
    return KD_OK;
}

static void print_stages(const bench_row *row) {
    const double *seconds = row->stage_seconds;
    if (seconds[1] <= 0 && seconds[2] <= 0) return;
    for (int i = 0; i < BENCH_STAGES; ++i) {
        printf("%s %s %.3f", i ? "," : " ", stage_name(row, i), seconds[i] * 1e3);
        if (stage_share(row, i) > 0) printf(" (%.0f %%)", 100 * stage_share(row, i));
    }
}

kd_status bench_report(const bench_request *request, const bench_row *row) {
    const bench_summary summary = bench_summarise(row);
    const double rate = summary.median > 0 ? row->items / summary.median : 0;
    printf("%-7s %-24s %-10s %-7s n %-10" PRIu64, row->bench, row->set, row->builder, row->device,
           row->n);
    if (row->variant) printf(" %-21s", row->variant);
    if (row->dims && row->dims != 3) printf(" %d-D", row->dims);
    if (row->k) printf(" k %-4d", row->k);
    printf(" %10.3f ms  %8.2f M/s", summary.median * 1e3, rate * 1e-6);
    if (row->sah_cost > 0)
        printf("  SAH %.2f, %.2f refs/triangle", row->sah_cost, row->references_per_triangle);
    if (row->speedup > 0)
        printf("  %.2f x sweep on one thread, cost %.3f", row->speedup, row->cost_ratio);
    print_stages(row);
    printf("%s\n", row->checked ? "" : "  compared by tests only");
    fflush(stdout);
    return bench_write(request, row);
}

bool bench_selects(const bench_names *list, const char *name) {
    for (int i = 0; i < list->count; ++i)
        if (strcmp(list->items[i], name) == 0) return true;
    return list->count == 0;
}

kd_status bench_count(uint64_t *out, const bench_names *list, int index) {
    const char *text = list->items[index];
    const char *end = NULL;
    const uint64_t value = option_read_count(text, &end);
    KD_REQUIRE(end && *end == '\0' && value <= UINT64_C(1000000000000), KD_ERROR_USAGE,
               "\"%s\" is not a count; examples: 1000000, 1M, 1e6", text);
    *out = value;
    return KD_OK;
}
