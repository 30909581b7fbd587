/* The table of options. The rows of a group are in the order of --help. */
#include "scenes/describe/render_options.h"
#include "accel/builders.h"
#include "core/hash.h"
#include "core/image/tonemap.h"
#include "core/names.h"
#include "core/version.h"
#include "photon/density/estimate.h"
#include "photon/density/estimators.h"
#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* clang-format off */
#define OPTION(option_name, option_kind, member)                                                   \
    .name = option_name, .kind = option_kind, OPTION_FIELD(kd_render_options, member)
/* clang-format on */
#define TEXT_OF_TEXT(number) #number
#define TEXT_OF(macro) TEXT_OF_TEXT(macro)
#define COUNT .most = 4e9 /* photons */
#define ANY_LENGTH .most = HUGE_VAL
#define FREE .resume = OPTION_RESUME_FREE
#define CHECKED .resume = OPTION_RESUME_CHECKED
#define END                                                                                        \
    { .name = NULL }

/* These rows set several fields, which must be adjacent. */
static_assert(offsetof(kd_render_options, height) == offsetof(kd_render_options, width) + 4, "");
static_assert(offsetof(kd_render_options, sah_intersect_cost) ==
                  offsetof(kd_render_options, sah_traversal_cost) + sizeof(float),
              "");
static_assert(sizeof(kd_tonemap) == sizeof(int32_t), "");

/* Builders of the CPU, then those available on devices only. */
static const char *builder_choice(int index) {
    if (index == 0) return "auto";
    int left = index - 1;
    for (const tritree_builder *const *row = tritree_builders; *row; ++row)
        if (left-- == 0) return (*row)->name;
    for (const tritree_builder_cuda *const *row = tritree_builders_cuda; *row; ++row)
        if (!tritree_builder_find((*row)->name) && left-- == 0) return (*row)->name;
    return NULL;
}

static const char *lookup_choice(int index) {
    return index == 0 ? "auto" : photon_lookup_name(index - 1);
}

static const char *switch_choice(int index) {
    static const char *const names[] = {"off", "on", NULL};
    return names[index];
}

const option_row render_method_rows[] = {
    {OPTION("integrator", OPTION_NAME, integrator), .argument = "NAME", .initial = "path",
     .choice = integrator_name, .help = "method of rendering"},
    {OPTION("channel", OPTION_NAME, channel), .argument = "NAME", .initial = "normals",
     .choice = debug_channel_name,
     .help = "what the integrator debug shows; depth, radius and distance in scene units"},
    {OPTION("spp", OPTION_INT32, spp), .argument = "N", .initial = "64", .least = 1,
     .most = 1 << 24, CHECKED, .help = "samples per pixel"},
    {OPTION("time", OPTION_DOUBLE, time_seconds), .argument = "SECONDS", .initial = "0",
     .unit = "seconds", ANY_LENGTH, FREE,
     .help =
         "end after this with partial results, one sample of every pixel at least; 0: no limit"},
    {OPTION("target-error", OPTION_DOUBLE, target_error), .argument = "E", .initial = "0",
     ANY_LENGTH, FREE,
     .help = "stop at this estimated relative error (root of the picture's relMSE), such as 0.05; "
             "spp or passes still limit it; 0: off"},
    {OPTION("max-depth", OPTION_INT32, max_depth), .argument = "N",
     .initial = TEXT_OF(MAX_DEPTH_DEFAULT), .least = 1, .most = 65536,
     .help = "surfaces that a path may meet, and scatterings in media"},
    {OPTION("clamp", OPTION_FLOAT, clamp), .argument = "L", .initial = "0", .unit = "W/(sr m^2)",
     ANY_LENGTH,
     .help = "path tracing: limit of what indirect light adds to a sample at each surface: less "
             "noise, less light; 0: none"},
    {OPTION("seed", OPTION_UINT64, seed), .argument = "N", .initial = "0",
     .help = "seed of the random numbers: the same seed gives the same result, bit for bit"},
    END};

