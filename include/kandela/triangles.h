/* Rays against triangles, and the triangle nearest to a point: k-d trees, built and asked on all
   cores or on a CUDA device. C99-clean.

       kd_triangles *tree = NULL;
       kd_triangle_mesh mesh = kd_triangle_mesh_make(xyz, vertices, indices, triangles);
       kd_status status = kd_triangles_open(&tree, &mesh, NULL);
       ...
       status = kd_triangles_intersect(tree, rays, count, hits, NULL);
       ...
       kd_triangles_close(tree);

   A ray covers origin + t direction for t between tmin and tmax, the ends excluded; the direction
   need not be a unit vector, t counts in its lengths. The test is watertight: no ray slips between
   two triangles that share an edge. Both sides of a triangle are hit; of hits at the same t the one
   with the smallest index counts. A triangle thinner than the rounding of its corners is hit or not
   as they round, then where it passes within 6 2^-24 of its farthest corner's distance from the
   origin. Answers are the same bits for any builder, any number of threads and any device. A ray
   with NaN in it, of an infinite origin, or without a direction hits nothing.
   A tree on a CUDA device takes and fills host memory and device memory alike, each pointer for
   itself; its calls put their work on the caller's stream and return when the answers are there.
   One on the CPU takes host memory only: device memory is KD_ERROR_USAGE, as is an array that is
   not aligned to its elements. NULL where something is needed is KD_ERROR_USAGE; calls without a
   status then do nothing.
   Structs that grow begin with struct_size, the caller's sizeof, which the inline functions of this
   header set: a program keeps working with later libraries. Other languages call the _sized ones.
   After a failure the message is in kd_last_error(). A tree may be asked by
   many threads at once, but not while kd_triangles_close runs. */
#ifndef KANDELA_TRIANGLES_H
#define KANDELA_TRIANGLES_H
#include <kandela/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KD_NO_TRIANGLE 0xffffffffu /* the triangle of a ray that hits nothing */

typedef struct kd_triangles kd_triangles;

/* Triangles as they lie in memory; read while the tree is built, which keeps copies. */
typedef struct kd_triangle_mesh {
    const float *vertices;   /* x, y, z of each; NULL if there is none; host or device memory */
    uint64_t vertex_count;   /* less than 2^32 */
    uint64_t stride_bytes;   /* from a vertex to the next, a multiple of 4, >= 12; 0: packed */
    const uint32_t *indices; /* 3 a triangle; NULL: triangle i has vertices 3i, 3i+1, 3i+2 */
    uint64_t triangle_count; /* less than 2^32 - 1 */
} kd_triangle_mesh;

/* Filled by kd_triangles_options_default, which sets struct_size; fields are only ever added at the
 * end. */
typedef struct kd_triangles_options {
    size_t struct_size;
    char device[256];     /* "auto": the first CUDA device for 100,000 triangles and more, and for
                             vertices in device memory their own, else the CPU; "cpu", "cuda:N" */
    char builder[32];     /* "auto", or a name that kandela info lists; one that knows no device
                             builds on the CPU, and the tree then goes to the device */
    float traversal_cost; /* C_t: a step through an inner node, >= 0 */
    float intersect_cost; /* C_i: a triangle test, > 0 */
    float empty_factor;   /* cost factor of a split that cuts off empty space, (0, 1] */
    int32_t max_depth;    /* of a leaf; 0: by the number of triangles */
    void *stream;         /* cudaStream_t to build and ask on; NULL: the default one */
} kd_triangles_options;

typedef struct kd_ray {
    float origin[3], tmin, direction[3], tmax;
} kd_ray;

typedef struct kd_ray_hit {
    float t;           /* the ray's tmax if nothing was hit */
    float u, v;        /* barycentric weights of the second and third vertex */
    uint32_t triangle; /* KD_NO_TRIANGLE if nothing was hit */
} kd_ray_hit;

/* What a ray took. */
typedef struct kd_ray_counts {
    uint64_t nodes;     /* read, leaves included */
    uint64_t leaves;    /* visited, empty ones included */
    uint64_t triangles; /* tested */
} kd_ray_counts;

typedef enum kd_ray_order {
    KD_RAYS_MEASURED = 0,   /* unknown: an image's are coherent, at others a device looks */
    KD_RAYS_COHERENT = 1,   /* neighbours start and point alike, as a camera's do */
    KD_RAYS_INCOHERENT = 2, /* anywhere, in any direction */
} kd_ray_order;

/* Many rays and what is asked of them; filled by kd_ray_batch_default, which sets struct_size and
   all else to 0. Fields are only ever added at the end. */
typedef struct kd_ray_batch {
    size_t struct_size;
    uint64_t count;
    const kd_ray *rays; /* in device memory 16 bytes aligned; or NULL, and then */
    const float *origin[3], *direction[3]; /* an array for each number */
    const float *tmin, *tmax;              /* NULL: 0, INFINITY for all */
    /* One kind of answers: the closest hits as structs (on a device 16 bytes aligned), the same as
       an array for each number, of which some may be NULL, or whether anything is hit. */
    kd_ray_hit *hits;
    float *t, *u, *v;
    uint32_t *triangles;
    uint8_t *blocked;
    kd_ray_counts *counts; /* or NULL: what each ray took; rays are then cast one by one */
    kd_ray_order order;
    uint32_t width;       /* rays are an image of so many columns, row by row; 0: they are none */
    int32_t asynchronous; /* not 0: if all of the above is memory of the tree's device, return at
                             once; the answers are there when the stream has come so far */
    void *stream;         /* cudaStream_t for this call; NULL: that of the tree's options */
} kd_ray_batch;

