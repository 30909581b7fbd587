#include "accel/wide/wide_rays.h"
#include "accel/wide/wide_cast.h"
#include "accel/wide/wide_packet.h"

uint32_t wide_cells_best(void) {
    return WIDE_LANES;
}

/* Closest and any hits are code of their own. */
static __attribute__((noinline)) ray_hit closest_one(const tritree_view *tree, const ray *cast) {
    return wide_cast_one(tree, cast, false);
}
static __attribute__((noinline)) ray_hit any_one(const tritree_view *tree, const ray *cast) {
    return wide_cast_one(tree, cast, true);
}
static __attribute__((noinline)) void closest_many(const wide_batch *b) {
    wide_cast(b, false, false);
}
static __attribute__((noinline)) void closest_many_large(const wide_batch *b) {
    wide_cast(b, false, true);
}
static __attribute__((noinline)) void any_many(const wide_batch *b) {
    wide_cast(b, true, false);
}
static __attribute__((noinline)) void any_many_large(const wide_batch *b) {
    wide_cast(b, true, true);
}

static __attribute__((noinline)) bool closest_packet(const tritree_view *tree, const ray *rays,
                                                     ray_hit *hits, packet_use *use) {
    return wide_cast_packet(tree, rays, false, hits, use);
}
static __attribute__((noinline)) bool any_packet(const tritree_view *tree, const ray *rays,
                                                 ray_hit *hits, packet_use *use) {
    return wide_cast_packet(tree, rays, true, hits, use);
}

/* A cheap look at the first and the last ray spares most packets that would be refused. */
static bool ends_differ(const ray rays[WIDE_PACKET]) {
    const vec3 first = rays[0].direction, last = rays[WIDE_PACKET - 1].direction;
    const float along = vec3_dot(first, last);
    return along <= 0 || along * along < 0.9f * vec3_dot(first, first) * vec3_dot(last, last);
}

bool trace_wide_packet(const tritree_view *tree, const ray rays[WIDE_PACKET], bool any,
                       ray_hit hits[WIDE_PACKET], packet_use *use) {
    if (ends_differ(rays)) return false;
    return any ? any_packet(tree, rays, hits, use) : closest_packet(tree, rays, hits, use);
}

ray_hit trace_wide_one(const tritree_view *tree, ray cast, bool any) {
    return any ? any_one(tree, &cast) : closest_one(tree, &cast);
}

void trace_wide(const tritree_view *tree, const ray *rays, const uint32_t *listed, uint32_t count,
                ray_hit *hits) {
    const wide_batch b = {tree, rays, listed, count, hits, NULL};
    if (wide_tree_bytes(tree->wide) > WIDE_LARGE)
        closest_many_large(&b);
    else
        closest_many(&b);
}

void trace_wide_any(const tritree_view *tree, const ray *rays, const uint32_t *listed,
                    uint32_t count, uint8_t *blocked) {
    const wide_batch b = {tree, rays, listed, count, NULL, blocked};
    if (wide_tree_bytes(tree->wide) > WIDE_LARGE)
        any_many_large(&b);
    else
        any_many(&b);
}