const option_row render_photon_rows[] = {
    {OPTION("photons", OPTION_UINT64, photons), .argument = "N",
     .initial = TEXT_OF(PHOTONS_DEFAULT), COUNT,
     .help = "photons to store in the global map, about: 200000, 2M, 2e6"},
    {OPTION("caustic-photons", OPTION_UINT64, caustic_photons), .argument = "N", .initial = "0",
     COUNT, .help = "photons to store in the caustic map; 0: as many as in the global map"},
    {OPTION("media-photons", OPTION_UINT64, media_photons), .argument = "N", .initial = "0", COUNT,
     .help = "photons to store in the map of media; 0: as many as in the global map"},
    {OPTION("gather", OPTION_INT32, gather), .argument = "K", .initial = TEXT_OF(GATHER_DEFAULT),
     .least = 2, .most = ESTIMATE_GATHER_MAX, .help = "photons of one density estimate"},
    {OPTION("radius", OPTION_FLOAT, radius), .argument = "R", .initial = "0", .unit = "scene units",
     ANY_LENGTH, .help = "largest radius of a density estimate; 0: from the photons' density"},
    {OPTION("kernel", OPTION_NAME, kernel), .argument = "NAME", .initial = "cone",
     .choice = photon_kernel_name, .help = "weight of a photon by its distance"},
    {OPTION("estimator", OPTION_NAME, estimator), .argument = "NAME", .initial = "nearest",
     .choice = photon_estimator_name,
     .help = "photons of an estimate: the k nearest, all within the radius, or of the k nearest as "
             "many as the light allows"},
    {OPTION("media", OPTION_NAME, media), .argument = "NAME", .initial = "points",
     .choice = photon_media_name,
     .help = "what the map of media keeps: points where photons are scattered, or beams, their "
             "whole flights"},
    {OPTION("photon-map", OPTION_TEXT, photon_map), .argument = "FILE.kdp", CHECKED,
     .help = "file of photons, by kandela photons, to use instead of new ones"},
    {OPTION("passes", OPTION_INT32, passes), .argument = "N", .initial = "64", .least = 1,
     .most = 1 << 24, CHECKED,
     .help = "progressive methods: passes, each with photon maps of its own and a sample of every "
             "pixel"},
    {OPTION("batches", OPTION_INT32, batches), .argument = "N", .initial = "1", .least = 1,
     .most = 65536,
     .help = "make the photons in N parts, one after the other, to need less memory; max-memory "
             "chooses N"},
    {OPTION("alpha", OPTION_FLOAT, alpha), .argument = "A", .initial = "0.7", .least = 1e-3,
     .most = 1,
     .help = "progressive methods: how slowly the gather radius shrinks from pass to pass"},
    {OPTION("final-gather", OPTION_INT32, final_gather), .argument = "N", .initial = "0",
     .most = FINAL_GATHER_MOST,
     .help = "rays of the final gather; 0: the photon map is seen directly"},
    END};

