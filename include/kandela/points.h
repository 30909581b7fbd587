/* Nearest-neighbour queries on sets of points, float or double: in 1 to 8 dimensions a
   left-balanced k-d tree, built and queried on all CPU cores or on a CUDA device; in 9 to 65536
   dimensions the search compares all points in blocks, on all CPU cores, with results of the same
   definition. C99.

       #include <kandela/points.h>
       #include <stdio.h>

       // The 8 nearest of `count` points (x, y, z each) to each of `query_count` queries.
       int nearest8(const float *xyz, uint64_t count, const float *queries, uint64_t query_count,
                    uint32_t *ids, float *dist2) {
           kd_points *tree = NULL;
           kd_points_query query;
           kd_point_array cloud = kd_point_array_make(xyz, count, 3, KD_FLOAT);
           kd_status status = kd_points_open(&tree, &cloud, NULL);
           kd_points_query_default(&query);
           query.points = kd_point_array_make(queries, query_count, 3, KD_FLOAT);
           if (status == KD_OK) status = kd_points_nearest(tree, &query, 8, ids, dist2, NULL);
           if (status != KD_OK) fprintf(stderr, "%s\n", kd_last_error());
           kd_points_close(tree);
           return status;
       }

   Results: a neighbour is given by its id (the index of the point in the input, or the number that
   the caller gave it) and its squared distance in the scalar type of the points. Neighbours are
   ordered by (dist2, input index), so ties are broken by input index. The results are bit for bit
   the same on every machine and for any number of threads. Squared distances are summed axis by
   axis in the scalar type; a sum that overflows is infinite, and terms that underflow count as 0.

   Memory: a tree on a CUDA device accepts host and device pointers, each argument independently;
   its calls enqueue their work on the caller's stream and return when the results are complete. A
   tree on the CPU accepts host memory only. Passing it device memory, or passing any tree an array
   that is not aligned to its elements, returns KD_ERROR_USAGE.

   More than eight dimensions: the points are on the CPU whatever device is named, in host memory;
   not on several devices; kd_points_insert, kd_points_remove and `period` return KD_ERROR_USAGE,
   and `method` has no effect. kd_points_download gives the points in input order, and axes of 0.

   NULL: passing NULL for a required argument returns KD_ERROR_USAGE; functions that do not return a
   status then do nothing or return 0.

   Errors: a call that fails leaves the tree unchanged and the contents of result arrays undefined;
   its message is in kd_last_error().

   Threads: any number of threads may query a tree at once, but no query may run concurrently with
   kd_points_update, kd_points_insert, kd_points_remove, kd_points_rebuild or kd_points_close.

   Binary compatibility: structs that may grow begin with `struct_size`, the sizeof that the caller
   was compiled with. The inline functions of this header pass it, so a compiled program keeps
   working with later versions of the library. Bindings for other languages call what is exported:
   the _sized, kd_points_search_ and kd_points_download_nodes functions. */
#ifndef KANDELA_POINTS_H
#define KANDELA_POINTS_H
#include <kandela/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*************************************** Simple: types ***************************************/

#define KD_NO_POINT64 0xffffffffffffffffu /* 64-bit id of a missing neighbour */
#define KD_NO_POINT 0xffffffffu           /* id of a missing neighbour */

/* A tree; opened by kd_points_open, closed by kd_points_close. */
typedef struct kd_points kd_points;

/* Type of the coordinates, radii and distances. */
typedef enum kd_scalar { KD_FLOAT = 0, KD_DOUBLE = 1 } kd_scalar;

/* How a node chooses the axis that it splits. */
typedef enum kd_points_split {
    KD_POINTS_SPLIT_WIDEST = 0,     /* widest side: best for clustered or elongated sets */
    KD_POINTS_SPLIT_ROUND_ROBIN = 1 /* x, y, z, x, ...: saves one byte per point */
} kd_points_split;

/* How a multi-device tree is distributed. */
typedef enum kd_points_spread {
    KD_POINTS_SPREAD_AUTO = 0,  /* copies if they take less than half of the memory of each CUDA
                                   device, or on CPUs if there are at most a million points; else
                                   parts */
    KD_POINTS_SPREAD_PARTS = 1, /* each device holds the points of one region of space */
    KD_POINTS_SPREAD_COPIES = 2 /* each device holds all points and answers some of the queries */
} kd_points_spread;

