/* Nearest neighbours among points of 2 to 8 dimensions, float or double: a left-balanced k-d tree,
   built and asked on all cores or on a CUDA device. C99-clean.

       kd_points *tree = NULL;
       kd_point_array cloud = kd_point_array_make(xyz, count, 3, KD_FLOAT);
       kd_status status = kd_points_open(&tree, &cloud, NULL);
       ...
       kd_points_query query;
       kd_points_query_default(&query);
       query.points = kd_point_array_make(asked, asked_count, 3, KD_FLOAT);
       status = kd_points_nearest(tree, &query, 8, ids, dist2, NULL);
       ...
       kd_points_close(tree);

   Answers are ids (a point's place in the input, or the caller's own numbers) and squared distances
   in the points' scalar, ordered by (dist2, place in the input): the same on every machine and for
   any number of threads. A squared distance is summed axis by axis in that scalar; what overflows
   there is infinitely far, what underflows is at distance 0.
   A tree on a CUDA device takes and fills host memory and device memory alike, each pointer for
   itself; its calls put their work on the caller's stream and return when the answers are there.
   One on the CPU takes host memory only: device memory is KD_ERROR_USAGE, as is an array that is
   not aligned to its elements. NULL where something is needed is KD_ERROR_USAGE; calls without a
   status then do nothing or answer 0.
   Structs that grow begin with struct_size, the caller's sizeof, which the inline functions of this
   header set: a program keeps working with later libraries. Other languages call the _sized ones.
   After a failure the message is in kd_last_error() and nothing
   has changed. A tree may be asked by many threads at once, but not while kd_points_update or
   kd_points_close runs. */
#ifndef KANDELA_POINTS_H
#define KANDELA_POINTS_H
#include <kandela/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KD_NO_POINT64 0xffffffffffffffffu /* the same of the calls with ids of 64 bits */
#define KD_NO_POINT 0xffffffffu           /* the id of an answer that is not there */

typedef struct kd_points kd_points;

typedef enum kd_scalar { KD_FLOAT = 0, KD_DOUBLE = 1 } kd_scalar;

typedef enum kd_points_split {
    KD_POINTS_SPLIT_WIDEST = 0,     /* the widest side: best for clustered and stretched points */
    KD_POINTS_SPLIT_ROUND_ROBIN = 1 /* x, y, z, x, ...: no byte a point for the axis */
} kd_points_split;

/* Where a tree lies that is on several devices. */
typedef enum kd_points_spread {
    KD_POINTS_SPREAD_AUTO = 0,  /* copies where they take less than half of each CUDA device's
                                   memory, on CPUs of up to a million points; else parts */
    KD_POINTS_SPREAD_PARTS = 1, /* each device has the points of a region of space */
    KD_POINTS_SPREAD_COPIES = 2 /* each has all of them, queries are divided */
} kd_points_spread;

/* Points as they lie in memory; the caller keeps them. */
typedef struct kd_point_array {
    const void *coordinates; /* aligned to the scalar; NULL if count is 0 */
    uint64_t count;          /* at most 2^31 - 1 to build from, on each of several devices */
    uint64_t stride_bytes;   /* from a point to the next, a multiple of the scalar's; 0: packed */
    uint32_t dims;           /* 1 to 8 */
    kd_scalar scalar;
    const uint32_t *ids; /* `count` numbers to answer with instead of 0, 1, 2, ...; or NULL */
} kd_point_array;

/* Filled by kd_points_options_default, which sets struct_size; fields are only ever added at the
 * end. */
typedef struct kd_points_options {
    size_t struct_size;
    char device[256]; /* "auto": the first CUDA device for 100,000 points and more, and for points
                         in device memory their own, else the CPU; "cpu", "cuda:N"; several,
                         "cuda:0,cuda:1", "cuda:all" or "cpu,cpu": see spread */
    char builder[32]; /* "auto" takes the fastest; kandela info lists them */
    kd_points_split split;
    void *stream;            /* cudaStream_t to build and ask on; NULL: the default one */
    kd_points_spread spread; /* over several devices. Answers are those of one tree. Boxes, and what
                                is given where all points ask, are in host memory; scratch,
                                asynchronous and streams are not looked at */
    uint64_t first_id; /* of points without ids of their own the first one's, then the next, ...;
                          with numbers from 2^32 - 1 on, or more points, it is asked by the calls
                          with ids of 64 bits. Not for copies */
} kd_points_options;

