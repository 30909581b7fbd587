/* Reads a scene description: the root object; "render", whose keys are the table of options
   (render_options.c); the environment. Writes the tables of all keys as Markdown. */
#include "scenes/describe/describe_json.h"
#include "core/files/file.h"
#include "core/image_processing/finish.h"
#include "core/math/photometry.h"
#include "core/memory.h"
#include "scenes/describe/describe_keys.h"
#include "scenes/describe/describe_reader.h"
#include "scenes/describe/readers.h"
#include "scenes/describe/render_options.h"
#include "scenes/text/json_keys.h"
#include "scenes/text/paths.h"
#include <stdio.h>

enum { RENDER_KEYS = 64 };

typedef struct render_keys {
    /* terminated by a row without a name; points into the arrays below */
    json_key rows[RENDER_KEYS];
    char names[RENDER_KEYS][32], choices[RENDER_KEYS][256], initial[RENDER_KEYS][64];
} render_keys;

static json_kind kind_of(const option_row *row) {
    switch (row->kind) {
    case OPTION_FLAG: return JSON_BOOL;
    case OPTION_TEXT: return JSON_TEXT;
    case OPTION_LIST: return JSON_LIST;
    case OPTION_NAME: return JSON_NAME;
    case OPTION_CHOICE: return JSON_CHOICE;
    case OPTION_UINT64:
    case OPTION_BYTES: return JSON_COUNT;
    case OPTION_INT32: return JSON_INT;
    case OPTION_FLOAT: return JSON_FLOAT;
    case OPTION_DOUBLE: return JSON_DOUBLE;
    }
    return JSON_VALUE;
}

/* Writes the default value in JSON: "path", [512, 512], 64. */
static void write_initial(char *out, size_t bytes, const option_row *row) {
    const char separator = row->separator ? row->separator : ',';
    size_t used = 0;
    if (row->kind == OPTION_NAME || row->kind == OPTION_CHOICE) {
        snprintf(out, bytes, "\"%s\"", row->initial);
    } else if (row->count > 1) {
        out[used++] = '[';
        for (const char *c = row->initial; *c && used + 3 < bytes; ++c) {
            out[used++] = *c == separator ? ',' : *c;
            if (*c == separator) out[used++] = ' ';
        }
        out[used++] = ']';
        out[used] = '\0';
    } else {
        snprintf(out, bytes, "%s", row->initial);
    }
}

static void render_keys_fill(render_keys *out) {
    memset(out, 0, sizeof *out);
    out->rows[0].name = "about";
    out->rows[0].kind = JSON_REMARK;
    out->rows[0].help = "comment, ignored";
    int i = 1;
    for (const option_row *row = NULL; (row = render_option_next(row));) {
        if (row->no_key) continue;
        assert(i < RENDER_KEYS - 1);
        json_key *key = &out->rows[i];
        option_key(out->names[i], sizeof out->names[i], row);
        option_choices(out->choices[i], sizeof out->choices[i], row, "|");
        if (row->initial) write_initial(out->initial[i], sizeof out->initial[i], row);
        key->name = out->names[i];
        key->kind = kind_of(row);
        key->offset = row->offset;
        key->bytes = row->bytes;
        key->count = row->count;
        key->minimum = row->minimum;
        key->maximum = row->maximum;
        key->automatic = row->automatic;
        key->choices = row->choice ? out->choices[i] : NULL;
        key->replaced = row->replaced;
        if (row->by_build) key->expected = "a name that `kandela info` lists";
        key->unit = row->unit;
        key->initial = row->initial ? out->initial[i] : NULL;
        key->help = row->help;
        ++i;
    }
}

