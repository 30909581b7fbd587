/* Inputs of the benchmarks: meshes, rays, point sets (pure functions of set, index and count),
   point trees, and scenes prepared on the CPU and on a CUDA device. */
#ifndef KD_TOOLS_LAB_BENCH_INPUTS_H
#define KD_TOOLS_LAB_BENCH_INPUTS_H
#include "accel/rays/batch_device.h"
#include "accel/tree/tritree.h"
#include "core/math/geometry.h"
#include "core/status.h"
#include "points/papers/build_wehr.h"
#include "points/tree/point_array.h"
#include "scenes/mesh/mesh.h"
#include "shaders/scene_view.h"
#include "tools/lab/bench/bench.h"

typedef struct bench_model {
    mesh shape;
    char name[64]; /* file name without directory and suffix; "blob:300000" */
    tritree_input input;
} bench_model;

kd_status bench_model_open(bench_model *out, const char *path);
void bench_model_close(bench_model *owned); /* accepts a zeroed struct */

/* The models of a request; by default some generators. */
int bench_model_count(const bench_request *request);
const char *bench_model_path(const bench_request *request, int index);

/* Returns true if the request includes "cuda:0" and the device exists. */
bool bench_selects_cuda(const bench_request *request);

typedef struct bench_rays {
    const char *set;
    ray *rays;
    uint64_t count;
    bool any;       /* any-hit queries instead of closest-hit */
    uint32_t width; /* width of the image whose rays these are, in scanline order; 0: no image */
    bool coherent;  /* neighbouring rays are similar */
} bench_rays;

typedef struct bench_rays_request {
    const tritree *tree;
    int32_t width, height; /* size of the image */
    int32_t bounces;       /* diffuse rays per hit of the image's rays */
    uint64_t random_count;
} bench_rays_request;

/* The sets, by name:
     primary     rays of a pinhole camera through the pixel centres, row by row
     diffuse     from the hits of the primary rays, cosine-distributed around the normal
     ao-any      as diffuse, but any hit within 0.15 of the box's diagonal
     random      uniform origins in the box, uniform directions
     random-any  as random, but any hit */
extern const char *const bench_ray_sets[]; /* terminated by NULL */
kd_status bench_rays_open(bench_rays *out, const bench_rays_request *request, const char *set);
void bench_rays_close(bench_rays *owned); /* accepts a zeroed struct */
/* Casts the rays for closest hits on row->device and sets row->seconds; a first, untimed call warms
   up. `hits`: one per ray, in host memory; `loop`: used on a device. */
kd_status bench_rays_cast(bench_row *row, const tritree *tree, const bench_rays *rays,
                          trace_loop loop, ray_hit *hits); /* accepts a zeroed struct */

/* The point sets, by name:
     uniform     uniform in the unit cube
     photon      60 % on six axis-aligned walls, 25 % on three spheres, 15 % in one small spot
     clustered   nine of ten points in a cube of side 1e-4, the others uniform
     stretched   uniform in a box with sides 100 : 1 : 1
     sorted      along the diagonal of the cube, in order
     ties        8 x 3 x 100 distinct coordinates
     equal       all points equal */
extern const char *const bench_sets[]; /* terminated by NULL */

/* Returns KD_ERROR_USAGE if the set does not exist. */
kd_status bench_set_fill(vec3 *points, uint64_t count, const char *set);
/* The same for the layout that `points` describes. Each group of three axes is a point of the
   set. */
kd_status bench_set_fill_nd(void *to, const point_array *points, const char *set);
/* The points that a camera inside the walls of "photon" sees, in scanline order, 1600 per row. */
void bench_image_fill(vec3 *points, uint64_t count);

/* The points of a case, on the host and, if there is a CUDA device, on that, too. */
typedef struct bench_cloud {
    point_array points, device_points; /* device_points.coordinates is NULL without a device */
    point_box box;
    void *memory[2]; /* memory of both */
} bench_cloud;

/* `set` is one of bench_sets; `stride_bytes` 0: packed. */
kd_status bench_cloud_open(bench_cloud *out, const char *set, uint64_t count, uint32_t dims,
                           point_scalar scalar, uint64_t stride_bytes, bool on_device);
void bench_cloud_close(bench_cloud *owned); /* accepts a zeroed struct */

/* Build trees of the cloud. Set the row's seconds, bytes, hash and checked; its builder and runs
   are inputs. */
kd_status bench_tree_cpu(bench_row *row, const bench_cloud *cloud,
                         const pointtree_options *options);
kd_status bench_tree_cuda(bench_row *row, const bench_cloud *cloud,
                          const pointtree_options *options, const wehr_parameters *parameters);

/* Finds the best parameters of `wehr` for the cloud on the device. */
kd_status bench_tune_cuda(wehr_parameters *best, const bench_cloud *cloud,
                          const pointtree_options *options);

#endif
