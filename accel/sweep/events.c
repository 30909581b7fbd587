#include "accel/sweep/events.h"
#include <string.h>

enum { RUN = 32, RADIX_MIN = 4096, PASSES = 3, DIGITS = 4096 };
static const int shifts[PASSES + 1] = {30, 41, 52, 64}; /* position and type */

static uint32_t digit_of(sweep_event event, int pass) {
    const uint64_t key = (uint64_t)event ^ 0x8000000000000000u;
    return (uint32_t)(key >> shifts[pass]) & ((1u << (shifts[pass + 1] - shifts[pass])) - 1);
}

/* A pass of the radix sort over parts of a list, side by side. */
typedef struct radix_pass {
    const event_part *part;
    int parts, digit;
    sweep_event *to;
    uint32_t (*begin)[DIGITS]; /* of each part: how often a digit is there, then where it goes */
} radix_pass;

static void count_digits(void *context, int i) {
    const radix_pass *pass = (const radix_pass *)context;
    const event_part part = pass->part[i];
    uint32_t *begin = pass->begin[i];
    memset(begin, 0, DIGITS * sizeof *begin);
    for (uint64_t k = 0; k < part.count; ++k) ++begin[digit_of(part.events[k], pass->digit)];
}

static void open_digits(const radix_pass *pass) {
    uint32_t sum = 0;
    for (int digit = 0; digit < DIGITS; ++digit)
        for (int i = 0; i < pass->parts; ++i) {
            const uint32_t here = pass->begin[i][digit];
            pass->begin[i][digit] = sum;
            sum += here;
        }
}

static void distribute(void *context, int i) {
    const radix_pass *pass = (const radix_pass *)context;
    const event_part part = pass->part[i];
    uint32_t *begin = pass->begin[i];
    for (uint64_t k = 0; k < part.count; ++k)
        pass->to[begin[digit_of(part.events[k], pass->digit)]++] = part.events[k];
}

static uint64_t all_events(const event_part *part, int parts) {
    uint64_t count = 0;
    for (int i = 0; i < parts; ++i) count += part[i].count;
    return count;
}

/* One part: all digits are counted in one go. */
static void radix_sort_alone(sweep_event *to, sweep_event *spare, event_part part) {
    uint32_t begin[PASSES][DIGITS];
    memset(begin, 0, sizeof begin);
    for (uint64_t i = 0; i < part.count; ++i)
        for (int digit = 0; digit < PASSES; ++digit)
            ++begin[digit][digit_of(part.events[i], digit)];
    for (int digit = 0; digit < PASSES; ++digit) {
        radix_pass pass = {&part, 1, digit, digit % 2 ? spare : to, &begin[digit]};
        open_digits(&pass);
        distribute(&pass, 0);
        part.events = pass.to;
    }
}

/* Least significant digit first: stable, so equal keys stay in order of id if they were. An odd
   number of passes ends in `to`. */
static void radix_sort(sweep_event *to, sweep_event *spare, const event_part *part, int parts,
                       task_pool *pool) {
    uint32_t begin[EVENT_PARTS_MOST][DIGITS];
    event_part piece[EVENT_PARTS_MOST];
    const uint64_t count = all_events(part, parts);
    for (int digit = 0; digit < PASSES; ++digit) {
        radix_pass pass = {digit ? piece : part, parts, digit, digit % 2 ? spare : to, begin};
        task_each(pool, parts, count_digits, &pass);
        open_digits(&pass);
        task_each(pool, parts, distribute, &pass);
        for (int i = 0; i < parts; ++i) {
            const uint64_t first = count * (uint64_t)i / (uint64_t)parts;
            piece[i].events = pass.to + first;
            piece[i].count = count * (uint64_t)(i + 1) / (uint64_t)parts - first;
        }
    }
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
    if (count >= RADIX_MIN) {
        const event_part all = {events, count};
        radix_sort_alone(scratch, events, all);
        memcpy(events, scratch, count * sizeof *events);
        return;
    }
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

uint64_t sweep_events_sort_parts(sweep_event *to, sweep_event *spare, const event_part *part,
                                 int parts, task_pool *pool) {
    const uint64_t count = all_events(part, parts);
    if (count >= RADIX_MIN && parts == 1) {
        radix_sort_alone(to, spare, part[0]);
    } else if (count >= RADIX_MIN) {
        radix_sort(to, spare, part, parts, pool);
    } else {
        sweep_event *next = to;
        for (int i = 0; i < parts; next += part[i++].count)
            memcpy(next, part[i].events, part[i].count * sizeof *next);
        sweep_events_sort(to, spare, count);
    }
    return count;
}

uint32_t sweep_events_find(const sweep_event *events, uint32_t count, sweep_event bound) {
    uint32_t first = 0, beyond = count;
    while (first < beyond) {
        const uint32_t middle = first + (beyond - first) / 2;
        if (events[middle] < bound)
            first = middle + 1;
        else
            beyond = middle;
    }
    return first;
}
