/* Ray queries against triangles, and the triangle nearest to a point: k-d trees, built and queried
   on all CPU cores or on a CUDA device. C99.

       #include <kandela/triangles.h>
       #include <stdio.h>

       // The closest hit of each of `ray_count` rays on an indexed mesh.
       int closest_hits(const float *xyz, uint64_t vertex_count, const uint32_t *indices,
                        uint64_t triangle_count, const kd_ray *rays, uint64_t ray_count,
                        kd_ray_hit *hits) {
           kd_triangles *tree = NULL;
           kd_triangle_mesh mesh =
               kd_triangle_mesh_make(xyz, vertex_count, indices, triangle_count);
           kd_status status = kd_triangles_open(&tree, &mesh, NULL);
           if (status == KD_OK)
               status = kd_triangles_intersect(tree, rays, ray_count, hits, NULL);
           if (status != KD_OK) fprintf(stderr, "%s\n", kd_last_error());
           kd_triangles_close(tree);
           return status;
       }

   Rays: a ray is the points origin + t direction with tmin < t < tmax. The direction need not be
   normalised; t is in units of its length. A ray that contains a NaN, has an infinite origin or a
   zero direction hits nothing.

   Results: the intersection test is watertight: no ray passes between two triangles that share an
   edge. Triangles are two-sided. Of several hits at the same t, the one on the triangle with the
   smallest index is reported. A triangle thinner than the rounding error of its vertices may or may
   not be hit, and only by rays that pass it at less than 6 * 2^-24 times the distance from the
   ray's origin to the triangle's farthest vertex. The results are bit for bit the same for every
   builder, number of threads and device.

   Memory: a tree on a CUDA device accepts host and device pointers, each argument independently;
   its calls enqueue their work on the caller's stream and return when the results are complete. A
   tree on the CPU accepts host memory only. Passing it device memory, or passing any tree an array
   that is not aligned to its elements, returns KD_ERROR_USAGE.

   NULL: passing NULL for a required argument returns KD_ERROR_USAGE; functions that do not return a
   status then do nothing.

   Errors: the message of a failed call is in kd_last_error().

   Threads: any number of threads may query a tree at once, but not while kd_triangles_close runs.

   Binary compatibility: structs that may grow begin with `struct_size`, the sizeof that the caller
   was compiled with. The inline functions of this header pass it, so a compiled program keeps
   working with later versions of the library. Bindings for other languages call the _sized
   functions. */
#ifndef KANDELA_TRIANGLES_H
#define KANDELA_TRIANGLES_H
#include <kandela/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*************************************** Simple: types ***************************************/

#define KD_NO_TRIANGLE 0xffffffffu /* triangle index of a ray that hits nothing */

/* A tree; opened by kd_triangles_open, closed by kd_triangles_close. */
typedef struct kd_triangles kd_triangles;

/* A mesh that the caller owns. It is read during kd_triangles_open only; the tree keeps copies. */
typedef struct kd_triangle_mesh {
    const float *vertices;   /* x, y, z of each; NULL if vertex_count is 0 */
    uint64_t vertex_count;   /* less than 2^32 */
    uint64_t stride_bytes;   /* from one vertex to the next, a multiple of 4, >= 12; 0: packed */
    const uint32_t *indices; /* 3 per triangle; NULL: triangle i has vertices 3i, 3i+1, 3i+2 */
    uint64_t triangle_count; /* less than 2^32 - 1 */
} kd_triangle_mesh;

/* Options of a tree. Initialise with kd_triangles_options_default, which sets struct_size; new
   fields are only added at the end. */
