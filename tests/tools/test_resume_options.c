/* A rendering can be resumed with the same options only. For every integrator, each value of each
   option and each number of the camera is changed on its own between a rendering and its --resume:
   either the state is rejected, or the resulting picture has the bits of an uninterrupted
   rendering. The options come from the program's table, so new rows are tested automatically. The
   group "Output" is omitted, because it selects files (--max-memory and --quick act through options
   of other groups). */
#include "accel/builders.h"
#include "core/files/file.h"
#include "photon/maps/photon_file.h"
#include "photon/maps/photon_map.h"
#include "render/api/render.h"
#include "render/integrators/integrators.h"
#include "scenes/assembly/scene.h"
#include "test.h"
#include "tools/program/render_values.h"
#include <assert.h>
#include <unistd.h>

enum { STATE_BYTES = 1 << 16, CHANGES = 64, TEXT = 160, SAMPLES = 2 };
static const char *const state_path = "options.state", *const map_path = "options.kdp";
static const char *const scene_path = "options.json";

/* Writes a scene in which every kind of photon is stored: walls, a sphere of glass, fog. */
static void write_scene(void) {
    FILE *file = fopen(scene_path, "w");
    assert_non_null(file);
    fputs("{\"kandela\": 1, \"media\": {\"fog\": {\"scattering\": 0.2}}, \"fog\": \"fog\",\n"
          "\"materials\": {\"lamp\": {\"emission\": 9}, \"glass\": {\"kind\": \"glass\"},\n"
          "\"wall\": {\"diffuse\": 0.6}},\n\"meshes\": [\n"
          "{\"box\": {\"lo\": [-1, -1, -1], \"hi\": [1, 1, 1]}, \"material\": \"wall\"},\n"
          "{\"quad\": [[-0.4, 0.9, -0.4], [0.4, 0.9, -0.4], [0.4, 0.9, 0.4], [-0.4, 0.9, 0.4]],\n"
          "\"material\": \"lamp\"},\n"
          "{\"sphere\": {\"centre\": [0, 0.2, 0], \"radius\": 0.4, \"triangles\": 80},\n"
          "\"material\": \"glass\"}],\n"
          "\"camera\": {\"eye\": [0.1, 0, 0.95], \"look_at\": [0, 0, -1], \"fov\": 70}}\n",
          file);
    fclose(file);
}

/* Writes a photon map as `kandela photons` does. */
static void write_map(const scene *scene) {
    scene_view view = scene_get_view(scene);
    const tritree_input input = {view.mesh.positions, view.mesh.triangles, view.mesh.position_count,
                                 view.mesh.triangle_count};
    const tritree_options tree_options = tritree_options_default();
    tritree tree;
    assert_int_equal(tritree_open(&tree, &input, &tree_options, "auto", NULL), KD_OK);
    view.tree = tritree_get_view(&tree);
    photon_options options = photon_options_default();
    options.photons = options.caustics = options.volume_photons = 200;
    photon_file file;
    memset(&file, 0, sizeof file);
    file.scene = scene_hash(&view);
    assert_int_equal(photon_lists_open(file.lists, &view, &options, NULL), KD_OK);
    assert_int_equal(photon_file_write(map_path, &file), KD_OK);
    photon_file_close(&file);
    tritree_close(&tree);
}

static render_values base_values(const char *integrator_name) {
    render_values values;
    memset(&values, 0, sizeof values);
    kd_render_options *options = &values.render;
    kd_render_options_default(options);
    strcpy(options->integrator, integrator_name);
    strcpy(options->device, "cpu");
    options->width = options->height = 10;
    options->crop[0] = options->crop[1] = 3;
    options->crop[2] = options->crop[3] = 8;
    options->photons = options->caustic_photons = options->media_photons = 200;
    options->gather = 10;
    options->radius = 0.5f;
    /* no limit, which would be probed by more paths than the picture has */
    options->max_depth = 1024;
    options->max_specular = 0;
    options->precompute = 0;
    options->spp = options->passes = SAMPLES;
    return values;
}

static void number_text(char text[TEXT], const option_row *row, const void *field, int changed) {
    const int count = row->count > 1 ? row->count : 1;
    const bool whole = row->kind == OPTION_INT32;
    size_t used = 0;
    for (int i = 0; i < count; ++i) {
        double value = whole ? ((const int32_t *)field)[i] : (double)((const float *)field)[i];
        if (i == changed) value = whole || value == 0 ? value + 1 : value * 1.25;
        const bool above = row->minimum < row->maximum && value > row->maximum;
        if (above) value = whole ? value - 2 : value / 2;
        const char between[2] = {row->separator ? row->separator : ',', 0};
        used += (size_t)snprintf(text + used, TEXT - used, "%s%.9g", i ? between : "", value);
    }
}

