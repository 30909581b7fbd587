/* Sorted events of the exact builder: where the clipped boxes of triangles begin and end on an
   axis. Source: Wald and Havran 2006, section 4.2, 4.3. */
#ifndef KD_ACCEL_SWEEP_EVENTS_H
#define KD_ACCEL_SWEEP_EVENTS_H
#include "core/status.h"
#include "shaders/box.h"

/* At equal positions what ends comes before what lies in the plane, before what begins. */
enum { EVENT_END = 0, EVENT_PLANAR = 1, EVENT_START = 2, EVENT_ID_BITS = 30 };

typedef struct sweep_event {
    float position; /* never -0 */
    uint32_t code;  /* type << 30 | triangle id */
} sweep_event;

static inline sweep_event sweep_event_make(float position, uint32_t type, uint32_t id) {
    const sweep_event event = {position + 0.0f, type << EVENT_ID_BITS | id};
    return event;
}
static inline uint32_t sweep_event_type(sweep_event event) {
    return event.code >> EVENT_ID_BITS;
}
static inline uint32_t sweep_event_id(sweep_event event) {
    return event.code & ((1u << EVENT_ID_BITS) - 1);
}
static inline bool sweep_event_before(sweep_event a, sweep_event b) {
    return a.position < b.position || (a.position == b.position && a.code < b.code);
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

/* Sorts by (position, type, id); `scratch` has room for as many. */
void sweep_events_sort(sweep_event *events, sweep_event *scratch, uint64_t count);

/* Merges the sorted `fresh` into `merged`, whose sorted `kept` events begin at merged[fresh_count].
 */
void sweep_events_merge(sweep_event *merged, uint64_t kept_count, const sweep_event *fresh,
                        uint64_t fresh_count);

#endif
