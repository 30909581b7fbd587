/* kandela info: lists devices, tree builders, integrators and compiled-in libraries. */
#include "accel/build_memory.h"
#include "accel/builders.h"
#include "core/device/device.h"
#include "core/image/formats.h"
#include "core/isa.h"
#include "core/parallel/parallel.h"
#include "photon/density/estimators.h"
#include "points/api/points_device.h"
#include "points/select/builders.h"
#include "render/integrators/integrators.h"
#include "scenes/describe/describe_json.h"
#include "tools/program/command.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#if KD_HAVE_OPENEXR
#include <openexr_base.h>
#endif

typedef struct info_values {
    general_options general;
    uint64_t triangles, points;
    bool keys;
} info_values;

static void print_devices(FILE *stream) {
    device device;
    device_cpu_describe(&device);
    fprintf(stream, "Devices:\n  %-10s %s, %.1f GB\n", "cpu", device.name,
            (double)device.memory_bytes * 1e-9);
    for (int i = 0; i < device_cuda_count(); ++i) {
        char name[24];
        snprintf(name, sizeof name, "cuda:%d", i);
        if (device_cuda_describe(&device, i) == KD_OK)
            fprintf(stream, "  %-10s %s, %.1f GB, compute %d.%d, %d multiprocessors\n", name,
                    device.name, (double)device.memory_bytes * 1e-9, device.major, device.minor,
                    device.processors);
        else
            fprintf(stream, "  %-10s not available: %s\n", name, kd_last_error());
    }
    status_clear();
    if (device_cuda_count() == 0)
        fprintf(stream, "  %-10s %s\n", "cuda",
                device_cuda_compiled() ? "no device on this machine"
                                       : "not supported by this build");
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
    KD_TRY(command_arguments(line, &command_info, 0, 0));
    if (values.keys) {
        describe_json_list(print_line, NULL);
        return KD_OK;
    }
    print_devices(stdout);
    print_names("Picture formats", image_format_suffix);
    print_names("Density estimation kernels", photon_kernel_name);
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

static const option_row rows[] = {
    {OPTION_ROW(info_values, "triangles", OPTION_UINT64, triangles), .argument = "N",
     .initial = "1M", .minimum = 0, .maximum = UINT32_MAX,
     .help = "number of triangles for which scratch memory is listed"},
    {OPTION_ROW(info_values, "points", OPTION_UINT64, points), .argument = "N", .initial = "1M",
     .minimum = 0, .maximum = UINT32_MAX,
     .help = "number of points for which scratch memory is listed"},
    {OPTION_ROW(info_values, "keys", OPTION_FLAG, keys),
     .help = "print the keys of scene files as Markdown instead"},
    {.name = NULL}};

static const option_group groups[] = {
    {"Output", rows, 0, NULL}, GENERAL_GROUP(info_values), {NULL, NULL, 0, NULL}};

static const help_pair examples[] = {
    {"kandela info", "list everything"},
    {"kandela info --triangles 100M",
     "list the memory for building trees of 100 million triangles"},
    {NULL, NULL}};

const subcommand command_info = {
    .name = "info",
    .arguments = "",
    .summary = "list devices, picture formats, tree builders and integrators",
    .description = "Lists the devices of this machine and what this build supports: picture "
                   "formats, density estimation kernels, tree builders with their scratch memory, "
                   "integrators and libraries.",
    .examples = examples,
    .groups = groups,
    .run = run,
};

static void line(FILE *stream, const char *name, const char *text) {
    fprintf(stream, "  %-13s %s\n", name, text);
}

void info_compiled(FILE *stream) {
    char text[96];
#if defined(__clang__)
    snprintf(text, sizeof text, "clang %s", __clang_version__);
#else
    snprintf(text, sizeof text, "gcc %s", __VERSION__);
#endif
    line(stream, "compiler", text);
    line(stream, "processor", isa_description());
    snprintf(text, sizeof text, "compute capability %s (times ten; +: and later)",
             device_cuda_code());
    line(stream, "CUDA", device_cuda_compiled() ? text : "no");
#if KD_HAVE_OPENEXR
    int major = 0, minor = 0, patch = 0;
    const char *extra = NULL;
    exr_get_library_version(&major, &minor, &patch, &extra);
    snprintf(text, sizeof text, "%d.%d.%d (.exr)", major, minor, patch);
    line(stream, "OpenEXR", text);
#else
    line(stream, "OpenEXR", "no (.exr not supported)");
#endif
    line(stream, "assimp",
         KD_HAVE_ASSIMP ? "yes (.fbx, .dae, .off, ..., by kandela-import)"
                        : "no (.fbx, .dae, ... not supported)");
    line(stream, "meshoptimizer",
         KD_HAVE_MESHOPT ? "yes (compressed glTF)" : "no (compressed glTF not supported)");
    line(stream, "libdeflate", KD_HAVE_DEFLATE ? "yes (.png)" : "no (.png is written more slowly)");
    line(stream, "libjpeg", KD_HAVE_JPEG ? "yes (.jpg)" : "no (.jpg not supported)");
    line(stream, "libwebp", KD_HAVE_WEBP ? "yes (.webp)" : "no (.webp not supported)");
    line(stream, "libtiff", KD_HAVE_TIFF ? "yes (.tif textures)" : "no (.tif not supported)");
    line(stream, "cJSON", cJSON_Version());
    if (!KD_HAVE_CMOCKA) line(stream, "cmocka", "no (built without tests)");
}