const option_row render_picture_rows[] = {
    {OPTION("resolution", OPTION_INT32, width), .argument = "WxH", .initial = "512x512", .least = 1,
     .most = 65536, .unit = "pixels", .count = 2, .separator = 'x', .alias = true,
     .help = "width and height of the picture"},
    {OPTION("width", OPTION_INT32, width), .argument = "W", .initial = "512", .least = 1,
     .most = 65536, .unit = "pixels", .help = "width alone"},
    {OPTION("height", OPTION_INT32, height), .argument = "H", .initial = "512", .least = 1,
     .most = 65536, .unit = "pixels", .help = "height alone"},
    {OPTION("crop", OPTION_INT32, crop), .argument = "X0,Y0,X1,Y1", .most = 65536, .unit = "pixels",
     .count = 4, CHECKED, .help = "only these pixels, X1 and Y1 excluded, from the top left"},
    {OPTION("filter", OPTION_CHOICE, filter), .argument = "NAME", .initial = "box",
     .choice = pixel_filter_name,
     .help = "pixel reconstruction filter; some methods, as light, take the box alone"},
    {OPTION("frame", OPTION_FLOAT, frame), .argument = "N", .initial = "1", .unit = "frames",
     CHECKED, .no_key = true, .help = "the time at which an animated scene is seen"},
    {OPTION("shutter", OPTION_FLOAT, shutter), .argument = "FRAMES", .initial = "0", .most = 1e6,
     .unit = "frames", CHECKED,
     .help = "how long the shutter stays open: a camera that moves meanwhile blurs the picture"},
    {OPTION("exposure", OPTION_FLOAT, exposure), .argument = "auto|STOPS", .initial = "0",
     .initial_help = "0; of a mesh alone: auto", .automatic = "auto", .least = -64, .most = 64,
     .unit = "stops", FREE,
     .help = "colours times 2^STOPS in 8-bit files; auto: by the picture, so that at most 5 % of "
             "it clip"},
    {OPTION("tonemap", OPTION_CHOICE, tonemap), .argument = "NAME", .initial = "linear",
     .choice = tonemap_name, FREE, .help = "tone curve, in 8-bit files only"},
    END};

/* Not accepted in scene files, which may be untrusted. */
const option_row render_input_rows[] = {
    {OPTION("allow-outside", OPTION_FLAG, allow_outside), .no_key = true, FREE,
     .help = "the scene's files may name files outside of its folder, too; without it these are "
             "refused, or left out with a warning, whether they are there or not"},
    {OPTION("max-texture-memory", OPTION_BYTES, max_texture_memory), .argument = "BYTES",
     .initial = "0", .no_key = true, FREE,
     .help =
         "refuse a scene, with exit code 4, whose textures take more memory together, with what "
         "reading them takes; 0: a quarter of the machine's"},
    END};

const option_row render_device_rows[] = {
    {OPTION("device", OPTION_NAME, device), .argument = "NAME", .initial = "auto",
     .environment = "KANDELA_DEVICE", FREE,
     .help = "auto (the first CUDA device that the method has kernels for, else the CPU), cpu or "
             "cuda:N; several: cuda:0,cuda:1 or cuda:all"},
    {OPTION("threads", OPTION_INT32, threads), .argument = "N", .initial = "0",
     .environment = "KANDELA_NUM_THREADS", .most = 4096, FREE,
     .help = "threads of the CPU; 0: all cores"},
    {OPTION("ranks-maps", OPTION_NAME, maps), .argument = "HOW", .initial = "auto",
     .choice = rank_maps_name, CHECKED,
     .help = "on several devices or ranks: each has all photons (whole) or keeps those that it "
             "traced (apart), 1/N of the memory; same picture"},
    END};

const option_row render_lab_rows[] = {
    {OPTION("builder", OPTION_NAME, builder), .argument = "NAME", .initial = "auto",
     .choice = builder_choice, .by_build = true, FREE, .help = "builder of the triangle tree"},
    {OPTION("sah-costs", OPTION_FLOAT, sah_traversal_cost), .argument = "CT,CI", .initial = "1.5,1",
     .least = 1e-3, .most = 1e6, .count = 2, FREE,
     .help = "costs of a step through an inner node and of a triangle test"},
    {OPTION("empty-factor", OPTION_FLOAT, sah_empty_factor), .argument = "E", .initial = "1",
     .least = 1e-3, .most = 1, FREE, .help = "cost factor of a split that cuts off empty space"},
    {OPTION("lookup", OPTION_NAME, lookup), .argument = "NAME", .initial = "auto",
     .choice = lookup_choice, FREE,
     .help = "how photons near a place are found: by an index of the tree's leaves or by a "
             "stack-free walk of the tree; same picture"},
    {OPTION("precompute", OPTION_CHOICE, precompute), .argument = "on|off", .initial = "on",
     .choice = switch_choice,
     .help = "final gather: compute irradiance once per photon, where that is less work"},
    {OPTION("maps-ahead", OPTION_CHOICE, maps_ahead), .argument = "on|off", .initial = "on",
     .choice = switch_choice, FREE,
     .help = "progressive methods on a CUDA device: make the next pass's maps during this one; "
             "same picture, more memory"},
    {OPTION("device-paths", OPTION_UINT64, device_paths), .argument = "N", .initial = "0",
     .most = 1 << 30, FREE,
     .help =
         "path tracing on a CUDA device: paths followed at a time, about 460 bytes each; 0: 2^23"},
    END};

