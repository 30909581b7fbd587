#include "tools/program/render_values.h"
#include "core/device/device.h"
#include "core/image/formats.h"
#include "core/names.h"
#include "core/parallel/parallel.h"
#include "core/system/machine.h"
#include "distributed/ranks/ranks.h"
#include "render/api/plan.h"
#include "render/api/render.h"
#include "render/integrators/integrators.h"
#include "scenes/assembly/look.h"
#include "scenes/assembly/scene_camera.h"
#include "scenes/describe/render_options.h"
#include "scenes/mesh/origin.h"
#include <inttypes.h>
#include <stdio.h>

static const option_row output_rows[] = {
    {OPTION_ROW(render_values, "output", OPTION_LIST, outputs), .short_name = 'o',
     .argument = "FILE", .choice = image_format_suffix, .initial = "SCENE.png", .daily = true,
     .help = "picture to write (repeatable)"},
    {OPTION_ROW(render_values, "format", OPTION_NAME, format), .argument = "NAME",
     .choice = image_format_name, .initial = "png", .by_build = true,
     .help = "format of the picture that -o - writes to standard output"},
    {OPTION_ROW(render_values, "quick", OPTION_FLAG, quick), .daily = true,
     .help = "preview: at most 320x320 pixels, 4 spp, 4 passes, 50K photons"},
    {OPTION_ROW(render_values, "denoise", OPTION_FLAG, denoise), .daily = true,
     .help = "denoise the finished picture with Open Image Denoise"},
    {OPTION_ROW(render_values, "frames", OPTION_INT32, frames), .argument = "A-B", .count = 2,
     .minimum = 0, .maximum = 1000000, .separator = '-',
     .help = "render frames A to B of an animation; #### in a file name stands for the number"},
    {OPTION_ROW(render_values, "turntable", OPTION_FLAG, turntable),
     .help = "with --frames: turn the camera once around the point it looks at"},
    {OPTION_ROW(render_values, "stats", OPTION_TEXT, stats), .argument = "FILE.json", .daily = true,
     .help = "write times, memory, counts and hashes as JSON"},
    PROGRESS_ROW(render_values),
    {OPTION_ROW(render_values, "save-every", OPTION_DOUBLE, save_seconds), .argument = "SECONDS",
     .initial = "never; sppm, light, vcm: 30", .minimum = 0, .maximum = 1e9, .unit = "seconds",
     .help = "write the pictures and FILE.state at this interval; 0: only at the end"},
    {OPTION_ROW(render_values, "resume", OPTION_FLAG, resume),
     .help = "continue from FILE.state (FILE: the first picture); bit-identical to an "
             "uninterrupted rendering"},
    {OPTION_ROW(render_values, "display-server", OPTION_TEXT, display), .argument = "HOST:PORT",
     .help = "show the picture during rendering in tev (localhost:14158) or a compatible viewer"},
    {OPTION_ROW(render_values, "serve", OPTION_TEXT, serve), .argument = "ADDRESS:PORT",
     .optional = true, .initial_help = "127.0.0.1:7410",
     .help = "show the rendering in a browser while it runs, on a page at this address"},
    {OPTION_ROW(render_values, "reference", OPTION_TEXT, reference), .argument = "FILE",
     .help = "a picture that the live view compares with: EXR, PFM and other formats"},
    {.name = NULL}};

static const option_row scene_rows[] = {
    {OPTION_ROW(render_values, "env", OPTION_TEXT, environment), .argument = "FILE", .daily = true,
     .help = "light the scene with this latitude-longitude image"},
    {OPTION_ROW(render_values, "camera", OPTION_TEXT, camera_name), .argument = "NAME|N",
     .initial = "the first", .help = "camera of a glTF file, by name or by number from 0"},
    {OPTION_ROW(render_values, "view", OPTION_CHOICE, side), .argument = "SIDE", .initial = "scene",
     .choice = scene_side_name,
     .help = "see the whole scene from this side; scene: by its own camera"},
    {OPTION_ROW(render_values, "placements", OPTION_CHOICE, instances), .argument = "MODE",
     .initial = "auto", .choice = render_instancing_name,
     .help = "keep instances, or copy their meshes; auto: copy if that takes at most 1/8 of the "
             "memory"},
    {OPTION_ROW(render_values, "glass-by-ni", OPTION_FLAG, glass_by_ni),
     .help =
         "render sharp MTL materials with Ni > 1, and thin-walled glTF materials, as solid glass"},
    {.name = NULL}};

