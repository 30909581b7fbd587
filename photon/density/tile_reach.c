/* What light reaches, and how open it lies: the weights of parts.
   Idea: probes, one for each side of each part; small triangles of about one place and direction
         share those of the largest. A probe's rays, followed to their ends, join it to others. One
         that sees a lamp, the sky or the void is 1; any other is the mean of 0.9 times what its
         rays meet, after ROUNDS rounds; what is then below DARK no light reaches: inner sides of
         closed bodies, floors under what stands on them.
   Work: 16 rays a probe and two shadow rays; ROUNDS gathers of 16.
   Memory: 64 bytes a probe and 25 while it runs.
   Invariants: a function of the scene and the radius: rounds read the values of the one before. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/parallel/primitives.h"
#include "photon/density/tile_openness.h"
#include "photon/density/tile_parts.h"
#include "shaders/light_sampling.h"
#include "shaders/passage.h"

enum { PROBE_GRAIN = 256, PROBES_AT_ONCE = 64, ROUNDS = 32, SHADOW_RAYS = 2 };
#define PASSED_ON 0.9f
#define DARK 0.1f

/* The probes of one part's two sides, or of many small triangles'. */
typedef struct probe_pair {
    uint32_t face, part;
} probe_pair;

typedef struct reaching {
    const scene_view *scene;
    tile_parts *parts;
    float radius;
    uint32_t *face_of; /* per triangle; KD_NONE: it keeps no photons */
    uint32_t *pair_of; /* per part */
    probe_pair *pairs;
    uint32_t pair_count;
    uint32_t *targets; /* 16 a probe: another probe; KD_NONE: light */
    float *model, *now, *next;
} reaching;

/* --- which probes ------------------------------------------------------------------------------
 */

static uint64_t place_bits(float x, float size) {
    const float cell = floorf(x / size);
    return (uint64_t)((int64_t)float_clamp(cell, -1e9f, 1e9f) & 0x7ffff);
}

/* Of the cell in which the middle lies, and of the normal: its longest axis and all signs. */
static uint64_t key_of(const tile_face *face, float size) {
    const vec3 n = face->normal;
    const vec3 middle =
        vec3_scale(vec3_add(face->corner[0], vec3_add(face->corner[1], face->corner[2])), 1.0f / 3);
    const float x = fabsf(n.x), y = fabsf(n.y), z = fabsf(n.z);
    const uint64_t axis = x >= y && x >= z ? 0 : y >= z ? 1 : 2;
    const uint64_t signs = (n.x < 0 ? 1u : 0u) | (n.y < 0 ? 2u : 0u) | (n.z < 0 ? 4u : 0u);
    return place_bits(middle.x, size) << 43 | place_bits(middle.y, size) << 24 |
           place_bits(middle.z, size) << 5 | axis << 3 | signs;
}

static bool face_shares(const tile_face *face, float size) {
    return face->depth == 0 && face->area < size * size;
}

/* The pairs of triangles that share: those of the largest with their key. */
static kd_status pair_small(reaching *work, float size) {
    const tile_parts *parts = work->parts;
    kd_status status = KD_OK;
    uint64_t *keys = NULL;
    uint32_t *faces = NULL, count = 0;
    void *scratch = NULL;
    KD_TRY_GOTO(KD_RESERVE(keys, parts->face_count));
    KD_TRY_GOTO(KD_RESERVE(faces, parts->face_count));
    KD_TRY_GOTO(memory_reserve(&scratch, radix_sort_pairs_scratch_bytes(parts->face_count), 1));
    for (uint32_t i = 0; i < parts->face_count; ++i) {
        if (!face_shares(&parts->faces[i], size)) continue;
        keys[count] = key_of(&parts->faces[i], size);
        faces[count++] = i;
    }
    radix_sort_pairs(keys, faces, count, 0, 64, scratch);
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t face = faces[i];
        if (i == 0 || keys[i] != keys[i - 1]) {
            work->pairs[work->pair_count].face = face;
            work->pairs[work->pair_count++].part = 0;
        }
        probe_pair *pair = &work->pairs[work->pair_count - 1];
        if (parts->faces[face].area > parts->faces[pair->face].area) pair->face = face;
        work->pair_of[parts->faces[face].first] = work->pair_count - 1;
    }
done:
    memory_free(keys);
    memory_free(faces);
    memory_free(scratch);
    return status;
}