const option_group render_option_groups[] = {{"Method", render_method_rows, 0, NULL},
                                             {"Photons", render_photon_rows, 0, NULL},
                                             {"Picture", render_picture_rows, 0, NULL},
                                             {"Scene files", render_input_rows, 0, NULL},
                                             {"Device", render_device_rows, 0, NULL},
                                             {"Laboratory", render_lab_rows, 0, NULL},
                                             {NULL, NULL, 0, NULL}};

static const char filler[] = "kd_render_options_default";

static const void *field_of(const kd_render_options *options, const option_row *row) {
    return (const char *)options + row->offset;
}

/* --- the table -------------------------------------------------------------------------------- */

const option_row *render_option_next(const option_row *row) {
    if (!row) return render_option_groups[0].rows;
    if ((++row)->name) return row;
    for (const option_group *group = render_option_groups; group[1].heading; ++group) {
        const option_row *end = group->rows;
        while (end->name) ++end;
        if (end == row) return group[1].rows;
    }
    return NULL;
}

const option_row *render_option_find(const char *name) {
    const option_row *row = NULL;
    while ((row = render_option_next(row)) && !option_is_called(row, name)) {
    }
    return row;
}

/* --- all options ------------------------------------------------------------------------------ */

void kd_render_options_default_sized(kd_render_options *options, size_t struct_size) {
    kd_render_options defaults;
    memset(&defaults, 0, sizeof defaults);
    for (const option_row *row = NULL; (row = render_option_next(row));) {
        const kd_status set = row->initial ? option_set(row, row->initial, OPTION_BY_NAME,
                                                        (char *)&defaults + row->offset)
                                           : KD_OK;
        assert(set == KD_OK); /* test_render_options sets each default */
        (void)set;
    }
    sized_give(options, struct_size, &defaults, sizeof defaults);
}

void render_options_take_input(kd_render_options *to, const kd_render_options *from) {
    for (const option_row *row = render_input_rows; row->name; ++row)
        memcpy((char *)to + row->offset, (const char *)from + row->offset, row->bytes);
}

kd_status render_options_check(const kd_render_options *options) {
    for (const option_row *row = NULL; (row = render_option_next(row));)
        if (!row->alias) KD_TRY(option_check(row, field_of(options, row)));
    return KD_OK;
}

uint64_t render_options_hash(uint64_t hash, const kd_render_options *options) {
    for (const option_row *row = NULL; (row = render_option_next(row));) {
        if (row->resume != OPTION_RESUME_SAME || row->alias) continue;
        char text[OPTION_TEXT_BYTES];
        option_print(text, sizeof text, row, field_of(options, row));
        hash = hash_combine(hash, row->name, strlen(row->name) + 1);
        hash = hash_combine(hash, text, strlen(text) + 1);
    }
    return hash;
}

/* --- access by name, for other languages ------------------------------------------------------ */

int32_t kd_render_option_count(void) {
    int32_t count = 0;
    for (const option_row *row = NULL; (row = render_option_next(row));) ++count;
    return count;
}