const option_row camera_rows[] = {
    {OPTION_ROW(camera_values, "eye", OPTION_DOUBLE, eye), .argument = "X,Y,Z", .daily = true,
     .count = 3, .minimum = -3e38, .maximum = 3e38, .unit = "scene units",
     .help = "camera position"},
    {OPTION_ROW(camera_values, "look-at", OPTION_DOUBLE, look_at), .argument = "X,Y,Z",
     .daily = true, .count = 3, .minimum = -3e38, .maximum = 3e38, .unit = "scene units",
     .help = "point at the centre of the picture"},
    {OPTION_ROW(camera_values, "up", OPTION_FLOAT, up), .argument = "X,Y,Z", .count = 3,
     .help = "up direction of the camera"},
    {OPTION_ROW(camera_values, "fov", OPTION_FLOAT, fov_degrees), .argument = "DEGREES",
     .daily = true, .minimum = 0.01, .maximum = 179, .unit = "degrees",
     .help = "vertical field of view"},
    {OPTION_ROW(camera_values, "orthographic", OPTION_FLOAT, tall), .argument = "HEIGHT",
     .minimum = 0, .maximum = 3e38, .unit = "scene units",
     .help = "orthographic view of this height; 0: perspective"},
    {OPTION_ROW(camera_values, "lens-radius", OPTION_FLOAT, lens_radius), .argument = "R",
     .minimum = 0, .maximum = 3e38, .unit = "scene units",
     .help = "lens radius of a thin-lens camera, for depth of field; 0: everything is in focus"},
    {OPTION_ROW(camera_values, "focus", OPTION_FLOAT, focus_distance), .argument = "DISTANCE",
     .minimum = 0, .maximum = 3e38, .unit = "scene units",
     .help = "distance of the focal plane along the view axis; 0: that of --look-at"},
    {.name = NULL}};

static const option_row memory_rows[] = {
    {OPTION_ROW(render_values, "max-memory", OPTION_BYTES, max_memory), .argument = "BYTES",
     .initial = "0",
     .help = "limit memory use, the scene excluded (500M, 1.5G), by emitting photons in batches; "
             "0: no limit"},
    {OPTION_ROW(render_values, "plan", OPTION_FLAG, plan),
     .help = "print the memory that the rendering needs, the scene excluded, and exit"},
    {OPTION_ROW(render_values, "ranks-inexact", OPTION_FLAG, ranks_inexact),
     .help = "with MPI ranks and --max-memory: allow --batches; the picture is then not "
             "bit-identical to that of one rank"},
    {.name = NULL}};

#define RENDER_GROUP(heading, rows)                                                                \
    { heading, rows, offsetof(render_values, render), NULL }

/* `outputs`: those of output_rows that the command has, or NULL: all. */
#define GROUPS(outputs)                                                                            \
    {"Output", output_rows, 0, outputs}, RENDER_GROUP("Method", render_method_rows),               \
        RENDER_GROUP("Photons", render_photon_rows), RENDER_GROUP("Picture", render_picture_rows), \
        {"Scene", scene_rows, 0, NULL}, RENDER_GROUP("Scene", render_input_rows),                  \
        {"Scene", camera_rows, offsetof(render_values, view), NULL},                               \
        RENDER_GROUP("Device", render_device_rows), {"Device", memory_rows, 0, NULL},              \
        {"General", general_rows, offsetof(render_values, general), "quiet,verbose,help"},         \
        RENDER_GROUP("Laboratory", render_lab_rows), {                                             \
        NULL, NULL, 0, NULL                                                                        \
    }

const option_group render_groups[] = {GROUPS(NULL)};
/* The others are for pictures that are written without being asked for. */
const option_group serve_groups[] = {
    GROUPS("output,quick,progress,display-server,serve,reference")};

const help_pair render_examples[] = {
    {"kandela render bunny.obj",
     "render a mesh file to bunny.png, with automatic camera and light"},
    {"kandela render scene.json --spp 256 -o scene.exr -o scene.png",
     "trace 256 paths per pixel; write radiance and an 8-bit picture"},
    {"kandela render scene.json --integrator sppm --photons 500K --time 60",
     "render caustics by progressive photon mapping, for one minute"},
    {NULL, NULL}};