kd_status describe_render(describe_reader *reader, const json_place *at, const cJSON *object,
                          kd_render_options *options) {
    render_keys *keys = NULL;
    kd_render_options words = *options;
    KD_TRY(KD_RESERVE(keys, 1));
    render_keys_fill(keys);
    const kd_status status = json_read(at, object, keys->rows, &words);
    memory_free(keys);
    KD_TRY(status);
    const int32_t *crop = words.crop;
    if (json_has(object, "crop") && (crop[0] >= crop[2] || crop[1] >= crop[3]))
        return json_fail(at, "`crop` is [%d, %d, %d, %d]; expected x0 < x1 and y0 < y1", crop[0],
                         crop[1], crop[2], crop[3]);
    if (json_has(object, "photon_map")) {
        KD_TRY(describe_path(reader, words.photon_map, &reader->draft->photon_map));
        words.photon_map = reader->draft->photon_map;
    }
    if (json_has(object, "background") && image_background_file(words.background)) {
        char *path = NULL;
        KD_TRY(describe_path(reader, words.background, &path));
        const int bytes = snprintf(words.background, sizeof words.background, "%s", path);
        memory_free(path);
        if (bytes < 0 || bytes >= (int)sizeof words.background)
            return json_fail(at,
                             "the path of `background` has %d bytes, with the scene's folder; at "
                             "most %d are supported",
                             bytes, (int)sizeof words.background - 1);
    }
    *options = words;
    return KD_OK;
}

typedef struct list_sink {
    void (*line)(void *context, const char *text);
    void *context;
} list_sink;

static void list_row(const list_sink *sink, const json_key *row) {
    char expected[256], text[768];
    if (row->expected)
        snprintf(expected, sizeof expected, "%s", row->expected);
    else
        json_describe(expected, sizeof expected, row);
    snprintf(text, sizeof text, "| `%s` | %s | %s | %s | %s |", row->name, expected,
             row->unit ? row->unit : "", row->initial ? row->initial : "",
             row->help ? row->help : "");
    sink->line(sink->context, text);
}

static void list_table(const list_sink *sink, const char *title, const json_key *keys) {
    sink->line(sink->context, "");
    sink->line(sink->context, title);
    sink->line(sink->context, "");
    sink->line(sink->context, "| key | value | unit | default | meaning |");
    sink->line(sink->context, "|---|---|---|---|---|");
    for (const json_key *row = keys; row->name; ++row) list_row(sink, row);
}

void describe_json_list(void (*line)(void *context, const char *text), void *context) {
    const list_sink to = {line, context};
    list_table(&to, "The file:", describe_scene_keys);
    list_table(&to,
               "An entry of `meshes`, with exactly one of file, quad, box, sphere, lathe, torus, "
               "cylinder:",
               describe_mesh_keys);
    list_table(&to, "`box`, closed, fronts outwards:", describe_box_keys);
    list_table(&to, "`sphere`, closed, smooth:", describe_sphere_keys);
    list_table(&to, "`lathe`, about +y:", describe_lathe_keys);
    list_table(&to, "`torus`, about +y, closed, smooth:", describe_torus_keys);
    list_table(&to, "`cylinder`, about +y, closed unless `caps` is false:", describe_cylinder_keys);
    list_table(&to, "A step of `transform`, exactly one of translate, rotate, scale, matrix:",
               describe_step_keys);
    list_table(&to, "An entry of `keys` of a step:", describe_step_key_keys);
    list_table(&to, "`scatter`:", describe_scatter_keys);
    list_table(&to, "A material:", describe_material_keys);
    list_table(&to, "A medium:", describe_medium_keys);
    list_table(&to, "`camera`:", describe_camera_keys);
    list_table(&to, "An entry of `keys` of the camera:", describe_camera_key_keys);
    list_table(&to, "A light of kind `point`:", describe_light_keys[DESCRIBED_POINT]);
    list_table(&to, "A light of kind `spot`:", describe_light_keys[DESCRIBED_SPOT]);
    list_table(&to, "A light of kind `directional`:", describe_light_keys[DESCRIBED_DIRECTIONAL]);
    list_table(&to,
               "A light of kind `area`, a parallelogram:", describe_light_keys[DESCRIBED_AREA]);
    list_table(&to, "`environment`:", describe_environment_keys);
    list_table(&to,
               "`sky` of an environment (clear, by the position of the sun):", describe_sky_keys);
    static render_keys options; /* static, because it is too large for a small stack */
    render_keys_fill(&options);
    list_table(&to, "`render` (the options of `kandela render`, and of kandela.render in Python):",
               options.rows);
}

