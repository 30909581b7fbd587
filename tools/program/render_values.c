#include "tools/program/render_values.h"
#include "core/image/tonemap.h"
#include "core/spelling.h"
#include "photon/density/estimate.h"
#include "photon/maps/photon_map.h"
#include "render/api/plan.h"
#include "render/api/render_placing.h"
#include "render/frame/pixel_filter.h"
#include "render/integrators.h"
#include "render/integrators/debug_channel.h"
#include "tools/program/line/shared_options.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

/* rows that set several fields, which have to lie side by side */
static_assert(offsetof(kd_render_options, height) == offsetof(kd_render_options, width) + 4, "");
static_assert(sizeof(vec3) == 3 * sizeof(float), "");
static_assert(sizeof(kd_tonemap) == sizeof(int32_t), "");

static const char *integrator_choice(int index) {
    return integrators[index] ? integrators[index]->name : NULL;
}

static const char *switch_choice(int index) {
    static const char *const names[] = {"off", "on", NULL};
    return names[index];
}

static const option_row output_rows[] = {
    {.name = "output",
     .short_name = 'o',
     .argument = "FILE",
     .help =
         "picture to write, by its suffix .png, .jpg, .webp, .exr or .pfm; may be given several "
         "times",
     .initial = "the scene's name with .png, in this folder",
     .kind = OPTION_LIST,
     OPTION_FIELD(render_values, outputs)},
    {.name = "env",
     .argument = "FILE",
     .help =
         "latitude-longitude picture (.exr, .hdr or 8 bit) that lights the scene instead of the "
         "environment it has",
     .kind = OPTION_TEXT,
     OPTION_FIELD(render_values, environment)},
    SHARED_ROW_ALLOW_OUTSIDE(render_values),
    {.name = "frames",
     .argument = "A-B",
     .help = "a picture of each frame from A to B: what has keys in the scene moves; the names get "
             "the number for ####, or before the suffix",
     .kind = OPTION_INT32,
     .count = 2,
     .least = 0,
     .most = 1000000,
     .separator = '-',
     OPTION_FIELD(render_values, frames)},
    {.name = "turntable",
     .help = "the camera goes round the point that it looks at once in all --frames",
     .kind = OPTION_FLAG,
     OPTION_FIELD(render_values, turntable)},
    {.name = "stats",
     .argument = "FILE.json",
     .help = "figures to write: seconds of each stage, peak memory, counts, hashes, energy",
     .kind = OPTION_TEXT,
     OPTION_FIELD(render_values, stats)},
    SHARED_ROW_PROGRESS(render_values),
    {.name = "denoise",
     .help = "take the noise out of the finished pictures by Open Image Denoise, .exr and .pfm, "
             "too; those that --save-every writes on the way keep it",
     .kind = OPTION_FLAG,
     OPTION_FIELD(render_values, denoise)},
    {.name = "save-every",
     .argument = "SECONDS",
     .help = "write pictures and state (FILE.state) this often on the way, and at the end; 0 is "
             "only at "
             "the end",
     .initial = "never; of ppm and sppm on the way: 30",
     .kind = OPTION_DOUBLE,
     .least = 0,
     .most = 1e9,
     OPTION_FIELD(render_values, save_seconds)},
    {.name = "resume",
     .help = "go on from the state beside the first picture (FILE.state), which --save-every and "
             "renderings that are interrupted leave there: the same bits as without a stop",
     .kind = OPTION_FLAG,
     OPTION_FIELD(render_values, resume)},
    {.name = "strict",
     .help = "the same bits on every device and number of threads; that is always so, with or "
             "without this option",
     .kind = OPTION_FLAG,
     OPTION_FIELD(render_values, strict)},
    {.name = "plan",
     .help = "print the bytes that the rendering will need beside the scene, and end",
     .kind = OPTION_FLAG,
     OPTION_FIELD(render_values, plan)},
    {.name = "max-memory",
     .argument = "BYTES",
     .help = "stay below this beside the scene: 1.5G, 500M (K, M, G, T: powers of 1024); the "
             "photons are made in as many --batches as "
             "that takes, and what does not fit even so is refused with exit code 4; 0 is no limit",
     .initial = "0",
     .kind = OPTION_BYTES,
     OPTION_FIELD(render_values, max_memory)},
    {.name = "max-texture-memory",
     .argument = "BYTES",
     .help =
         "refuse a scene, with exit code 4, whose textures take more together, with what reading "
         "them takes; 0 is a quarter of the machine's memory",
     .initial = "0",
     .kind = OPTION_BYTES,
     OPTION_FIELD(render_values, max_texture_memory)},
    {.name = "ranks-inexact",
     .help = "of several ranks that --max-memory limits: make photons in batches where they fit no "
             "other way; a picture of other bits than one rank's with all photons",
     .kind = OPTION_FLAG,
     OPTION_FIELD(render_values, ranks_inexact)},
    {.name = "display-server",
     .argument = "HOST:PORT",
     .help = "show the picture after passes in a viewer that speaks tev's protocol; tev listens on "
             "localhost:14158",
     .kind = OPTION_TEXT,
     OPTION_FIELD(render_values, display)},
    {.name = "quick",
     .help = "a fast preview: at most 320 pixels a side, 4 samples, 50000 photons, 4 rays of the "
             "final gather; options of the command line still hold, and what was reduced is said",
     .kind = OPTION_FLAG,
     OPTION_FIELD(render_values, quick)},
    {.name = NULL}};

