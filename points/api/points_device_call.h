/* State of one call on a CUDA tree, between the caller's pointers and the kernels. Arrays in host
   memory are copied, pointer by pointer; arrays on the device are used in place. Small arrays are
   not copied: kernels access them in pinned host memory (device_staging_take), so a call with one
   query takes one launch and one synchronisation. */
#ifndef KD_POINTS_API_POINTS_DEVICE_CALL_H
#define KD_POINTS_API_POINTS_DEVICE_CALL_H
#include "points/api/arguments.h"
#include "points/api/points_device.h"

enum { CALL_TAKEN_MAX = 20, CALL_BACK_MAX = 5 };

typedef struct points_call {
    const points_cuda *on;
    /* for a tree with layers: all of it as one tree, for the duration of the call; or NULL */
    kd_points *whole;
    void *stream;
    int32_t previous; /* device to restore at the end */
    point_query_cuda query;
    point_metric metric; /* metric that `query` may point to */
    point_array radii;   /* radii to validate; none if count is 0 */
    char *staging;       /* begins with a points_bad, the invalid queries found */
    uint64_t staged;     /* bytes used in `staging` */
    bool checks;         /* the device validates the queries */
    bool again;          /* kernels read results back, so these are not staged */
    void *scratch;       /* the caller's device memory; or NULL */
    uint64_t scratch_bytes;
    /* do not synchronise if all results stay on the device */
    bool asynchronous;
    void *taken[CALL_TAKEN_MAX]; /* allocations from the device's pool */
    int taken_count;
    struct {
        void *to, *from;
        uint64_t bytes;
        bool staged;       /* `from` is host memory */
    } back[CALL_BACK_MAX]; /* copies to make at the end */
    int back_count;
} points_call;

/* Switches to the tree's device. Every call that was begun must be ended, even after an error. */
kd_status points_call_begin(points_call *call, const kd_points *tree, const kd_points_query *query);
/* For a tree with layers: builds a single tree of all its points, which executes the query
   instead. */
kd_status points_call_whole(points_call *call, const kd_points *tree);
/* Copies the results back, synchronises, reports invalid queries and frees the memory. */
kd_status points_call_end(points_call *call, kd_status status);

/* Allocates device memory for the duration of the call; NULL for 0 bytes. */
kd_status points_call_take(points_call *call, void **out, uint64_t bytes);
/* Provides the query's scratch: the caller's, if it is large enough. */
kd_status points_call_give_scratch(points_call *call);
/* Makes the caller's input accessible to the device. */
kd_status points_call_stage_input(points_call *call, const void **out, const void *data,
                                  uint64_t bytes);
/* Provides memory accessible to the device for a result; `write_once`: kernels write it once and do
   not read it. */
kd_status points_call_stage_output(points_call *call, void **out, void *target, uint64_t bytes,
                                   bool write_once);
/* Prepares the rows of a call for the k nearest neighbours of `count` queries. */
kd_status points_call_stage_rows(points_call *call, const point_rows *out, uint64_t count,
                                 uint32_t k);
point_query_method points_call_method(const points_call *call, const kd_points_query *query,
                                      uint32_t k);

#endif