typedef struct kd_triangles_options {
    size_t struct_size;
    char device[256];     /* "auto": the CUDA device that holds the vertices, else the first CUDA
                             device for at least 100,000 triangles, else the CPU; "cpu"; "cuda:N" */
    char builder[32];     /* "auto", or a name that `kandela info` lists; a builder without CUDA
                             kernels builds on the CPU, and the tree is then copied to the device */
    float traversal_cost; /* SAH cost C_t of traversing an inner node, >= 0; default 2 */
    float intersect_cost; /* SAH cost C_i of a triangle test, > 0; default 1 */
    float
        empty_factor;  /* SAH cost factor of a split that cuts off empty space, (0, 1]; default 1 */
    int32_t max_depth; /* maximum depth of a leaf; 0: derived from the number of triangles */
    void *stream;      /* cudaStream_t for building and queries; NULL: the default stream */
    int32_t threads;   /* CPU threads of calls on the tree; 0: kd_threads() */
    int32_t reserved;  /* must be 0 */
} kd_triangles_options;

/* A ray; in device memory 16-byte aligned. */
typedef struct kd_ray {
    float origin[3], tmin, direction[3], tmax;
} kd_ray;

/* The closest hit of a ray; in device memory 16-byte aligned. */
typedef struct kd_ray_hit {
    float t;           /* distance in lengths of the direction; the ray's tmax if nothing is hit */
    float u, v;        /* barycentric coordinates: the weights of the second and third vertex */
    uint32_t triangle; /* index of the triangle; KD_NO_TRIANGLE if nothing is hit */
} kd_ray_hit;

/* Traversal statistics of a ray. */
typedef struct kd_ray_counts {
    uint64_t nodes;     /* nodes read, leaves included */
    uint64_t leaves;    /* leaves visited, empty ones included */
    uint64_t triangles; /* triangles tested */
} kd_ray_counts;

/* Coherence of a batch; a hint that affects only the speed. */
typedef enum kd_ray_order {
    KD_RAYS_MEASURED = 0,   /* unknown: the rays of an image are assumed to be coherent; for other
                               batches, a device measures the coherence */
    KD_RAYS_COHERENT = 1,   /* consecutive rays have similar origins and directions (camera rays) */
    KD_RAYS_INCOHERENT = 2, /* unrelated origins and directions */
} kd_ray_order;

/* Advanced: a batch of rays and its outputs, for kd_triangles_cast. Initialise with
   kd_ray_batch_default, which sets struct_size and zeroes the rest; new fields are only added at
   the end. */
typedef struct kd_ray_batch {
    size_t struct_size;
    uint64_t count;
    const kd_ray *rays; /* array of structs; or NULL, for a structure of arrays: */
    const float *origin[3], *direction[3]; /* one array per component */
    const float *tmin, *tmax;              /* NULL: 0 and INFINITY for all rays */
    /* Set exactly one kind of output: `hits`; one or more of t, u, v, triangles; or `blocked`. */
    kd_ray_hit *hits;      /* closest hits, array of structs */
    float *t, *u, *v;      /* closest hits, structure of arrays; each may be NULL */
    uint32_t *triangles;   /* the same */
    uint8_t *blocked;      /* 1 if the ray hits anything, else 0 */
    kd_ray_counts *counts; /* statistics per ray; or NULL: rays may be traced in packets */
    kd_ray_order order;
    uint32_t width;       /* columns of an image whose rays come row by row; 0: not an image */
    int32_t asynchronous; /* non-zero: if all arrays are in the memory of the tree's device, returns
                             immediately; the results are complete once the stream has executed the
                             work of the call */
    void *stream;         /* cudaStream_t of this call; NULL: the stream of the tree's options */
} kd_ray_batch;

/* The point of the mesh nearest to a query point. */
typedef struct kd_near_triangle {
    float point[3];    /* the nearest point, rounded to float; 0 if there is none */
    float distance;    /* in the unit of the mesh; INFINITY if there is none */
    float u, v;        /* barycentric coordinates of the nearest point, as in kd_ray_hit */
    uint32_t triangle; /* its index; KD_NO_TRIANGLE if none is within max_distance */
    uint32_t feature;  /* the part of the triangle on which the point lies: 0: interior; 1, 2, 3:
                          edge from vertex 0, 1, 2 to the next; 4, 5, 6: vertex 0, 1, 2 */
} kd_near_triangle;