/* --- environment ------------------------------------------------------------------------------ */

static kd_status read_sky(describe_reader *reader, const json_place *at, const cJSON *object) {
    const json_place place = json_place_key(at, "sky");
    described_sky words;
    memset(&words, 0, sizeof words);
    words.sun = vec3_all(0.5f);
    words.turbidity = 3;
    words.disc = true;
    words.ground = vec3_all(0.2f);
    KD_TRY(json_read(&place, object, describe_sky_keys, &words));
    clear_sky *to = &reader->draft->clear;
    to->sun = vec3_normalize(words.sun);
    if (!(to->sun.y > 0)) return json_fail(&place, "the sun must be above the horizon (y > 0)");
    to->turbidity = words.turbidity;
    to->disc = words.disc;
    to->ground = words.ground;
    to->atmosphere = words.model == 1;
    reader->draft->sky_is_clear = true;
    return KD_OK;
}

static kd_status read_environment(describe_reader *reader, const json_place *at,
                                  const cJSON *object) {
    described_environment words;
    memset(&words, 0, sizeof words);
    words.radiance = vec3_all(1);
    KD_TRY(json_read(at, object, describe_environment_keys, &words));
    if (json_has(object, "luminance_nits")) {
        if (json_has(object, "radiance") || words.sky)
            return json_fail(at, "set exactly one of `radiance`, `luminance_nits` and `sky`");
        words.radiance = photometry_to_watts(words.nits);
    }
    reader->draft->sky = true;
    reader->draft->sky_radiance = words.radiance;
    reader->draft->sky_rotation = words.rotation_degrees * (KD_PI / 180);
    if (words.sky && words.image) return json_fail(at, "set exactly one of `image` and `sky`");
    if (words.sky) KD_TRY(read_sky(reader, at, words.sky));
    reader->draft->sky_equal_area = words.projection == 1;
    if (words.image) KD_TRY(describe_path(reader, words.image, &reader->draft->sky_image));
    return KD_OK;
}

/* --- complete descriptions -------------------------------------------------------------------- */

kd_status describe_path(const describe_reader *reader, const char *name, char **path) {
    KD_REQUIRE(path_is_allowed(reader->path, name), KD_ERROR_INPUT,
               "%s: the file \"%.400s\" is outside the scene's folder; move it there, or use "
               "--allow-outside",
               reader->path, name);
    *path = file_path_beside(reader->path, name);
    KD_REQUIRE(*path, KD_ERROR_MEMORY, "out of memory for the path %.200s", name);
    return KD_OK;
}

static kd_status read_list(describe_reader *reader, const json_place *at, const cJSON *list,
                           kd_status (*read)(describe_reader *, const json_place *,
                                             const cJSON *)) {
    const cJSON *item = NULL;
    int index = 0;
    cJSON_ArrayForEach(item, list) {
        const json_place place = json_place_item(at, index++);
        KD_TRY(read(reader, &place, item));
    }
    return KD_OK;
}