/* Lists all changes of a row, as arguments of the command line; a flag has none. */
static int changes_of(char texts[CHANGES][TEXT], const option_row *row, const void *field) {
    static const char *const devices[] = {"auto", "cpu"}, *const backgrounds[] = {"transparent",
                                                                                  "white"};
    int made = 0;
    if (row->choice) {
        for (const char *name; (name = row->choice(made)); ++made) {
            assert_true(made < CHANGES);
            snprintf(texts[made], TEXT, "%s", name);
        }
        return made;
    }
    switch (row->kind) {
    case OPTION_NAME: { /* the only names without a list of values */
        const bool is_device = strcmp(row->name, "device") == 0;
        const bool is_white = strcmp(row->name, "white-balance") == 0;
        if (!is_device && !is_white) assert_string_equal(row->name, "background");
        if (is_white) snprintf(texts[made++], TEXT, "3200K");
        for (; !is_white && made < 2; ++made)
            snprintf(texts[made], TEXT, "%s", (is_device ? devices : backgrounds)[made]);
        return made;
    }
    case OPTION_TEXT:
        if (strcmp(row->name, "clip") != 0) assert_string_equal(row->name, "photon-map");
        snprintf(texts[0], TEXT, "%s", strcmp(row->name, "clip") == 0 ? "0" : map_path);
        return 1;
    case OPTION_FLAG: snprintf(texts[0], TEXT, "on"); return 1;
    case OPTION_BYTES:
    case OPTION_UINT64:
        snprintf(texts[0], TEXT, "%llu", (unsigned long long)*(const uint64_t *)field + 1);
        return 1;
    case OPTION_DOUBLE: /* limits that a rendering never reaches or never exceeds */
        snprintf(texts[0], TEXT, "%.9g", isfinite(row->maximum) ? row->maximum : 1e9);
        return 1;
    case OPTION_INT32:
    case OPTION_FLOAT:
        for (; made < (row->count > 1 ? row->count : 1); ++made)
            number_text(texts[made], row, field, made);
        return made;
    default: fail_msg("--%s: a kind of option that this test cannot change", row->name);
    }
    return 0;
}

typedef struct stage {
    scene *room;
    render_values base;
    /* state of the base rendering, interrupted one sample before its end if possible */
    char state[STATE_BYTES];
    size_t state_count;
    int accepted, refused;
} stage;

static kd_status render_once(const stage *stage, const render_values *values, bool resume,
                             uint64_t *hash) {
    render_result result;
    const render_keeping keeping = {.state = state_path, .resume = resume};
    camera view = scene_camera(stage->room);
    const double *origin = scene_origin(stage->room);
    const camera_values before = camera_values_of(&view, origin);
    camera_values_apply(&view, &before, &values->view, origin);
    scene_set_camera(stage->room, &view);
    const kd_status status = render_run_kept(&result, stage->room, &values->render, &keeping, NULL);
    if (status != KD_OK) return status;
    *hash = result.image_hash;
    render_close(&result);
    return KD_OK;
}

static void put_state(const stage *stage) {
    FILE *file = fopen(state_path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(stage->state, 1, stage->state_count, file), stage->state_count);
    fclose(file);
}

static void start_rendering(stage *stage, const render_values *base) {
    render_values first = *base;
    uint64_t unused;
    file_view file;
    stage->base = *base;
    const integrator *integrator = integrator_find(base->render.integrator);
    if (!integrator->counts_samples || !integrator->counts_samples(&base->render))
        first.render.spp = first.render.passes = SAMPLES - 1;
    assert_int_equal(render_once(stage, &first, false, &unused), KD_OK);
    assert_int_equal(file_open(&file, state_path), KD_OK);
    assert_true(file.count <= STATE_BYTES);
    memcpy(stage->state, file.bytes, file.count);
    stage->state_count = file.count;
    file_close(&file);
}

/* Returns true if resuming is rejected with a reason, or gives the bits of a rendering with these
   options from the start. */
