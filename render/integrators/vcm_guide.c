/* Finds the openings through which paths are guided (vcm_guide.h).
   Idea: a pilot of unguided light paths. If hardly any of them reaches a place that the camera
         sees, the first segments that end at such places are kept. Those that come through one
         opening are closest together there: a point on each, chosen so that the points' covariance
         is least, alternately with their mean and covariance (weights of a Student distribution, so
         that other segments count little). Their bounds are the opening. The segments that are left
         may find more openings. A second pilot, which is guided, decides whether they are used.
   Invariants: a pure function of scene, picture size and camera; the same on CUDA devices. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/status.h"
#include "render/integrators/vcm_device.h"
#include "render/integrators/vcm_techniques.h"
#include <math.h>

enum {
    FIRST_TRIALS = 256,
    BATCH = 2048,
    TRIALS_MIN = 8192,    /* or as many as a pass has light paths, */
    TRIALS_MAX = 1 << 15, /* but not more than this */
    SEGMENTS_MAX = 512,
    SEGMENTS_ENOUGH = 64,
    SEGMENTS_MIN = 16, /* of an opening */
    SOFT_ROUNDS = 24,  /* that fit all segments, and */
    ROUNDS = 32,       /* including those that fit the inliers */
    PILOT_PASS = 0x7ffffffe
};
/* Share of the light paths that are aimed where they are emitted: at lenses, and if there are
   openings, which scattered light reaches, too. */
static const float aimed_share = 0.5f, guided_share = 0.25f;
/* Squared distance of points that belong to an opening; 9 at the corners of an even box. */
static const double inliers = 12;
/* Enlargement of openings on each side: light beside them is found seldom, and carries much. */
static const float first_margin = 0.5f, second_margin = 0.02f;
/* Paths are guided if fewer than this part of the light paths that meet anything reaches what the
   camera sees, and if guiding multiplies it by at least so much. */
static const double seen_enough = 0.03, gain_least = 4;

typedef struct pilot {
    const vcm_view *view;
    const frame *rendered;
    vcm_trial *trials;                   /* BATCH */
    vcm_trial *segments;                 /* of those that are seen, at most SEGMENTS_MAX */
    uint32_t kept, landed, seen, direct; /* numbers of segments kept, and of paths */
    uint64_t first;                      /* number of the next path */
} pilot;

static void try_some(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const pilot *work = (const pilot *)context;
    for (int64_t i = begin; i < end; ++i)
        work->trials[i] = vcm_try(work->view, work->rendered->scene, work->first + (uint64_t)i);
}

/* Traces `count` light paths, and keeps the segments that are seen. */
static kd_status try_paths(pilot *work, uint32_t count) {
    const frame *frame = work->rendered;
    if (frame->device_frame)
        KD_TRY(vcm_cuda_try(work->trials, work->first, count, work->view,
                            &frame->device_frame->scene.view));
    else
        parallel_for(count, 16, try_some, work);
    work->first += count;
    for (uint32_t i = 0; i < count; ++i) {
        work->landed += work->trials[i].landed;
        work->direct += work->trials[i].direct;
        if (!work->trials[i].seen) continue;
        ++work->seen;
        if (work->kept < SEGMENTS_MAX) work->segments[work->kept++] = work->trials[i];
    }
    return KD_OK;
}

/* --- fitting openings to segments ------------------------------------------------------------- */

typedef struct waist {
    double centre[3], inverse[3][3]; /* mean and inverse covariance of the points */
} waist;

static void to_doubles(vec3 from, double to[3]) {
    for (int i = 0; i < 3; ++i) to[i] = (double)vec3_axis(from, i);
}

static double product(const waist *at, const double a[3], const double b[3]) {
    double sum = 0;
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k) sum += a[i] * at->inverse[i][k] * b[k];
    return sum;
}

/* Sets *out to the segment's point nearest to the centre; returns its squared distance. Both are
   measured by the covariance. */
static double nearest(const waist *at, const vcm_trial *segment, double out[3]) {
    double from[3], along[3], to[3], off[3];
    to_doubles(segment->from, from);
    to_doubles(vec3_sub(segment->to, segment->from), along);
    for (int i = 0; i < 3; ++i) to[i] = at->centre[i] - from[i];
    const double length = product(at, along, along);
    double t = length > 0 ? product(at, to, along) / length : 0;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    for (int i = 0; i < 3; ++i) {
        out[i] = from[i] + t * along[i];
        off[i] = out[i] - at->centre[i];
    }
    return product(at, off, off);
}