/* An array of points that the caller owns. */
typedef struct kd_point_array {
    const void *coordinates; /* aligned to the scalar; NULL if count is 0 */
    uint64_t count;          /* at most 2^31 - 1 per device to build a tree from */
    uint64_t stride_bytes;   /* distance of points, a multiple of the scalar's size; 0: packed */
    uint32_t dims;           /* 1 to 65536; more than 8: see "More than eight dimensions" */
    kd_scalar scalar;
    const uint32_t *ids; /* `count` ids to return instead of the input index; or NULL */
} kd_point_array;

/* Options of a tree. Initialise with kd_points_options_default, which sets struct_size; new fields
   are only added at the end. */
typedef struct kd_points_options {
    size_t struct_size;
    char device[256]; /* "auto": the CUDA device that holds the points, else the first CUDA device
                         for at least 100,000 points, else the CPU; "cpu"; "cuda:N"; or several
                         ("cuda:0,cuda:1", "cuda:all", "cpu,cpu"), see `spread` */
    char builder[32]; /* "auto" chooses the fastest; `kandela info` lists the names */
    kd_points_split split;
    void *stream;            /* cudaStream_t for building and queries; NULL: the default stream */
    kd_points_spread spread; /* distribution over several devices; the results are those of a single
                                tree. Boxes, and the arrays of self-queries, must then be in host
                                memory; scratch, asynchronous and stream are ignored */
    uint64_t first_id; /* id of the first of the points that come without ids; the others follow
                          consecutively. If ids reach 2^32 - 1, results take 64-bit ids
                          (kd_points_rows.ids64). Not supported with copies */
    int32_t threads;   /* CPU threads of calls on the tree; 0: kd_threads() */
    int32_t reserved;  /* must be 0 */
} kd_points_options;

/* A batch of queries: points, all points of the tree (`self`), or boxes (`lo`, `hi`). Initialise
   with kd_points_query_default, which sets struct_size; new fields are only added at the end. A
   combination that is not supported returns KD_ERROR_USAGE. */
typedef struct kd_points_query {
    size_t struct_size;
    kd_point_array points; /* the queries, with the dims and scalar of the tree; `ids` is ignored */
    const void *radii; /* one search radius per query, in the scalar of the tree, >= 0; or NULL */
    double max_radius; /* limit on every search radius, >= 0; default INFINITY: no limit */
    int32_t coherent;  /* non-zero: consecutive queries are close in space and are not sorted */
    int32_t self;      /* non-zero: every point of the tree is a query, without being copied or
                          sorted; `points` must be empty and `radii` NULL; scratch and coherent have no
                          effect. A changed tree on a CPU is rebuilt for each call: call
                          kd_points_rebuild first */
    char method[16];   /* "auto"; "leaves": leaf index (buckets under bounding boxes); "walk":
                          stack-free traversal of the tree */
    void *scratch; /* the caller's scratch memory, kd_points_scratch_bytes() bytes, 64-byte aligned;
                      NULL: allocated by the call */
    uint64_t scratch_bytes;
    void *stream;         /* cudaStream_t of this call; NULL: the stream of the tree's options */
    int32_t skip_self;    /* non-zero: with `self`, no point is its own neighbour */
    int32_t asynchronous; /* non-zero: if all arrays are in the memory of the tree's device,
                             searches for the nearest and counts within a radius return immediately;
                             their results are complete once the stream has executed the work of the
                             call. A query that is not finite then finds nothing. Synchronise before
                             kd_points_close */
    double norm;          /* norm of distances: 2 (default), 1 or INFINITY (maximum norm). For 1 and
                             INFINITY, dist2 is the distance itself, not its square */
    double period[8];     /* period of space along each axis; default 0: not periodic. Along a
                             periodic axis the difference d of two coordinates counts as
                             min(d, |period - d|), which is the distance to the nearest image if
                             the points lie within one period */
    /* Corners of axis-aligned boxes, equally many, with the dims and scalar of the tree; default
       dims 0: no boxes. A box contains the points with lo <= point <= hi along every axis. Corners
       may be infinite; a box with a NaN corner contains no point. Then `points` must be empty,
       `radii` NULL, and max_radius, norm and period have their defaults; only stream has an
       effect. A changed tree on a CPU is rebuilt for each call. */
    kd_point_array lo, hi;
} kd_points_query;

