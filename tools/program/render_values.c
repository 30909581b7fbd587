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
     .help = "picture to write (repeatable)",
     .choice = image_format_suffix,
     .initial = "SCENE.png",
     .daily = true,
     .kind = OPTION_LIST,
     OPTION_FIELD(render_values, outputs)},
    {.name = "quick",
     .help = "preview: at most 320x320 pixels, 4 spp, 50000 photons",
     .daily = true,
     .kind = OPTION_FLAG,
     OPTION_FIELD(render_values, quick)},
    {.name = "denoise",
     .help = "denoise the finished picture with Open Image Denoise",
     .daily = true,
     .kind = OPTION_FLAG,
     OPTION_FIELD(render_values, denoise)},
    {.name = "frames",
     .argument = "A-B",
     .help = "render frames A to B of an animation; #### in a file name stands for the number",
     .kind = OPTION_INT32,
     .count = 2,
     .minimum = 0,
     .maximum = 1000000,
     .separator = '-',
     OPTION_FIELD(render_values, frames)},
    {.name = "turntable",
     .help = "with --frames: turn the camera once around the point it looks at",
     .kind = OPTION_FLAG,
     OPTION_FIELD(render_values, turntable)},
    {.name = "stats",
     .argument = "FILE.json",
     .help = "write times, memory, counts and hashes as JSON",
     .daily = true,
     .kind = OPTION_TEXT,
     OPTION_FIELD(render_values, stats)},
    PROGRESS_ROW(render_values),
    {.name = "save-every",
     .argument = "SECONDS",
     .help = "write the pictures and FILE.state at this interval; 0: only at the end",
     .initial = "never; ppm, sppm: 30",
     .kind = OPTION_DOUBLE,
     .minimum = 0,
     .maximum = 1e9,
     .unit = "seconds",
     OPTION_FIELD(render_values, save_seconds)},
    {.name = "resume",
     .help = "continue from FILE.state (FILE: the first picture); bit-identical to an "
             "uninterrupted rendering",
     .kind = OPTION_FLAG,
     OPTION_FIELD(render_values, resume)},
    {.name = "display-server",
     .argument = "HOST:PORT",
     .help = "show the picture during rendering in tev (localhost:14158) or a compatible viewer",
     .kind = OPTION_TEXT,
     OPTION_FIELD(render_values, display)},
    {.name = NULL}};

static const option_row scene_rows[] = {
    {.name = "env",
     .argument = "FILE",
     .help = "light the scene with this latitude-longitude image",
     .daily = true,
     .kind = OPTION_TEXT,
     OPTION_FIELD(render_values, environment)},
    {.name = "camera",
     .argument = "NAME|N",
     .help = "camera of a glTF file, by name or by number from 0",
     .initial = "the first",
     .kind = OPTION_TEXT,
     OPTION_FIELD(render_values, camera_name)},
    {.name = "placements",
     .argument = "MODE",
     .help = "keep instances, or copy their meshes; auto: copy if that takes at most 1/8 of the "
             "memory",
     .initial = "auto",
     .kind = OPTION_CHOICE,
     .choice = render_instancing_name,
     OPTION_FIELD(render_values, instances)},
    {.name = "glass-by-ni",
     .help =
         "render sharp MTL materials with Ni > 1, and thin-walled glTF materials, as solid glass",
     .kind = OPTION_FLAG,
     OPTION_FIELD(render_values, glass_by_ni)},
    {.name = NULL}};

