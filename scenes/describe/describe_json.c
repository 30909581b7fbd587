#include "scenes/describe/describe_json.h"
#include "core/files/file.h"
#include "scenes/describe/describe_reader.h"
#include "scenes/readers.h"
#include "scenes/text/paths.h"

/* --- environment ------------------------------------------------------------------------------ */

static kd_status read_sky(describe_reader *in, const json_place *at, const cJSON *object) {
    const json_place here = json_place_key(at, "sky");
    described_sky words;
    memset(&words, 0, sizeof words);
    words.sun = vec3_all(0.5f);
    words.turbidity = 3;
    words.disc = true;
    words.ground = vec3_all(0.2f);
    KD_TRY(json_read(&here, object, describe_sky_keys, &words));
    clear_sky *to = &in->draft->clear;
    to->sun = vec3_normalize(words.sun);
    if (!(to->sun.y > 0)) return json_fail(&here, "the sun is not above the horizon (y > 0)");
    to->turbidity = words.turbidity;
    to->disc = words.disc;
    to->ground = words.ground;
    in->draft->sky_is_clear = true;
    return KD_OK;
}

static kd_status read_environment(describe_reader *in, const json_place *at, const cJSON *object) {
    described_environment words;
    memset(&words, 0, sizeof words);
    words.radiance = vec3_all(1);
    KD_TRY(json_read(at, object, describe_environment_keys, &words));
    in->draft->sky = true;
    in->draft->sky_radiance = words.radiance;
    in->draft->sky_rotation = words.rotation_degrees * (KD_PI / 180);
    if (words.sky && words.image) return json_fail(at, "expected either image or sky");
    if (words.sky) KD_TRY(read_sky(in, at, words.sky));
    in->draft->sky_equal_area = words.projection == 1;
    if (words.image) KD_TRY(describe_path(in, words.image, &in->draft->sky_image));
    return KD_OK;
}

/* --- the whole -------------------------------------------------------------------------------- */

kd_status describe_path(const describe_reader *in, const char *name, char **path) {
    KD_REQUIRE(
        path_is_allowed(in->path, name), KD_ERROR_INPUT,
        "%s: found the file \"%.200s\", which lies outside the scene's folder: put it there, "
        "or give --allow-outside",
        in->path, name);
    *path = file_path_beside(in->path, name);
    KD_REQUIRE(*path, KD_ERROR_MEMORY, "out of memory for the path %.200s", name);
    return KD_OK;
}

static kd_status read_list(describe_reader *in, const json_place *at, const cJSON *list,
                           kd_status (*read)(describe_reader *, const json_place *,
                                             const cJSON *)) {
    const cJSON *item = NULL;
    int index = 0;
    cJSON_ArrayForEach(item, list) {
        const json_place here = json_place_item(at, index++);
        KD_TRY(read(in, &here, item));
    }
    return KD_OK;
}

static kd_status read_scene(describe_reader *in, const cJSON *root, kd_render_options *options) {
    const json_place file = json_place_file(in->path);
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
        return json_fail(&version, "missing, expected 1, the version of the format");
    if (!words.meshes) return json_fail(&meshes, "missing, expected a list of objects");
    in->names = words.materials;
    in->draft->fog = KD_NONE;
    if (words.media) KD_TRY(describe_media(in, &media, words.media));
    if (words.fog) KD_TRY(describe_medium_find(in, &fog, words.fog, &in->draft->fog));
    if (words.render) KD_TRY(describe_render(in, &render, words.render, options));
    if (words.camera) KD_TRY(describe_camera(in, &view, words.camera));
    if (words.environment) KD_TRY(read_environment(in, &environment, words.environment));
    if (words.materials) KD_TRY(describe_materials(in, &materials, words.materials));
    KD_TRY(read_list(in, &meshes, words.meshes, describe_mesh));
    if (words.lights) KD_TRY(read_list(in, &lights, words.lights, describe_light));
    return KD_OK;
}

kd_status describe_json_parse(scene_draft *out, const char *text, size_t bytes,
                              const describe_source *source, kd_render_options *options,
                              job *watched) {
    describe_reader reader;
    cJSON *root = NULL;
    memset(&reader, 0, sizeof reader);
    reader.draft = out;
    reader.frame = (double)options->frame;
    reader.path = source->path;
    reader.load = source->load;
    reader.given = source->given;
    reader.given_count = source->given_count;
    reader.watched = watched;
    KD_TRY(json_parse(&root, text, bytes, source->path));
    kd_status status = read_scene(&reader, root, options);
    cJSON_Delete(root);
    if (status != KD_OK && reader.geometry.status == KD_OK) reader.geometry.status = status;
    status = mesh_builder_finish(&reader.geometry, &out->geometry);
    KD_TRY(status);
    KD_TRY(mesh_drop_unused_materials(&out->geometry));
    KD_TRY(scene_draft_sort(out));
    return KD_OK;
}

kd_status describe_json_read(scene_draft *out, const char *path, kd_render_options *options,
                             job *watched) {
    const describe_source source = {path, scene_load_mesh, NULL, 0};
    file_view file;
    KD_TRY(file_open(&file, path));
    const kd_status status =
        describe_json_parse(out, file.bytes, file.count, &source, options, watched);
    file_close(&file);
    KD_TRY(status);
    return KD_OK;
}
