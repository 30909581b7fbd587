/* A call of a tree on a CUDA device, from the caller's pointers to the caller's pointers: what lies
   in host memory is copied, pointer by pointer; what lies on the device is used where it is.
   Little is not copied but read and written by kernels in host memory that they see
   (device_staging_take): a call for one query is one launch and one wait. */
#ifndef KD_POINTS_API_POINTS_DEVICE_CALL_H
#define KD_POINTS_API_POINTS_DEVICE_CALL_H
#include "points/api/arguments.h"
#include "points/api/points_device.h"

enum { CALL_TAKEN_MOST = 20, CALL_BACK_MOST = 5 };

typedef struct points_call {
    const points_cuda *on;
    kd_points *whole; /* of a tree with layers: it in one, for the length of the call; or NULL */
    void *stream;
    int32_t previous; /* device */
    point_query_cuda query;
    point_metric metric; /* that the query may point to */
    point_array radii;   /* to be checked; none: count 0 */
    char *staging;       /* first of all what was found to be bad */
    uint64_t staged;     /* bytes of it */
    bool checks;         /* the device looks for bad queries */
    bool again;          /* kernels read answers again: none is staged */
    void *scratch;       /* the caller's, on the device; or NULL */
    uint64_t scratch_bytes;
    bool asynchronous;            /* nobody waits, if all answers stay on the device */
    void *taken[CALL_TAKEN_MOST]; /* of the device's pool */
    int taken_count;
    struct {
        void *to, *from;
        uint64_t bytes;
        bool staged;        /* `from` is host memory */
    } back[CALL_BACK_MOST]; /* to be copied when all is done */
    int back_count;
} points_call;

/* Enters the device; every call that was begun is ended, whatever its status. */
kd_status points_call_begin(points_call *call, const kd_points *tree, const kd_points_query *query);
/* Of a tree with layers: a tree of all its points, built anew, answers instead. */
kd_status points_call_whole(points_call *call, const kd_points *tree);
/* Copies answers back, waits, tells of bad queries, frees. */
kd_status points_call_end(points_call *call, kd_status status);

/* Memory of the device for the length of the call; NULL for no bytes. */
kd_status points_call_take(points_call *call, void **out, uint64_t bytes);
/* The query's scratch, from the caller if that is enough. */
kd_status points_call_give_scratch(points_call *call);
/* What the caller gives, where the device sees it. */
kd_status points_call_bring_in(points_call *call, const void **out, const void *given,
                               uint64_t bytes);
/* Room, where the device sees it, for what the caller wants; `once`: kernels write it once and do
   not read it. */
kd_status points_call_bring_out(points_call *call, void **out, void *wanted, uint64_t bytes,
                                bool once);
/* The rows of a call for the k nearest of `count` queries. */
kd_status points_call_bring_rows(points_call *call, const point_rows *out, uint64_t count,
                                 uint32_t k);
point_query_method points_call_method(const points_call *call, const kd_points_query *query,
                                      uint32_t k);

#endif
