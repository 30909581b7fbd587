/* Ray queries and nearest points on scenes: many meshes, placed by instances that move between
   calls, in up to millions of separate worlds. On all CPU cores or on a CUDA device. C99.

       #include <kandela/ray_scenes.h>
       #include <stdio.h>

       // The closest hits of rays on two copies of a mesh, the second one moved by `by` along x.
       int hits_on_two(const kd_triangles *mesh, double by, const kd_ray *rays, uint64_t count,
                       kd_scene_hit *hits) {
           kd_ray_scene *scene = NULL;
           uint32_t geometry = 0;
           kd_ray_instance copies[2];
           kd_status status = kd_ray_scene_open(&scene, 1);
           if (status == KD_OK) status = kd_ray_scene_add_geometry(scene, mesh, &geometry);
           copies[0] = copies[1] = kd_ray_instance_make(geometry);
           copies[1].transform[3] = by;
           if (status == KD_OK) status = kd_ray_scene_add_instances(scene, copies, 2, NULL);
           if (status == KD_OK) status = kd_ray_scene_commit(scene);
           kd_ray_query query;
           kd_ray_query_default(&query);
           query.rays = rays;
           query.count = count;
           if (status == KD_OK) status = kd_ray_scene_intersect(scene, &query, hits);
           if (status != KD_OK) fprintf(stderr, "%s\n", kd_last_error());
           kd_ray_scene_close(scene);
           return status;
       }

   Scenes: a geometry is a tree of <kandela/triangles.h>, which the caller opens, keeps open while
   the scene uses it, and may use in several scenes. An instance places a geometry; a geometry
   without instances is never hit. Geometries and instances are numbered from 0 in the order in
   which they are added.

   Changes take effect with kd_ray_scene_commit; queries before that return KD_ERROR_USAGE. A commit
   takes about 2 microseconds of processor time per instance, whatever the meshes: only the top
   level is rebuilt. A mesh whose vertices move is a new tree: kd_triangles_open, then
   kd_ray_scene_set_geometry. (A k-d tree is rebuilt, not refitted: about 2 seconds of processor
   time per million triangles.)

   Worlds: a ray sees only the instances of its world and of KD_EVERY_WORLD. Masks: a ray sees an
   instance only if their masks have a bit in common.

   Rays: as in <kandela/triangles.h>. A ray with a NaN, an infinite origin or a zero direction hits
   nothing.

   Results: an instance's vertices are transformed in double and rounded to float, relative to the
   scene's origin (kd_ray_scene_set_origin); the results are those of intersecting the triangles
   between these vertices, bit for bit, on every device. So no ray passes between two triangles of
   an instance that share an edge, whatever its transform. Hits are ordered by t; at the same t by
   instance, then by triangle. A list has one hit for each triangle: a ray through an edge or a
   vertex hits each triangle that shares it. A triangle without area in its mesh or in its instance
   is not hit.

   Units: t is in lengths of the ray's direction, distances in units of world space.

   Devices: a scene is where its trees are: all on the CPU, or all on one CUDA device. A scene on a
   device accepts host and device pointers, each argument independently; a scene on the CPU accepts
   host memory only.

   Threads: any number of threads may query a scene at once, but not while a thread changes, commits
   or closes it, or closes one of its trees.

   NULL: passing NULL for a required argument returns KD_ERROR_USAGE.

   Errors: the message of a failed call is in kd_last_error(). A change that fails has no effect;
   see kd_ray_scene_commit for a failed commit. */
#ifndef KANDELA_RAY_SCENES_H
#define KANDELA_RAY_SCENES_H
#include <kandela/triangles.h>

