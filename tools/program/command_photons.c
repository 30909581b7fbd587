/* kandela photons: creates, inspects, merges and filters files of photon maps. */
#include "core/memory.h"
#include "photon/maps/photon_file.h"
#include "render/api/render.h"
#include "scenes/assembly/scene.h"
#include "scenes/describe/render_options.h"
#include "scenes/mesh/origin.h"
#include "tools/program/command.h"
#include "tools/program/output.h"
#include "tools/program/progress.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ANY = -1 };
static const char *const list_names[PHOTON_LISTS] = {"global", "caustic", "media"};

typedef struct photons_values {
    general_options general;
    const char *output;
    kd_render_options render; /* options of emission */
    int32_t light, bounce;    /* values to keep, or ANY */
    int32_t progress;
} photons_values;

static kd_status save(const photons_values *values, const photon_file *file) {
    KD_TRY(photon_file_write(values->output, file));
    puts(values->output);
    return KD_OK;
}

static kd_status write_photons(const photons_values *values, const char *path, job_control *job) {
    kd_status status = KD_OK;
    scene *loaded = NULL;
    photon_file file;
    kd_render_options unused;
    memset(&file, 0, sizeof file);
    kd_render_options_default(&unused);
    render_options_take_input(&unused, &values->render);
    KD_TRY(output_check(values->output));
    KD_TRY(output_check_input(path));
    KD_TRY_GOTO(scene_open(&loaded, path, &unused, job));
    KD_TRY_GOTO(output_check_inputs());
    KD_TRY_GOTO(photons_emit(&file, loaded, &values->render, job));
    progress_close();
    KD_TRY_GOTO(save(values, &file));
done:
    photon_file_close(&file);
    scene_close(loaded);
    return status;
}

static void print_info(const photon_file *file) {
    printf("scene %016" PRIx64 "\n", file->scene);
    if (!origin_is_zero(file->origin))
        printf("origin %.15g,%.15g,%.15g\n", file->origin[0], file->origin[1], file->origin[2]);
    for (int i = 0; i < PHOTON_LISTS; ++i) {
        const photon_list *list = &file->lists[i];
        double watts = 0;
        for (uint64_t p = 0; p < list->count; ++p) watts += photon_watts(list->photons[p].power);
        printf("%s: %" PRIu64 " photons of %" PRIu64 " paths, %.6g W stored of %.6g W emitted%s\n",
               list_names[i], list->count, list->emitted, watts, list->ledger.emitted,
               list->complete ? "" : ", fewer than requested");
    }
}

static void print_vector(vec3 v) {
    printf(",%.9g,%.9g,%.9g", (double)v.x, (double)v.y, (double)v.z);
}

/* Prints a position in the coordinates of the scene's files. */
static void print_place(const double origin[3], vec3 local) {
    double at[3];
    origin_to_world(at, origin, local);
    if (origin_is_zero(origin))
        print_vector(local);
    else
        printf(",%.15g,%.15g,%.15g", at[0], at[1], at[2]);
}

static void print_photons(const photon_file *file) {
    puts("map,x,y,z,power_r,power_g,power_b,direction_x,direction_y,direction_z,normal_x,normal_y,"
         "normal_z,triangle,path,light,bounce");
    for (int i = 0; i < PHOTON_LISTS; ++i)
        for (uint64_t p = 0; p < file->lists[i].count; ++p) {
            const photon *one = &file->lists[i].photons[p];
            fputs(list_names[i], stdout);
            print_place(file->origin, one->position);
            print_vector(one->power);
            print_vector(one->direction);
            print_vector(one->normal);
            printf(",%" PRIu32 ",%" PRIu32 ",%u,%u\n", one->triangle, one->path, one->light,
                   one->bounce);
        }
}

/* Powers are not rescaled: the result is that part of the light. */
static kd_status filter(photon_file *file, const photons_values *values) {
    for (int i = 0; i < PHOTON_LISTS; ++i) {
        photon_list *list = &file->lists[i];
        KD_TRY(photon_list_copy_borrowed(list));
        uint64_t kept = 0;
        for (uint64_t p = 0; p < list->count; ++p) {
            const photon one = list->photons[p];
            if (values->light != ANY && one.light != values->light) continue;
            if (values->bounce != ANY && one.bounce != values->bounce) continue;
            list->photons[kept++] = one;
        }
        list->count = kept;
    }
    return KD_OK;
}

static kd_status merge(photon_file *out, const option_line *line) {
    const int count = line->argument_count - 1;
    const char *const *names = (const char *const *)(line->arguments + 1);
    kd_status status = KD_OK;
    photon_file *maps = NULL;
    KD_TRY(KD_RESERVE_ZEROED(maps, (uint64_t)count));
    for (int i = 0; i < count && status == KD_OK; ++i)
        status = photon_file_open(&maps[i], names[i]);
    if (status == KD_OK) status = photon_file_merge(out, maps, names, count);
    for (int i = 0; i < count; ++i) photon_file_close(&maps[i]);
    memory_free(maps);
    return status;
}