static const option_row method_rows[] = {
    {.name = "integrator",
     .argument = "NAME",
     .help = "method",
     .initial = "path",
     .kind = OPTION_NAME,
     .choice = integrator_choice,
     OPTION_FIELD(kd_render_options, integrator)},
    {.name = "channel",
     .argument = "NAME",
     .help = "what --integrator debug shows; depth, radius and distance in scene units",
     .initial = "normals",
     .kind = OPTION_NAME,
     .choice = debug_channel_name,
     OPTION_FIELD(kd_render_options, channel)},
    {.name = "spp",
     .argument = "N",
     .help = "samples per pixel",
     .initial = "64",
     .kind = OPTION_INT32,
     .least = 1,
     .most = 1 << 24,
     OPTION_FIELD(kd_render_options, spp)},
    {.name = "time",
     .argument = "SECONDS",
     .help = "end after this with what there is: fewer photons, fewer samples (one of each pixel "
             "at least); counted from the loaded scene on; 0 is no limit",
     .initial = "0",
     .kind = OPTION_DOUBLE,
     .least = 0,
     .most = 1e9,
     OPTION_FIELD(kd_render_options, time_seconds)},
    {.name = "target-error",
     .argument = "E",
     .help = "stop sampling where the picture's estimated relative error (root of its relMSE, by "
             "the variance of each pixel's samples) is at most this: 0.05; --spp or --passes are "
             "then the most; 0 is no such end",
     .initial = "0",
     .kind = OPTION_DOUBLE,
     .least = 0,
     .most = 1e9,
     OPTION_FIELD(kd_render_options, target_error)},
    SHARED_ROW_MAX_DEPTH,
    {.name = "clamp",
     .argument = "L",
     .help = "of path: indirect light adds at most this to a sample at each surface, W/(sr m^2): "
             "less noise, and less light; 0 is all of it",
     .initial = "0",
     .kind = OPTION_FLOAT,
     .least = 0,
     .most = 3e38,
     OPTION_FIELD(kd_render_options, clamp)},
    SHARED_ROW_SEED,
    {.name = NULL}};

