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

enum { PROBE_GRAIN = 256, PROBES_AT_ONCE = 16, PAIR_GRAIN = 4096 };

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

/* Lists made by all threads: `places` has a number for each face or item, and after a scan the sum
   of the numbers before it. */
typedef struct pairing {
    const tile_parts *parts;
    tile_probes *probes;
    float size;
    uint64_t *keys;
    uint32_t *faces, *places;
    uint32_t count;
} pairing;

static void mark_small(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const pairing *in = (const pairing *)context;
    for (int64_t i = begin; i < end; ++i)
        in->places[i] = face_shares(&in->parts->faces[i], in->size);
}

static void list_small(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const pairing *in = (const pairing *)context;
    for (int64_t i = begin; i < end; ++i) {
        if (!face_shares(&in->parts->faces[i], in->size)) continue;
        in->keys[in->places[i]] = key_of(&in->parts->faces[i], in->size);
        in->faces[in->places[i]] = (uint32_t)i;
    }
}

static bool key_is_first(const pairing *in, int64_t i) {
    return i == 0 || in->keys[i] != in->keys[i - 1];
}

static void mark_keys(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const pairing *in = (const pairing *)context;
    for (int64_t i = begin; i < end; ++i) in->places[i] = key_is_first(in, i);
}

/* Finds the largest of the triangles with the same key. */
static void pair_keys(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const pairing *in = (const pairing *)context;
    const tile_face *faces = in->parts->faces;
    for (int64_t i = begin; i < end; ++i) {
        if (!key_is_first(in, i)) continue;
        probe_pair *pair = &in->probes->pairs[in->places[i]];
        pair->face = in->faces[i];
        pair->part = 0;
        for (int64_t k = i; k < in->count && in->keys[k] == in->keys[i]; ++k) {
            if (faces[in->faces[k]].area > faces[pair->face].area) pair->face = in->faces[k];
            in->probes->pair_of[faces[in->faces[k]].first] = in->places[i];
        }
    }
}

/* Assigns to each small triangle the pair of probes of the largest one with the same key. */
static kd_status pair_small(pairing *in) {
    const uint32_t face_count = in->parts->face_count;
    kd_status status = KD_OK;
    void *scratch = NULL;
    parallel_for(face_count, PAIR_GRAIN, mark_small, in);
    in->count = (uint32_t)scan_exclusive_u32(in->places, in->places, face_count);
    KD_TRY_GOTO(KD_RESERVE(in->keys, in->count));
    KD_TRY_GOTO(KD_RESERVE(in->faces, in->count));
    KD_TRY_GOTO(memory_reserve(&scratch, radix_sort_pairs_scratch_bytes(in->count), 1));
    parallel_for(face_count, PAIR_GRAIN, list_small, in);
    radix_sort_pairs(in->keys, in->faces, in->count, 0, 64, scratch);
    parallel_for(in->count, PAIR_GRAIN, mark_keys, in);
    in->probes->pair_count = (uint32_t)scan_exclusive_u32(in->places, in->places, in->count);
    parallel_for(in->count, PAIR_GRAIN, pair_keys, in);
done:
    memory_free(in->keys);
    memory_free(in->faces);
    memory_free(scratch);
    return status;
}

static uint32_t parts_alone(const pairing *in, const tile_face *face) {
    return face_shares(face, in->size) ? 0 : 1u << 2 * face->depth;
}

static void mark_parts(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const pairing *in = (const pairing *)context;
    for (int64_t i = begin; i < end; ++i) in->places[i] = parts_alone(in, &in->parts->faces[i]);
}

static void pair_parts(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const pairing *in = (const pairing *)context;
    for (int64_t i = begin; i < end; ++i) {
        const tile_face *face = &in->parts->faces[i];
        const uint32_t count = parts_alone(in, face), pair = in->probes->pair_count + in->places[i];
        in->probes->face_of[face->triangle] = (uint32_t)i;
        for (uint32_t p = 0; p < count; ++p) {
            in->probes->pair_of[face->first + p] = pair + p;
            in->probes->pairs[pair + p].face = (uint32_t)i;
            in->probes->pairs[pair + p].part = p;
        }
    }
}

/* Chooses the probes: those of groups of small triangles, then those of all other parts. */
static kd_status pair_all(reaching *work, float size) {
    const uint32_t face_count = work->parts->face_count;
    pairing in = {work->parts, &work->probes, size, NULL, NULL, NULL, 0};
    KD_TRY(KD_RESERVE(in.places, face_count));
    const kd_status status = pair_small(&in);
    if (status == KD_OK) {
        parallel_for(face_count, PAIR_GRAIN, mark_parts, &in);
        const uint64_t parts = scan_exclusive_u32(in.places, in.places, face_count);
        parallel_for(face_count, PAIR_GRAIN, pair_parts, &in);
        work->probes.pair_count += (uint32_t)parts;
    }
    memory_free(in.places);
    return status;
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

/* Takes the results of the probes over to the parts. */
static void weigh_parts(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const reaching *work = (const reaching *)context;
    const tile_probes *probes = &work->probes;
    for (int64_t p = begin; p < end; ++p) {
        const uint32_t first = 2 * probes->pair_of[p];
        for (uint32_t side = 0; side < 2; ++side) {
            float *weight = &work->parts->weights[p][side];
            *weight *= probes->now[first + side] < PROBE_DARK ? -1 : probes->model[first + side];
        }
        const uint8_t *sides = probes->divided + first;
        work->parts->divided[p] = (uint8_t)(sides[0] | sides[1] << 1);
    }
}

static void divide_all(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const reaching *work = (const reaching *)context;
    for (int64_t i = begin; i < end && !job_cancelled(work->job); ++i)
        work->probes.divided[i] = probe_divided(work->scene, &work->probes, (uint32_t)i);
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
    KD_TRY_GOTO(pair_all(&work, size));
    KD_TRY_GOTO(follow(&work, view));
    parallel_for(parts->count, PAIR_GRAIN, weigh_parts, &work);
done:
    tile_probes_close(&work.probes);
    return status;
}
