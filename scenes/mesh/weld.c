/* Merges vertices at equal positions, and removes unusable elements.
   Idea: positions are partitioned by hash into parts that fit a core's cache, in their original
     order; a hash table per part finds the first occurrence of each; a prefix sum over blocks
     numbers the first occurrences. */
#include "core/hash.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "scenes/mesh/mesh_cleanup.h"
#include <stdatomic.h>
#include <string.h>

enum { PARTS = 64, BLOCK = 1 << 16 };

typedef struct welder {
    const vec3 *places;
    uint64_t count, blocks;
    uint32_t *hashes; /* hash of each place; later, the new number of each first occurrence */
    uint32_t *order;  /* indices by part, ascending within each */
    uint32_t *first;  /* index of each place's first occurrence; later, its number */
    uint64_t (*assigned)[PARTS]; /* per block: count for each part, then the next write position */
    uint64_t part_begin[PARTS + 1];
    uint64_t *firsts; /* per block: count of first occurrences, then their prefix sum */
    vec3 *kept;
    atomic_bool failed;
} welder;

static uint32_t place_hash(vec3 p) {
    const float key[3] = {p.x + 0.0f, p.y + 0.0f, p.z + 0.0f}; /* -0 hashes like 0 */
    return (uint32_t)hash_bytes(key, sizeof key);
}

static bool same_place(vec3 a, vec3 b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

static uint64_t block_end(const welder *welder, int64_t block) {
    const uint64_t end = ((uint64_t)block + 1) * BLOCK;
    return end < welder->count ? end : welder->count;
}

static void hash_body(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    welder *in = (welder *)context;
    for (int64_t b = begin; b < end; ++b) {
        memset(in->assigned[b], 0, sizeof in->assigned[b]);
        for (uint64_t i = (uint64_t)b * BLOCK; i < block_end(in, b); ++i) {
            in->hashes[i] = place_hash(in->places[i]);
            ++in->assigned[b][in->hashes[i] % PARTS];
        }
    }
}

static void assign_sum(welder *welder) {
    uint64_t sum = 0;
    for (int part = 0; part < PARTS; ++part) {
        welder->part_begin[part] = sum;
        for (uint64_t b = 0; b < welder->blocks; ++b) {
            const uint64_t more = welder->assigned[b][part];
            welder->assigned[b][part] = sum;
            sum += more;
        }
    }
    welder->part_begin[PARTS] = sum;
}

static void assign_body(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    welder *in = (welder *)context;
    for (int64_t b = begin; b < end; ++b)
        for (uint64_t i = (uint64_t)b * BLOCK; i < block_end(in, b); ++i)
            in->order[in->assigned[b][in->hashes[i] % PARTS]++] = (uint32_t)i;
}

static void part_weld(welder *welder, const uint32_t *order, uint64_t count, uint32_t *table,
                      uint64_t size) {
    memset(table, 0xff, size * sizeof *table);
    for (uint64_t k = 0; k < count; ++k) {
        const uint32_t i = order[k];
        uint64_t at = welder->hashes[i] / PARTS & (size - 1);
        while (table[at] != UINT32_MAX && !same_place(welder->places[table[at]], welder->places[i]))
            at = (at + 1) & (size - 1);
        if (table[at] == UINT32_MAX) table[at] = i;
        welder->first[i] = table[at];
    }
}

static void weld_body(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    welder *in = (welder *)context;
    for (int64_t part = begin; part < end; ++part) {
        const uint64_t first = in->part_begin[part], count = in->part_begin[part + 1] - first;
        uint32_t *table = NULL;
        uint64_t size = 16;
        while (size < 2 * count) size *= 2;
        if (KD_RESERVE(table, size) == KD_OK)
            part_weld(in, in->order + first, count, table, size);
        else
            atomic_store(&in->failed, true);
        memory_free(table);
    }
}

static void firsts_count(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    welder *in = (welder *)context;
    for (int64_t b = begin; b < end; ++b) {
        in->firsts[b] = 0;
        for (uint64_t i = (uint64_t)b * BLOCK; i < block_end(in, b); ++i)
            in->firsts[b] += in->first[i] == i;
    }
}

static void firsts_number(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    welder *in = (welder *)context;
    for (int64_t b = begin; b < end; ++b) {
        uint64_t number = in->firsts[b];
        for (uint64_t i = (uint64_t)b * BLOCK; i < block_end(in, b); ++i) {
            if (in->first[i] != i) continue;
            in->kept[number] = in->places[i];
            in->hashes[i] = (uint32_t)number++;
        }
    }
}

static void all_number(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    welder *in = (welder *)context;
    for (int64_t b = begin; b < end; ++b)
        for (uint64_t i = (uint64_t)b * BLOCK; i < block_end(in, b); ++i)
            in->first[i] = in->hashes[in->first[i]];
}

static kd_status weld(welder *welder, uint32_t *kept_count) {
    const int64_t blocks = (int64_t)welder->blocks;
    parallel_for(blocks, 1, hash_body, welder);
    assign_sum(welder);
    parallel_for(blocks, 1, assign_body, welder);
    parallel_for(PARTS, 1, weld_body, welder);
    KD_REQUIRE(!atomic_load(&welder->failed), KD_ERROR_MEMORY, "out of memory to weld %llu corners",
               (unsigned long long)welder->count);
    parallel_for(blocks, 1, firsts_count, welder);
    uint64_t sum = 0;
    for (uint64_t b = 0; b < welder->blocks; ++b) {
        const uint64_t more = welder->firsts[b];
        welder->firsts[b] = sum;
        sum += more;
    }
    KD_TRY(KD_RESERVE(welder->kept, sum));
    *kept_count = (uint32_t)sum;
    parallel_for(blocks, 1, firsts_number, welder);
    parallel_for(blocks, 1, all_number, welder);
    return KD_OK;
}

kd_status weld_places(const vec3 *places, uint64_t count, uint32_t *numbers, vec3 **kept,
                      uint32_t *kept_count) {
    welder in = {0};
    kd_status status = KD_OK;
    in.places = places;
    in.count = count;
    in.blocks = (count + BLOCK - 1) / BLOCK;
    in.first = numbers;
    *kept = NULL;
    *kept_count = 0;
    KD_TRY_GOTO(KD_RESERVE(in.hashes, count));
    KD_TRY_GOTO(KD_RESERVE(in.order, count));
    KD_TRY_GOTO(KD_RESERVE(in.assigned, in.blocks));
    KD_TRY_GOTO(KD_RESERVE(in.firsts, in.blocks));
    KD_TRY_GOTO(weld(&in, kept_count));
    *kept = in.kept;
done:
    memory_free(in.hashes);
    memory_free(in.order);
    memory_free(in.assigned);
    memory_free(in.firsts);
    return status;
}

static bool triangle_is_usable(const mesh *mesh, uint64_t i) {
    for (int k = 0; k < 3; ++k) {
        const uint32_t corner = mesh->triangles[3 * i + (uint64_t)k];
        if (corner == KD_NONE || !vec3_is_finite(mesh->positions[corner])) return false;
    }
    return true;
}

static void triangles_compact(mesh *mesh, uint32_t *lines) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < mesh->triangle_count; ++i) {
        if (!triangle_is_usable(mesh, i)) continue;
        for (uint64_t k = 0; k < 3 && kept != i; ++k) {
            mesh->triangles[3 * kept + k] = mesh->triangles[3 * i + k];
            if (mesh->normal_indices)
                mesh->normal_indices[3 * kept + k] = mesh->normal_indices[3 * i + k];
            if (mesh->texcoord_indices)
                mesh->texcoord_indices[3 * kept + k] = mesh->texcoord_indices[3 * i + k];
        }
        mesh->triangle_materials[kept] = mesh->triangle_materials[i];
        if (lines) lines[kept] = lines[i];
        ++kept;
    }
    mesh->triangle_count = (uint32_t)kept;
}

