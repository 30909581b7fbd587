/* Handlers of XLA's foreign function interface, by which compiled JAX functions call the library
   without Python (python/kandela/jax.py). Compiled if jaxlib's headers are found at build time;
   else there are none. */
#include "python/ext/bind.h"
#if __has_include(<xla/ffi/api/ffi.h>)
#include <kandela/points.h>
#include <kandela/triangles.h>
#include <xla/ffi/api/ffi.h>

namespace ffi = xla::ffi;

static ffi::Error error_of(kd_status status) {
    if (status == KD_OK) return ffi::Error::Success();
    return ffi::Error(status == KD_ERROR_MEMORY ? ffi::ErrorCode::kResourceExhausted
                                                : ffi::ErrorCode::kInvalidArgument,
                      kd_last_error());
}

static kd_point_array points_in(ffi::AnyBuffer buffer) {
    return kd_point_array_make(buffer.untyped_data(), (uint64_t)buffer.dimensions()[0],
                               (uint32_t)buffer.dimensions()[1],
                               buffer.element_type() == ffi::F64 ? KD_DOUBLE : KD_FLOAT);
}

/* The ids of the k nearest points of each query; -1 for none. */
static ffi::Error nearest(ffi::AnyBuffer queries, ffi::AnyBuffer points, int64_t k,
                          double max_radius, ffi::ResultBuffer<ffi::S32> ids) {
    kd_points *tree = nullptr;
    kd_points_options options;
    kd_points_query query;
    const kd_point_array array = points_in(points);
    kd_points_options_default(&options);
    text_set(options.device, "cpu", "device");
    kd_points_query_default(&query);
    query.points = points_in(queries);
    query.max_radius = max_radius;
    kd_status status = kd_points_open(&tree, &array, &options);
    if (status == KD_OK)
        status =
            kd_points_nearest(tree, &query, (uint32_t)k, (uint32_t *)ids->typed_data(), NULL, NULL);
    const ffi::Error error = error_of(status);
    kd_points_close(tree);
    return error;
}

/* The first triangle on each ray from t = 0 on; -1 for none. */
static ffi::Error first_triangle(ffi::Buffer<ffi::F32> origins, ffi::Buffer<ffi::F32> directions,
                                 ffi::Buffer<ffi::F32> vertices, ffi::Buffer<ffi::S32> faces,
                                 ffi::ResultBuffer<ffi::S32> triangles) {
    kd_triangles *tree = nullptr;
    kd_triangles_options options;
    const uint64_t count = (uint64_t)origins.dimensions()[0];
    const kd_triangle_mesh mesh = kd_triangle_mesh_make(
        vertices.typed_data(), (uint64_t)vertices.dimensions()[0],
        (const uint32_t *)faces.typed_data(), (uint64_t)faces.dimensions()[0]);
    std::vector<kd_ray> rays(count);
    kd_triangles_options_default(&options);
    text_set(options.device, "cpu", "device");
    for (uint64_t i = 0; i < count; ++i) {
        for (int axis = 0; axis < 3; ++axis) {
            rays[i].origin[axis] = origins.typed_data()[3 * i + axis];
            rays[i].direction[axis] = directions.typed_data()[3 * i + axis];
        }
        rays[i].tmin = 0;
        rays[i].tmax = INFINITY;
    }
    kd_ray_batch batch;
    kd_ray_batch_default(&batch);
    batch.count = count;
    batch.rays = rays.data();
    batch.triangles = (uint32_t *)triangles->typed_data();
    kd_status status = kd_triangles_open(&tree, &mesh, &options);
    if (status == KD_OK) status = kd_triangles_cast(tree, &batch);
    const ffi::Error error = error_of(status);
    kd_triangles_close(tree);
    return error;
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(kandela_xla_nearest, nearest,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::AnyBuffer>()
                                  .Arg<ffi::AnyBuffer>()
                                  .Attr<int64_t>("k")
                                  .Attr<double>("max_radius")
                                  .Ret<ffi::Buffer<ffi::S32>>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(kandela_xla_first_triangle, first_triangle,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::S32>>()
                                  .Ret<ffi::Buffer<ffi::S32>>());

static nb::dict handlers() {
    nb::dict found;
    found["kandela_nearest"] = nb::capsule((void *)kandela_xla_nearest);
    found["kandela_first_triangle"] = nb::capsule((void *)kandela_xla_first_triangle);
    return found;
}
#else
static nb::dict handlers() {
    return nb::dict();
}
#endif

void bind_xla(nb::module_ &module) {
    module.def("xla_handlers", handlers,
               "Handlers of XLA's FFI by name; none without its headers.");
}
