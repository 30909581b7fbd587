#include "accel/sweep/events.h"
#include "core/memory.h"
#include <string.h>

enum { RUN = 32, RADIX_MIN = 4096, PASSES = 3, DIGITS = 4096 };
static const int shifts[PASSES + 1] = {30, 41, 52, 64}; /* position and type */

static uint32_t digit_of(sweep_event event, int pass) {
    const uint64_t key = (uint64_t)event ^ 0x8000000000000000u;
    return (uint32_t)(key >> shifts[pass]) & ((1u << (shifts[pass + 1] - shifts[pass])) - 1);
}

/* Least significant digit first: stable. False: there is no memory to count digits in. */
static bool radix_sort(sweep_event *events, sweep_event *scratch, uint64_t count) {
    uint32_t(*begin)[DIGITS] = (uint32_t(*)[DIGITS])memory_spare(PASSES * sizeof *begin);
    if (!begin) return false;
    memset(begin, 0, PASSES * sizeof *begin);
    for (uint64_t i = 0; i < count; ++i)
        for (int pass = 0; pass < PASSES; ++pass) ++begin[pass][digit_of(events[i], pass)];
    for (int pass = 0; pass < PASSES; ++pass) {
        uint32_t sum = 0;
        for (int digit = 0; digit < DIGITS; ++digit) {
            const uint32_t here = begin[pass][digit];
            begin[pass][digit] = sum;
            sum += here;
        }
        const sweep_event *from = pass % 2 ? scratch : events;
        sweep_event *to = pass % 2 ? events : scratch;
        for (uint64_t i = 0; i < count; ++i) to[begin[pass][digit_of(from[i], pass)]++] = from[i];
    }
    static_assert(PASSES % 2 == 1, "the last pass ends in scratch");
    memcpy(events, scratch, count * sizeof *events);
    memory_free(begin);
    return true;
}

/* Each goes where as many lie before it as are less: no branch to predict. */
static void rank_sort(sweep_event *to, const sweep_event *from, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
        const sweep_event event = from[i];
        int64_t before = 0;
        for (uint64_t k = 0; k < count; ++k) before += from[k] < event;
        to[before] = event;
    }
}

static void merge_runs(sweep_event *to, const sweep_event *a, uint64_t a_count,
                       const sweep_event *b, uint64_t b_count) {
    const sweep_event *a_end = a + a_count, *b_end = b + b_count;
    while (a < a_end && b < b_end) {
        const bool second = *b < *a;
        *to++ = second ? *b : *a;
        b += second;
        a += !second;
    }
    memcpy(to, a, (uint64_t)(a_end - a) * sizeof *to);
    memcpy(to + (a_end - a), b, (uint64_t)(b_end - b) * sizeof *to);
}

static uint64_t lesser(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

void sweep_events_sort(sweep_event *events, sweep_event *scratch, uint64_t count) {
    if (count >= RADIX_MIN && radix_sort(events, scratch, count)) return;
    for (uint64_t i = 0; i < count; i += RUN)
        rank_sort(scratch + i, events + i, lesser(RUN, count - i));
    sweep_event *from = scratch, *to = events;
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
