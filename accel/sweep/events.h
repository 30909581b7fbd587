/* Events of the exact builder, to be sorted: where the clipped boxes of triangles begin and end on
   an axis.
   Source: Wald and Havran 2006, section 4.2.
   Idea: an event is one number whose order is that of events, so that sorting compares once. */
#ifndef KD_ACCEL_SWEEP_EVENTS_H
#define KD_ACCEL_SWEEP_EVENTS_H
#include "core/math/geometry.h"
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

/* Sorts events that all differ; `scratch` has room for as many. From some thousands on, those of
   the same position and type are left in the order in which they came. */
void sweep_events_sort(sweep_event *events, sweep_event *scratch, uint64_t count);

#endif