static void invert(double out[3][3], double m[3][3]) {
    double determinant = 0;
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k) {
            const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, k1 = (k + 1) % 3, k2 = (k + 2) % 3;
            out[k][i] = m[i1][k1] * m[i2][k2] - m[i1][k2] * m[i2][k1];
        }
    for (int k = 0; k < 3; ++k) determinant += m[0][k] * out[k][0];
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k) out[i][k] /= determinant;
}

/* Computes the mean and the inverse covariance of the segments' points anew. `floor`: added
   variance. */
static void refine(waist *at, const vcm_trial *segments, uint32_t count, double floor, int round) {
    double mean[3] = {0, 0, 0}, products[3][3] = {{0}}, sum = 0, spread[3][3];
    for (uint32_t s = 0; s < count; ++s) {
        double point[3];
        const double square = nearest(at, segments + s, point);
        double weight = round < 2 ? 1 : 1 / (1 + square / 3);
        if (round >= SOFT_ROUNDS) weight = square <= inliers ? 1 : 1e-9;
        sum += weight;
        for (int i = 0; i < 3; ++i) {
            const double off = point[i] - at->centre[i];
            mean[i] += weight * off;
            for (int k = 0; k < 3; ++k) products[i][k] += weight * off * (point[k] - at->centre[k]);
        }
    }
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k)
            spread[i][k] =
                products[i][k] / sum - mean[i] * mean[k] / (sum * sum) + (i == k ? floor : 0);
    for (int i = 0; i < 3; ++i) at->centre[i] += mean[i] / sum;
    invert(at->inverse, spread);
}

/* Fits an opening, and removes the segments that come through it. Returns false if they are too
   few. `diagonal`: of the scene. */