/* Filled by kd_points_query_default, which sets struct_size; fields are only ever added at the end.
 */
typedef struct kd_points_query {
    size_t struct_size;
    kd_point_array points; /* dims and scalar of the tree's; ids are not looked at */
    const void *radii;     /* one of the tree's scalars each, >= 0; or NULL */
    double max_radius;     /* of all, >= 0; INFINITY, the default, is no limit */
    int32_t coherent;      /* not 0: neighbours in the array are near each other, do not sort */
    char method[16];       /* "auto"; "leaves": buckets and boxes; "walk": stack-free */
    void *scratch;         /* kd_points_scratch_bytes of memory, 64-byte aligned; NULL: allocated */
    uint64_t scratch_bytes;
    void *stream;         /* cudaStream_t for this call; NULL: that of the tree's options */
    int32_t skip_self;    /* not 0: in the calls where all points ask, none answers itself */
    int32_t asynchronous; /* not 0: if all arrays are memory of the tree's device, nearest and
                             counts return at once, and what is asked for is there when the stream
                             has come so far; a query that is not finite finds nothing then. Wait
                             before kd_points_close */
    double norm;          /* of distances: 2, the default, 1 (sums of differences) or INFINITY (the
                             largest one); but for 2 dist2 is the distance itself, not its square */
    double period[8];     /* along each axis; 0, the default: space has no end there. Distances are
                             those to the nearest of the query's images, which lie one period to either
                             side */
} kd_points_query;

/* Filled by kd_points_describe; fields are only ever added at the end. */
typedef struct kd_points_info {
    size_t struct_size;
    uint64_t count;
    uint32_t dims;
    kd_scalar scalar;
    kd_points_split split;
    char builder[32], device[256];
    double lo[8], hi[8];  /* bounding box; lo > hi without points */
    double build_seconds; /* tree and boxes */
    uint64_t bytes;       /* that the tree holds; walks, boxes and metrics make it hold more */
    uint64_t hash;      /* XXH3 of the order of the points, and of the axes; for it parts of a tree
                           are brought together */
    uint32_t layers;    /* trees that it is made of: 1 until points were inserted */
    uint64_t touched;   /* points whose trees the last change, or the opening, built */
    uint32_t parts;     /* devices, or ranks, that it lies on */
    int32_t copies;     /* 1: each of them has all points */
    double top_seconds; /* of build_seconds: until points of parts were where they belong */
    uint64_t sent;      /* bytes that a part has sent to others since it was opened */
} kd_points_info;

KD_API kd_point_array kd_point_array_make(const void *coordinates, uint64_t count, uint32_t dims,
                                          kd_scalar scalar); /* packed, without ids */
KD_API void kd_points_options_default_sized(kd_points_options *options, size_t struct_size);
KD_API void kd_points_query_default_sized(kd_points_query *query, size_t struct_size);
static inline void kd_points_options_default(kd_points_options *options) {
    kd_points_options_default_sized(options, sizeof *options);
}
static inline void kd_points_query_default(kd_points_query *query) {
    kd_points_query_default_sized(query, sizeof *query);
}

/* Builds a tree of copies of the points; no points are fine. `options` NULL takes the defaults.
   KD_ERROR_INPUT names the first coordinate that is NaN or infinite; KD_ERROR_USAGE an option or a
   size that makes no sense; KD_ERROR_DEVICE a device that is absent. *out is NULL then. */
KD_API kd_status kd_points_open(kd_points **out, const kd_point_array *points,
                                const kd_points_options *options);
/* The same of the points of several arrays, of one kind, as if they lay one behind the other: one
   for each device of options->device, best in its memory. Without ids; in parts, never as copies.
 */
KD_API kd_status kd_points_open_arrays(kd_points **out, const kd_point_array *arrays,
                                       uint32_t count, const kd_points_options *options);