/* Statistics of a tree, by kd_points_describe; new fields are only added at the end. */
typedef struct kd_points_info {
    size_t struct_size;
    uint64_t count;
    uint32_t dims;
    kd_scalar scalar;
    kd_points_split split;
    char builder[32], device[256];
    double lo[8], hi[8];  /* bounding box of the first 8 axes; lo > hi if there are no points */
    double build_seconds; /* time to build the tree and its leaf index */
    uint64_t bytes; /* bytes of memory held now; the first query by "walk" or in a box adds to it */
    uint64_t hash;  /* XXH3 of the order of the points and of the split axes; computing it for a
                       tree in parts gathers all points */
    uint32_t layers;    /* trees that the points are divided into; 1 until points are inserted */
    uint64_t touched;   /* points in trees built by the last change, or by kd_points_open */
    uint32_t parts;     /* devices or processes that the tree is distributed over */
    int32_t copies;     /* 1: each part holds all points */
    double top_seconds; /* part of build_seconds spent on moving points to their parts */
    uint64_t sent;      /* bytes that one part has sent to the others since the tree was opened */
} kd_points_info;

/* Returns a view of `count` packed points without ids. */
KD_API kd_point_array kd_point_array_make(const void *coordinates, uint64_t count, uint32_t dims,
                                          kd_scalar scalar);
/* Set all fields to their defaults. */
KD_API void kd_points_options_default_sized(kd_points_options *options, size_t struct_size);
KD_API void kd_points_query_default_sized(kd_points_query *query, size_t struct_size);
static inline void kd_points_options_default(kd_points_options *options) {
    kd_points_options_default_sized(options, sizeof *options);
}
static inline void kd_points_query_default(kd_points_query *query) {
    kd_points_query_default_sized(query, sizeof *query);
}

/******************************* Simple: build, update, close ********************************/

/* Builds a tree, which holds copies of the points; `points` may be empty. `options` may be NULL for
   the defaults. On failure *out is NULL: KD_ERROR_INPUT names the first coordinate that is NaN or
   infinite, KD_ERROR_USAGE the invalid option or size; KD_ERROR_DEVICE means that the device is
   absent. The caller closes *out with kd_points_close. */
KD_API kd_status kd_points_open(kd_points **out, const kd_point_array *points,
                                const kd_points_options *options);
/* Advanced: builds a tree in parts from `count` arrays of equal dims and scalar, as if they were
   concatenated: one array for each device of options->device, preferably in its memory. Arrays with
   ids, and KD_POINTS_SPREAD_COPIES, are not supported. */
KD_API kd_status kd_points_open_arrays(kd_points **out, const kd_point_array *arrays,
                                       uint32_t count, const kd_points_options *options);
/* Rebuilds the tree from other points, of any count, dims and scalar, with the same options. */
KD_API kd_status kd_points_update(kd_points *tree, const kd_point_array *points);
/* Returns the names that kd_points_options.builder takes besides "auto", separated by spaces; a
   static string. */
KD_API const char *kd_points_builders(void);
/* Frees the tree; `tree` may be NULL. */
KD_API void kd_points_close(kd_points *tree);

/**************************** Advanced: inserting and removing points ************************/

/* Inserts points of the tree's dims and scalar. From then on results are bit for bit those of a
   tree built from all current points in order of insertion. kd_points_download, kd_points_save and
   kd_points_describe also give that tree, and build it for the call; kd_points_rebuild makes it
   permanent.
   Ids: if the tree was opened without ids, the new points get consecutive ids that were never used
   before; the first is stored in *first_id unless that is NULL. If the tree was opened with ids, or
   loaded from a file of a changed tree, `points` must have ids; otherwise it must not.
   Cost: by the logarithmic method each point takes part in about log2(n / batch) builds, and a
   query searches kd_points_info.layers trees. A tree in parts is rebuilt as a whole.
   `points` may be in device memory if the tree is on a CUDA device. Not thread-safe: no query may
   run concurrently. KD_ERROR_INPUT names the first coordinate that is NaN or infinite. */
KD_API kd_status kd_points_insert(kd_points *tree, const kd_point_array *points,
                                  uint32_t *first_id);
/* Removes the points with these ids, all of them where an id occurs more than once. Returns
   KD_ERROR_INPUT, and removes nothing, if no point has one of the ids. Not thread-safe. `ids` may
   be in device memory if the tree is on a CUDA device.
   Until kd_points_rebuild, the method "walk" returns KD_ERROR_USAGE on a CPU; on a device, a query
   that needs that method builds a tree of the remaining points for the call. */
