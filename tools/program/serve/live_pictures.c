/* Pictures for clients: of the film, of a preview, of a reference, denoised. */
#include "core/image_processing/develop.h"
#include "core/parallel/parallel.h"
#include "render/frame/frame.h"
#include "scenes/assembly/scene.h"
#include "tools/program/serve/live_session.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_GRAIN = 8 };
/* Denoising pauses DENOISE_SHARE times as long as it takes. */
enum { DENOISE_SHARE = 20 };
#define DENOISE_PAUSE 0.2 /* seconds between checks for a new picture */

uint16_t live_half(float value) {
    const uint32_t bits = float_bits(value), sign = bits >> 16 & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
    if (magnitude >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);
    if (magnitude < 0x38800000u) { /* subnormal: adding 0.5 leaves the rounded bits at the end */
        const float shifted = float_from_bits(magnitude) + 0.5f;
        return (uint16_t)(sign | (float_bits(shifted) - float_bits(0.5f)));
    }
    const uint32_t odd = magnitude >> 13 & 1u;
    return (uint16_t)(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

const char *live_channel_name(int channel) {
    static const char *const names[LIVE_CHANNELS] = {
        "beauty",   "albedo",   "normal", "depth",  "noise",   "variance",  "samples",
        "triangle", "material", "cost",   "radius", "density", "reference", "denoised"};
    return channel < LIVE_CHANNELS ? names[channel] : NULL;
}

/* Variance of the mean radiance, all channels together. */
static double variance_of(const film_pixel *pixel) {
    const double n = (double)pixel->samples;
    double mean2 = 0;
    if (pixel->samples < 2) return 0;
    for (int c = 0; c < 3; ++c) mean2 += pixel->radiance[c] / n * (pixel->radiance[c] / n);
    const double variance = (pixel->squares / n - mean2) / (n - 1);
    return variance > 0 ? variance : 0;
}

static void pixel_values(float out[3], const film_pixel *pixel, int channel) {
    const double samples = pixel->samples ? (double)pixel->samples : 1;
    const float hits = (float)pixel->hits;
    const vec3 normal =
        vec3_normalize(vec3_make(pixel->normal[0], pixel->normal[1], pixel->normal[2]));
    for (int c = 0; c < 3; ++c)
        out[c] = channel == LIVE_BEAUTY   ? (float)(pixel->radiance[c] / samples)
                 : channel == LIVE_ALBEDO ? (hits > 0 ? pixel->albedo[c] / hits : 0)
                                          : vec3_axis(normal, c);
    if (channel == LIVE_DEPTH) out[0] = hits > 0 ? pixel->depth / hits : INFINITY;
    if (channel == LIVE_NOISE) out[0] = (float)sqrt(variance_of(pixel));
    if (channel == LIVE_VARIANCE) out[0] = (float)(samples * variance_of(pixel));
    if (channel == LIVE_SAMPLES) out[0] = (float)pixel->samples;
}

typedef struct resolving {
    const struct film *film;
    live_picture *to;
    const live_picture *before; /* shown where there is no sample yet; may be NULL */
    int channel;
} resolving;

static void resolve_pixel(const resolving *work, int64_t x, int64_t y) {
    const live_picture *before = work->before;
    const int64_t width = work->film->width, height = work->film->height;
    const film_pixel *pixel = work->film->pixels + y * width + x;
    uint16_t *to = work->to->values + (y * width + x) * work->to->components;
    if (before && pixel->samples == 0) {
        const int64_t at = y * before->height / height * before->width + x * before->width / width;
        memcpy(to, before->values + 3 * at, 3 * sizeof *to);
        return;
    }
    float values[3];
    pixel_values(values, pixel, work->channel);
    for (uint32_t c = 0; c < work->to->components; ++c) to[c] = live_half(values[c]);
}

static void resolve_rows(void *context, int64_t begin, int64_t end, int thread) {
    const resolving *work = (const resolving *)context;
    (void)thread;
    for (int64_t y = begin; y < end; ++y)
        for (int64_t x = 0; x < work->film->width; ++x) resolve_pixel(work, x, y);
}

live_picture *live_picture_open(uint32_t width, uint32_t height, uint32_t components) {
    const size_t bytes = (size_t)width * height * components * sizeof(uint16_t);
    live_picture *made = (live_picture *)malloc(sizeof *made + bytes);
    if (!made) return NULL;
    atomic_init(&made->references, 1);
    made->width = width;
    made->height = height;
    made->components = components;
    made->number = 0;
    return made;
}

live_picture *live_resolve(const render_moment *now, int channel, const live_picture *before) {
    const film *film = now->film;
    const uint32_t components = channel < LIVE_DEPTH ? 3 : 1;
    live_picture *made =
        live_picture_open((uint32_t)film->width, (uint32_t)film->height, components);
    if (!made) return NULL;
    resolving work = {film, made, channel == LIVE_BEAUTY ? before : NULL, channel};
    parallel_for(film->height, ROWS_GRAIN, resolve_rows, &work);
    return made;
}

void live_release_picture(void *picture) {
    live_picture *dropped = (live_picture *)picture;
    if (dropped && atomic_fetch_sub(&dropped->references, 1) == 1) free(dropped);
}

live_picture *live_acquire_picture(live_session *live, int channel) {
    pthread_mutex_lock(&live->lock);
    live_picture *held = channel == LIVE_BEAUTY      ? live->beauty
                         : channel == LIVE_REFERENCE ? live->reference
                         : channel == LIVE_DENOISED  ? live->denoised
                                                     : NULL;
    if (held) atomic_fetch_add(&held->references, 1);
    pthread_mutex_unlock(&live->lock);
    return held;
}

void live_set_picture(live_session *live, live_picture *made) {
    if (!made) return; /* without memory the old one stays */
    made->number = ++live->state.picture;
    live_release_picture(live->beauty);
    live->beauty = made;
}

/* The pixels of an image from (x0, y0) on; NULL: no memory. */
static live_picture *picture_of(const image *from, const int32_t crop[4]) {
    const float *planes[3] = {image_plane(from, "R"), image_plane(from, "G"),
                              image_plane(from, "B")};
    if (!planes[0] || !planes[1] || !planes[2]) return NULL;
    const int32_t width = crop[2] - crop[0], height = crop[3] - crop[1];
    live_picture *made = live_picture_open((uint32_t)width, (uint32_t)height, 3);
    for (int32_t y = 0; made && y < height; ++y)
        for (int32_t x = 0; x < width; ++x)
            for (int c = 0; c < 3; ++c)
                made->values[3 * ((int64_t)y * width + x) + c] =
                    live_half(planes[c][(int64_t)(y + crop[1]) * from->width + x + crop[0]]);
    return made;
}

void live_show_preview(live_session *live, const render_result *result) {
    const int32_t whole[4] = {0, 0, result->picture.width, result->picture.height};
    live_picture *made = picture_of(&result->picture, whole);
    pthread_mutex_lock(&live->lock);
    live_set_picture(live, made);
    live->state.samples = 0;
    if (!live->has_camera)
        live->state.camera = live_camera_of(&result->view, scene_origin(live->scene));
    live_notify_changed(live);
    pthread_mutex_unlock(&live->lock);
}

/* --- the reference ---------------------------------------------------------------------------- */

kd_status live_open_reference(live_session *live, const char *path) {
    return path ? image_read(&live->read, path) : KD_OK;
}

kd_status live_check_reference(const live_session *live, const kd_render_options *options) {
    KD_REQUIRE(!live->request.reference ||
                   (live->read.width == options->width && live->read.height == options->height),
               KD_ERROR_INPUT, "%s has %d x %d pixels; expected %d x %d as the picture",
               live->request.reference, live->read.width, live->read.height, options->width,
               options->height);
    return KD_OK;
}

void live_update_reference(live_session *live) {
    const kd_render_options *options = &live->options;
    const int32_t whole[4] = {0, 0, options->width, options->height};
    const bool fits = live->request.reference && live_check_reference(live, options) == KD_OK;
    status_clear();
    live_picture *made =
        fits ? picture_of(&live->read, options->crop[2] > 0 ? options->crop : whole) : NULL;
    pthread_mutex_lock(&live->lock);
    live_release_picture(live->reference);
    live->reference = made;
    pthread_mutex_unlock(&live->lock);
}

/* --- denoising -------------------------------------------------------------------------------- */

/* Takes the film with its albedo and normals. */
static void take_image(live_query *query, live_session *live, const render_moment *now) {
    image *taken = (image *)malloc(sizeof *taken);
    query->code = 500;
    if (!taken) return;
    if (film_min_samples(now->film) == 0 || film_resolve(now->film, taken) != KD_OK) {
        status_clear();
        free(taken);
        return;
    }
    query->code = 200;
    query->bytes = taken;
    query->path = live->state.picture;
    query->limit = live->state.generation;
}

/* Denoises the current picture. */
static void denoise_once(live_session *live) {
    live_query query = {.run = take_image};
    live_query_wait(live, &query);
    if (query.code != 200) return;
    image *taken = (image *)query.bytes;
    const int32_t whole[4] = {0, 0, taken->width, taken->height};
    live_picture *made = denoise_image(taken) == KD_OK ? picture_of(taken, whole) : NULL;
    image_close(taken);
    free(taken);
    pthread_mutex_lock(&live->lock);
    if (made && query.limit == live->state.generation) {
        made->number = (uint32_t)query.path;
        live_release_picture(live->denoised);
        live->denoised = made;
        made = NULL;
        live_notify_changed(live);
    } else if (!made) { /* it would fail again */
        live->denoises = false;
        snprintf(live->state.error, sizeof live->state.error, "%s", kd_last_error());
        live_notify_changed(live);
    }
    pthread_mutex_unlock(&live->lock);
    live_release_picture(made);
    status_clear();
}

/* Denoises pictures as long as the owner wants it, with pauses that leave the time to the
   rendering. */
static void *denoise_pictures(void *context) {
    live_session *live = (live_session *)context;
    double quiet_until = 0;
    live->calls->yield_to_others();
    pthread_mutex_lock(&live->lock);
    while (!live->closing) {
        const bool due = live->denoises && live->rendering && live->beauty &&
                         (!live->denoised || live->denoised->number != live->beauty->number) &&
                         (timing_now() >= quiet_until || live->state.status == LIVE_DONE ||
                          live->state.status == LIVE_PAUSED);
        if (due) {
            pthread_mutex_unlock(&live->lock);
            const double began = timing_now();
            denoise_once(live);
            quiet_until = timing_now() + DENOISE_SHARE * (timing_now() - began);
            pthread_mutex_lock(&live->lock);
        }
        const struct timespec end = live_time_after(DENOISE_PAUSE);
        if (!live->closing) pthread_cond_timedwait(&live->changed, &live->lock, &end);
    }
    pthread_mutex_unlock(&live->lock);
    return NULL;
}

bool live_denoise(live_session *live, bool on) {
    live->denoises = on;
    if (on && !live->has_denoiser)
        live->has_denoiser = pthread_create(&live->denoiser, NULL, denoise_pictures, live) == 0;
    return !on || live->has_denoiser;
}