/* Builds again, from other points of any count, dims and scalar, with the same options. */
KD_API kd_status kd_points_update(kd_points *tree, const kd_point_array *points);
KD_API void kd_points_close(kd_points *tree); /* takes NULL */

/* Points come: from now on answers are those of a tree that is built anew of all points that are
   there, in the order in which they came, to the bit; download, save and describe give that tree
   (and build it for that: kd_points_rebuild makes it stay). Dims and scalar are the tree's. Points
   of a tree without ids of its own get the next numbers that no point ever had, from *first_id
   (or NULL) on; else, and for a tree from a file of a changed one, the array brings ids. A
   batch costs some log2(points / batch) times its own building and queries ask as many trees
   (kd_points_info.layers); of a tree on a CUDA device the array may lie on a device, too, and a
   tree in parts is built anew. Nobody may ask meanwhile.
   KD_ERROR_INPUT names the first coordinate that is NaN or infinite; on failure nothing has
   changed. */
KD_API kd_status kd_points_insert(kd_points *tree, const kd_point_array *points,
                                  uint32_t *first_id);
/* The points with these ids go; ids that are there twice take both. KD_ERROR_INPUT names an id that
   no point has, and nothing has changed. On a CPU the method "walk" is KD_ERROR_USAGE afterwards,
   until kd_points_rebuild; on a device what only walks answer for builds a tree of all that is
   there for the call. Ids for a tree on a CUDA device may lie on a device. */
KD_API kd_status kd_points_remove(kd_points *tree, const uint32_t *ids, uint64_t count);
/* One tree of all that is there. */
KD_API kd_status kd_points_rebuild(kd_points *tree);

/* Points that are there; 0 without a tree. Unlike kd_points_describe it is no work. */
KD_API uint64_t kd_points_count(const kd_points *tree);

/* All 0 without a tree. The hash is worked out, from all of the tree, if struct_size reaches it. */
KD_API void kd_points_describe_sized(const kd_points *tree, kd_points_info *info,
                                     size_t struct_size);
static inline void kd_points_describe(const kd_points *tree, kd_points_info *info) {
    kd_points_describe_sized(tree, info, sizeof *info);
}

/* The tree itself, to host memory: node i has children 2i+1 and 2i+2. Any may be NULL.
   `coordinates`: count * dims scalars; `ids`: count; `axes`: count (round robin: depth mod dims).
 */
KD_API kd_status kd_points_download(const kd_points *tree, void *coordinates, uint32_t *ids,
                                    uint8_t *axes);

/* The `k` >= 1 nearest within the radius: row i of `k` ids and dist2 (either may be NULL). Where
   there are fewer, the row ends with KD_NO_POINT and INFINITY; `counts` (or NULL) says how many. */
KD_API kd_status kd_points_nearest(const kd_points *tree, const kd_points_query *query, uint32_t k,
                                   uint32_t *ids, void *dist2, uint32_t *counts);
/* The same for k = 1. */
KD_API kd_status kd_points_closest(const kd_points *tree, const kd_points_query *query,
                                   uint32_t *ids, void *dist2);

/* All points within the radius, as compressed rows: first `offsets` of query.points.count + 1
   entries, then ids and dist2 (either may be NULL) of offsets[count] entries; the answers to query
   i stand from offsets[i] to offsets[i + 1]. Offsets of another query are KD_ERROR_USAGE; nothing
   is written beyond offsets[count]. Without a radius that is every point for every query.
 */
KD_API kd_status kd_points_within_count(const kd_points *tree, const kd_points_query *query,
                                        uint64_t *offsets);
KD_API kd_status kd_points_within(const kd_points *tree, const kd_points_query *query,
                                  const uint64_t *offsets, uint32_t *ids, void *dist2);

/* Hears of a point within `bound` of a query, by the number of the query, the point's id and dist2,
   as kd_points_within would list them; `bound` is the largest dist2 still of interest. Returns that
   of from now on: `bound` to hear of all, less to hear of fewer, below 0 to hear of no more of this
   query. More than `bound` is taken for `bound`. */
typedef double (*kd_points_visitor)(void *context, uint64_t query, uint64_t id, double dist2,
                                    double bound);