const option_row camera_rows[] = {
    {.name = "eye",
     .argument = "X,Y,Z",
     .help = "camera position",
     .daily = true,
     .kind = OPTION_FLOAT,
     .count = 3,
     .unit = "scene units",
     OPTION_FIELD(camera, eye)},
    {.name = "look-at",
     .argument = "X,Y,Z",
     .help = "point at the centre of the picture",
     .daily = true,
     .kind = OPTION_FLOAT,
     .count = 3,
     .unit = "scene units",
     OPTION_FIELD(camera, look_at)},
    {.name = "up",
     .argument = "X,Y,Z",
     .help = "up direction of the camera",
     .kind = OPTION_FLOAT,
     .count = 3,
     OPTION_FIELD(camera, up)},
    {.name = "fov",
     .argument = "DEGREES",
     .help = "vertical field of view",
     .daily = true,
     .kind = OPTION_FLOAT,
     .minimum = 0.01,
     .maximum = 179,
     .unit = "degrees",
     OPTION_FIELD(camera, fov_degrees)},
    {.name = "orthographic",
     .argument = "HEIGHT",
     .help = "orthographic view of this height; 0: perspective",
     .kind = OPTION_FLOAT,
     .minimum = 0,
     .maximum = 3e38,
     .unit = "scene units",
     OPTION_FIELD(camera, tall)},
    {.name = "lens-radius",
     .argument = "R",
     .help = "lens radius of a thin-lens camera, for depth of field; 0: everything is in focus",
     .kind = OPTION_FLOAT,
     .minimum = 0,
     .maximum = 3e38,
     .unit = "scene units",
     OPTION_FIELD(camera, lens_radius)},
    {.name = "focus",
     .argument = "DISTANCE",
     .help = "distance of the focal plane along the view axis; 0: that of --look-at",
     .kind = OPTION_FLOAT,
     .minimum = 0,
     .maximum = 3e38,
     .unit = "scene units",
     OPTION_FIELD(camera, focus_distance)},
    {.name = NULL}};

static const option_row memory_rows[] = {
    {.name = "max-memory",
     .argument = "BYTES",
     .help = "limit memory use, the scene excluded (500M, 1.5G), by emitting photons in batches; "
             "0: no limit",
     .initial = "0",
     .kind = OPTION_BYTES,
     OPTION_FIELD(render_values, max_memory)},
    {.name = "plan",
     .help = "print the memory that the rendering needs, the scene excluded, and exit",
     .kind = OPTION_FLAG,
     OPTION_FIELD(render_values, plan)},
    {.name = "ranks-inexact",
     .help = "with MPI ranks and --max-memory: allow --batches; the picture is then not "
             "bit-identical to that of one rank",
     .kind = OPTION_FLAG,
     OPTION_FIELD(render_values, ranks_inexact)},
    {.name = NULL}};

#define RENDER_GROUP(heading, rows)                                                                \
    { heading, rows, offsetof(render_values, render), NULL }

const option_group render_groups[] = {
    {"Output", output_rows, 0, NULL},
    RENDER_GROUP("Method", render_method_rows),
    RENDER_GROUP("Photons", render_photon_rows),
    RENDER_GROUP("Picture", render_picture_rows),
    {"Scene", scene_rows, 0, NULL},
    RENDER_GROUP("Scene", render_input_rows),
    {"Scene", camera_rows, offsetof(render_values, view), NULL},
    RENDER_GROUP("Device", render_device_rows),
    {"Device", memory_rows, 0, NULL},
    {"General", general_rows, offsetof(render_values, general), "quiet,verbose,help"},
    RENDER_GROUP("Laboratory", render_lab_rows),
    {NULL, NULL, 0, NULL}};

const help_pair render_examples[] = {
    {"kandela render bunny.obj",
     "render a mesh file to bunny.png, with automatic camera and light"},
    {"kandela render scene.json --spp 256 -o scene.exr -o scene.png",
     "trace 256 paths per pixel; write radiance and an 8-bit picture"},
    {"kandela render scene.json --integrator sppm --photons 500K --time 60",
     "render caustics by progressive photon mapping, for one minute"},
    {NULL, NULL}};

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
static void add_reduced(char *text, size_t bytes, uint64_t full, uint64_t quick,
                        const char *label) {
    const size_t used = strlen(text);
    if (full != quick)
        snprintf(text + used, bytes - used, "%s %" PRIu64 " %s instead of %" PRIu64,
                 used ? "," : "", quick, label, full);
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
    general_note("quick:%s", text[0] ? text : " options are not reduced");
}

void render_values_print_choice(const render_values *values, const scene_view *view,
                                const maps_choice *choice) {
    const kd_render_options *options = &values->render;
    printf("%-25s %14d\n", "ranks", choice->rank_count);
    printf("%-25s %14" PRIu64 "\n", "bytes sent per rank",
           render_plan_sent(view, options, choice->rank_count, choice->on_devices));
    if (choice->bandwidth > 0)
        printf("%-25s %14.0f\n", "bytes per second and rank", choice->bandwidth);
    if (!integrator_find(options->integrator)->take_apart) return;
    printf("%-25s %14s\n", "photons", options->maps);
    for (int i = RANK_MAPS_WHOLE; i < RANK_MAPS; ++i)
        if (choice->sent[i])
            printf("sent with photons %-7s %14" PRIu64 "\n", rank_maps_name(i), choice->sent[i]);
}