static const option_row photon_rows[] = {
    SHARED_ROW_PHOTONS,
    SHARED_ROW_CAUSTIC_PHOTONS,
    SHARED_ROW_MEDIA_PHOTONS,
    {.name = "gather",
     .argument = "K",
     .help = "photons of one density estimate",
     .initial = "50",
     .kind = OPTION_INT32,
     .least = 2,
     .most = ESTIMATE_GATHER_MAX,
     OPTION_FIELD(kd_render_options, gather)},
    {.name = "radius",
     .argument = "R",
     .help = "largest gather radius in scene units; 0 is one from the photons' density",
     .initial = "0",
     .kind = OPTION_FLOAT,
     .least = 0,
     .most = 3e38,
     OPTION_FIELD(kd_render_options, radius)},
    {.name = "kernel",
     .argument = "NAME",
     .help = "weight of a photon by its distance",
     .initial = "cone",
     .kind = OPTION_NAME,
     .choice = photon_kernel_name,
     OPTION_FIELD(kd_render_options, kernel)},
    {.name = "estimator",
     .argument = "NAME",
     .help = "photons of an estimate: the k nearest, all within a fixed --radius, or adaptive: of "
             "the k nearest as many as the light allows",
     .initial = "nearest",
     .kind = OPTION_NAME,
     .choice = photon_estimator_name,
     OPTION_FIELD(kd_render_options, estimator)},
    {.name = "lookup",
     .argument = "NAME",
     .help = "how photons near a place are found: by an index that answers many looks at once, or "
             "by a stack-free walk of the left-balanced tree; the picture is the same",
     .initial = "auto",
     .kind = OPTION_NAME,
     .choice = lookup_choice,
     OPTION_FIELD(kd_render_options, lookup)},
    SHARED_ROW_MEDIA,
    {.name = "photon-map",
     .argument = "FILE.kdp",
     .help = "photons to use instead of new ones, by kandela photons",
     .kind = OPTION_TEXT,
     OPTION_FIELD(kd_render_options, photon_map)},
    {.name = "passes",
     .argument = "N",
     .help = "of ppm and sppm: each makes photon maps of its own and takes a sample of every pixel",
     .initial = "64",
     .kind = OPTION_INT32,
     .least = 1,
     .most = 1 << 24,
     OPTION_FIELD(kd_render_options, passes)},
    {.name = "batches",
     .argument = "N",
     .help = "of photon, ppm and sppm: make the photons in N parts, each a map of its own, one "
             "after the other; --max-memory chooses a number that fits",
     .initial = "1",
     .kind = OPTION_INT32,
     .least = 1,
     .most = 65536,
     OPTION_FIELD(kd_render_options, batches)},
    {.name = "ranks-maps",
     .argument = "HOW",
     .help = "of photon, ppm and sppm on several ranks or devices: whole, each has all photons; "
             "apart, each keeps those that it has traced (photon on CPUs alone); auto chooses by "
             "bytes and by what the connection moves; the picture is the same",
     .initial = "auto",
     .kind = OPTION_NAME,
     .choice = rank_maps_name,
     OPTION_FIELD(kd_render_options, maps)},
    {.name = "alpha",
     .argument = "A",
     .help = "of ppm and sppm: how slowly the gather radius shrinks from pass to pass, 0 to 1",
     .initial = "0.7",
     .kind = OPTION_FLOAT,
     .least = 1e-3,
     .most = 1,
     OPTION_FIELD(kd_render_options, alpha)},
    {.name = "final-gather",
     .argument = "N",
     .help = "rays of the final gather, at most 65536; 0 shows the photon map itself",
     .initial = "0",
     .kind = OPTION_INT32,
     .least = 0,
     .most = FINAL_GATHER_MOST,
     OPTION_FIELD(kd_render_options, final_gather)},
    {.name = "precompute",
     .argument = "on|off",
     .help = "for the final gather: irradiance once per photon, where that is less work",
     .initial = "on",
     .kind = OPTION_CHOICE,
     .choice = switch_choice,
     OPTION_FIELD(kd_render_options, precompute)},
    {.name = NULL}};

static const option_row picture_rows[] = {
    SHARED_ROW_RESOLUTION("512x512"),
    SHARED_ROW_CROP(kd_render_options, "pixels of it, X1 and Y1 excluded, from the top left",
                    65536),
    {.name = "filter",
     .argument = "NAME",
     .help = "how samples lie about their pixel: evenly in it, or as a smooth window of 1.5 pixels "
             "says, or by Mitchell's filter, whose lobes sharpen and cost samples",
     .initial = "box",
     .kind = OPTION_CHOICE,
     .choice = pixel_filter_name,
     OPTION_FIELD(kd_render_options, filter)},
    {.name = "shutter",
     .argument = "FRAMES",
     .help = "how long it stays open: a camera that has keys, or goes round, blurs what it passes",
     .initial = "0",
     .kind = OPTION_FLOAT,
     .least = 0,
     .most = 1e6,
     OPTION_FIELD(kd_render_options, shutter)},
    {.name = "exposure",
     .argument = "auto|STOPS",
     .help = "colours times 2^STOPS, in 8-bit files only; auto raises a dark picture to mid-grey, "
             "but lets "
             "no more than 5 % of it become brighter than white, and says its stops",
     .initial = "0; of a mesh alone: auto",
     .automatic = "auto",
     .kind = OPTION_FLOAT,
     .least = -64,
     .most = 64,
     OPTION_FIELD(kd_render_options, exposure)},
    {.name = "tonemap",
     .argument = "NAME",
     .help = "from radiance to the screen, in 8-bit files only",
     .initial = "linear",
     .kind = OPTION_CHOICE,
     .choice = tonemap_name,
     OPTION_FIELD(kd_render_options, tonemap)},
    {.name = NULL}};

