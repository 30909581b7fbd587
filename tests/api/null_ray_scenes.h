/* Calls of the functions of <kandela/ray_scenes.h> for test_null_arguments.c. */
#ifndef KD_TESTS_API_NULL_RAY_SCENES_H
#define KD_TESTS_API_NULL_RAY_SCENES_H

/* Opens a scene of one instance of `triangles`; static, as the test closes it at the next call. */
static kd_ray_scene *ray_scene(void) {
    static kd_ray_scene *opened;
    const kd_ray_instance instance = kd_ray_instance_make(0);
    kd_ray_scene_close(opened);
    assert_int_equal(kd_ray_scene_open(&opened, 1), KD_OK);
    assert_int_equal(kd_ray_scene_add_geometry(opened, triangles, NULL), KD_OK);
    assert_int_equal(kd_ray_scene_add_instances(opened, &instance, 1, NULL), KD_OK);
    assert_int_equal(kd_ray_scene_commit(opened), KD_OK);
    return opened;
}

static const kd_ray_query *one_ray_query(void) {
    static kd_ray_query made;
    kd_ray_query_default(&made);
    made.count = 1;
    made.rays = &one_ray;
    return &made;
}

DEFAULTS(ray_query, kd_ray_query)
DEFAULTS(point_query, kd_point_query)
CALL(ray_scene_open) {
    kd_ray_scene *made = NULL;
    const kd_status status = kd_ray_scene_open(ARG(0, &made), 1);
    kd_ray_scene_close(made);
    return status;
}
CALL(ray_scene_close) {
    kd_ray_scene *made = NULL;
    if (null != 0) (void)kd_ray_scene_open(&made, 1);
    kd_ray_scene_close(made);
    return KD_OK;
}
CALL(ray_scene_add_geometry) {
    uint32_t geometry;
    return kd_ray_scene_add_geometry(ARG(0, ray_scene()), ARG(1, triangles), ARG(2, &geometry));
}
CALL(ray_scene_set_geometry) {
    return kd_ray_scene_set_geometry(ARG(0, ray_scene()), 0, ARG(1, triangles));
}
CALL(ray_scene_add_instances) {
    const kd_ray_instance instance = kd_ray_instance_make(0);
    uint32_t first;
    return kd_ray_scene_add_instances(ARG(0, ray_scene()), ARG(1, &instance), 1, ARG(2, &first));
}
CALL(ray_scene_set_instances) {
    const kd_ray_instance instance = kd_ray_instance_make(0);
    return kd_ray_scene_set_instances(ARG(0, ray_scene()), 0, ARG(1, &instance), 1);
}
CALL(ray_scene_set_transforms) {
    const kd_ray_instance instance = kd_ray_instance_make(0);
    return kd_ray_scene_set_transforms(ARG(0, ray_scene()), 0, ARG(1, instance.transform), 1);
}
CALL(ray_scene_set_origin) {
    static const double origin[3] = {0, 0, 0};
    return kd_ray_scene_set_origin(ARG(0, ray_scene()), ARG(1, origin));
}
CALL(ray_scene_commit) {
    return kd_ray_scene_commit(ARG(0, ray_scene()));
}
CALL(ray_scene_describe) {
    kd_ray_scene_info info;
    kd_ray_scene_describe(ARG(0, ray_scene()), ARG(1, &info));
    if (null == 0) assert_true(info.worlds == 0 && info.device[0] == '\0');
    return KD_OK;
}
CALL(ray_scene_describe_sized) {
    kd_ray_scene_info info;
    kd_ray_scene_describe_sized(ARG(0, ray_scene()), ARG(1, &info), sizeof info);
    return KD_OK;
}
CALL(ray_scene_intersect) {
    kd_scene_hit hit;
    return kd_ray_scene_intersect(ARG(0, ray_scene()), ARG(1, one_ray_query()), ARG(2, &hit));
}
CALL(ray_scene_occluded) {
    uint8_t blocked;
    return kd_ray_scene_occluded(ARG(0, ray_scene()), ARG(1, one_ray_query()), ARG(2, &blocked));
}
CALL(ray_scene_count) {
    uint32_t count;
    return kd_ray_scene_count(ARG(0, ray_scene()), ARG(1, one_ray_query()), ARG(2, &count));
}
CALL(ray_scene_first) {
    kd_scene_hit hit;
    uint32_t count;
    return kd_ray_scene_first(ARG(0, ray_scene()), ARG(1, one_ray_query()), 1, ARG(2, &hit),
                              ARG(3, &count));
}
CALL(ray_scene_all) {
    static const uint64_t offsets[2] = {0, 1};
    kd_scene_hit hit;
    return kd_ray_scene_all(ARG(0, ray_scene()), ARG(1, one_ray_query()), ARG(2, offsets),
                            ARG(3, &hit));
}
CALL(ray_scene_closest_point) {
    kd_scene_near nearest;
    kd_point_query points_query;
    kd_point_query_default(&points_query);
    points_query.count = 1;
    points_query.points = cloud[0];
    return kd_ray_scene_closest_point(ARG(0, ray_scene()), ARG(1, &points_query), ARG(2, &nearest));
}
CALL(ray_scene_interpolate) {
    kd_scene_hit hit;
    float out = 0;
    memset(&hit, 0, sizeof hit);
    return kd_ray_scene_interpolate(ARG(0, ray_scene()), 0, ARG(1, cloud[0]), 1, ARG(2, &hit), 1,
                                    ARG(3, &out));
}

#endif
