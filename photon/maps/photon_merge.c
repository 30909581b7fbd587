/* Photon maps of several emissions become one.
   Idea: maps are put in the order of their contents' hashes, and each power is scaled once, by
         its map's share of all paths: no order of naming shows. Two maps that share photons (the
         same one twice, one of fewer photons by the same seed, one that was merged before) would
         count light twice: each photon's hash without its power is looked for in the other maps.
   Work: n log n in all photons.
   Memory: 16 bytes a photon beside the result. */
#include "core/hash.h"
#include "core/memory.h"
#include "photon/maps/photon_file.h"
#include "points/tree/pointtree.h"
#include <stdlib.h>
#include <string.h>

enum { SHARED_PART = 2 }; /* more than 1/2 of a map's photons are no chance */

typedef struct photon_mark {
    uint64_t hash;
    uint32_t map;
} photon_mark;

static int by_mark(const void *a, const void *b) {
    const photon_mark *x = (const photon_mark *)a, *y = (const photon_mark *)b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return (x->map > y->map) - (x->map < y->map);
}

static photon_mark mark_of(const photon *of, uint32_t map) {
    photon known = *of;
    known.power = vec3_all(0);
    const photon_mark mark = {hash_bytes(&known, sizeof known), map};
    return mark;
}

/* Marks of one hash, sorted by map: what each pair of maps has of them. */
static void count_pairs(const photon_mark *marks, uint64_t count, size_t across, uint64_t *shared) {
    for (uint64_t i = 0, after; i < count; i = after) {
        for (after = i; after < count && marks[after].map == marks[i].map;) ++after;
        for (uint64_t j = after, next; j < count; j = next) {
            for (next = j; next < count && marks[next].map == marks[j].map;) ++next;
            shared[across * marks[i].map + marks[j].map] +=
                after - i < next - j ? after - i : next - j;
        }
    }
}

/* Refuses maps of which one holds many photons of the other; `shared` has room for count^2. */
static kd_status find_shared(const photon_mark *marks, uint64_t count, int list,
                             const photon_file *maps, const char *const *names, int map_count,
                             uint64_t *shared) {
    const size_t across = (size_t)map_count;
    for (uint64_t i = 0, after; i < count; i = after) {
        for (after = i; after < count && marks[after].hash == marks[i].hash;) ++after;
        if (marks[after - 1].map != marks[i].map) count_pairs(marks + i, after - i, across, shared);
    }
    for (size_t a = 0; a < across; ++a)
        for (size_t b = a + 1; b < across; ++b) {
            const uint64_t in_a = maps[a].lists[list].count, in_b = maps[b].lists[list].count;
            const uint64_t fewer = in_a < in_b ? in_a : in_b;
            KD_REQUIRE(fewer == 0 || SHARED_PART * shared[across * a + b] <= fewer, KD_ERROR_INPUT,
                       "%s and %s hold the same photons: maps to merge need different seeds",
                       names[a], names[b]);
        }
    return KD_OK;
}

/* One of the lists, in every pair of maps. */
static kd_status check_list(const photon_file *maps, const char *const *names, int map_count,
                            int list) {
    kd_status status = KD_OK;
    photon_mark *marks = NULL;
    uint64_t *shared = NULL, count = 0, at = 0;
    for (int m = 0; m < map_count; ++m) count += maps[m].lists[list].count;
    KD_REQUIRE(count <= POINTTREE_COUNT_MAX / 2, KD_ERROR_INPUT,
               "%llu photons in one map, expected at most %u", (unsigned long long)count,
               POINTTREE_COUNT_MAX / 2);
    KD_TRY_GOTO(KD_RESERVE(marks, count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(shared, (uint64_t)map_count * (uint64_t)map_count));
    for (int m = 0; m < map_count; ++m)
        for (uint64_t i = 0; i < maps[m].lists[list].count; ++i)
            marks[at++] = mark_of(maps[m].lists[list].photons + i, (uint32_t)m);
    qsort(marks, count, sizeof *marks, by_mark);
    KD_TRY_GOTO(find_shared(marks, count, list, maps, names, map_count, shared));
done:
    memory_free(marks);
    memory_free(shared);
    return status;
}

static int by_content(const void *a, const void *b) {
    const photon_file *x = *(const photon_file *const *)a, *y = *(const photon_file *const *)b;
    return (x->content > y->content) - (x->content < y->content);
}

static void add_ledger(photon_ledger *sum, const photon_ledger *more, double share) {
    sum->emitted += share * more->emitted;
    sum->absorbed += share * more->absorbed;
    sum->escaped += share * more->escaped;
    sum->ended += share * more->ended;
    sum->cut += share * more->cut;
    sum->media += share * more->media;
}

static kd_status merge_list(photon_list *out, const photon_file *const *ordered, int map_count,
                            int list) {
    uint64_t count = 0;
    out->complete = true;
    for (int m = 0; m < map_count; ++m) {
        count += ordered[m]->lists[list].count;
        out->emitted += ordered[m]->lists[list].emitted;
    }
    KD_TRY(KD_RESERVE(out->photons, count));
    for (int m = 0; m < map_count; ++m) {
        const photon_list *from = &ordered[m]->lists[list];
        const double share =
            out->emitted ? (double)from->emitted / (double)out->emitted : 1 / (double)map_count;
        for (uint64_t i = 0; i < from->count; ++i) {
            photon *one = out->photons + out->count++;
            *one = from->photons[i];
            one->power = vec3_scale(one->power, (float)share);
        }
        add_ledger(&out->ledger, &from->ledger, share);
        out->rays += from->rays;
        out->complete = out->complete && from->complete;
    }
    return KD_OK;
}

kd_status photon_file_merge(photon_file *out, const photon_file *maps, const char *const *names,
                            int count) {
    kd_status status = KD_OK;
    const photon_file **ordered = NULL;
    memset(out, 0, sizeof *out);
    for (int m = 1; m < count; ++m)
        KD_REQUIRE(maps[m].scene == maps[0].scene, KD_ERROR_INPUT,
                   "%s and %s are maps of two scenes (%016llx and %016llx) and cannot be one",
                   names[0], names[m], (unsigned long long)maps[0].scene,
                   (unsigned long long)maps[m].scene);
    for (int l = 0; l < PHOTON_LISTS; ++l) KD_TRY(check_list(maps, names, count, l));
    KD_TRY(KD_RESERVE(ordered, (uint64_t)count));
    for (int m = 0; m < count; ++m) ordered[m] = maps + m;
    qsort(ordered, (size_t)count, sizeof(const photon_file *), by_content);
    out->scene = maps[0].scene;
    for (int l = 0; l < PHOTON_LISTS; ++l)
        KD_TRY_GOTO(merge_list(&out->lists[l], ordered, count, l));
done:
    memory_free(ordered);
    if (status != KD_OK) photon_file_close(out);
    return status;
}