static const option_row scene_rows[] = {
    {.name = "camera",
     .argument = "NAME|N",
     .help = "the camera of that name, or of that number counted from 0, of a glTF file",
     .initial = "the first one",
     .kind = OPTION_TEXT,
     OPTION_FIELD(render_values, camera_name)},
    {.name = "placements",
     .argument = "auto|keep|copy",
     .help = "what is placed many times: kept once, with the same picture, or a copy a placement; "
             "auto copies what takes less than an eighth of the memory (or of --max-memory), and "
             "for methods other than path, direct, whitted and ao",
     .initial = "auto",
     .kind = OPTION_CHOICE,
     .choice = render_placing_name,
     OPTION_FIELD(render_values, placements)},
    {.name = "glass-by-ni",
     .help =
         "sharp materials of MTL files (full Ns) with Ni above 1 are glass, and what glTF files "
         "take for thin sheets is glass all through: Blender says neither",
     .kind = OPTION_FLAG,
     OPTION_FIELD(render_values, glass_by_ni)},
    {.name = NULL}};

const option_row camera_rows[] = {{.name = "eye",
                                   .argument = "X,Y,Z",
                                   .help = "where the camera is",
                                   .kind = OPTION_FLOAT,
                                   .count = 3,
                                   OPTION_FIELD(camera, eye)},
                                  {.name = "look-at",
                                   .argument = "X,Y,Z",
                                   .help = "the point in the picture's middle",
                                   .kind = OPTION_FLOAT,
                                   .count = 3,
                                   OPTION_FIELD(camera, look_at)},
                                  {.name = "up",
                                   .argument = "X,Y,Z",
                                   .help = "a direction that is up in the picture",
                                   .kind = OPTION_FLOAT,
                                   .count = 3,
                                   OPTION_FIELD(camera, up)},
                                  {.name = "fov",
                                   .argument = "DEGREES",
                                   .help = "vertical angle of view",
                                   .kind = OPTION_FLOAT,
                                   .least = 0.01,
                                   .most = 179,
                                   OPTION_FIELD(camera, fov_degrees)},
                                  {.name = "orthographic",
                                   .argument = "HEIGHT",
                                   .help = "parallel rays, which show so much from bottom to top, "
                                           "scene units; 0 is by --fov",
                                   .kind = OPTION_FLOAT,
                                   .least = 0,
                                   .most = 3e38,
                                   OPTION_FIELD(camera, tall)},
                                  {.name = "lens-radius",
                                   .argument = "R",
                                   .help = "of the lens, scene units: what is not at the focus is "
                                           "blurred; 0 is sharp everywhere",
                                   .kind = OPTION_FLOAT,
                                   .least = 0,
                                   .most = 3e38,
                                   OPTION_FIELD(camera, lens_radius)},
                                  {.name = "focus",
                                   .argument = "DISTANCE",
                                   .help = "of what is sharp, along the view axis; 0 is at the "
                                           "point looked at",
                                   .kind = OPTION_FLOAT,
                                   .least = 0,
                                   .most = 3e38,
                                   OPTION_FIELD(camera, focus_distance)},
                                  {.name = NULL}};

const option_group render_groups[] = {
    {"Output", output_rows, 0},
    {"Method", method_rows, offsetof(render_values, render)},
    {"Photons", photon_rows, offsetof(render_values, render)},
    {"Picture", picture_rows, offsetof(render_values, render)},
    {"Scene", scene_rows, 0},
    {"Camera (instead of the scene's)", camera_rows, offsetof(render_values, view)},
    {"Triangle tree", tritree_rows, offsetof(render_values, render)},
    {"Device", device_rows, offsetof(render_values, render)},
    GENERAL_GROUP(render_values),
    {NULL, NULL, 0}};

static const option_row *row_of(const char *name) {
    for (const option_group *group = render_groups; group->rows; ++group)
        for (const option_row *row = group->rows; row->name; ++row)
            if (strcmp(row->name, name) == 0) return row;
    return NULL;
}