#ifdef __cplusplus
extern "C" {
#endif

/*************************************** Simple: types ***************************************/

#define KD_EVERY_WORLD 0xffffffffu /* world of an instance that all rays may see */
#define KD_NO_INSTANCE 0xffffffffu /* instance and geometry of a ray that hits nothing */

/* A scene; opened by kd_ray_scene_open, closed by kd_ray_scene_close. */
typedef struct kd_ray_scene kd_ray_scene;

/* An instance of a geometry. Make it with kd_ray_instance_make. */
typedef struct kd_ray_instance {
    double transform[12]; /* object to world space, three rows of (matrix | translation); any
                             invertible matrix that scales its axes in a ratio of at most 2^16 */
    uint32_t geometry;    /* number of the geometry */
    uint32_t mask;        /* bits compared with those of rays; 0: no ray sees the instance */
    uint32_t world;       /* below the number of worlds, or KD_EVERY_WORLD */
    uint32_t reserved;    /* must be 0 */
} kd_ray_instance;

/* A hit. If there is none: t is the ray's tmax, triangle, instance and geometry are
   KD_NO_TRIANGLE and KD_NO_INSTANCE, the rest is 0. The struct never grows. */
typedef struct kd_scene_hit {
    float t;           /* distance in lengths of the direction */
    float u, v;        /* barycentric coordinates: the weights of the second and third vertex */
    uint32_t triangle; /* index in the geometry */
    uint32_t instance, geometry;
    /* Unit normal of the triangle in world space. It points to the side from which the mesh's
       triangle is wound counter-clockwise, also in mirrored instances. */
    float normal[3];
} kd_scene_hit;

/* The nearest point of a scene. If there is none: distance is INFINITY, triangle, instance and
   geometry are KD_NO_TRIANGLE and KD_NO_INSTANCE, the rest is 0. The struct never grows. */
typedef struct kd_scene_near {
    float point[3], distance; /* in world space, `point` relative to the scene's origin */
    float u, v;               /* barycentric coordinates, as in kd_scene_hit */
    uint32_t triangle;        /* index in the geometry */
    uint32_t feature;         /* as in kd_near_triangle */
    uint32_t instance, geometry;
} kd_scene_near;

/* Query rays. Initialise with kd_ray_query_default; new fields are only added at the end. */
typedef struct kd_ray_query {
    size_t struct_size;
    uint64_t count;
    const kd_ray *rays;      /* `count` rays; 16-byte aligned in device memory */
    const uint32_t *masks;   /* one per ray; NULL: all bits set */
    const uint32_t *worlds;  /* one per ray; NULL: world 0 */
    const uint32_t *ignored; /* two per ray: an instance and its triangle that the ray does not hit,
                                such as those of the hit where it begins; instance KD_NO_INSTANCE:
                                none. NULL: none for all rays */
    void *stream;            /* cudaStream_t; NULL: the default stream */
} kd_ray_query;

/* Query points. Initialise with kd_point_query_default; new fields are only added at the end. */
typedef struct kd_point_query {
    size_t struct_size;
    uint64_t count;
    const float *points;    /* x, y, z of each, packed */
    const uint32_t *masks;  /* one per point; NULL: all bits set */
    const uint32_t *worlds; /* one per point; NULL: world 0 */
    float max_distance;     /* limit of the search, >= 0; default INFINITY */
    void *stream;           /* as in kd_ray_query */
} kd_point_query;

/* Statistics of a committed scene, by kd_ray_scene_describe; new fields are only added at the end.
 */
typedef struct kd_ray_scene_info {
    size_t struct_size;
    uint32_t geometries, instances, worlds;
    uint32_t nodes;        /* nodes of the top level */
    uint64_t triangles;    /* triangles of all instances that can be seen */
    double lo[3], hi[3];   /* bounding box in world space, of all worlds; lo > hi if empty */
    double origin[3];      /* as set by kd_ray_scene_set_origin */
    double commit_seconds; /* time of the last commit */
    uint64_t bytes;        /* memory held, without the trees of the geometries */
    char device[256];
} kd_ray_scene_info;

/* Returns an instance of the geometry in world 0, with the identity as transform and all bits of
   the mask set. */
KD_API kd_ray_instance kd_ray_instance_make(uint32_t geometry);
/* Set all fields to their defaults. */
KD_API void kd_ray_query_default_sized(kd_ray_query *query, size_t struct_size);
KD_API void kd_point_query_default_sized(kd_point_query *query, size_t struct_size);
static inline void kd_ray_query_default(kd_ray_query *query) {
    kd_ray_query_default_sized(query, sizeof *query);
}
static inline void kd_point_query_default(kd_point_query *query) {
    kd_point_query_default_sized(query, sizeof *query);
}

/****************************** Simple: build, change, inspect *******************************/

/* Opens a scene of `worlds` worlds, from 1 to 2^32 - 2, without geometries. On failure *out is
   NULL. The caller closes *out with kd_ray_scene_close. */
KD_API kd_status kd_ray_scene_open(kd_ray_scene **out, uint32_t worlds);
/* Frees the scene, but not its trees; `scene` may be NULL. */
KD_API void kd_ray_scene_close(kd_ray_scene *scene);

/* Adds a tree, which the scene does not own. Sets *geometry to its number, unless `geometry` is
   NULL. */
KD_API kd_status kd_ray_scene_add_geometry(kd_ray_scene *scene, const kd_triangles *tree,
                                           uint32_t *geometry);
/* Replaces the tree of a geometry, in all of its instances, such as one built from moved vertices;
   all other trees stay. K-d trees cannot be refitted: planes do not follow vertices. */
KD_API kd_status kd_ray_scene_set_geometry(kd_ray_scene *scene, uint32_t geometry,
                                           const kd_triangles *tree);
/* Adds `count` instances, which are copied. Sets *first to the number of the first one, unless
   `first` is NULL. */
KD_API kd_status kd_ray_scene_add_instances(kd_ray_scene *scene, const kd_ray_instance *instances,
                                            uint64_t count, uint32_t *first);
/* Replaces `count` instances from number `first` on. */
KD_API kd_status kd_ray_scene_set_instances(kd_ray_scene *scene, uint32_t first,
                                            const kd_ray_instance *instances, uint64_t count);
/* Replaces the transforms of `count` instances from number `first` on, 12 numbers each. */
KD_API kd_status kd_ray_scene_set_transforms(kd_ray_scene *scene, uint32_t first,
                                             const double *transforms, uint64_t count);
/* Sets the position in world space (x, y, z) to which the rays' origins, the query points and the
   nearest points are relative; initially (0, 0, 0). Because these are floats, a scene far from
   (0, 0, 0), as in UTM coordinates, needs an origin near its centre. */
KD_API kd_status kd_ray_scene_set_origin(kd_ray_scene *scene, const double *origin);
/* Builds the top level, on all cores. KD_ERROR_INPUT names the first instance whose transform is
   not finite or not invertible; KD_ERROR_USAGE: trees on different devices. After a commit that
   failed or was cancelled, the geometries and instances are as before, but queries return
   KD_ERROR_USAGE until a commit succeeds. */
KD_API kd_status kd_ray_scene_commit(kd_ray_scene *scene);

/* Fills *info; if `scene` is NULL, *info is zeroed. */
KD_API void kd_ray_scene_describe_sized(const kd_ray_scene *scene, kd_ray_scene_info *info,
                                        size_t struct_size);
static inline void kd_ray_scene_describe(const kd_ray_scene *scene, kd_ray_scene_info *info) {
    kd_ray_scene_describe_sized(scene, info, sizeof *info);
}

/************************************** Simple: queries **************************************/

/* Results are arrays of the caller, with one element for each ray or point unless stated otherwise.
   All queries return KD_ERROR_USAGE for a scene with uncommitted changes, and if a ray's or point's
   world does not exist; the result of that ray or point is then a miss. The first call of count,
   first, all or closest_point builds the tree of kd_triangles_closest_point for each geometry, on
   the host. */

/* Finds the closest hit hits[i] of ray i. */
KD_API kd_status kd_ray_scene_intersect(const kd_ray_scene *scene, const kd_ray_query *query,
                                        kd_scene_hit *hits);
/* Sets blocked[i] to 1 if ray i hits anything, else to 0. */
KD_API kd_status kd_ray_scene_occluded(const kd_ray_scene *scene, const kd_ray_query *query,
                                       uint8_t *blocked);
/* Sets counts[i] to the number of hits of ray i. */
KD_API kd_status kd_ray_scene_count(const kd_ray_scene *scene, const kd_ray_query *query,
                                    uint32_t *counts);
/* Finds the first `k` hits of each ray: those of ray i are hits[i k] to hits[i k + k - 1], in
   order, then misses. counts[i] is the number of hits found, at most k; `counts` may be NULL. */
KD_API kd_status kd_ray_scene_first(const kd_ray_scene *scene, const kd_ray_query *query,
                                    uint32_t k, kd_scene_hit *hits, uint32_t *counts);
/* Finds all hits of each ray as the rows of a sparse matrix (CSR): those of ray i are
   hits[offsets[i]] to hits[offsets[i + 1] - 1], in order. `offsets` has query->count + 1 elements,
   does not decrease, and is in host memory; offsets[i + 1] - offsets[i] is what
   kd_ray_scene_count found. A shorter row holds its first hits, a longer one ends with misses. */
KD_API kd_status kd_ray_scene_all(const kd_ray_scene *scene, const kd_ray_query *query,
                                  const uint64_t *offsets, kd_scene_hit *hits);

/* Finds the point of the scene nearest to each point, as kd_triangles_closest_point on the
   transformed triangles. Exact for every transform; fast if it scales all axes alike. */
KD_API kd_status kd_ray_scene_closest_point(const kd_ray_scene *scene, const kd_point_query *query,
                                            kd_scene_near *nearest);

/* Interpolates an attribute of the vertices of one geometry at hits: for each i with
   hits[i].geometry equal to `geometry`, out[i width] to out[i width + width - 1] are the weighted
   means of the three rows of `attribute`, which has `width` numbers for each vertex; other rows
   are not changed. All arrays are host memory. KD_ERROR_DEVICE if the scene is on a device: copy
   the mesh by kd_triangles_download. */
KD_API kd_status kd_ray_scene_interpolate(const kd_ray_scene *scene, uint32_t geometry,
                                          const float *attribute, uint64_t width,
                                          const kd_scene_hit *hits, uint64_t count, float *out);

#ifdef __cplusplus
}
#endif
#endif
