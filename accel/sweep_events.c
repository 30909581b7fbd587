#include "accel/sweep_events.h"
#include <string.h>

enum { RUN = 16, RADIX_MIN = 2048, DIGIT_BITS = 12, DIGITS = 1 << DIGIT_BITS };

/* Orders as (position, type) do; 34 bits. */
static uint64_t sort_key(sweep_event event) {
    uint32_t bits = float_bits(event.position);
    bits ^= bits >> 31 ? 0xffffffffu : 0x80000000u;
    return (uint64_t)bits << 2 | sweep_event_type(event);
}

/* Least significant digit first: stable, so equal keys stay in order of id if they were. */
static void radix_sort(sweep_event *events, sweep_event *scratch, uint64_t count) {
    static const int shifts[3] = {0, DIGIT_BITS, 2 * DIGIT_BITS};
    sweep_event *from = events, *to = scratch;
    for (int pass = 0; pass < 3; ++pass) {
        uint64_t begin[DIGITS] = {0};
        uint64_t sum = 0;
        for (uint64_t i = 0; i < count; ++i)
            ++begin[sort_key(from[i]) >> shifts[pass] & (DIGITS - 1)];
        for (int digit = 0; digit < DIGITS; ++digit) {
            const uint64_t here = begin[digit];
            begin[digit] = sum;
            sum += here;
        }
        for (uint64_t i = 0; i < count; ++i)
            to[begin[sort_key(from[i]) >> shifts[pass] & (DIGITS - 1)]++] = from[i];
        sweep_event *swap = from;
        from = to;
        to = swap;
    }
    memcpy(events, scratch, count * sizeof *events); /* three passes end in scratch */
}

static void insertion_sort(sweep_event *events, uint64_t count) {
    for (uint64_t i = 1; i < count; ++i) {
        const sweep_event moved = events[i];
        uint64_t at = i;
        for (; at > 0 && sweep_event_before(moved, events[at - 1]); --at)
            events[at] = events[at - 1];
        events[at] = moved;
    }
}

static void merge_runs(sweep_event *to, const sweep_event *a, uint64_t a_count,
                       const sweep_event *b, uint64_t b_count) {
    uint64_t i = 0, j = 0;
    while (i < a_count && j < b_count) {
        const bool second = sweep_event_before(b[j], a[i]);
        *to++ = second ? b[j] : a[i];
        j += second;
        i += !second;
    }
    memcpy(to, a + i, (a_count - i) * sizeof *to);
    memcpy(to + (a_count - i), b + j, (b_count - j) * sizeof *to);
}

static uint64_t lesser(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

void sweep_events_sort(sweep_event *events, sweep_event *scratch, uint64_t count) {
    if (count >= RADIX_MIN) {
        radix_sort(events, scratch, count);
        return;
    }
    for (uint64_t i = 0; i < count; i += RUN) insertion_sort(events + i, lesser(RUN, count - i));
    sweep_event *from = events, *to = scratch;
    for (uint64_t run = RUN; run < count; run *= 2) {
        for (uint64_t i = 0; i < count; i += 2 * run) {
            const uint64_t first = lesser(run, count - i), second = lesser(run, count - i - first);
            merge_runs(to + i, from + i, first, from + i + first, second);
        }
        sweep_event *swap = from;
        from = to;
        to = swap;
    }
    if (from != events) memcpy(events, from, count * sizeof *events);
}

void sweep_events_merge(sweep_event *merged, uint64_t kept_count, const sweep_event *fresh,
                        uint64_t fresh_count) {
    const sweep_event *kept = merged + fresh_count, *end = kept + kept_count;
    while (fresh_count) {
        if (kept == end || sweep_event_before(*fresh, *kept)) {
            *merged++ = *fresh++;
            --fresh_count;
        } else {
            *merged++ = *kept++;
        }
    }
}