kd_status render_values_check_names(const char *path, const kd_render_options *from_file) {
    const char *const names[] = {"integrator", "builder"};
    const char *const given[] = {from_file->integrator, from_file->builder};
    for (int i = 0; i < 2; ++i) {
        const option_row *row = row_of(names[i]);
        const char *best = NULL, *name;
        char known[256] = "";
        for (int k = 0; (name = row->choice(k)) && strcmp(name, given[i]) != 0; ++k) {
            const size_t used = strlen(known);
            snprintf(known + used, sizeof known - used, "%s\"%s\"", used ? ", " : "", name);
            nearest_consider(&best, given[i], name);
        }
        KD_REQUIRE(name, KD_ERROR_INPUT, "%s: render.%s: found \"%s\", expected one of %s%s%s%s",
                   path, names[i], given[i], known, best ? "; did you mean \"" : "",
                   best ? best : "", best ? "\"?" : "");
    }
    return KD_OK;
}

enum { QUICK_SIDE = 320, QUICK_SPP = 4, QUICK_PHOTONS = 50000, QUICK_GATHER_RAYS = 4 };

void render_values_quicken(kd_render_options *options) {
    const int32_t side = options->width > options->height ? options->width : options->height;
    if (side > QUICK_SIDE) {
        int32_t *const pixels[] = {&options->width,   &options->height,  &options->crop[0],
                                   &options->crop[1], &options->crop[2], &options->crop[3]};
        for (int i = 0; i < 6; ++i) {
            const bool shrinks = *pixels[i] > 0;
            *pixels[i] = (int32_t)((int64_t)*pixels[i] * QUICK_SIDE / side);
            /* a size stays a size, a crop that was there stays there */
            if (shrinks && *pixels[i] == 0 && i != 2 && i != 3) *pixels[i] = 1;
        }
    }
    if (options->spp > QUICK_SPP) options->spp = QUICK_SPP;
    if (options->photons > QUICK_PHOTONS) options->photons = QUICK_PHOTONS;
    if (options->caustic_photons > QUICK_PHOTONS) options->caustic_photons = QUICK_PHOTONS;
    if (options->media_photons > QUICK_PHOTONS) options->media_photons = QUICK_PHOTONS;
    if (options->final_gather > QUICK_GATHER_RAYS) options->final_gather = QUICK_GATHER_RAYS;
}

/* Adds ", 4 spp instead of 64" where the numbers differ. */
static void add_reduced(char *text, size_t bytes, uint64_t full, uint64_t quick, const char *what) {
    const size_t used = strlen(text);
    if (full != quick)
        snprintf(text + used, bytes - used, "%s %" PRIu64 " %s instead of %" PRIu64,
                 used ? "," : "", quick, what, full);
}

void render_values_say_reduced(const kd_render_options *full, const kd_render_options *quick) {
    char text[256] = "";
    if (full->width != quick->width || full->height != quick->height)
        snprintf(text, sizeof text, " %dx%d pixels instead of %dx%d", quick->width, quick->height,
                 full->width, full->height);
    add_reduced(text, sizeof text, (uint64_t)full->spp, (uint64_t)quick->spp, "spp");
    if (integrator_maps(integrator_find(full->integrator), full) != MAPS_NONE) {
        add_reduced(text, sizeof text, full->photons, quick->photons, "photons");
        add_reduced(text, sizeof text, full->caustic_photons, quick->caustic_photons,
                    "caustic photons");
        add_reduced(text, sizeof text, full->media_photons, quick->media_photons, "media photons");
        add_reduced(text, sizeof text, (uint64_t)full->final_gather, (uint64_t)quick->final_gather,
                    "rays of the final gather");
    }
    general_note("quick:%s", text[0] ? text : " nothing to reduce");
}

void render_values_print_choice(const render_values *of, const scene_view *view,
                                const maps_choice *choice) {
    const kd_render_options *options = &of->render;
    printf("%-25s %14d\n", "ranks", choice->rank_count);
    printf("%-25s %14" PRIu64 "\n", "sent a rank",
           render_plan_sent(view, options, choice->rank_count, choice->on_devices));
    if (choice->bandwidth > 0)
        printf("%-25s %14.0f\n", "bytes a second out of one", choice->bandwidth);
    if (!integrator_find(options->integrator)->take_apart) return;
    printf("%-25s %14s\n", "photons", options->maps);
    for (int i = RANK_MAPS_WHOLE; i < RANK_MAPS; ++i)
        if (choice->sent[i])
            printf("sent with photons %-7s %14" PRIu64 "\n", rank_maps_name(i), choice->sent[i]);
}