/* Statistics of a tree, by kd_triangles_describe; new fields are only added at the end. */
typedef struct kd_triangles_info {
    size_t struct_size;
    uint64_t vertices, triangles;
    uint64_t degenerate_triangles; /* triangles without area, which rays never hit */
    uint64_t nodes, leaves, empty_leaves;
    uint64_t references; /* triangle references in all leaves */
    uint32_t depth;      /* edges from the root to the deepest leaf */
    double sah_cost; /* expected cost of a ray by the surface area heuristic, with the costs of the
                        options */
    double build_seconds;
    char builder[32], device[256];
    float lo[3], hi[3]; /* bounding box without degenerate triangles; lo > hi if empty */
    uint64_t bytes;     /* memory held */
    uint64_t hash;      /* XXH3 of the nodes and references */
    char form[16];      /* layout that rays traverse: "wide" on a CPU, "packed" (compressed wide
                           nodes) on a device, or "indexed", which takes half of the memory, from 8
                           million triangles on or if memory is short; or "nodes", the binary tree
                           itself, if there was no memory for that layout or nothing to hit; rays
                           on a device then take two to four times as long */
} kd_triangles_info;

/* A node of the tree. The root is node 0; the children of an inner node are `word >> 2` and the
   node behind it. The plane is at.split on axis `word & 3`; the first child has what lies below it.
   In a leaf `word & 3` is 3: its triangles are `word >> 2` references from at.first on. */
typedef struct kd_triangle_node {
    union {
        float split;
        uint32_t first;
    } at;
    uint32_t word;
} kd_triangle_node;

/* Returns a view of a mesh with packed vertices. */
KD_API kd_triangle_mesh kd_triangle_mesh_make(const float *vertices, uint64_t vertex_count,
                                              const uint32_t *indices, uint64_t triangle_count);
/* Set all fields to their defaults. */
KD_API void kd_triangles_options_default_sized(kd_triangles_options *options, size_t struct_size);
KD_API void kd_ray_batch_default_sized(kd_ray_batch *batch, size_t struct_size);
static inline void kd_triangles_options_default(kd_triangles_options *options) {
    kd_triangles_options_default_sized(options, sizeof *options);
}
static inline void kd_ray_batch_default(kd_ray_batch *batch) {
    kd_ray_batch_default_sized(batch, sizeof *batch);
}

/******************************* Simple: build, inspect, close *******************************/

/* Builds a tree; `mesh` may be empty. `options` may be NULL for the defaults. On failure *out is
   NULL: KD_ERROR_INPUT names the first triangle with an index out of range or a vertex that is NaN
   or infinite, KD_ERROR_USAGE the invalid option or size; KD_ERROR_DEVICE means that the device is
   absent. The caller closes *out with kd_triangles_close. */
KD_API kd_status kd_triangles_open(kd_triangles **out, const kd_triangle_mesh *mesh,
                                   const kd_triangles_options *options);
/* Returns the names that kd_triangles_options.builder takes besides "auto", separated by spaces; a
   static string. */
KD_API const char *kd_triangles_builders(void);
/* Frees the tree; `tree` may be NULL. */
KD_API void kd_triangles_close(kd_triangles *tree);
/* Fills *info; if `tree` is NULL, *info is zeroed. */
KD_API void kd_triangles_describe_sized(const kd_triangles *tree, kd_triangles_info *info,
                                        size_t struct_size);
static inline void kd_triangles_describe(const kd_triangles *tree, kd_triangles_info *info) {
    kd_triangles_describe_sized(tree, info, sizeof *info);
}

/***************************** Advanced: batches with all options ****************************/

/* Traces a batch. Returns KD_ERROR_USAGE unless exactly one kind of rays and exactly one
   kind of output is set. */
KD_API kd_status kd_triangles_cast(const kd_triangles *tree, const kd_ray_batch *batch);

/************************************** Simple: queries **************************************/

/* Finds the closest hit hits[i] of rays[i]. `counts` may be NULL; otherwise counts[i] receives the
   statistics of rays[i], and rays are traced one at a time instead of in packets. */
KD_API kd_status kd_triangles_intersect(const kd_triangles *tree, const kd_ray *rays,
                                        uint64_t count, kd_ray_hit *hits, kd_ray_counts *counts);