/* Reads everything relative to the reader's origin. */
static kd_status read_scene(describe_reader *reader, const cJSON *root,
                            kd_render_options *options) {
    const json_place file = json_place_file(reader->path, reader->text, reader->bytes);
    const json_place materials = json_place_key(&file, "materials");
    const json_place media = json_place_key(&file, "media"), fog = json_place_key(&file, "fog");
    const json_place meshes = json_place_key(&file, "meshes");
    const json_place view = json_place_key(&file, "camera");
    const json_place lights = json_place_key(&file, "lights");
    const json_place environment = json_place_key(&file, "environment");
    const json_place render = json_place_key(&file, "render");
    const json_place version = json_place_key(&file, "kandela");
    described_scene words;
    memset(&words, 0, sizeof words);
    KD_TRY(json_read(&file, root, describe_scene_keys, &words));
    if (!words.version)
        return json_fail(&version, "missing; expected 1, the version of the format");
    if (!words.meshes) return json_fail(&meshes, "missing; expected a list of objects");
    reader->names = words.materials;
    reader->draft->fog = KD_NONE;
    if (words.media) KD_TRY(describe_media(reader, &media, words.media));
    if (words.fog) KD_TRY(describe_medium_find(reader, &fog, words.fog, &reader->draft->fog));
    if (words.render) KD_TRY(describe_render(reader, &render, words.render, options));
    if (words.camera) KD_TRY(describe_camera(reader, &view, words.camera));
    if (words.environment) KD_TRY(read_environment(reader, &environment, words.environment));
    if (words.materials) KD_TRY(describe_materials(reader, &materials, words.materials));
    KD_TRY(read_list(reader, &meshes, words.meshes, describe_mesh));
    if (words.lights) KD_TRY(read_list(reader, &lights, words.lights, describe_light));
    return KD_OK;
}

typedef struct json_text {
    const char *bytes;
    size_t count;
    const cJSON *root; /* the parsed text */
} json_text;

/* Reads the parsed text into a zeroed draft. Sets *box to the bounds of the meshes. */
static kd_status read_draft(scene_draft *out, const json_text *text, const describe_source *source,
                            const double origin[3], kd_render_options *options, job_control *job,
                            box3 *box) {
    describe_reader reader;
    memset(&reader, 0, sizeof reader);
    reader.text = text->bytes;
    reader.bytes = text->count;
    reader.draft = out;
    reader.frame = (double)options->frame;
    reader.clip = options->clip;
    reader.seconds = (double)options->frame / (double)options->frame_rate;
    reader.path = source->path;
    reader.load = source->load;
    reader.caller_meshes = source->caller_meshes;
    reader.caller_mesh_count = source->caller_mesh_count;
    reader.job = job;
    reader.box = box3_empty();
    reader.exact = !origin_is_zero(origin);
    memcpy(reader.origin, origin, sizeof reader.origin);
    memcpy(out->origin, origin, sizeof out->origin);
    kd_status status = read_scene(&reader, text->root, options);
    if (status != KD_OK && reader.geometry.status == KD_OK) reader.geometry.status = status;
    status = mesh_builder_finish(&reader.geometry, &out->geometry);
    KD_TRY(status);
    *box = reader.box;
    return KD_OK;
}

kd_status describe_json_parse(scene_draft *out, const char *text, size_t bytes,
                              const describe_source *source, kd_render_options *options,
                              job_control *job) {
    const kd_render_options given = *options;
    double origin[3] = {0, 0, 0};
    cJSON *root = NULL;
    box3 box;
    KD_TRY(json_parse(&root, text, bytes, source->path));
    const json_text parsed = {text, bytes, root};
    kd_status status = read_draft(out, &parsed, source, origin, options, job, &box);
    const bool muted = log_mute(true); /* the first reading has reported everything */
    for (int i = 0; i < ORIGIN_MOVES && status == KD_OK && origin_move(origin, box); ++i) {
        scene_draft_close(out);
        *options = given;
        status = read_draft(out, &parsed, source, origin, options, job, &box);
    }
    log_mute(muted);
    cJSON_Delete(root);
    KD_TRY(status);
    KD_TRY(mesh_drop_unused_materials(&out->geometry));
    KD_TRY(scene_draft_sort(out));
    return KD_OK;
}

kd_status describe_json_read(scene_draft *out, const char *path, kd_render_options *options,
                             job_control *job) {
    const describe_source source = {path, mesh_load, NULL, 0};
    file_view file;
    KD_TRY(file_open(&file, path));
    const kd_status status =
        describe_json_parse(out, file.bytes, file.count, &source, options, job);
    file_close(&file);
    KD_TRY(status);
    return KD_OK;
}