static bool expect_resumes(stage *stage, const render_values *changed, const char *label) {
    uint64_t resumed = 0, whole = 0;
    put_state(stage);
    const kd_status status = render_once(stage, changed, true, &resumed);
    if (status != KD_OK) {
        if (status != KD_ERROR_INPUT && status != KD_ERROR_USAGE)
            fail_msg("%s: %s: %s", stage->base.render.integrator, label, kd_last_error());
        ++stage->refused;
        return false;
    }
    assert_int_equal(render_once(stage, changed, false, &whole), KD_OK);
    if (resumed != whole)
        fail_msg("%s: %s: goes on and is no picture of either", stage->base.render.integrator,
                 label);
    ++stage->accepted;
    return true;
}

static void change_row(stage *stage, const option_group *group, const option_row *row) {
    static char texts[CHANGES][TEXT];
    const void *field = (const char *)&stage->base + group->base + row->offset;
    const int count = changes_of(texts, row, field);
    for (int i = 0; i < count; ++i) {
        /* These renderings run on the CPU, but a build with CUDA also lists builders for
           devices. */
        if (strcmp(row->name, "builder") == 0 && !tritree_builder_find(texts[i])) continue;
        render_values changed = stage->base;
        option_given option = {row, texts[i], group->base, false};
        const option_line line = {.options = &option, .given_count = 1};
        char label[2 * TEXT];
        snprintf(label, sizeof label, "--%.40s %.*s", row->name, TEXT, texts[i]);
        if (option_line_apply(&line, &changed) != KD_OK) fail_msg("%s", kd_last_error());
        const bool on_and_on = expect_resumes(stage, &changed, label);
        if (row->resume == OPTION_RESUME_FREE && !on_and_on)
            fail_msg("%s is refused: %s", label, kd_last_error());
    }
}

static void change_options(stage *stage) {
    for (const option_group *group = render_groups; group->rows; ++group) {
        if (group->base != offsetof(render_values, render)) continue;
        for (const option_row *row = NULL; (row = option_next(group, row));)
            change_row(stage, group, row);
    }
}

static void change_camera(stage *stage) {
    static_assert(sizeof(camera) % sizeof(float) == 0, "a camera is numbers");
    for (size_t i = 0; i < sizeof(camera) / sizeof(float); ++i) {
        render_values changed = stage->base;
        char label[40];
        ((float *)&changed.view)[i] += 0.125f;
        snprintf(label, sizeof label, "number %zu of the camera", i);
        expect_resumes(stage, &changed, label);
    }
}

static void change_all(stage *stage, const render_values *base) {
    stage->accepted = stage->refused = 0;
    start_rendering(stage, base);
    assert_true(expect_resumes(stage, base, "no change"));
    change_options(stage);
    change_camera(stage);
    assert_true(stage->accepted > 20 && stage->refused > 20);
}

static void test_resume_with_every_option(void **state) {
    static stage stage;
    kd_render_options unused;
    (void)state;
    write_scene();
    kd_render_options_default(&unused);
    assert_int_equal(scene_open(&stage.room, scene_path, &unused, NULL), KD_OK);
    write_map(stage.room);
    const camera seen = scene_camera(stage.room);
    const camera_values view = camera_values_of(&seen, scene_origin(stage.room));
    for (const integrator *const *row = integrators; *row; ++row) {
        render_values base = base_values((*row)->name);
        base.view = view;
        change_all(&stage, &base);
        if (!(*row)->counts_samples) continue;
        base.render.final_gather = 2; /* so that --precompute on changes the picture */
        change_all(&stage, &base);
    }
    scene_close(stage.room);
    (void)unlink(map_path);
}

/* `kandela render` accepts every option of the table under one heading; help and man page use the
   same groups. */
static void test_every_option_has_a_group(void **state) {
    (void)state;
    int daily = 0;
    for (const option_row *row = NULL; (row = render_option_next(row));) {
        int count = 0;
        for (const option_group *group = render_groups; group->heading; ++group)
            for (const option_row *other = NULL; (other = option_next(group, other));)
                count += strcmp(other->name, row->name) == 0;
        if (count != 1) fail_msg("--%s is in %d groups", row->name, count);
    }
    for (const option_group *group = render_groups; group->heading; ++group)
        for (const option_row *row = NULL; (row = option_next(group, row));) {
            if (!row->help || !row->help[0]) fail_msg("--%s has no help", row->name);
            if (strlen(row->help) > 110) fail_msg("--%s: the help takes three lines", row->name);
            daily += row->daily;
        }
    assert_in_range(daily, 20, 25);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_option_has_a_group),
        cmocka_unit_test(test_resume_with_every_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