static void pair_parts(reaching *work, float size) {
    const tile_parts *parts = work->parts;
    for (uint32_t i = 0; i < parts->face_count; ++i) {
        const tile_face *face = &parts->faces[i];
        work->face_of[face->triangle] = i;
        for (uint32_t p = 0; p < 1u << 2 * face->depth && !face_shares(face, size); ++p) {
            work->pair_of[face->first + p] = work->pair_count;
            work->pairs[work->pair_count].face = i;
            work->pairs[work->pair_count++].part = p;
        }
    }
}

/* --- what probes see ---------------------------------------------------------------------------
 */

static uint32_t target_of(const reaching *work, ray_hit hit, vec3 direction) {
    if (hit.triangle == KD_NONE) return KD_NONE;
    const uint32_t which = work->face_of[hit.triangle];
    if (which == KD_NONE) return KD_NONE;
    const tile_face *face = &work->parts->faces[which];
    const uint32_t part = tile_part_at(face->depth, hit.u, hit.v);
    const uint32_t back = vec3_dot(direction, face->normal) > 0;
    return 2 * work->pair_of[face->first + part] + back;
}

static bool sees_light(const scene_view *scene, const openness_place *place) {
    surface at;
    memset(&at, 0, sizeof at);
    at.position = place->position;
    at.geometric = at.normal = place->axes.normal;
    at.error = place->error;
    const rng_key key = rng_key_make(float_bits(place->shift[0]), 2, float_bits(place->shift[1]));
    for (uint32_t i = 0; i < SHADOW_RAYS; ++i) {
        uint32_t rays = 0;
        const light_sample drawn =
            light_draw(scene, at.position, place->axes.normal, rng_draw(key, i, 0));
        if (!(drawn.pdf_solid_angle > 0) || vec3_is_zero(drawn.radiance)) continue;
        if (!(vec3_dot(drawn.direction, place->axes.normal) > 0)) continue;
        if (path_visibility(scene, SCENE_TREE, light_shadow_ray(&at, &drawn), true, &rays) > 0)
            return true;
    }
    return false;
}

static openness_place place_of(const reaching *work, uint32_t probe) {
    const probe_pair *pair = &work->pairs[probe / 2];
    const tile_face *face = &work->parts->faces[pair->face];
    vec2 corner[3];
    tile_part_corners(face->depth, pair->part, corner);
    const float u = (corner[0].x + corner[1].x + corner[2].x) / 3;
    const float v = (corner[0].y + corner[1].y + corner[2].y) / 3;
    const vec3 *c = face->corner;
    const vec3 normal = probe % 2 ? vec3_negate(face->normal) : face->normal;
    return openness_place_make(&work->scene->mesh, triangle_point(c[0], c[1], c[2], u, v), normal,
                               face->triangle);
}

/* Rays of some probes that are cast together. */
typedef struct probe_rays {
    ray rays[PROBES_AT_ONCE * OPENNESS_RAYS];
    ray_hit hits[PROBES_AT_ONCE * OPENNESS_RAYS];
    uint32_t listed[PROBES_AT_ONCE * OPENNESS_RAYS];
} probe_rays;

static void cast_all(const scene_view *scene, probe_rays *cast, uint32_t count) {
    if (scene->tree.wide) {
        trace_wide(&scene->tree, cast->rays, cast->listed, count, cast->hits);
        return;
    }
    for (uint32_t i = 0; i < count; ++i)
        cast->hits[i] = tritree_closest(&scene->tree, cast->rays[i]);
}

/* What rays of a probe have met. */
static void note_hits(const reaching *work, uint32_t probe, const ray *rays, const ray_hit *hits) {
    float hidden = 0;
    for (uint32_t i = 0; i < OPENNESS_RAYS; ++i) {
        const ray_hit end = openness_end(work->scene, rays[i], hits[i]);
        hidden += openness_hidden(end, work->radius);
        work->targets[(size_t)probe * OPENNESS_RAYS + i] = target_of(work, end, rays[i].direction);
    }
    work->model[probe] = openness_model(hidden / OPENNESS_RAYS);
}

