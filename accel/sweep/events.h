/* Sorted events of the exact builder: where the clipped boxes of triangles begin and end on an
   axis.
   Source: Wald and Havran 2006, section 4.2, 4.3.
   Idea: an event is one number whose order is that of events, so that sorting and merging
         compare once. */
#ifndef KD_ACCEL_SWEEP_EVENTS_H
#define KD_ACCEL_SWEEP_EVENTS_H
#include "core/math/box.h"
#include "core/parallel/tasks.h"
#include "core/status.h"

/* At equal positions what ends comes before what lies in the plane, before what begins. */
enum { EVENT_END = 0, EVENT_PLANAR = 1, EVENT_START = 2, EVENT_ID_BITS = 30 };

/* (bits of the position, never -0, that order as it does) << 32 | type << 30 | triangle id */
typedef int64_t sweep_event;

/* Bits of floats as numbers of the same order, and back: those of negative ones are turned over. */
static inline int32_t sweep_position_bits(int32_t bits) {
    return bits ^ (bits >> 31 & 0x7fffffff);
}
static inline sweep_event sweep_event_make(float position, uint32_t type, uint32_t id) {
    const int64_t place = sweep_position_bits((int32_t)float_bits(position + 0.0f));
    return (sweep_event)((uint64_t)place << 32 | type << EVENT_ID_BITS | id);
}
static inline float sweep_event_position(sweep_event event) {
    return float_from_bits((uint32_t)sweep_position_bits((int32_t)(event >> 32)));
}
static inline uint32_t sweep_event_type(sweep_event event) {
    return (uint32_t)event >> EVENT_ID_BITS;
}
static inline uint32_t sweep_event_id(sweep_event event) {
    return (uint32_t)event & ((1u << EVENT_ID_BITS) - 1);
}

/* The one or two events of a triangle's clipped box on an axis; returns how many. */
static inline uint32_t sweep_events_of(sweep_event *out, box3 part, int axis, uint32_t id) {
    const float lo = vec3_axis(part.lo, axis), hi = vec3_axis(part.hi, axis);
    if (lo == hi) {
        out[0] = sweep_event_make(lo, EVENT_PLANAR, id);
        return 1;
    }
    out[0] = sweep_event_make(lo, EVENT_START, id);
    out[1] = sweep_event_make(hi, EVENT_END, id);
    return 2;
}

/* Sorts events that all differ; `scratch` has room for as many. From some thousands on, those of
   the same position and type are left in the order in which they came. */
void sweep_events_sort(sweep_event *events, sweep_event *scratch, uint64_t count);

/* The same of a list in parts, which lie in `spare` or elsewhere, into `to`: on all threads of the
   pool if there are several parts. Returns how many events there are. */
enum { EVENT_PARTS_MOST = 8 };
typedef struct event_part {
    const sweep_event *events;
    uint64_t count;
} event_part;
uint64_t sweep_events_sort_parts(sweep_event *to, sweep_event *spare, const event_part *part,
                                 int parts, task_pool *pool);

/* The first of the sorted events that is not before `bound`. */
uint32_t sweep_events_find(const sweep_event *events, uint32_t count, sweep_event bound);

#endif