/* What is nearest to a point. */
typedef struct kd_near_triangle {
    float point[3];    /* the nearest place, rounded; 0 if nothing is near enough */
    float distance;    /* to it, in the mesh's unit; INFINITY if nothing is near enough */
    float u, v;        /* its barycentric weights of the second and third vertex */
    uint32_t triangle; /* KD_NO_TRIANGLE if nothing is near enough */
    uint32_t feature;  /* 0: inside the triangle; 1, 2, 3: on the edge from vertex 0, 1, 2 to the
                          next; 4, 5, 6: at vertex 0, 1, 2 */
} kd_near_triangle;

/* Filled by kd_triangles_describe; fields are only ever added at the end. */
typedef struct kd_triangles_info {
    size_t struct_size;
    uint64_t vertices, triangles;
    uint64_t degenerate_triangles; /* without area: never hit */
    uint64_t nodes, leaves, empty_leaves;
    uint64_t references; /* triangles in leaves */
    uint32_t depth;      /* edges from the root to the deepest leaf */
    double sah_cost;     /* with the costs of the options */
    double build_seconds;
    char builder[32], device[256];
    float lo[3], hi[3]; /* of what can be hit; lo > hi if there is nothing */
    uint64_t bytes;     /* that the tree holds */
    uint64_t hash;      /* XXH3 of nodes and references */
    char form[16];      /* what rays walk: "wide" on a CPU, "packed" on a device; "nodes": the
                           tree itself, as there was no memory for that form or nothing to hit;
                           on a device rays then take two to four times as long */
} kd_triangles_info;

KD_API kd_triangle_mesh kd_triangle_mesh_make(const float *vertices, uint64_t vertex_count,
                                              const uint32_t *indices,
                                              uint64_t triangle_count); /* packed */
KD_API void kd_triangles_options_default_sized(kd_triangles_options *options, size_t struct_size);
KD_API void kd_ray_batch_default_sized(kd_ray_batch *batch, size_t struct_size);
static inline void kd_triangles_options_default(kd_triangles_options *options) {
    kd_triangles_options_default_sized(options, sizeof *options);
}
static inline void kd_ray_batch_default(kd_ray_batch *batch) {
    kd_ray_batch_default_sized(batch, sizeof *batch);
}

/* Builds; no triangles are fine. `options` NULL takes the defaults. KD_ERROR_INPUT names the first
   triangle with an index out of range or a corner that is NaN or infinite; KD_ERROR_USAGE an option
   or a size that makes no sense; KD_ERROR_DEVICE a device that is absent. *out is NULL then. */
KD_API kd_status kd_triangles_open(kd_triangles **out, const kd_triangle_mesh *mesh,
                                   const kd_triangles_options *options);
KD_API void kd_triangles_close(kd_triangles *tree); /* takes NULL */
/* All 0 without a tree. */
KD_API void kd_triangles_describe_sized(const kd_triangles *tree, kd_triangles_info *info,
                                        size_t struct_size);
static inline void kd_triangles_describe(const kd_triangles *tree, kd_triangles_info *info) {
    kd_triangles_describe_sized(tree, info, sizeof *info);
}

/* Answers a batch. KD_ERROR_USAGE if rays or places for answers are missing or of two kinds. */
KD_API kd_status kd_triangles_cast(const kd_triangles *tree, const kd_ray_batch *batch);
/* hits[i]: what rays[i] meets first. counts[i], unless `counts` is NULL, what that took: rays are
   then cast one by one, while otherwise neighbours that run alike go together. */
KD_API kd_status kd_triangles_intersect(const kd_triangles *tree, const kd_ray *rays,
                                        uint64_t count, kd_ray_hit *hits, kd_ray_counts *counts);
/* blocked[i]: 1 if rays[i] meets anything, else 0. */
KD_API kd_status kd_triangles_occluded(const kd_triangles *tree, const kd_ray *rays, uint64_t count,
                                       uint8_t *blocked, kd_ray_counts *counts);

/* nearest[i]: the triangle nearest to point i (x, y, z of each, side by side), no farther away than
   max_distance, which is 0, INFINITY or between. Distances are compared in double, where they are
   off by at most 2^-48 of that to the triangle's farthest vertex; of triangles as near the smallest
   index counts, and an edge or a vertex is as near in each triangle that has it. Triangles without
   area are the edges or points that they are. To a point that is no place (NaN, infinite) nothing
   is near. The first call makes a tree for this, 44 bytes a triangle, that later ones use. */
KD_API kd_status kd_triangles_closest_point(const kd_triangles *tree, const float *points,
                                            uint64_t count, float max_distance,
                                            kd_near_triangle *nearest);

/* A little-endian file with a checksum (its layout: accel/triangles_file.c). A file that is
   cut, changed or no tree of its triangles is KD_ERROR_INPUT: all of it is checked. Of `options`
   device and stream are looked at. */
KD_API kd_status kd_triangles_save(const kd_triangles *tree, const char *path);
KD_API kd_status kd_triangles_load(kd_triangles **out, const char *path,
                                   const kd_triangles_options *options);

#ifdef __cplusplus
}
#endif
#endif