/* A probe that sees a lamp needs no rays beyond what the model looks at. */
static void look_from(const reaching *work, probe_rays *cast, uint32_t begin, uint32_t end) {
    const uint32_t rays = (end - begin) * OPENNESS_RAYS;
    for (uint32_t probe = begin; probe < end; ++probe) {
        const openness_place place = place_of(work, probe);
        work->now[probe] = sees_light(work->scene, &place) ? 1 : 0;
        const float length = work->now[probe] > 0 ? work->radius : INFINITY;
        for (int i = 0; i < OPENNESS_RAYS; ++i)
            cast->rays[(probe - begin) * OPENNESS_RAYS + (uint32_t)i] =
                openness_ray(&place, i, length);
    }
    for (uint32_t i = 0; i < rays; ++i) cast->listed[i] = i;
    cast_all(work->scene, cast, rays);
    for (uint32_t probe = begin; probe < end; ++probe) {
        const uint32_t first = (probe - begin) * OPENNESS_RAYS;
        note_hits(work, probe, cast->rays + first, cast->hits + first);
    }
}

static void look_from_probes(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    probe_rays cast;
    for (int64_t i = begin; i < end; i += PROBES_AT_ONCE) {
        const int64_t until = i + PROBES_AT_ONCE < end ? i + PROBES_AT_ONCE : end;
        look_from((const reaching *)context, &cast, (uint32_t)i, (uint32_t)until);
    }
}

static void pass_round(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const reaching *work = (const reaching *)context;
    for (int64_t i = begin; i < end; ++i) {
        const uint32_t *target = work->targets + (size_t)i * OPENNESS_RAYS;
        float sum = 0;
        work->next[i] = 1;
        if (work->now[i] >= 1) continue;
        for (int k = 0; k < OPENNESS_RAYS; ++k)
            sum += target[k] == KD_NONE ? 1 : PASSED_ON * work->now[target[k]];
        work->next[i] = sum / OPENNESS_RAYS;
    }
}

static void pass_light_on(reaching *work) {
    for (int round = 0; round < ROUNDS; ++round) {
        parallel_for(2 * (int64_t)work->pair_count, 4096, pass_round, work);
        float *before = work->now;
        work->now = work->next;
        work->next = before;
    }
}

static void weigh_parts(const reaching *work) {
    for (uint32_t p = 0; p < work->parts->count; ++p)
        for (uint32_t side = 0; side < 2; ++side) {
            const uint32_t probe = 2 * work->pair_of[p] + side;
            float *weight = &work->parts->weights[p][side];
            *weight *= work->now[probe] < DARK ? -1 : work->model[probe];
        }
}

static kd_status reserve(reaching *work) {
    const uint64_t probes = 2 * (uint64_t)work->parts->count;
    KD_TRY(KD_RESERVE(work->face_of, work->scene->mesh.triangle_count));
    KD_TRY(KD_RESERVE(work->pair_of, work->parts->count));
    KD_TRY(KD_RESERVE(work->pairs, work->parts->count));
    KD_TRY(KD_RESERVE(work->model, probes));
    KD_TRY(KD_RESERVE(work->now, probes));
    KD_TRY(KD_RESERVE(work->next, probes));
    memset(work->face_of, 0xff, work->scene->mesh.triangle_count * sizeof *work->face_of);
    return KD_OK;
}

uint64_t tile_parts_reach_bytes_most(uint64_t parts, uint64_t triangles) {
    const uint64_t probes = 2 * parts, each = 3 * sizeof(float) + OPENNESS_RAYS * sizeof(uint32_t);
    return triangles * (sizeof(uint64_t) + 2 * sizeof(uint32_t)) +
           radix_sort_pairs_scratch_bytes(triangles) +
           parts * (sizeof(uint32_t) + sizeof(probe_pair)) + probes * each;
}

kd_status tile_parts_reach(tile_parts *parts, const scene_view *scene, float radius, float size) {
    kd_status status = KD_OK;
    reaching work;
    memset(&work, 0, sizeof work);
    work.scene = scene;
    work.parts = parts;
    work.radius = radius;
    KD_TRY_GOTO(reserve(&work));
    KD_TRY_GOTO(pair_small(&work, size));
    pair_parts(&work, size);
    KD_TRY_GOTO(KD_RESERVE(work.targets, 2 * (uint64_t)work.pair_count * OPENNESS_RAYS));
    parallel_for(2 * (int64_t)work.pair_count, PROBE_GRAIN, look_from_probes, &work);
    pass_light_on(&work);
    weigh_parts(&work);
done:
    memory_free(work.face_of);
    memory_free(work.pair_of);
    memory_free(work.pairs);
    memory_free(work.targets);
    memory_free(work.model);
    memory_free(work.now);
    memory_free(work.next);
    return status;
}
