/* Reachability by light and openness: the weights of parts.
   Idea: each side of each part has a probe; small triangles with similar positions and normals
         share the probes of the largest one. The rays of a probe, followed to their ends, connect
         it to others. A probe that sees a light source, the sky or the void has brightness 1; any
         other has 0.9 times the mean over its rays, iterated ROUNDS times. Sides with a final value
         below PROBE_DARK are unlit: the insides of closed bodies, floors under objects.
   Work: 16 rays and two shadow rays per probe; ROUNDS gathers of 16 values.
   Memory: 64 bytes per probe, and 25 during computation.
   Invariants: a function of the scene and the radius: an iteration reads the values of the
         previous one. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/parallel/primitives.h"
#include "core/status.h"
#include "photon/density/tile_probe.h"

enum { PROBE_GRAIN = 256, PROBES_AT_ONCE = 16 };

typedef struct reaching {
    const scene_view *scene;
    tile_parts *parts;
    tile_probes probes;
    const job_control *job;
} reaching;

/* --- selection of probes ---------------------------------------------------------------------- */

static uint64_t place_bits(float x, float size) {
    const float cell = floorf(x / size);
    return (uint64_t)((int64_t)float_clamp(cell, -1e9f, 1e9f) & 0x7ffff);
}

/* Key of the cell that contains the centre, and of the normal: its dominant axis and all signs. */
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

/* Assigns to each triangle the pair of probes of the largest triangle with the same key. */
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
            work->probes.pairs[work->probes.pair_count].face = face;
            work->probes.pairs[work->probes.pair_count++].part = 0;
        }
        probe_pair *pair = &work->probes.pairs[work->probes.pair_count - 1];
        if (parts->faces[face].area > parts->faces[pair->face].area) pair->face = face;
        work->probes.pair_of[parts->faces[face].first] = work->probes.pair_count - 1;
    }
done:
    memory_free(keys);
    memory_free(faces);
    memory_free(scratch);
    return status;
}

static void pair_parts(reaching *work, float size) {
    const tile_parts *parts = work->parts;
    tile_probes *probes = &work->probes;
    for (uint32_t i = 0; i < parts->face_count; ++i) {
        const tile_face *face = &parts->faces[i];
        probes->face_of[face->triangle] = i;
        for (uint32_t p = 0; p < 1u << 2 * face->depth && !face_shares(face, size); ++p) {
            probes->pair_of[face->first + p] = probes->pair_count;
            probes->pairs[probes->pair_count].face = i;
            probes->pairs[probes->pair_count++].part = p;
        }
    }
}

/* --- rays of probes --------------------------------------------------------------------------- */

static bool sees_light(const scene_view *scene, const openness_place *place) {
    for (uint32_t i = 0; i < PROBE_SHADOW_RAYS; ++i)
        if (probe_sees_light(scene, place, i)) return true;
    return false;
}

/* Rays of several probes, traced together. */
typedef struct probe_rays {
    ray rays[PROBES_AT_ONCE * OPENNESS_RAYS];
    ray_hit hits[PROBES_AT_ONCE * OPENNESS_RAYS];
    uint32_t listed[PROBES_AT_ONCE * OPENNESS_RAYS];
} probe_rays;

static void cast_all(const scene_view *scene, probe_rays *ray, uint32_t count) {
    if (scene->tree.wide) {
        trace_wide(&scene->tree, ray->rays, ray->listed, count, ray->hits);
        return;
    }
    for (uint32_t i = 0; i < count; ++i) ray->hits[i] = tritree_closest(&scene->tree, ray->rays[i]);
}

/* Records the hits of a probe's rays. */
static void note_hits(const reaching *work, uint32_t probe, const ray *rays, const ray_hit *hits) {
    float hidden = 0;
    for (uint32_t i = 0; i < OPENNESS_RAYS; ++i) {
        const ray_hit end = openness_end(work->scene, rays[i], hits[i]);
        hidden += openness_hidden(end, work->probes.radius);
        work->probes.targets[(size_t)probe * OPENNESS_RAYS + i] =
            probe_target(&work->probes, end, rays[i].direction);
    }
    work->probes.model[probe] = openness_model(hidden / OPENNESS_RAYS);
}

/* If a probe sees a light source, its rays need not extend beyond the range of the model. */
static void probe_from(const reaching *work, probe_rays *ray, uint32_t begin, uint32_t end) {
    const uint32_t rays = (end - begin) * OPENNESS_RAYS;
    for (uint32_t probe = begin; probe < end; ++probe) {
        const openness_place place = probe_place(work->scene, &work->probes, probe);
        const bool lit = sees_light(work->scene, &place);
        work->probes.now[probe] = lit ? 1 : 0;
        const float length = lit ? work->probes.radius : INFINITY;
        for (int i = 0; i < OPENNESS_RAYS; ++i)
            ray->rays[(probe - begin) * OPENNESS_RAYS + (uint32_t)i] =
                openness_ray(&place, i, length);
    }
    for (uint32_t i = 0; i < rays; ++i) ray->listed[i] = i;
    cast_all(work->scene, ray, rays);
    for (uint32_t probe = begin; probe < end; ++probe) {
        const uint32_t first = (probe - begin) * OPENNESS_RAYS;
        note_hits(work, probe, ray->rays + first, ray->hits + first);
    }
}