const help_pair serve_examples[] = {
    {"kandela serve scene.json", "show scene.json in a browser on this machine"},
    {"kandela serve scene.json --serve=7000 -o scene.exr",
     "use port 7000, for ssh -L 7000:127.0.0.1:7000 HOST; save to scene.exr"},
    {NULL, NULL}};

enum {
    QUICK_SIDE = 320,
    QUICK_SPP = 4,
    QUICK_PHOTONS = 50000,
    QUICK_GATHER_RAYS = 4,
    QUICK_PASSES = 4
};

void render_values_quicken(kd_render_options *options, const char *method) {
    const bool progressive = integrator_find(method)->pass != NULL; /* photons in each pass */
    const uint64_t photons = progressive ? QUICK_PHOTONS / QUICK_PASSES : QUICK_PHOTONS;
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
    if (options->passes > QUICK_PASSES) options->passes = QUICK_PASSES;
    if (options->photons > photons) options->photons = photons;
    if (options->caustic_photons > photons) options->caustic_photons = photons;
    if (options->media_photons > photons) options->media_photons = photons;
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
    const integrator *method = integrator_find(full->integrator);
    if (method->pass && !method->passes_are_samples)
        add_reduced(text, sizeof text, (uint64_t)full->passes, (uint64_t)quick->passes, "passes");
    else
        add_reduced(text, sizeof text, (uint64_t)full->spp, (uint64_t)quick->spp, "spp");
    if (integrator_maps(method, full) != MAPS_NONE) {
        add_reduced(text, sizeof text, full->photons, quick->photons, "photons");
        add_reduced(text, sizeof text, full->caustic_photons, quick->caustic_photons,
                    "caustic photons");
        add_reduced(text, sizeof text, full->media_photons, quick->media_photons, "media photons");
        add_reduced(text, sizeof text, (uint64_t)full->final_gather, (uint64_t)quick->final_gather,
                    "rays of the final gather");
    }
    general_note("quick:%s", text[0] ? text : " options are not reduced");
}

static void print_choice(const render_values *values, const scene_view *view,
                         const maps_choice *choice) {
    const kd_render_options *options = &values->render;
    printf("%-25s %14d\n", "ranks", choice->rank_count);
    printf("%-25s %14" PRIu64 "\n", "bytes sent per rank",
           render_plan_sent(view, options, choice->rank_count, choice->on_devices));
    if (choice->bandwidth > 0)
        printf("%-25s %14.0f\n", "bytes per second and rank", choice->bandwidth);
    if (!integrator_find(options->integrator)->take_distributed) return;
    printf("%-25s %14s\n", "photons", options->maps);
    for (int i = RANK_MAPS_WHOLE; i < RANK_MAPS; ++i)
        if (choice->sent[i])
            printf("sent with photons %-7s %14" PRIu64 "\n", rank_maps_name(i), choice->sent[i]);
}

static void print_plan(const render_values *values, const render_plan *plan, const scene_view *view,
                       const maps_choice *choice) {
    for (int i = 0; i < plan->count; ++i)
        printf("%s%-*s %14" PRIu64 "\n", plan->rows[i].on_device ? "device " : "",
               plan->rows[i].on_device ? 18 : 25, plan->rows[i].name, plan->rows[i].bytes);
    printf("%-25s %14" PRIu64 "\n", "total", plan->total);
    if (plan->device_total) printf("%-25s %14" PRIu64 "\n", "device total", plan->device_total);
    if (integrator_find(values->render.integrator)->batches_max)
        printf("%-25s %14d\n", "batches", values->render.batches);
    if (choice->rank_count > 1) print_choice(values, view, choice);
}

