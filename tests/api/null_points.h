/* Part of test_null_arguments.c, whose tree, query and macros it uses: calls the functions of
   <kandela/points.h> with one pointer NULL. */
#ifndef KD_TESTS_API_NULL_POINTS_H
#define KD_TESTS_API_NULL_POINTS_H

CALL(point_array_make) {
    (void)kd_point_array_make(ARG(0, cloud), null == 0 ? 0 : 64, 3, KD_FLOAT);
    return KD_OK;
}
DEFAULTS(points_options, kd_points_options)
DEFAULTS(points_query, kd_points_query)
CALL(points_rows_default) {
    kd_points_rows rows;
    kd_points_rows_default(ARG(0, &rows));
    return KD_OK;
}
CALL(points_open) {
    kd_points *made = NULL;
    kd_points_options options;
    kd_points_options_default(&options);
    const kd_status status = kd_points_open(ARG(0, &made), ARG(1, &array), ARG(2, &options));
    kd_points_close(made);
    return status;
}
static int exchange_nothing(void *user_data, void *bytes, const uint64_t *begins) {
    (void)user_data, (void)bytes, (void)begins;
    return 0;
}
static int sum_nothing(void *user_data, int64_t *values, uint64_t count) {
    (void)user_data, (void)values, (void)count;
    return 0;
}
static int send_nothing(void *user_data, const void *bytes, const uint64_t *begins, void *into,
                        const uint64_t *into_begins) {
    (void)user_data, (void)bytes, (void)begins, (void)into, (void)into_begins;
    return 1;
}
CALL(points_open_shared) { /* a communicator of one process */
    kd_points *made = NULL;
    kd_points_options options;
    kd_points_options_default(&options);
    const kd_exchange exchange = {sizeof exchange, NULL,         0,   1, exchange_nothing,
                                  sum_nothing,     send_nothing, NULL};
    const kd_status status =
        kd_points_open_shared(ARG(0, &made), ARG(1, &array), ARG(2, &options), ARG(3, &exchange));
    kd_points_close(made);
    return status;
}
CALL(points_open_arrays) {
    kd_points *made = NULL;
    kd_points_options options;
    kd_points_options_default(&options);
    const kd_status status =
        kd_points_open_arrays(ARG(0, &made), ARG(1, &array), 1, ARG(2, &options));
    kd_points_close(made);
    return status;
}
CALL(points_update) {
    return kd_points_update(ARG(0, points), ARG(1, &array));
}
CALL(points_insert) { /* uses a separate tree, because others need its points unchanged */
    kd_points *made = NULL;
    assert_int_equal(kd_points_open(&made, &array, NULL), KD_OK);
    const kd_status status = kd_points_insert(ARG(0, made), ARG(1, &array), ARG(2, new_id));
    kd_points_close(made);
    return status;
}
CALL(points_remove) {
    kd_points *made = NULL;
    assert_int_equal(kd_points_open(&made, &array, NULL), KD_OK);
    const kd_status status = kd_points_remove(ARG(0, made), ARG(1, triple), 1);
    kd_points_close(made);
    return status;
}
CALL(points_rebuild) {
    return kd_points_rebuild(ARG(0, points));
}
CALL(points_count) {
    assert_int_equal(kd_points_count(ARG(0, points)), null == 0 ? 0 : array.count);
    return KD_OK;
}
CALL(points_close) {
    kd_points *made = NULL;
    if (null != 0) (void)kd_points_open(&made, &array, NULL);
    kd_points_close(made);
    return KD_OK;
}
CALL(points_describe) {
    kd_points_info info;
    kd_points_describe(ARG(0, points), ARG(1, &info));
    if (null == 0) assert_true(info.count == 0 && info.device[0] == '\0');
    return KD_OK;
}
CALL(points_describe_sized) {
    kd_points_info info;
    kd_points_describe_sized(ARG(0, points), ARG(1, &info), sizeof info);
    if (null == 0) assert_true(info.count == 0 && info.device[0] == '\0');
    return KD_OK;
}
CALL(points_download) {
    float xyz[64 * 3];
    uint32_t ids[64];
    uint8_t axes[64];
    return kd_points_download(ARG(0, points), ARG(1, xyz), ARG(2, ids), ARG(3, axes));
}
CALL(points_download_nodes) {
    float xyz[64 * 3];
    uint64_t ids[64];
    uint8_t axes[64];
    return kd_points_download_nodes(ARG(0, points), ARG(1, xyz), NULL, ARG(3, ids), ARG(4, axes));
}
CALL(points_nearest) {
    uint32_t ids[64 * 2], counts[64];
    float dist2[64 * 2];
    return kd_points_nearest(ARG(0, points), ARG(1, &query), 2, ARG(2, ids), ARG(3, dist2),
                             ARG(4, counts));
}
CALL(points_closest) {
    uint32_t ids[64];
    float dist2[64];
    return kd_points_closest(ARG(0, points), ARG(1, &query), ARG(2, ids), ARG(3, dist2));
}
CALL(points_within_count) {
    uint64_t offsets[65];
    return kd_points_within_count(ARG(0, points), ARG(1, &query), ARG(2, offsets));
}
CALL(points_within) {
    static uint32_t ids[64 * 64];
    static float dist2[64 * 64];
    uint64_t offsets[65];
    assert_int_equal(kd_points_within_count(points, &query, offsets), KD_OK);
    return kd_points_within(ARG(0, points), ARG(1, &query), ARG(2, offsets), ARG(3, ids),
                            ARG(4, dist2));
}
/* A self-query with ids of 64 bits. */
static kd_points_rows all_rows(uint64_t *offsets) {
    static uint64_t ids[64 * 64];
    static uint32_t order[64];
    static float dist2[64 * 64];
    kd_points_rows rows;
    kd_points_rows_default(&rows);
    rows.offsets = offsets;
    rows.order = order;
    rows.ids64 = ids;
    rows.dist2 = dist2;
    return rows;
}
static kd_points_query all_points(void) {
    kd_points_query all = query;
    all.points.count = 0;
    all.self = 1;
    return all;
}
CALL(points_search_nearest) {
    const kd_points_query all = all_points();
    const kd_points_rows rows = all_rows(NULL);
    return kd_points_search_nearest(ARG(0, points), ARG(1, &all), 2, ARG(2, &rows));
}
CALL(points_search_count) {
    uint64_t offsets[65];
    const kd_points_query all = all_points();
    kd_points_rows rows;
    kd_points_rows_default(&rows);
    rows.offsets = offsets;
    return kd_points_search_count(ARG(0, points), ARG(1, &all), ARG(2, &rows));
}
CALL(points_search_within) {
    uint64_t offsets[65];
    const kd_points_query all = all_points();
    const kd_points_rows rows = all_rows(offsets);
    assert_int_equal(kd_points_within_count(points, &all, offsets), KD_OK);
    return kd_points_search_within(ARG(0, points), ARG(1, &all), ARG(2, &rows));
}
static double ignore_call(void *context, uint64_t index, uint64_t id, double dist2, double bound) {
    (void)context, (void)index, (void)id, (void)dist2;
    return bound;
}
CALL(points_visit) {
    return kd_points_visit(ARG(0, points), ARG(1, &query), null == 2 ? NULL : ignore_call,
                           ARG(3, triple));
}
CALL(points_scratch_bytes) {
    const uint64_t bytes = kd_points_scratch_bytes(ARG(0, points), ARG(1, &query));
    if (null >= 0) assert_int_equal(bytes, 0);
    return KD_OK;
}
CALL(points_save) {
    return kd_points_save(ARG(0, points), ARG(1, path));
}
CALL(points_load) {
    kd_points *made = NULL;
    kd_points_options options;
    kd_points_options_default(&options);
    assert_int_equal(kd_points_save(points, path), KD_OK);
    const kd_status status = kd_points_load(ARG(0, &made), ARG(1, path), ARG(2, &options));
    kd_points_close(made);
    return status;
}

#endif