/* Overwrites positions that are not finite, which no triangle uses, by another position, so that
   bounding boxes stay correct. */
static void positions_mend(mesh *mesh) {
    vec3 sound = vec3_all(0);
    for (uint32_t i = 0; i < mesh->position_count; ++i)
        if (vec3_is_finite(mesh->positions[i])) {
            sound = mesh->positions[i];
            break;
        }
    for (uint32_t i = 0; i < mesh->position_count; ++i)
        if (!vec3_is_finite(mesh->positions[i])) mesh->positions[i] = sound;
}

static void normals_mend(mesh *mesh) {
    for (uint64_t i = 0; i < 3 * (uint64_t)mesh->triangle_count && mesh->normal_indices; ++i) {
        uint32_t *index = &mesh->normal_indices[i];
        if (*index != KD_NONE && vec3_is_zero(mesh->normals[*index])) *index = KD_NONE;
    }
}

static void texcoords_mend(mesh *mesh) {
    for (uint64_t i = 0; i < 3 * (uint64_t)mesh->triangle_count && mesh->texcoord_indices; ++i) {
        uint32_t *index = &mesh->texcoord_indices[i];
        if (*index == KD_NONE) continue;
        const vec2 at = mesh->texcoords[*index];
        /* an entry with a colour keeps its place, with the texture coordinate (0, 0) */
        if ((!isfinite(at.x) || !isfinite(at.y)) && !mesh->colours) *index = KD_NONE;
    }
    for (uint32_t i = 0; i < mesh->texcoord_count; ++i)
        if (!isfinite(mesh->texcoords[i].x) || !isfinite(mesh->texcoords[i].y))
            mesh->texcoords[i] = vec2_make(0, 0);
}

void mesh_compact(mesh *mesh, uint32_t *lines, const mesh_faults *faults) {
    if (faults->unusable || faults->position) triangles_compact(mesh, lines);
    if (faults->position) positions_mend(mesh);
    if (faults->normal) normals_mend(mesh);
    if (faults->texcoord) texcoords_mend(mesh);
    if (!faults->uses_normals) {
        memory_free(mesh->normal_indices);
        mesh->normal_indices = NULL;
    }
    if (!faults->uses_texcoords) {
        memory_free(mesh->texcoord_indices);
        mesh->texcoord_indices = NULL;
    }
}
