/* The table of options. The rows of a group are in the order of --help. */
#include "scenes/describe/render_options.h"
#include "accel/builders.h"
#include "core/hash.h"
#include "core/image/tonemap.h"
#include "core/image_processing/finish.h"
#include "core/names.h"
#include "core/parallel/call.h"
#include "core/version.h"
#include "photon/density/estimate.h"
#include "photon/density/estimators.h"
#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#define OPTION(option_name, option_kind, member)                                                   \
    OPTION_ROW(kd_render_options, option_name, option_kind, member)
#define TEXT_OF_TEXT(number) #number
#define TEXT_OF(macro) TEXT_OF_TEXT(macro)
#define COUNT .maximum = 4e9 /* photons */
#define ANY_LENGTH .maximum = HUGE_VAL
#define FREE .resume = OPTION_RESUME_FREE
#define CHECKED .resume = OPTION_RESUME_CHECKED
#define DAILY .daily = true
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

static const char *integrator_choice(int index) {
    return index == 0 ? "auto" : integrator_name(index - 1);
}

static const char *integrator_replaced(const char *name) {
    return strcmp(name, "ppm") == 0 ? "sppm" : NULL;
}

static const char *lookup_choice(int index) {
    return index == 0 ? "auto" : photon_lookup_name(index - 1);
}

static const char *switch_choice(int index) {
    static const char *const names[] = {"off", "on", NULL};
    return names[index];
}

const option_row render_method_rows[] = {
    {OPTION("integrator", OPTION_NAME, integrator), .argument = "NAME", .initial = "auto", DAILY,
     .choice = integrator_choice, .replaced = integrator_replaced,
     .help = "method; auto: vcm for glass and mirrors, photon for its options, else path"},
    {OPTION("channel", OPTION_NAME, channel), .argument = "NAME", .initial = "normals",
     .choice = debug_channel_name, .help = "quantity shown by the integrator debug"},
    {OPTION("spp", OPTION_INT32, spp), .argument = "N", .initial = "64", .minimum = 1,
     .maximum = 1 << 24, CHECKED, DAILY, .help = "samples per pixel"},
    {OPTION("time", OPTION_DOUBLE, time_seconds), .argument = "SECONDS", .initial = "0",
     .unit = "seconds", ANY_LENGTH, FREE, DAILY,
     .help = "time limit (at least 1 sample per pixel); 0: none"},
    {OPTION("target-error", OPTION_DOUBLE, target_error), .argument = "E", .initial = "0",
     ANY_LENGTH, FREE,
     .help = "stop early at this estimated relative error (root of relMSE), such as 0.05; 0: off"},
    {OPTION("max-depth", OPTION_INT32, max_depth), .argument = "N",
     .initial = TEXT_OF(MAX_DEPTH_DEFAULT), .minimum = 1, .maximum = 65536,
     .help = "maximum hits and scattering events per path"},
    {OPTION("max-specular", OPTION_INT32, max_specular), .argument = "N",
     .initial = TEXT_OF(MAX_SPECULAR_DEFAULT), .minimum = 0, .maximum = 65536,
     .help =
         "maximum mirror reflections and refractions per path, minus other events; 0: no limit"},
    {OPTION("clamp", OPTION_FLOAT, clamp), .argument = "L", .initial = "0", .unit = "W/(sr m^2)",
     ANY_LENGTH,
     .help =
         "path, vcm: clamp indirect light per sample; less noise, but a darker picture; 0: off"},
    {OPTION("regularise", OPTION_FLOAT, regularise), .argument = "R", .initial = "0", .maximum = 1,
     .help = "path: least roughness of what rough surfaces reflect; less noise, but blurred "
             "caustics; 0: off"},
    {OPTION("lens-samples", OPTION_INT32, lens_samples), .argument = "N", .initial = "1",
     .minimum = 1, .maximum = 256,
     .help =
         "rays per sample for what is seen directly: lamps and sky out of focus, edges; on CPUs"},
    {OPTION("seed", OPTION_UINT64, seed), .argument = "N", .initial = "0",
     .help = "random seed; equal seeds give identical results"},
    END};