/* Calls `visit` for the points within the radius of every query: nothing is listed, sorted or
   counted, so that sums over neighbours, a first one that will do, or the k nearest of some kind
   take no memory. Every point within the bound that was returned last is told, none twice, and none
   that is farther than the bound of the time. Their order depends on the tree and the query alone
   (sums over them are the same bits every time), but is none that is promised. Queries are told on
   all cores: several threads call `visit` at once, though never for one query; it must not change
   the tree, and not leave by longjmp or an exception. For trees on the CPU: of one on devices or
   ranks KD_ERROR_USAGE. */
KD_API kd_status kd_points_visit(const kd_points *tree, const kd_points_query *query,
                                 kd_points_visitor visit, void *context);

/* All points ask: the tree's own points are the queries. Of the query max_radius, method, stream,
   skip_self and asynchronous count; its points, radii, coherent and scratch are not looked at.
   Nothing is copied or sorted, and the rows, of kd_points_count queries, are those of the call
   above with a copy of the points. With `order` NULL row i is that of the i-th point of the input
   (of those that are there, in the order in which they came). Else rows come in the order that is
   cheapest, it may differ between devices and versions, and order[i], of kd_points_count entries,
   is the id of the point that row i is of. A CPU builds a tree with insertions anew for it: call
   kd_points_rebuild first. Errors as above; the offsets of within have to be those of the same
   query with an order, or without one. */
KD_API kd_status kd_points_nearest_own(const kd_points *tree, const kd_points_query *query,
                                       uint32_t k, uint32_t *order, uint32_t *ids, void *dist2,
                                       uint32_t *counts);
KD_API kd_status kd_points_within_own_count(const kd_points *tree, const kd_points_query *query,
                                            uint32_t *order, uint64_t *offsets);
KD_API kd_status kd_points_within_own(const kd_points *tree, const kd_points_query *query,
                                      uint32_t *order, const uint64_t *offsets, uint32_t *ids,
                                      void *dist2);

/* Points in axis-aligned boxes: lo[i] <= point <= hi[i] along every axis, of corners of the tree's
   dims and scalar, as many of both, in any memory that the tree's calls take; sides may be
   infinite, and what is not a number holds nothing. As above, first `offsets` of count + 1 entries,
   then ids (or NULL) of offsets[count], ordered by the points' places in the input. A CPU builds a
   tree with insertions anew for it. */
KD_API kd_status kd_points_in_box_count(const kd_points *tree, const kd_point_array *lo,
                                        const kd_point_array *hi, uint64_t *offsets);
KD_API kd_status kd_points_in_box(const kd_points *tree, const kd_point_array *lo,
                                  const kd_point_array *hi, const uint64_t *offsets, uint32_t *ids);

/* The same calls with ids of 64 bits, for trees of more points than 32 bits number, or with a
   first_id; the calls of 32 bits refuse to ask such a tree (KD_ERROR_USAGE). */
KD_API kd_status kd_points_nearest64(const kd_points *tree, const kd_points_query *query,
                                     uint32_t k, uint64_t *ids, void *dist2, uint32_t *counts);
KD_API kd_status kd_points_closest64(const kd_points *tree, const kd_points_query *query,
                                     uint64_t *ids, void *dist2);
KD_API kd_status kd_points_within64(const kd_points *tree, const kd_points_query *query,
                                    const uint64_t *offsets, uint64_t *ids, void *dist2);
KD_API kd_status kd_points_download64(const kd_points *tree, void *coordinates, uint64_t *ids,
                                      uint8_t *axes);

/* What the query needs as scratch, if the caller wants to give it; the points need not be set but
   for their count. On a device that is memory of the device, and enough for k up to 1024 of three
   floats; where it is too little a call takes memory of the device's pool, as without any. */
KD_API uint64_t kd_points_scratch_bytes(const kd_points *tree, const kd_points_query *query);

/* A file of this machine's byte order, with a checksum. A file that is cut, changed or no tree is
   KD_ERROR_INPUT. Of `options` only device and stream are looked at. */
KD_API kd_status kd_points_save(const kd_points *tree, const char *path);
KD_API kd_status kd_points_load(kd_points **out, const char *path,
                                const kd_points_options *options);

#ifdef __cplusplus
}
#endif
#endif