kd_status kd_render_option_get_info(kd_render_option *out, int32_t index) {
    static const kd_render_option_kind kinds[] = {
        [OPTION_FLAG] = KD_RENDER_OPTION_NAME,     [OPTION_BYTES] = KD_RENDER_OPTION_INTEGER,
        [OPTION_TEXT] = KD_RENDER_OPTION_FILE,     [OPTION_NAME] = KD_RENDER_OPTION_NAME,
        [OPTION_CHOICE] = KD_RENDER_OPTION_NAME,   [OPTION_UINT64] = KD_RENDER_OPTION_INTEGER,
        [OPTION_INT32] = KD_RENDER_OPTION_INTEGER, [OPTION_FLOAT] = KD_RENDER_OPTION_NUMBER,
        [OPTION_DOUBLE] = KD_RENDER_OPTION_NUMBER};
    KD_REQUIRE(out, KD_ERROR_USAGE, "`out` must not be NULL");
    memset(out, 0, sizeof *out);
    const option_row *row = render_option_next(NULL);
    for (int32_t i = 0; i < index && row; ++i) row = render_option_next(row);
    KD_REQUIRE(row && index >= 0, KD_ERROR_USAGE, "`index` is %d; there are %d options", index,
               kd_render_option_count());
    option_key(out->name, sizeof out->name, row);
    option_expect(out->expected, sizeof out->expected, row);
    out->kind = kinds[row->kind];
    out->count = row->count > 1 ? row->count : 1;
    out->alias = row->alias;
    out->unit = row->unit ? row->unit : "";
    out->initial = row->initial ? row->initial : "";
    out->help = row->help;
    return KD_OK;
}

static kd_status find(const option_row **out, const char *name) {
    const char *best = NULL;
    *out = render_option_find(name);
    for (const option_row *row = NULL; !*out && (row = render_option_next(row));)
        nearest_consider(&best, name, row->name);
    KD_REQUIRE(*out, KD_ERROR_USAGE, "unknown option \"%.60s\"%s%s%s", name,
               best ? ", did you mean \"" : "", best ? best : "", best ? "\"?" : "");
    return KD_OK;
}

kd_status kd_render_options_set(kd_render_options *options, const char *name, const char *text) {
    const option_row *row = NULL;
    kd_render_options taken;
    KD_REQUIRE(options && name && text, KD_ERROR_USAGE,
               "`options`, `name` and `text` must not be NULL");
    kd_render_options_default(&taken);
    KD_TRY(sized_take(&taken, sizeof taken, options, filler));
    KD_TRY(find(&row, name));
    KD_REQUIRE(row->offset + row->bytes <= options->struct_size, KD_ERROR_USAGE,
               "option %s is beyond `struct_size` of `options`; recompile with the headers of this "
               "library",
               row->name);
    KD_TRY(option_set(row, text, OPTION_BY_NAME, (char *)&taken + row->offset));
    sized_give(options, options->struct_size, &taken, sizeof taken);
    return KD_OK;
}

kd_status kd_render_options_get(const kd_render_options *options, const char *name, char *text,
                                size_t bytes) {
    const option_row *row = NULL;
    kd_render_options taken;
    KD_REQUIRE(options && name && text && bytes > 0, KD_ERROR_USAGE,
               "`options`, `name` and `text` must not be NULL, `bytes` not 0");
    text[0] = '\0';
    kd_render_options_default(&taken);
    KD_TRY(sized_take(&taken, sizeof taken, options, filler));
    KD_TRY(find(&row, name));
    option_print(text, bytes, row, field_of(&taken, row));
    return KD_OK;
}

#define TEXT(name) #name,
#define SECOND(id, name) name,
#define NAMES(function, rows, text)                                                                \
    const char *function(int index) {                                                              \
        static const char *const names[] = {rows(text)};                                           \
        return index >= 0 && index < (int)(sizeof names / sizeof *names) ? names[index] : NULL;    \
    }

NAMES(integrator_name, INTEGRATOR_ROWS, TEXT)
NAMES(debug_channel_name, DEBUG_CHANNEL_NAMES, SECOND)
NAMES(pixel_filter_name, PIXEL_FILTER_NAMES, SECOND)
NAMES(rank_maps_name, RANK_MAPS_NAMES, SECOND)