/* Sets blocked[i] to 1 if rays[i] hits anything, else to 0; `counts` as for
   kd_triangles_intersect. */
KD_API kd_status kd_triangles_occluded(const kd_triangles *tree, const kd_ray *rays, uint64_t count,
                                       uint8_t *blocked, kd_ray_counts *counts);

/* Finds the triangle nearest to each point (x, y, z, packed) within max_distance, which is from 0
   to INFINITY. Accuracy and ties: distances are compared in double, with an error of at most 2^-48
   of the distance to the triangle's farthest vertex. Of equally near triangles the smallest index
   is reported; an edge or a vertex is equally near in all triangles that share it. Degenerate
   triangles count as line segments or points. A point with a NaN or infinite coordinate has no
   nearest triangle.
   Memory: the caller owns `points` and `nearest`, `count` elements each. The first call builds a
   second tree of 44 bytes per triangle, which later calls use. */
KD_API kd_status kd_triangles_closest_point(const kd_triangles *tree, const float *points,
                                            uint64_t count, float max_distance,
                                            kd_near_triangle *nearest);

/* Computes the generalised winding number of the mesh about each point (x, y, z, packed): the sum
   of the signed solid angles of the triangles, over 4 pi. It is 1 inside and 0 outside of a closed
   mesh whose triangles are wound counter-clockwise as seen from outside, the sum over bodies that
   overlap, and in between for a mesh with holes. A point that is not finite gets NaN.
   `accuracy`, from 1 to INFINITY: a group of triangles counts as a dipole if the point is farther
   from its centre than `accuracy` times its radius. Errors are below about 0.05 for 2 and below
   0.01 for 4; INFINITY sums over all triangles.
   Memory: `points` and `winding` are host memory for every tree. The first call builds the tree of
   kd_triangles_closest_point and 17 bytes per triangle, in host memory; a tree on a device is
   copied to the host first. */
KD_API kd_status kd_triangles_winding_number(const kd_triangles *tree, const float *points,
                                             uint64_t count, double accuracy, double *winding);

/* Counts the triangles that the ray from each point along the x axis crosses: crossings[i] is their
   number, odd inside of a mesh whose edges have an even number of triangles each, however these are
   wound; winding[i] is their sum with the signs of the x components of their normals, which is the
   exact winding number if each edge has as many triangles in one direction as in the other. Rays
   through edges and vertices are counted correctly; each of several coincident triangles counts.
   Both results are 0 for a point that lies on a triangle or is not finite. Either output may be
   NULL. Memory: as for kd_triangles_winding_number, without the 17 bytes. */
KD_API kd_status kd_triangles_crossings(const kd_triangles *tree, const float *points,
                                        uint64_t count, uint32_t *crossings, int32_t *winding);

/************************************** Simple: files ****************************************/

/* Copies the mesh of a tree to host memory: 3 floats for each of kd_triangles_info.vertices, 3
   indices for each of kd_triangles_info.triangles. Either may be NULL. */
KD_API kd_status kd_triangles_download(const kd_triangles *tree, float *vertices,
                                       uint32_t *indices);

/* Copies the nodes of a tree to host memory, for kernels of the caller (<kandela/device.cuh>):
   kd_triangles_info.nodes nodes, and the indices of the triangles in all leaves,
   kd_triangles_info.references of them. Either may be NULL. */
KD_API kd_status kd_triangles_download_nodes(const kd_triangles *tree, kd_triangle_node *nodes,
                                             uint32_t *references);

/* Write and read a tree, little-endian and with a checksum (layout: accel/triangles_file.c). If
   writing fails, a file of that name remains unchanged. Reading verifies the whole file and returns
   KD_ERROR_INPUT if it is truncated, modified or inconsistent; *out is then NULL. The caller closes
   *out with kd_triangles_close. Of `options` only device, stream and threads are read. */
KD_API kd_status kd_triangles_save(const kd_triangles *tree, const char *path);
KD_API kd_status kd_triangles_load(kd_triangles **out, const char *path,
                                   const kd_triangles_options *options);

#ifdef __cplusplus
}
#endif
#endif
