/* Idea: a k-d tree over six coordinates, a piece's middle and its normal, cut along the widest
   side. Among normals the cut is the middle between the ends (the normals of plane faces lie in a
         few places, which a median would cut through) if both sides get enough, else the median.
   Invariants: a group without parts has 4 to CREASE_LEAF pieces, or all; so there are at most half
         as many groups as pieces. A function of its input: no threads, no chance. */
#include "photon/density/boundary_groups.h"
#include "core/memory.h"

enum { COORDINATES = 6, APART_LEAST = 64, APART_SHARE = 8 };

typedef struct group_builder {
    const crease *pieces;
    uint32_t *order;
    crease_group *groups;
    uint32_t count;
    float per_scale;
} group_builder;

/* Sums of a group in double: vectors (to - from), and middles times these about the origin. */
typedef struct group_sums {
    double along[3], moment[3][3];
} group_sums;

/* Coordinate 0 to 2: of the middle, over the scale; 3 to 5: of the normal. */
static float coordinate_of(const group_builder *with, uint32_t piece, int coordinate) {
    const crease *of = &with->pieces[piece];
    if (coordinate >= 3) return vec3_axis(of->normal, coordinate - 3);
    return with->per_scale *
           (0.5f * vec3_axis(of->from, coordinate) + 0.5f * vec3_axis(of->to, coordinate));
}

static void group_bound(crease_group *group, const group_builder *with) {
    group->lo = group->normal_lo = vec3_all(INFINITY);
    group->hi = group->normal_hi = vec3_all(-INFINITY);
    for (uint32_t i = 0; i < group->count; ++i) {
        const crease *piece = &with->pieces[with->order[group->begin + i]];
        group->lo = vec3_min(group->lo, vec3_min(piece->from, piece->to));
        group->hi = vec3_max(group->hi, vec3_max(piece->from, piece->to));
        group->normal_lo = vec3_min(group->normal_lo, piece->normal);
        group->normal_hi = vec3_max(group->normal_hi, piece->normal);
    }
}

/* The widest side of a group and its ends. */
static int group_widest(const group_builder *with, const crease_group *group, float *low,
                        float *high) {
    int widest = 0;
    float width = -1;
    for (int c = 0; c < COORDINATES; ++c) {
        float least = INFINITY, most = -INFINITY;
        for (uint32_t i = 0; i < group->count; ++i) {
            const float x = coordinate_of(with, with->order[group->begin + i], c);
            least = float_min(least, x);
            most = float_max(most, x);
        }
        if (!(most - least > width)) continue;
        width = most - least;
        widest = c;
        *low = least;
        *high = most;
    }
    return widest;
}

/* Brings those below `at` to the front; how many. */
static uint32_t part_at(const group_builder *with, uint32_t *order, uint32_t count, int coordinate,
                        float at) {
    uint32_t below = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t piece = order[i];
        if (!(coordinate_of(with, piece, coordinate) < at)) continue;
        order[i] = order[below];
        order[below++] = piece;
    }
    return below;
}

/* Hoare's selection: nothing before place `middle` is larger than anything from there on. */
static void select_middle(const group_builder *with, uint32_t *order, uint32_t count,
                          uint32_t middle, int coordinate) {
    int64_t low = 0, high = (int64_t)count - 1;
    while (low < high) {
        const float pivot = coordinate_of(with, order[low + (high - low) / 2], coordinate);
        int64_t i = low, j = high;
        while (i <= j) {
            while (coordinate_of(with, order[i], coordinate) < pivot) ++i;
            while (coordinate_of(with, order[j], coordinate) > pivot) --j;
            if (i > j) break;
            const uint32_t moved = order[i];
            order[i++] = order[j];
            order[j--] = moved;
        }
        if ((int64_t)middle <= j)
            high = j;
        else if ((int64_t)middle >= i)
            low = i;
        else
            return;
    }
}

/* Cuts a group's pieces in two; how many are in the first part. */
static uint32_t group_cut(const group_builder *with, const crease_group *group) {
    float low = 0, high = 0;
    uint32_t *order = with->order + group->begin;
    const uint32_t count = group->count;
    const int coordinate = group_widest(with, group, &low, &high);
    if (coordinate >= 3 && count >= APART_LEAST) {
        const uint32_t below = part_at(with, order, count, coordinate, 0.5f * (low + high));
        if (below >= count / APART_SHARE && count - below >= count / APART_SHARE) return below;
    }
    select_middle(with, order, count, count / 2, coordinate);
    return count / 2;
}

static group_sums leaf_sums(const group_builder *with, const crease_group *group) {
    group_sums sums;
    memset(&sums, 0, sizeof sums);
    for (uint32_t i = 0; i < group->count; ++i) {
        const crease *piece = &with->pieces[with->order[group->begin + i]];
        for (int b = 0; b < 3; ++b) {
            const double from = (double)vec3_axis(piece->from, b);
            const double along = (double)vec3_axis(piece->to, b) - from;
            sums.along[b] += along;
            for (int a = 0; a < 3; ++a)
                sums.moment[a][b] +=
                    along * 0.5 *
                    ((double)vec3_axis(piece->from, a) + (double)vec3_axis(piece->to, a));
        }
    }
    return sums;
}

static void group_keep_sums(crease_group *group, const group_sums *sums) {
    for (int a = 0; a < 3; ++a) {
        const double centre =
            0.5 * ((double)vec3_axis(group->lo, a) + (double)vec3_axis(group->hi, a));
        vec3_set_axis(&group->along, a, (float)sums->along[a]);
        for (int b = 0; b < 3; ++b)
            vec3_set_axis(&group->moment[a], b,
                          (float)(sums->moment[a][b] - centre * sums->along[b]));
    }
}

static group_sums build_group(group_builder *with, uint32_t begin, uint32_t count) {
    const uint32_t index = with->count++;
    crease_group *group = &with->groups[index];
    group->begin = begin;
    group->count = count;
    group_bound(group, with);
    group_sums sums;
    if (count <= CREASE_LEAF) {
        sums = leaf_sums(with, group);
    } else {
        const uint32_t first = group_cut(with, group);
        sums = build_group(with, begin, first);
        const group_sums others = build_group(with, begin + first, count - first);
        for (int b = 0; b < 3; ++b) {
            sums.along[b] += others.along[b];
            for (int a = 0; a < 3; ++a) sums.moment[a][b] += others.moment[a][b];
        }
    }
    group->skip = with->count;
    group_keep_sums(group, &sums);
    return sums;
}

kd_status crease_groups_open(crease_groups *out, const crease *pieces, uint32_t count,
                             float scale) {
    memset(out, 0, sizeof *out);
    if (count <= CREASE_EXACT) return KD_OK;
    kd_status status = KD_OK;
    group_builder with = {pieces, NULL, NULL, 0, 1 / scale};
    KD_TRY_GOTO(KD_RESERVE(out->order, count));
    KD_TRY_GOTO(KD_RESERVE(out->groups, count / 2));
    for (uint32_t i = 0; i < count; ++i) out->order[i] = i;
    with.order = out->order;
    with.groups = out->groups;
    build_group(&with, 0, count);
    out->count = with.count;
done:
    if (status != KD_OK) crease_groups_close(out);
    return status;
}

void crease_groups_close(crease_groups *owned) {
    memory_free(owned->groups);
    memory_free(owned->order);
    memset(owned, 0, sizeof *owned);
}