const option_row render_photon_rows[] = {
    {OPTION("photons", OPTION_UINT64, photons), .argument = "N",
     .initial = TEXT_OF(PHOTONS_DEFAULT), COUNT, DAILY,
     .help = "photons in the global map, approximately"},
    {OPTION("caustic-photons", OPTION_UINT64, caustic_photons), .argument = "N", .initial = "0",
     COUNT, .help = "photons in the caustic map; 0: as many as photons"},
    {OPTION("media-photons", OPTION_UINT64, media_photons), .argument = "N", .initial = "0", COUNT,
     .help = "photons in the volume map; 0: as many as photons"},
    {OPTION("gather", OPTION_INT32, gather), .argument = "K", .initial = TEXT_OF(GATHER_DEFAULT),
     .minimum = 2, .maximum = ESTIMATE_GATHER_MAX, .help = "photons per density estimate"},
    {OPTION("radius", OPTION_FLOAT, radius), .argument = "R", .initial = "0", .unit = "scene units",
     ANY_LENGTH,
     .help = "maximum radius of a density estimate; 0: derived from the photon density"},
    {OPTION("kernel", OPTION_NAME, kernel), .argument = "NAME", .initial = "cone",
     .choice = photon_kernel_name, .help = "density estimation kernel"},
    {OPTION("estimator", OPTION_NAME, estimator), .argument = "NAME", .initial = "nearest",
     .choice = photon_estimator_name,
     .help = "density estimator: k nearest photons, all within the radius, or adaptively up to k"},
    {OPTION("media", OPTION_NAME, media), .argument = "NAME", .initial = "points",
     .choice = photon_media_name,
     .help = "volume map of photons at scattering events, or of photon beams"},
    {OPTION("photon-map", OPTION_TEXT, photon_map), .argument = "FILE", CHECKED,
     .help = "use the photons of a file written by kandela photons"},
    {OPTION("passes", OPTION_INT32, passes), .argument = "N", .initial = "64", .minimum = 1,
     .maximum = 1 << 24, CHECKED, DAILY, .help = "sppm: passes, each with new photon maps"},
    {OPTION("batches", OPTION_INT32, batches), .argument = "N", .initial = "1", .minimum = 1,
     .maximum = 65536,
     .help = "emit the photons in N batches, one after the other, to save memory"},
    {OPTION("alpha", OPTION_FLOAT, alpha), .argument = "A", .initial = "0.7", .minimum = 1e-3,
     .maximum = 1,
     .help = "sppm, vcm: radius reduction; a smaller value shrinks the radius faster"},
    {OPTION("final-gather", OPTION_INT32, final_gather), .argument = "N", .initial = "0",
     .maximum = FINAL_GATHER_MAX,
     .help = "final gather rays per visible point; 0: direct visualisation of the photon map"},
    END};

const option_row render_picture_rows[] = {
    {OPTION("resolution", OPTION_INT32, width), .argument = "WxH", .initial = "512x512",
     .minimum = 1, .maximum = 65536, .unit = "pixels", .count = 2, .separator = 'x', .alias = true,
     DAILY, .help = "width and height of the picture"},
    {OPTION("width", OPTION_INT32, width), .argument = "W", .initial = "512", .minimum = 1,
     .maximum = 65536, .unit = "pixels", .help = "width of the picture"},
    {OPTION("height", OPTION_INT32, height), .argument = "H", .initial = "512", .minimum = 1,
     .maximum = 65536, .unit = "pixels", .help = "height of the picture"},
    {OPTION("crop", OPTION_INT32, crop), .argument = "X0,Y0,X1,Y1", .maximum = 65536,
     .unit = "pixels", .count = 4, CHECKED,
     .help = "render only this rectangle; 0,0 is the top left pixel, X1 and Y1 are exclusive; "
             "develop --merge joins crops"},
    {OPTION("filter", OPTION_CHOICE, filter), .argument = "NAME", .initial = "box",
     .choice = pixel_filter_name,
     .help = "pixel reconstruction filter (light and debug: box only)"},
    {OPTION("background", OPTION_NAME, background), .argument = "COLOUR", .initial = "environment",
     .help = "behind all surfaces: environment, transparent, #rrggbb, white, TOP:BOTTOM (two "
             "colours), or a picture"},
    {OPTION("look", OPTION_NAME, look), .argument = "NAME", .initial = "auto", DAILY,
     .choice = look_name,
     .help = "light and ground of scenes without lights; auto: studio for meshes"},
    {OPTION("material", OPTION_NAME, material), .argument = "NAME", .initial = "own",
     .choice = shown_material_name, .help = "show all surfaces in this material"},
    {OPTION("frame", OPTION_FLOAT, frame), .argument = "N", .initial = "1", .unit = "frames",
     CHECKED, .no_key = true, .help = "time of an animated scene"},
    {OPTION("shutter", OPTION_FLOAT, shutter), .argument = "FRAMES", .initial = "0", .maximum = 1e6,
     .unit = "frames", CHECKED,
     .help = "exposure time from --frame on, for motion blur; 0.5: a shutter of 180 degrees"},
    {OPTION("exposure", OPTION_FLOAT, exposure), .argument = "STOPS", .initial = "0",
     .initial_help = "0; meshes: auto", .automatic = "auto", .minimum = -64, .maximum = 64,
     .unit = "stops", FREE, DAILY,
     .help = "scale 8-bit pictures by 2^STOPS; auto: brighten, but clip at most 5 % of the pixels"},
    {OPTION("tonemap", OPTION_CHOICE, tonemap), .argument = "NAME", .initial = "linear",
     .choice = tonemap_name, FREE, DAILY, .help = "tone curve of 8-bit pictures"},
    IMAGE_FINISH_ROWS(kd_render_options),
    END};

