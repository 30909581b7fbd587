/* Bindings of <kandela/clouds.h> under their C names. */
#include "python/ext/points.h"
#include <kandela/clouds.h>

/* Returns the points' arrays, for a worker thread to own. */
static array cloud_kept(const point_arrays &points) {
    if (points.keep.device) throw nb::value_error("`points` must be in host memory");
    return points.keep;
}

/* Returns whether the labels were set. */
static bool cluster(const point_arrays &points, double radius, uint64_t least, nb::handle labels) {
    const array keep = cloud_kept(points);
    array keep_labels;
    int64_t *to =
        (int64_t *)array_data(labels, "labels", "int64", points.c.count, true, &keep_labels);
    const kd_point_array cloud = points.c;
    const auto done = std::make_shared<int32_t>(0);
    check_with_progress(
        [=](const std::atomic<bool> &) {
            (void)keep;
            (void)keep_labels;
            return kd_clouds_cluster(&cloud, radius, least, to, done.get());
        },
        points.c.count >= LONG_QUERIES, nullptr);
    return *done != 0;
}

/* Returns the number of means that were written; none if the points do not suit. */
static nb::object downsample(const point_arrays &points, double size, nb::handle origin,
                             nb::handle means) {
    const array keep = cloud_kept(points);
    array keep_origin, keep_means;
    const double *from =
        (const double *)array_data(origin, "origin", "float64", points.c.dims, false, &keep_origin);
    void *to = array_data(means, "means", keep.dtype.c_str(), points.c.count * points.c.dims, true,
                          &keep_means);
    const kd_point_array cloud = points.c;
    const auto voxels = std::make_shared<uint64_t>(0);
    const auto done = std::make_shared<int32_t>(0);
    check_with_progress(
        [=](const std::atomic<bool> &) {
            (void)keep;
            (void)keep_origin;
            (void)keep_means;
            return kd_clouds_downsample(&cloud, size, from, to, voxels.get(), done.get());
        },
        points.c.count >= LONG_BUILD, nullptr);
    return *done ? nb::object(nb::int_(*voxels)) : nb::object(nb::none());
}

static void normals(const point_arrays &points, const point_arrays &queries, nb::handle ids,
                    nb::handle toward, nb::handle out) {
    const array keep = cloud_kept(points), keep_queries = cloud_kept(queries);
    const array rows = array_of(ids, "ids", false);
    array keep_ids, keep_toward, keep_out;
    if (rows.shape.size() != 2 || rows.rows() != queries.c.count)
        throw nb::value_error("`ids` must have the shape (queries, k)");
    const uint32_t *at =
        (const uint32_t *)array_data(ids, "ids", "uint32|int32", rows.size(), false, &keep_ids);
    const double *from =
        (const double *)array_data(toward, "toward", "float64", 3, false, &keep_toward);
    void *to = array_data(out, "normals", keep_queries.dtype.c_str(), 3 * queries.c.count, true,
                          &keep_out);
    const uint32_t k = (uint32_t)rows.shape[1];
    const kd_point_array cloud = points.c, request = queries.c;
    check_with_progress(
        [=](const std::atomic<bool> &) {
            (void)keep, (void)keep_queries, (void)keep_ids, (void)keep_toward, (void)keep_out;
            return kd_clouds_normals(&cloud, &request, at, k, from, to);
        },
        request.count >= LONG_QUERIES, nullptr);
}

static void density(const point_arrays &points, nb::handle weights, const point_arrays &queries,
                    int kernel, double bandwidth, double atol, double rtol, nb::handle out) {
    const array keep = cloud_kept(points), keep_queries = cloud_kept(queries);
    array keep_weights, keep_out;
    const double *of = (const double *)array_data(weights, "weights", "float64", points.c.count,
                                                  false, &keep_weights);
    double *to = (double *)array_data(out, "log_sums", "float64", queries.c.count, true, &keep_out);
    const kd_point_array cloud = points.c, request = queries.c;
    check_with_progress(
        [=](const std::atomic<bool> &) {
            (void)keep, (void)keep_queries, (void)keep_weights, (void)keep_out;
            return kd_clouds_density(&cloud, of, &request, (kd_density_kernel)kernel, bandwidth,
                                     atol, rtol, to);
        },
        request.count + cloud.count >= LONG_BUILD, nullptr);
}

void bind_clouds(nb::module_ &m) {
    m.def("kd_clouds_density", density, nb::arg("points"), nb::arg("weights").none(),
          nb::arg("queries"), nb::arg("kernel"), nb::arg("bandwidth"), nb::arg("atol"),
          nb::arg("rtol"), nb::arg("log_sums").noconvert(),
          "Logarithms of the sums of a kernel over points, at each query.");
    m.def("kd_clouds_cluster", cluster, nb::arg("points"), nb::arg("radius"), nb::arg("least"),
          nb::arg("labels").noconvert(),
          "DBSCAN on a grid; returns whether cells suit the points.");
    m.def("kd_clouds_downsample", downsample, nb::arg("points"), nb::arg("size"),
          nb::arg("origin").none(), nb::arg("means").noconvert(),
          "Means of the points in cubes; returns their number, or None if the points do not suit.");
    m.def("kd_clouds_normals", normals, nb::arg("points"), nb::arg("queries"), nb::arg("ids"),
          nb::arg("toward").none(), nb::arg("normals").noconvert(),
          "Directions of least variance of rows of neighbours.");
}