/* The actions info, dump, merge and filter, which read existing maps. */
static kd_status work_on(const photons_values *values, const option_line *line,
                         const char *action) {
    const bool writes = strcmp(action, "merge") == 0 || strcmp(action, "filter") == 0;
    KD_REQUIRE(line->argument_count >= 2, KD_ERROR_USAGE,
               "photons %s: a map is missing; usage: kandela photons %s MAP", action, action);
    KD_REQUIRE(line->argument_count == 2 || strcmp(action, "merge") == 0, KD_ERROR_USAGE,
               "photons %s: %d maps are given; it takes one", action, line->argument_count - 1);
    if (writes) KD_TRY(output_check(values->output));
    for (int i = 1; i < line->argument_count; ++i) KD_TRY(output_check_input(line->arguments[i]));
    kd_status status = KD_OK;
    photon_file file;
    memset(&file, 0, sizeof file);
    KD_TRY(strcmp(action, "merge") == 0 ? merge(&file, line)
                                        : photon_file_open(&file, line->arguments[1]));
    if (strcmp(action, "filter") == 0) KD_TRY_GOTO(filter(&file, values));
    if (writes) KD_TRY_GOTO(save(values, &file));
    if (strcmp(action, "info") == 0) print_info(&file);
    if (strcmp(action, "dump") == 0) print_photons(&file);
done:
    photon_file_close(&file);
    return status;
}

static kd_status run(const option_line *line) {
    static const char *const actions[] = {"info", "dump", "merge", "filter"};
    photons_values values = {.output = "photons.kdp", .light = ANY, .bounce = ANY};
    kd_render_options_default(&values.render);
    KD_TRY(option_line_apply(line, &values));
    general_apply(&values.general);
    KD_TRY(command_arguments(line, &command_photons, 1, -1));
    for (int i = 0; i < 4; ++i)
        if (strcmp(line->arguments[0], actions[i]) == 0) return work_on(&values, line, actions[i]);
    KD_TRY(command_arguments(line, &command_photons, 1, 1));
    static job_control job; /* static, because a late signal may still access it */
    job_init(&job);
    interrupt_watch(&job, true);
    progress_open(values.general.quiet ? PROGRESS_OFF : (progress_mode)values.progress, &job);
    const kd_status status = write_photons(&values, line->arguments[0], &job);
    progress_close();
    return status;
}

static const option_row rows[] = {
    {OPTION_ROW(photons_values, "output", OPTION_TEXT, output), .short_name = 'o',
     .argument = "FILE.kdp", .initial = "photons.kdp", .help = "photon map to write"},
    {OPTION_ROW(photons_values, "light", OPTION_INT32, light), .argument = "N", .initial = "-1",
     .minimum = -1, .maximum = 65535,
     .help = "filter: keep the photons of light N only; -1: of all lights"},
    {OPTION_ROW(photons_values, "bounce", OPTION_INT32, bounce), .argument = "N", .initial = "-1",
     .minimum = -1, .maximum = 255,
     .help = "filter: keep the photons with N previous surface hits only; -1: all"},
    PROGRESS_ROW(photons_values),
    {.name = NULL}};

static const option_group groups[] = {
    {"Output", rows, 0, NULL},
    {"Photons", render_photon_rows, offsetof(photons_values, render),
     "photons,caustic-photons,media-photons"},
    {"Photons", render_method_rows, offsetof(photons_values, render), "max-depth,seed"},
    {"Scene", render_input_rows, offsetof(photons_values, render), NULL},
    GENERAL_GROUP(photons_values),
    {NULL, NULL, 0, NULL}};

static const help_pair actions_help[] = {
    {"SCENE", "trace the photons of SCENE and write them to a file"},
    {"info MAP", "print number, power and paths of the photons in MAP"},
    {"dump MAP", "print every photon as a line of CSV"},
    {"merge MAP...", "merge maps of one scene with different seeds, in any order"},
    {"filter MAP", "keep the photons selected by --light and --bounce"},
    {NULL, NULL}};

static const help_pair examples[] = {
    {"kandela photons scene.json --photons 2M -o map.kdp", "write 2 million photons to map.kdp"},
    {"kandela photons merge a.kdp b.kdp -o both.kdp", "merge two maps"},
    {"kandela render scene.json --integrator photon --photon-map both.kdp",
     "render with the photons of a file"},
    {NULL, NULL}};

const subcommand command_photons = {
    .name = "photons",
    .arguments = "SCENE | info MAP | dump MAP | merge MAP... | filter MAP",
    .summary = "write photon maps to files; inspect, merge and filter them",
    .description = "Writes photon maps to files for kandela render --photon-map; inspects, merges "
                   "and filters such files.",
    .items_heading = "Actions",
    .items = actions_help,
    .examples = examples,
    .groups = groups,
    .run = run,
};