kd_status render_values_plan(render_values *values, const scene *loaded, ranks *comm,
                             maps_choice *choice) {
    render_plan plan;
    const int32_t requested = values->render.batches;
    const scene_view view = scene_get_view(loaded);
    choice->rank_count = ranks_shared(comm) ? comm->size : device_list_count(values->render.device);
    choice->inexact = values->ranks_inexact;
    KD_TRY(ranks_measure(comm, &choice->bandwidth));
    bool cpus = false;
    KD_TRY(ranks_any(comm, !render_is_on_devices(&values->render), &cpus));
    choice->on_devices = !cpus;
    KD_TRY(render_plan_fit_among(&plan, &view, &values->render, values->max_memory, choice));
    /* rank 0's choice applies to all ranks */
    KD_TRY(ranks_broadcast(comm, &values->render.batches, sizeof values->render.batches));
    KD_TRY(ranks_broadcast(comm, values->render.maps, sizeof values->render.maps));
    const int32_t batches = values->render.batches;
    if (batches > requested && !values->plan)
        general_note("photons are emitted in %d batches of 1/%d each, to use at most %" PRIu64
                     " bytes",
                     batches, batches, values->max_memory);
    if (!values->plan || comm->rank > 0) return KD_OK;
    print_plan(values, &plan, &view, choice);
    return KD_OK;
}

camera_values camera_values_of(const camera *view, const double origin[3]) {
    camera_values made = {{0, 0, 0},         {0, 0, 0},         view->up,
                          view->fov_degrees, view->lens_radius, view->focus_distance,
                          view->tall};
    origin_to_world(made.eye, origin, view->eye);
    origin_to_world(made.look_at, origin, view->look_at);
    return made;
}

void camera_values_apply(camera *view, const camera_values *before, const camera_values *after,
                         const double origin[3]) {
    const vec3 eye = origin_to_local(origin, after->eye);
    const vec3 look_at = origin_to_local(origin, after->look_at);
    for (int i = 0; i < 3; ++i) { /* the others keep bits that they would lose far from 0 */
        if (after->eye[i] != before->eye[i]) vec3_set_axis(&view->eye, i, vec3_axis(eye, i));
        if (after->look_at[i] != before->look_at[i])
            vec3_set_axis(&view->look_at, i, vec3_axis(look_at, i));
    }
    view->up = after->up;
    view->fov_degrees = after->fov_degrees;
    view->lens_radius = after->lens_radius;
    view->focus_distance = after->focus_distance;
    view->tall = after->tall;
}

kd_status render_values_fit(const render_values *values, const option_line *line, scene *scene,
                            camera *view) {
    static const char *const changes[] = {"orthographic", "lens-radius", "focus"};
    const float aspect = (float)values->render.width / (float)values->render.height;
    const bool own = option_line_has(line, "eye") || option_line_has(line, "look-at") ||
                     values->camera_name || !scene_camera_is_default(scene);
    const bool fits = !own && look_fits_camera(scene, &values->render);
    const bool turned = option_line_has(line, "up"), has_fov = option_line_has(line, "fov");
    bool changed = values->turntable || values->side;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i)
        changed |= option_line_has(line, changes[i]);
    render_values given = {.view = camera_values_of(view, scene_origin(scene))};
    KD_TRY(option_line_apply(line, &given));
    if (turned && !vec3_is_zero(given.view.up)) scene_set_up(scene, given.view.up);
    if (fits && (changed || turned || has_fov)) look_camera(view, scene, aspect);
    if (has_fov) view->fov_degrees = given.view.fov_degrees;
    if (turned) view->up = given.view.up;
    if (values->side)
        scene_view_from(scene, values->side, aspect, view);
    else if (fits && (changed || turned || has_fov))
        scene_three_quarters(scene, aspect, view);
    const bool usual = vec3_is_zero(vec3_sub(view->up, scene_up(scene)));
    if (fits && usual && !changed && (turned || has_fov)) /* it enters rooms */
        scene_set_default_camera(scene, view, has_fov);
    return KD_OK;
}

void render_values_place(const ranks *comm, kd_render_options *options, const option_line *line) {
    if (!ranks_shared(comm)) return;
    const bool any = strcmp(options->device, "cuda") == 0 || name_is_auto(options->device);
    const int devices = any && comm->locals > 1 ? device_cuda_count() : 0;
    if (devices > 1)
        snprintf(options->device, sizeof options->device, "cuda:%d", comm->local % devices);
    /* A launcher that bound this process to cores has distributed them already. */
    const int cores = cores_count();
    if (options->threads > 0 || option_line_has(line, "threads") || comm->locals < 2) return;
    if (cores < machine_cores_online()) return;
    options->threads = cores / comm->locals > 1 ? cores / comm->locals : 1;
}