static bool fit_opening(guide_opening *out, pilot *work, float diagonal) {
    vcm_trial *segments = work->segments;
    const uint32_t count = work->kept;
    const double floor = (double)(diagonal * diagonal) * 1e-6;
    waist at = {{0, 0, 0}, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    box3 box = box3_empty();
    vec3 through = vec3_all(0);
    uint32_t left = 0;
    if (count < SEGMENTS_MIN) return false;
    to_doubles(vec3_scale(vec3_add(segments->from, segments->to), 0.5f), at.centre);
    for (int round = 0; round < ROUNDS; ++round) refine(&at, segments, count, floor, round);
    for (uint32_t s = 0; s < count; ++s) {
        double point[3];
        if (nearest(&at, segments + s, point) > inliers) {
            segments[left++] = segments[s];
            continue;
        }
        const vec3 along = vec3_sub(segments[s].to, segments[s].from);
        through = vec3_add(through, vec3_normalize(along));
        box3_include(&box, vec3_make((float)point[0], (float)point[1], (float)point[2]));
    }
    const uint32_t held = count - left;
    work->kept = left;
    if (held < SEGMENTS_MIN || !(vec3_length(through) > 0.25f * (float)held)) return false;
    out->box = box;
    out->through = vec3_normalize(through);
    return true;
}

/* --- emission towards openings ---------------------------------------------------------------- */

/* Appends spheres that cover the opening, as far as there is room for them in `aims`: those of up
   to `most` parts along its longest axis. */
static void cover(emission_target *aims, uint32_t *count, const box3 *box, uint32_t most) {
    const vec3 size = box3_size(*box);
    const int axis = box3_longest_axis(*box);
    const float length = vec3_axis(size, axis);
    const float width = float_max(vec3_axis(size, (axis + 1) % 3), vec3_axis(size, (axis + 2) % 3));
    const float wanted = float_min(length / width, (float)most);
    const uint32_t parts = wanted > 1 ? (uint32_t)wanted : 1;
    const float part = length / (float)parts;
    const float across2 = vec3_length2(size) - length * length;
    const float radius = 0.5f * sqrtf(across2 + part * part);
    for (uint32_t i = 0; i < parts && *count < EMISSION_TARGETS; ++i) {
        const float off = part * ((float)i + 0.5f) - 0.5f * length;
        vec3 centre = box3_centre(*box);
        if (axis == 0) centre.x += off;
        if (axis == 1) centre.y += off;
        if (axis == 2) centre.z += off;
        aims[(*count)++] = (emission_target){centre, radius};
    }
}

static void cover_all(emission_target aims[EMISSION_TARGETS], uint32_t *count,
                      const vcm_guide *guide) {
    const uint32_t left = EMISSION_TARGETS - 1 > *count ? EMISSION_TARGETS - 1 - *count : 0;
    for (uint32_t i = 0; i < guide->count; ++i)
        cover(aims, count, &guide->openings[i].box, left / guide->count);
}

void vcm_aim_emission(vcm_view *view, const emission_target *aims, uint32_t count) {
    photon_emission *emission = &view->emission;
    for (uint32_t i = 0; i < count && emission->target_count < EMISSION_TARGETS; ++i)
        emission->targets[emission->target_count++] = aims[i];
    if (emission->target_count > 1)
        emission->guided = view->guide.count ? guided_share : aimed_share;
}

/* --- the pilot -------------------------------------------------------------------------------- */

static void begin_pilot(vcm_view *view, const frame *frame) {
    const scene_view *scene = frame->scene;
    view->emission = photon_emission_make(0, PILOT_PASS, box3_centre(scene->box),
                                          0.5f * vec3_length(box3_size(scene->box)), false);
}

/* Finds the openings of the segments, which are used up; their boxes are enlarged by `margin` times
   their sizes on all sides. */
static void fit_openings(vcm_guide *out, pilot *work, float margin) {
    const float diagonal = vec3_length(box3_size(work->rendered->scene->box));
    out->count = 0;
    while (out->count < GUIDE_OPENINGS && fit_opening(&out->openings[out->count], work, diagonal)) {
        box3 *box = &out->openings[out->count++].box;
        const vec3 more = vec3_add(vec3_scale(box3_size(*box), margin), vec3_all(1e-4f * diagonal));
        box->lo = vec3_sub(box->lo, more);
        box->hi = vec3_add(box->hi, more);
    }
}

/* Part of the light paths that is seen, without those that leave the scene at once. */
static double seen_part(const pilot *work) {
    return work->landed > 0 ? work->seen / (double)work->landed : 1;
}

/* Unguided light paths. *rate: the part of them that is seen; 1 if most of these come directly from
   a light, which eye paths find without a guide. */
static kd_status try_unguided(pilot *work, double *rate) {
    uint64_t most = work->view->paths;
    if (most < TRIALS_MIN) most = TRIALS_MIN;
    if (most > TRIALS_MAX) most = TRIALS_MAX;
    KD_TRY(try_paths(work, FIRST_TRIALS));
    while (work->first < most && work->kept < SEGMENTS_ENOUGH &&
           (work->landed == 0 || seen_part(work) < seen_enough))
        KD_TRY(try_paths(work, BATCH));
    *rate = 2 * work->direct > work->seen ? 1 : seen_part(work);
    return KD_OK;
}

/* Guided light paths, which decide whether `view` keeps its guide, and fit it again. */
static kd_status try_guided(pilot *work, vcm_view *view, emission_target *aims, uint32_t *count,
                            double unguided) {
    const uint32_t lenses = *count;
    begin_pilot(view, work->rendered);
    cover_all(aims, count, &view->guide);
    vcm_aim_emission(view, aims, *count);
    work->seen = work->landed = work->direct = work->kept = 0;
    KD_TRY(try_paths(work, BATCH));
    const double guided = seen_part(work);
    fit_openings(&view->guide, work, second_margin);
    if (guided < gain_least * unguided) view->guide.count = 0;
    *count = lenses;
    cover_all(aims, count, &view->guide);
    log_message(LOG_DETAIL,
                "%.2g %% of the light paths reach what the camera sees, %.2g %% if guided: %s",
                100 * unguided, 100 * guided,
                view->guide.count ? "paths are guided" : "paths are not guided");
    return KD_OK;
}

/* Light from infinity also meets the outside of the scene, so that few of its paths are seen. */
static bool light_is_outside(const scene_view *scene) {
    for (uint32_t i = 0; i < scene->light_count; ++i)
        if (light_is_far(scene->lights + i)) return true;
    return false;
}

kd_status vcm_guide_find(vcm_view *view, emission_target aims[EMISSION_TARGETS],
                         uint32_t *aim_count, const frame *frame) {
    pilot work = {.view = view, .rendered = frame};
    double rate = 0;
    kd_status status = KD_OK;
    view->guide.count = 0;
    if (!view->splat || light_is_outside(frame->scene)) return KD_OK;
    KD_TRY_GOTO(KD_RESERVE(work.trials, BATCH));
    KD_TRY_GOTO(KD_RESERVE(work.segments, SEGMENTS_MAX));
    begin_pilot(view, frame);
    KD_TRY_GOTO(try_unguided(&work, &rate));
    if (rate < seen_enough) fit_openings(&view->guide, &work, first_margin);
    if (view->guide.count > 0) KD_TRY_GOTO(try_guided(&work, view, aims, aim_count, rate));
done:
    memory_free(work.trials);
    memory_free(work.segments);
    return status;
}