KD_API kd_status kd_points_remove(kd_points *tree, const uint32_t *ids, uint64_t count);
/* Merges the layers of a changed tree into one, which makes queries faster. Not thread-safe. */
KD_API kd_status kd_points_rebuild(kd_points *tree);

/********************************** Simple: inspect a tree ***********************************/

/* Returns the number of points in constant time; 0 if `tree` is NULL. */
KD_API uint64_t kd_points_count(const kd_points *tree);

/* Fills *info; if `tree` is NULL, *info is zeroed. The hash, which takes a pass over the whole
   tree, is computed only if struct_size includes it. */
KD_API void kd_points_describe_sized(const kd_points *tree, kd_points_info *info,
                                     size_t struct_size);
static inline void kd_points_describe(const kd_points *tree, kd_points_info *info) {
    kd_points_describe_sized(tree, info, sizeof *info);
}

/* Copies the tree to host memory in level order: the children of node i are 2i+1 and 2i+2.
   `coordinates`: count * dims scalars; `ids` or `ids64`, not both: count; `axes`: the split axis of
   each node, count (round robin: depth mod dims). Each may be NULL. A tree with a first_id needs
   ids64. */
KD_API kd_status kd_points_download_nodes(const kd_points *tree, void *coordinates, uint32_t *ids,
                                          uint64_t *ids64, uint8_t *axes);
static inline kd_status kd_points_download(const kd_points *tree, void *coordinates, uint32_t *ids,
                                           uint8_t *axes) {
    return kd_points_download_nodes(tree, coordinates, ids, NULL, axes);
}

/************************************* Advanced: search **************************************/

/* Queries with all options: points, the points of the tree or boxes, and ids of 32 or 64 bits.

       // For each point of the tree, its 2 nearest other points.
       kd_status nearest_others(const kd_points *tree, uint64_t *ids, float *dist2) {
           kd_points_query query;
           kd_points_rows rows;
           kd_points_query_default(&query);
           query.self = query.skip_self = 1;
           kd_points_rows_default(&rows);
           rows.ids64 = ids;
           rows.dist2 = dist2;
           return kd_points_search_nearest(tree, &query, 2, &rows);
       }

   Row i of the results is that of query i: point i, box i, or with `self` input point i (the i-th
   remaining point, in order of insertion, of a changed tree). Results with `self` are those of a
   copy of the points as queries. */

/* The arrays for the results, which the caller owns. Initialise with kd_points_rows_default; new
   fields are only added at the end. Each array may be NULL; one that the call does not use must be
   NULL. */
typedef struct kd_points_rows {
    size_t struct_size;
    uint32_t *ids;     /* ids of the points found */
    uint64_t *ids64;   /* the same with 64 bits, instead of `ids`; required if the ids of the tree
                          reach 2^32 - 1, because of first_id or of the number of its points */
    void *dist2;       /* squared distances of the points found, in the scalar of the tree; not for
                          boxes */
    uint32_t *counts;  /* kd_points_search_nearest only: number of neighbours found in each row */
    uint32_t *order;   /* with `self`, one entry per point: rows come in the order that is cheapest
                          to compute, which may differ between devices and versions, and order[i]
                          is the id of the point of row i */
    uint64_t *offsets; /* number of queries + 1; not for kd_points_search_nearest: the results of
                          row i are the entries of ids and dist2 from offsets[i] up to
                          offsets[i + 1] */
} kd_points_rows;
static inline void kd_points_rows_default(kd_points_rows *rows) {
    const kd_points_rows none = {sizeof none, NULL, NULL, NULL, NULL, NULL, NULL};
    if (rows) *rows = none;
}

/* Finds the `k` >= 1 nearest neighbours of each query within its radius; not for boxes. Row i is
   the k entries from i * k on; if there are fewer neighbours, it is padded with KD_NO_POINT
   (KD_NO_POINT64 in ids64) and INFINITY. */
KD_API kd_status kd_points_search_nearest(const kd_points *tree, const kd_points_query *query,
                                          uint32_t k, const kd_points_rows *rows);
/* Find all points within the radius of each query, ordered as above, or in its box, ordered by
   input index: compressed sparse rows, in two calls. The first fills rows->offsets and, if
   requested, order; the second, with the same query, offsets and choice of an order, fills ids and
   dist2, offsets[number of queries] entries. Offsets of another query return KD_ERROR_USAGE;
   nothing is written beyond the last offset. Without a radius every query finds every point. */