static void probe_all(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const reaching *work = (const reaching *)context;
    probe_rays rays;
    if (job_cancelled(work->job)) return;
    for (int64_t i = begin; i < end; i += PROBES_AT_ONCE) {
        const int64_t stop = i + PROBES_AT_ONCE < end ? i + PROBES_AT_ONCE : end;
        probe_from(work, &rays, (uint32_t)i, (uint32_t)stop);
    }
}

static void pass_round(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const tile_probes *probes = (const tile_probes *)context;
    for (int64_t i = begin; i < end; ++i) probes->next[i] = probe_lit(probes, (uint32_t)i);
}

static void pass_light_on(tile_probes *probes) {
    for (int round = 0; round < PROBE_ROUNDS; ++round) {
        parallel_for(2 * (int64_t)probes->pair_count, 4096, pass_round, probes);
        float *before = probes->now;
        probes->now = probes->next;
        probes->next = before;
    }
}

static void weigh_parts(const reaching *work) {
    const tile_probes *probes = &work->probes;
    for (uint32_t p = 0; p < work->parts->count; ++p)
        for (uint32_t side = 0; side < 2; ++side) {
            const uint32_t probe = 2 * probes->pair_of[p] + side;
            float *weight = &work->parts->weights[p][side];
            *weight *= probes->now[probe] < PROBE_DARK ? -1 : probes->model[probe];
        }
}

static void divide_all(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const reaching *work = (const reaching *)context;
    for (int64_t i = begin; i < end && !job_cancelled(work->job); ++i)
        work->probes.divided[i] = probe_divided(work->scene, &work->probes, (uint32_t)i);
}

static void take_divided(const reaching *work) {
    const tile_probes *probes = &work->probes;
    for (uint32_t p = 0; p < work->parts->count; ++p) {
        const uint8_t *sides = probes->divided + 2 * (size_t)probes->pair_of[p];
        work->parts->divided[p] = (uint8_t)(sides[0] | sides[1] << 1);
    }
}

static kd_status follow_on_cpu(reaching *work) {
    tile_probes *probes = &work->probes;
    KD_TRY(KD_RESERVE(probes->targets, 2 * (uint64_t)probes->pair_count * OPENNESS_RAYS));
    KD_TRY(KD_RESERVE(probes->next, 2 * (uint64_t)probes->pair_count));
    parallel_for(2 * (int64_t)probes->pair_count, PROBE_GRAIN, probe_all, work);
    KD_REQUIRE(!job_cancelled(work->job), KD_INTERRUPTED,
               "building the photon tiles was interrupted");
    pass_light_on(probes);
    parallel_for(2 * (int64_t)probes->pair_count, PROBE_GRAIN, divide_all, work);
    return KD_OK;
}

/* Runs on the device if there is one with enough memory, otherwise on the host. */
static kd_status follow(reaching *work, const scene_view *view) {
    kd_status status = KD_ERROR_MEMORY;
    if (view)
        status = tile_probes_cuda_follow(view, &work->probes, work->parts->count,
                                         work->parts->face_count);
    if (view && status == KD_ERROR_MEMORY) {
        log_message(LOG_INFO, "%s; surface probes are traced on the CPU instead", kd_last_error());
        status_clear();
    }
    return status == KD_ERROR_MEMORY ? follow_on_cpu(work) : status;
}

static kd_status reserve(reaching *work) {
    tile_probes *probes = &work->probes;
    const uint64_t sides = 2 * (uint64_t)work->parts->count;
    KD_TRY(KD_RESERVE(probes->face_of, work->scene->mesh.triangle_count));
    KD_TRY(KD_RESERVE(probes->pair_of, work->parts->count));
    KD_TRY(KD_RESERVE(probes->pairs, work->parts->count));
    KD_TRY(KD_RESERVE(probes->model, sides));
    KD_TRY(KD_RESERVE(probes->now, sides));
    KD_TRY(KD_RESERVE(probes->divided, sides));
    memset(probes->face_of, 0xff, work->scene->mesh.triangle_count * sizeof *probes->face_of);
    return KD_OK;
}

uint64_t tile_parts_reach_bytes_max(uint64_t parts, uint64_t triangles) {
    const uint64_t probes = 2 * parts,
                   each = 3 * sizeof(float) + OPENNESS_RAYS * sizeof(uint32_t) + 1;
    return triangles * (sizeof(uint64_t) + 2 * sizeof(uint32_t)) +
           radix_sort_pairs_scratch_bytes(triangles) +
           parts * (sizeof(uint32_t) + sizeof(probe_pair)) + probes * each;
}

static void tile_probes_close(tile_probes *owned) {
    memory_free(owned->face_of);
    memory_free(owned->pair_of);
    memory_free(owned->pairs);
    memory_free(owned->targets);
    memory_free(owned->model);
    memory_free(owned->now);
    memory_free(owned->next);
    memory_free(owned->divided);
}

kd_status tile_parts_reach(tile_parts *parts, const scene_view *scene, const scene_view *view,
                           float radius, float size, const job_control *job) {
    kd_status status = KD_OK;
    reaching work;
    memset(&work, 0, sizeof work);
    work.scene = scene;
    work.parts = parts;
    work.job = job;
    work.probes.faces = parts->faces;
    work.probes.radius = radius;
    KD_TRY_GOTO(reserve(&work));
    KD_TRY_GOTO(pair_small(&work, size));
    pair_parts(&work, size);
    KD_TRY_GOTO(follow(&work, view));
    weigh_parts(&work);
    take_divided(&work);
done:
    tile_probes_close(&work.probes);
    return status;
}
