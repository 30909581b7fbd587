/* Shells, and faces that are wound against the rest of theirs.
   Idea: two triangles that share an edge run through it in opposite ways. Union-find with a parity:
   whether a triangle is wound like its root. The smaller side of a shell is the flipped one; where
   both ways lead to a contradiction (a Moebius strip) no winding is right. */
#include "core/memory.h"
#include "scenes/check/check_parts.h"

typedef struct windings {
    examination *of;
    uint32_t *parent;
    uint8_t *parity;   /* against the parent's winding */
    uint8_t *one_side; /* of roots: the strip's */
    uint32_t *against; /* of roots: triangles wound against it */
    uint32_t *all;     /* of roots: triangles */
} windings;

static uint32_t root_of(windings *w, uint32_t i, uint8_t *parity) {
    uint8_t sum = 0;
    while (w->parent[i] != i) {
        const uint32_t above = w->parent[i];
        w->parity[i] ^= w->parity[above]; /* a root's is 0 */
        w->parent[i] = w->parent[above];
        sum ^= w->parity[i];
        i = w->parent[i];
    }
    *parity = sum;
    return i;
}

static void pair_join(windings *w, uint32_t a, uint32_t b, uint8_t differ) {
    uint8_t parity_a = 0, parity_b = 0;
    const uint32_t root_a = root_of(w, a, &parity_a), root_b = root_of(w, b, &parity_b);
    const uint8_t parity = parity_a ^ parity_b ^ differ;
    if (root_a == root_b) {
        if (parity) w->one_side[root_a] = 1;
        return;
    }
    const uint32_t low = root_a < root_b ? root_a : root_b;
    const uint32_t high = root_a < root_b ? root_b : root_a;
    w->parent[high] = low;
    w->parity[high] = parity;
    w->one_side[low] |= w->one_side[high];
}

static void pairs_join(windings *w) {
    const examination *of = w->of;
    for (uint64_t begin = 0, end; begin < of->half_count; begin = end) {
        end = check_edge_end(of, begin);
        if (end - begin != 2) continue;
        const check_half a = check_half_of(of, of->edge_halves[begin]);
        const check_half b = check_half_of(of, of->edge_halves[begin + 1]);
        pair_join(w, a.triangle, b.triangle, a.from == b.from);
    }
}

static void sides_count(windings *w) {
    examination *of = w->of;
    for (uint32_t i = 0; i < of->body.triangle_count; ++i) {
        uint8_t parity = 0;
        of->shell[i] = KD_NONE;
        if (of->marks[i] & CHECK_IDLE) continue;
        of->shell[i] = root_of(w, i, &parity);
        ++w->all[of->shell[i]];
        w->against[of->shell[i]] += parity;
    }
}

static void sides_tell(windings *w) {
    examination *of = w->of;
    for (uint32_t i = 0; i < of->body.triangle_count; ++i) {
        uint8_t parity = 0;
        const uint32_t root = of->shell[i];
        if (root == KD_NONE) continue;
        if (w->one_side[root]) {
            of->marks[i] |= CHECK_ONE_SIDED;
            if (root == i)
                check_triangle_note(of, i, "non-orientable", CHECK_WARNING,
                                    "found a surface of %u triangles with one side only: no "
                                    "winding fits all of it",
                                    w->all[root]);
            continue;
        }
        root_of(w, i, &parity);
        const bool root_is_wrong = 2 * (uint64_t)w->against[root] > w->all[root];
        if (parity == (root_is_wrong ? 1 : 0)) continue;
        of->marks[i] |= CHECK_AGAINST;
        check_triangle_note(of, i, "flipped-face", CHECK_WARNING,
                            "found a triangle wound against its neighbours, expected one winding");
    }
}

kd_status check_orientation(examination *of) {
    const uint64_t count = of->body.triangle_count;
    windings w;
    kd_status status;
    memset(&w, 0, sizeof w);
    w.of = of;
    KD_TRY_GOTO(KD_RESERVE(of->shell, count));
    KD_TRY_GOTO(KD_RESERVE(w.parent, count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(w.parity, count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(w.one_side, count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(w.against, count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(w.all, count));
    for (uint32_t i = 0; i < count; ++i) w.parent[i] = i;
    pairs_join(&w);
    sides_count(&w);
    sides_tell(&w);
done:
    memory_free(w.parent);
    memory_free(w.parity);
    memory_free(w.one_side);
    memory_free(w.against);
    memory_free(w.all);
    return status;
}
