/* Part of test_null_arguments.c: calls the functions of <kandela/render.h> with one pointer
   NULL. */
#ifndef TESTS_API_NULL_ARGUMENTS_RENDER_H
#define TESTS_API_NULL_ARGUMENTS_RENDER_H

DEFAULTS(render_options, kd_render_options)
CALL(render_option_count) {
    (void)null;
    assert_true(kd_render_option_count() > 30);
    return KD_OK;
}
CALL(render_option_get_info) {
    kd_render_option row;
    return kd_render_option_get_info(ARG(0, &row), 0);
}
CALL(render_options_set) {
    kd_render_options options;
    kd_render_options_default(&options);
    return kd_render_options_set(ARG(0, &options), ARG(1, "spp"), ARG(2, "3"));
}
CALL(render_options_get) {
    char text[16];
    kd_render_options options;
    kd_render_options_default(&options);
    return kd_render_options_get(ARG(0, &options), ARG(1, "spp"), ARG(2, text), sizeof text);
}
CALL(scene_load) {
    kd_scene *made = NULL;
    kd_render_options options;
    kd_render_options_default(&options);
    const kd_status status = kd_scene_load(ARG(0, &made), ARG(1, scene_path), ARG(2, &options));
    kd_scene_close(made);
    return status;
}
CALL(scene_parse) {
    static const char text[] = "{\"kandela\": 1, \"meshes\": [{\"file\": \"mesh:one\"}]}";
    const kd_scene_mesh one = {"one", cloud[0], 64, triple, 1, NULL, NULL};
    kd_scene *made = NULL;
    kd_render_options options;
    kd_render_options_default(&options);
    const kd_status status = kd_scene_parse(ARG(0, &made), ARG(1, text), sizeof text - 1,
                                            ARG(2, folder), ARG(3, &one), 1, ARG(4, &options));
    kd_scene_close(made);
    return status;
}
CALL(scene_make) {
    static const char text[] = "{\"kandela\": 1, \"meshes\": [{\"file\": \"mesh:one\"}]}";
    const kd_scene_mesh one = {"one", cloud[0], 64, triple, 1, NULL, NULL};
    const kd_scene_camera camera = {.eye = {0, 0, 9}};
    const kd_scene_light light = {.emission = {1, 1, 1}};
    const kd_scene_parts parts = {sizeof parts, text, sizeof text - 1, folder, &one, 1, &camera,
                                  &light,       1};
    kd_scene *made = NULL;
    kd_render_options options;
    kd_render_options_default(&options);
    const kd_status status = kd_scene_make(ARG(0, &made), ARG(1, &parts), ARG(2, &options));
    kd_scene_close(made);
    return status;
}
CALL(scene_close) {
    kd_scene *made = NULL;
    if (null != 0) (void)kd_scene_load(&made, scene_path, NULL);
    kd_scene_close(made);
    return KD_OK;
}
CALL(scene_count) {
    const kd_scene_counts counts = kd_scene_count(ARG(0, scene));
    assert_int_equal(counts.triangles, null == 0 ? 0 : 1);
    return KD_OK;
}
CALL(scene_origin) {
    double origin[3];
    kd_scene_origin(ARG(0, scene), ARG(1, origin));
    return KD_OK;
}
static int on_progress(void *context, const char *stage, int64_t done, int64_t total) {
    (void)context;
    return stage == NULL || done > total;
}
CALL(render) {
    kd_image *made = NULL;
    int context = 0;
    kd_render_options options;
    kd_render_options_default(&options);
    options.width = options.height = 2;
    options.spp = 1;
    const kd_status status = kd_render(ARG(0, &made), ARG(1, scene), ARG(2, &options),
                                       ARG(3, on_progress), ARG(4, &context));
    kd_image_close(made);
    return status;
}
CALL(image_close) {
    kd_image *made = NULL;
    (void)null;
    kd_image_close(made);
    return KD_OK;
}
CALL(image_width) {
    assert_int_equal(kd_image_width(ARG(0, image)), null == 0 ? 0 : 4);
    return KD_OK;
}
CALL(image_height) {
    assert_int_equal(kd_image_height(ARG(0, image)), null == 0 ? 0 : 4);
    return KD_OK;
}
CALL(image_samples) {
    assert_int_equal(kd_image_samples(ARG(0, image)), null == 0 ? 0 : 1);
    return KD_OK;
}
CALL(image_channel) {
    assert_true((kd_image_channel(ARG(0, image), ARG(1, "R")) == NULL) == (null >= 0));
    return KD_OK;
}
CALL(image_hash) {
    assert_true((kd_image_hash(ARG(0, image)) == 0) == (null == 0));
    return KD_OK;
}
CALL(image_read) {
    char picture[80];
    kd_image *read = NULL;
    kd_render_options options;
    kd_render_options_default(&options);
    snprintf(picture, sizeof picture, "%s/picture.pfm", folder);
    assert_int_equal(kd_image_write(image, picture, 0, KD_TONEMAP_LINEAR), KD_OK);
    const kd_status status = kd_image_read(ARG(0, &read), ARG(1, picture), ARG(2, &options));
    unlink(picture);
    kd_image_close(read);
    return status;
}
CALL(image_write) {
    char picture[80];
    snprintf(picture, sizeof picture, "%s/picture.pfm", folder);
    const kd_status status = kd_image_write(ARG(0, image), ARG(1, picture), 0, KD_TONEMAP_LINEAR);
    unlink(picture);
    return status;
}

CALL(photons_emit) {
    kd_photons *made = NULL;
    int context = 0;
    kd_render_options options;
    kd_render_options_default(&options);
    options.photons = 1;
    const kd_status status = kd_photons_emit(ARG(0, &made), ARG(1, scene), ARG(2, &options),
                                             ARG(3, on_progress), ARG(4, &context));
    kd_photons_close(made);
    return status;
}
CALL(photons_close) {
    kd_photons *made = NULL;
    (void)null;
    kd_photons_close(made);
    return KD_OK;
}
CALL(photons_count) {
    assert_true((kd_photons_count(ARG(0, photons), KD_PHOTONS_GLOBAL).emitted == 0) == (null == 0));
    assert_int_equal(kd_photons_count(photons, (kd_photon_map)3).emitted, 0);
    return KD_OK;
}
CALL(photons_list) {
    const uint64_t stored = kd_photons_count(photons, KD_PHOTONS_GLOBAL).stored;
    assert_true((kd_photons_list(ARG(0, photons), KD_PHOTONS_GLOBAL) != NULL) ==
                (null != 0 && stored > 0));
    return KD_OK;
}
CALL(photons_write) {
    char map[80];
    snprintf(map, sizeof map, "%s/map.kdp", folder);
    const kd_status status = kd_photons_write(ARG(0, photons), ARG(1, map));
    unlink(map);
    return status;
}
CALL(photons_load) {
    char map[80];
    kd_photons *made = NULL;
    snprintf(map, sizeof map, "%s/map.kdp", folder);
    assert_int_equal(kd_photons_write(photons, map), KD_OK);
    const kd_status status = kd_photons_load(ARG(0, &made), ARG(1, map));
    kd_photons_close(made);
    unlink(map);
    return status;
}

#endif
