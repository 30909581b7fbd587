#include "tools/program/render_values.h"
#include "core/image/formats.h"
#include "render/api/plan.h"
#include "render/api/render.h"
#include "render/integrators/integrators.h"
#include "scenes/describe/render_options.h"
#include <inttypes.h>
#include <stdio.h>

static const option_row output_rows[] = {
    {.name = "output",
     .short_name = 'o',
     .argument = "FILE",
     .help = "picture to write, may be given several times; by its suffix",
     .choice = image_format_suffix,
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
    PROGRESS_ROW(render_values),
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
     .initial = "never; progressive methods: 30",
     .kind = OPTION_DOUBLE,
     .least = 0,
     .most = 1e9,
     OPTION_FIELD(render_values, save_seconds)},
    {.name = "resume",
     .help = "go on from the state beside the first picture (FILE.state), which --save-every and "
             "renderings that are interrupted leave there: the same bits as without a stop",
     .kind = OPTION_FLAG,
     OPTION_FIELD(render_values, resume)},
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
             "for methods that need copies",
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

#define RENDER_GROUP(heading, rows)                                                                \
    { heading, rows, offsetof(render_values, render), NULL }

const option_group render_groups[] = {
    {"Output", output_rows, 0, NULL},
    RENDER_GROUP("Method", render_method_rows),
    RENDER_GROUP("Photons", render_photon_rows),
    RENDER_GROUP("Picture", render_picture_rows),
    {"Scene", scene_rows, 0, NULL},
    RENDER_GROUP("Scene files", render_input_rows),
    {"Camera (instead of the scene's)", camera_rows, offsetof(render_values, view), NULL},
    RENDER_GROUP("Device", render_device_rows),
    {"General options", general_rows, offsetof(render_values, general), "quiet,verbose,help"},
    RENDER_GROUP("Laboratory", render_lab_rows),
    {NULL, NULL, 0, NULL}};

enum { QUICK_SIDE = 320, QUICK_SPP = 4, QUICK_PHOTONS = 50000, QUICK_GATHER_RAYS = 4 };

void render_values_quicken(kd_render_options *options) {
    const int32_t side = options->width > options->height ? options->width : options->height;
    if (side > QUICK_SIDE) {
        int32_t *const pixels[] = {&options->width,   &options->height,  &options->crop[0],
                                   &options->crop[1], &options->crop[2], &options->crop[3]};
        for (int i = 0; i < 6; ++i) {
            const bool shrinks = *pixels[i] > 0;
            *pixels[i] = (int32_t)((int64_t)*pixels[i] * QUICK_SIDE / side);
            /* keep sizes positive, and a crop non-empty */
            if (shrinks && *pixels[i] == 0 && i != 2 && i != 3) *pixels[i] = 1;
        }
    }
    if (options->spp > QUICK_SPP) options->spp = QUICK_SPP;
    if (options->photons > QUICK_PHOTONS) options->photons = QUICK_PHOTONS;
    if (options->caustic_photons > QUICK_PHOTONS) options->caustic_photons = QUICK_PHOTONS;
    if (options->media_photons > QUICK_PHOTONS) options->media_photons = QUICK_PHOTONS;
    if (options->final_gather > QUICK_GATHER_RAYS) options->final_gather = QUICK_GATHER_RAYS;
}

/* Appends ", 4 spp instead of 64" if the numbers differ. */
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
