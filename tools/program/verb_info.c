/* kandela info: where this build can run here, its tree builders, what is compiled in. */
#include "accel/build_memory.h"
#include "accel/builders.h"
#include "core/device/device.h"
#include "core/image/formats.h"
#include "core/parallel/parallel.h"
#include "photon/density/estimators.h"
#include "points/api/points_device.h"
#include "points/builders.h"
#include "render/integrators/integrators.h"
#include "scenes/describe/describe_json.h"
#include "tools/program/info.h"
#include "tools/program/line/general.h"
#include "tools/program/line/verb.h"
#include <inttypes.h>

typedef struct info_values {
    general_options general;
    uint64_t triangles, points;
    bool keys;
} info_values;

static void print_devices(FILE *stream) {
    device found;
    device_cpu_describe(&found);
    fprintf(stream, "Devices:\n  %-10s %s, %.1f GB\n", "cpu", found.name,
            (double)found.memory_bytes * 1e-9);
    for (int i = 0; i < device_cuda_count(); ++i) {
        char name[24];
        snprintf(name, sizeof name, "cuda:%d", i);
        if (device_cuda_describe(&found, i) == KD_OK)
            fprintf(stream, "  %-10s %s, %.1f GB, compute %d.%d, %d multiprocessors\n", name,
                    found.name, (double)found.memory_bytes * 1e-9, found.major, found.minor,
                    found.processors);
        else
            fprintf(stream, "  %-10s absent: %s\n", name, kd_last_error());
    }
    status_clear();
    if (device_cuda_count() == 0)
        fprintf(stream, "  %-10s %s\n", "cuda",
                device_cuda_compiled() ? "no device on this machine" : "not in this build");
}

static void print_builder(FILE *stream, const char *name, const char *devices, uint64_t scratch,
                          const char *source) {
    fprintf(stream, "  %-12s %-10s %10.1f MB  %s\n", name, devices, (double)scratch * 1e-6, source);
}

static void print_names(const char *heading, const char *(*name)(int index)) {
    printf("\n%s:\n ", heading);
    for (int i = 0; name(i); ++i) printf(" %s", name(i));
    putchar('\n');
}

static void print_line(void *context, const char *text) {
    (void)context;
    puts(text);
}

static kd_status run(const option_line *line) {
    info_values values = {.triangles = 1000000, .points = 1000000};
    KD_TRY(option_line_apply(line, &values));
    general_apply(&values.general);
    KD_TRY(verb_arguments(line, &verb_info, 0, 0));
    if (values.keys) {
        describe_json_list(print_line, NULL);
        return KD_OK;
    }
    print_devices(stdout);
    print_names("Picture formats", image_format_suffix);
    print_names("Kernels of density estimates", photon_kernel_name);
    printf("\nTriangle tree builders (name, devices, scratch for %" PRIu64 " triangles, source):\n",
           values.triangles);
    for (const tritree_builder *const *row = tritree_builders; *row; ++row)
        print_builder(stdout, (*row)->name,
                      tritree_builder_cuda_find((*row)->name) ? "cpu, cuda" : "cpu",
                      (*row)->scratch_bytes((uint32_t)values.triangles), (*row)->source);
    for (const tritree_builder_cuda *const *row = tritree_builders_cuda; *row; ++row)
        if (!tritree_builder_find((*row)->name))
            print_builder(stdout, (*row)->name, "cuda",
                          tritree_build_memory_bytes(*row, (uint32_t)values.triangles / 2,
                                                     (uint32_t)values.triangles),
                          (*row)->source);
    printf("\nPoint tree builders (name, devices, scratch for %" PRIu64 " points, source):\n",
           values.points);
    for (const pointtree_builder *const *row = pointtree_builders; *row; ++row)
        print_builder(stdout, (*row)->name,
                      point_builder_cuda_find((*row)->name) ? "cpu, cuda" : "cpu",
                      (*row)->scratch_bytes(values.points), (*row)->source);
    printf("\nIntegrators:\n");
    for (const integrator *const *row = integrators; *row; ++row)
        printf("  %-12s %s\n", (*row)->name, (*row)->source);
    printf("\nCompiled in:\n");
    info_compiled(stdout);
    return KD_OK;
}

static const option_row rows[] = {{.name = "triangles",
                                   .argument = "N",
                                   .help = "triangles that the scratch memory is given for",
                                   .initial = "1M",
                                   .kind = OPTION_UINT64,
                                   .least = 0,
                                   .most = UINT32_MAX,
                                   OPTION_FIELD(info_values, triangles)},
                                  {.name = "points",
                                   .argument = "N",
                                   .help = "points that the scratch memory is given for",
                                   .initial = "1M",
                                   .kind = OPTION_UINT64,
                                   .least = 0,
                                   .most = UINT32_MAX,
                                   OPTION_FIELD(info_values, points)},
                                  {.name = "keys",
                                   .help = "print the keys of scene files instead, as Markdown",
                                   .kind = OPTION_FLAG,
                                   OPTION_FIELD(info_values, keys)},
                                  {.name = NULL}};

static const option_group groups[] = {
    {"Options", rows, 0, NULL}, GENERAL_GROUP(info_values), {NULL, NULL, 0, NULL}};

const verb verb_info = {
    .name = "info",
    .arguments = "",
    .summary = "say where this build can run, its tree builders and what is compiled in",
    .groups = groups,
    .run = run,
};