/* Not accepted in scene files, which may be untrusted. */
const option_row render_input_rows[] = {
    {OPTION("allow-outside", OPTION_FLAG, allow_outside), .no_key = true, FREE,
     .help = "allow scene files to refer to files outside their directory (otherwise refused or "
             "skipped)"},
    {OPTION("max-texture-memory", OPTION_BYTES, max_texture_memory), .argument = "BYTES",
     .initial = "0", .no_key = true, FREE,
     .help = "refuse scenes whose textures need more memory (500M, 1.5G); 0: a quarter of the "
             "machine's memory"},
    {OPTION("clip", OPTION_TEXT, clip), .argument = "NAME|N",
     .initial_help = "rest pose; with --frame: the first", .no_key = true, FREE,
     .help = "animation of glTF files, by name or by number from 0, at the time of --frame"},
    {OPTION("frame-rate", OPTION_FLOAT, frame_rate), .argument = "N", .initial = "24",
     .minimum = 0.1, .maximum = 1000, .unit = "frames per second", .no_key = true, FREE,
     .help = "frames per second of glTF animations, and of animated pictures"},
    END};

const option_row render_device_rows[] = {
    {OPTION("device", OPTION_NAME, device), .argument = "NAME", .initial = "auto",
     .environment = "KANDELA_DEVICE", FREE, DAILY,
     .help = "cpu, cuda:N, cuda:0,cuda:1, cuda:all, or auto (CUDA if supported)"},
    {OPTION("threads", OPTION_INT32, threads), .argument = "N", .initial = "0",
     .environment = "KANDELA_NUM_THREADS", .maximum = 4096, FREE, DAILY,
     .help = "CPU threads; 0: all cores"},
    {OPTION("ranks-maps", OPTION_NAME, maps), .argument = "MODE", .initial = "auto",
     .choice = rank_maps_name, CHECKED,
     .help =
         "photon maps on several devices or ranks: each holds all photons (whole), or a part, to "
         "save memory (apart)"},
    END};

const option_row render_lab_rows[] = {
    {OPTION("techniques", OPTION_NAME, techniques), .argument = "NAMES", .initial = "all",
     .choice = techniques_name,
     .help = "vcm: how light is found; every set that can find it gives the same picture"},
    {OPTION("show-techniques", OPTION_NAME, show_techniques), .argument = "NAMES", .initial = "all",
     .choice = techniques_name,
     .help = "vcm: show only the weighted shares of these techniques; all shares add up to the "
             "picture"},
    {OPTION("builder", OPTION_NAME, builder), .argument = "NAME", .initial = "auto",
     .choice = builder_choice, .by_build = true, FREE, .help = "triangle tree builder"},
    {OPTION("sah-costs", OPTION_FLOAT, sah_traversal_cost), .argument = "CT,CI", .initial = "1.5,1",
     .minimum = 1e-3, .maximum = 1e6, .count = 2, FREE,
     .help = "SAH costs of a traversal step and of a triangle test"},
    {OPTION("empty-factor", OPTION_FLOAT, sah_empty_factor), .argument = "E", .initial = "1",
     .minimum = 1e-3, .maximum = 1, FREE,
     .help = "SAH cost factor of splits that cut off empty space"},
    {OPTION("lookup", OPTION_NAME, lookup), .argument = "NAME", .initial = "auto",
     .choice = lookup_choice, FREE,
     .help = "photon lookup: leaf index or stack-free tree traversal; same picture"},
    {OPTION("precompute", OPTION_CHOICE, precompute), .argument = "on|off", .initial = "on",
     .choice = switch_choice,
     .help = "final gather: precompute irradiance at the photons where that is less work"},
    {OPTION("maps-ahead", OPTION_CHOICE, maps_ahead), .argument = "on|off", .initial = "on",
     .choice = switch_choice, FREE,
     .help =
         "sppm on CUDA devices: build the maps of the next pass early, which needs more memory"},
    {OPTION("device-paths", OPTION_UINT64, device_paths), .argument = "N", .initial = "0",
     .maximum = 1 << 30, FREE,
     .help = "CUDA devices: paths in flight, 475 to 700 bytes each; 0: as many as fit into 1 GB or "
             "1/8 of what is free"},
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
    KD_CALL(0);
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
    KD_CALL(0);
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
    KD_CALL(0);
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
NAMES(look_name, LOOK_NAMES, SECOND)
NAMES(shown_material_name, SHOWN_MATERIAL_NAMES, SECOND)
NAMES(rank_maps_name, RANK_MAPS_NAMES, SECOND)
NAMES(techniques_name, TECHNIQUES_NAMES, SECOND)

int32_t techniques_named(const char *name) {
    for (int i = 0; techniques_name(i); ++i)
        if (strcmp(techniques_name(i), name) == 0) return i + 1;
    return 0;
}