KD_API kd_status kd_points_search_count(const kd_points *tree, const kd_points_query *query,
                                        const kd_points_rows *rows);
KD_API kd_status kd_points_search_within(const kd_points *tree, const kd_points_query *query,
                                         const kd_points_rows *rows);

/************************************* Simple: queries ***************************************/

/* kd_points_search_nearest with 32-bit ids. Row i of `ids` and `dist2` holds the k neighbours of
   query i; counts[i] is the number found. Each of the three arrays may be NULL. */
static inline kd_status kd_points_nearest(const kd_points *tree, const kd_points_query *query,
                                          uint32_t k, uint32_t *ids, void *dist2,
                                          uint32_t *counts) {
    const kd_points_rows rows = {sizeof rows, ids, NULL, dist2, counts, NULL, NULL};
    return kd_points_search_nearest(tree, query, k, &rows);
}
/* kd_points_nearest with k = 1. */
static inline kd_status kd_points_closest(const kd_points *tree, const kd_points_query *query,
                                          uint32_t *ids, void *dist2) {
    return kd_points_nearest(tree, query, 1, ids, dist2, NULL);
}
/* kd_points_search_count and kd_points_search_within with 32-bit ids: the first call fills
   `offsets`, query->points.count + 1 entries; the second reads them and fills `ids` and `dist2`
   (each may be NULL), offsets[count] entries. */
static inline kd_status kd_points_within_count(const kd_points *tree, const kd_points_query *query,
                                               uint64_t *offsets) {
    const kd_points_rows rows = {sizeof rows, NULL, NULL, NULL, NULL, NULL, offsets};
    return kd_points_search_count(tree, query, &rows);
}
static inline kd_status kd_points_within(const kd_points *tree, const kd_points_query *query,
                                         const uint64_t *offsets, uint32_t *ids, void *dist2) {
    const kd_points_rows rows = {
        sizeof rows, ids, NULL, dist2, NULL, NULL, (uint64_t *)(uintptr_t)offsets};
    return kd_points_search_within(tree, query, &rows);
}

/****************************** Advanced: visit the neighbours *******************************/

/* Callback for one point within `bound` of a query: `query` is the index of the query, `id` and
   `dist2` are what kd_points_within would list, and `bound` is the current search bound, in the
   unit of dist2. Returns the bound from here on: `bound` to continue unchanged, less to narrow the
   search, a negative number to end this query. A value above `bound` is taken as `bound`. */
typedef double (*kd_points_visitor)(void *context, uint64_t query, uint64_t id, double dist2,
                                    double bound);
/* Calls `visit` for the points within the radius of each query. No list is stored or sorted, so
   sums over neighbours, the first acceptable neighbour, or the k nearest of some kind need no
   memory.
   Guarantees: each point within the last returned bound is visited exactly once; no point beyond
   the bound in force at the time is visited. The order is unspecified, but depends only on the tree
   and the query, so that floating-point sums are reproducible.
   Threads: several threads call `visit` at once, though never for the same query. `visit` must not
   change the tree, and must not leave by longjmp or a C++ exception. Only for trees on the CPU;
   returns KD_ERROR_USAGE for trees on CUDA devices, several devices or several processes, and for
   queries with `self` or boxes. */
KD_API kd_status kd_points_visit(const kd_points *tree, const kd_points_query *query,
                                 kd_points_visitor visit, void *context);

/***************************** Advanced: caller-owned scratch ********************************/

/* Returns the bytes of scratch memory that a query needs, for callers who provide it; of
   query->points only the count must be set. For a tree on a CUDA device the scratch is memory of
   that device. The size suffices for k <= 1024 on three-dimensional float points; a call that needs
   more allocates from the device's memory pool, as if no scratch were given. */
KD_API uint64_t kd_points_scratch_bytes(const kd_points *tree, const kd_points_query *query);

/************************************** Simple: files ****************************************/

/* Write and read a tree, in the byte order of this machine and with a checksum. If writing fails, a
   file of that name remains unchanged. Reading a truncated, modified or invalid file returns
   KD_ERROR_INPUT; *out is then NULL. The caller closes *out with kd_points_close. Of `options` only
   device, stream and threads are read. */
KD_API kd_status kd_points_save(const kd_points *tree, const char *path);
KD_API kd_status kd_points_load(kd_points **out, const char *path,
                                const kd_points_options *options);

#ifdef __cplusplus
}
#endif
#endif
