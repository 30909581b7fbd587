#include "render/frame/light_groups.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/status.h"

enum { ROWS_GRAIN = 8 };

static uint64_t sums_of(const light_groups *groups) {
    const film *film = groups->rendered;
    return film ? 3 * (uint64_t)film->width * (uint64_t)film->height * groups->count : 0;
}

kd_status light_groups_open(light_groups *groups, const film *film) {
    const int32_t crop[4] = {film->x0, film->y0, film->x0 + film->width, film->y0 + film->height};
    kd_status status = KD_OK;
    light_groups_close(groups);
    groups->rendered = film;
    KD_TRY_GOTO(film_open(&groups->scaled, crop));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(groups->sums, sums_of(groups)));
    return KD_OK;
done:
    light_groups_close(groups);
    return status;
}

void light_groups_close(light_groups *owned) {
    memory_free(owned->sums);
    film_close(&owned->scaled);
    memset(&owned->scaled, 0, sizeof owned->scaled);
    owned->sums = NULL;
    owned->rendered = NULL;
}

static double *sums_at(const light_groups *groups, int32_t x, int32_t y) {
    return groups->sums +
           3 * ((size_t)y * (size_t)groups->rendered->width + (size_t)x) * groups->count;
}

void light_groups_add(const light_groups *groups, int32_t x, int32_t y, uint32_t group,
                      vec3 radiance) {
    if (group >= groups->count || !vec3_is_finite(radiance)) return;
    double *sum = sums_at(groups, x - groups->rendered->x0, y - groups->rendered->y0) + 3 * group;
    for (int c = 0; c < 3; ++c) sum[c] += (double)vec3_axis(radiance, c);
}

static void scale_pixel(const light_groups *groups, int32_t x, int32_t y) {
    film_pixel *to =
        groups->scaled.pixels + (size_t)y * (size_t)groups->rendered->width + (size_t)x;
    const double *sums = sums_at(groups, x, y);
    double before = 0, after = 0;
    for (int c = 0; c < 3; ++c) {
        before += to->radiance[c];
        for (uint32_t g = 0; g < groups->count; ++g)
            to->radiance[c] += (groups->scales[g] - 1) * sums[3 * g + (uint32_t)c];
        after += to->radiance[c];
    }
    const double share = before > 0 ? after / before : 0;
    to->squares *= share * share;
    for (int c = 0; c < 3; ++c) to->first[c] *= (float)share;
}

static void scale_rows(void *context, int64_t begin, int64_t end, int thread) {
    const light_groups *groups = (const light_groups *)context;
    const size_t width = (size_t)groups->rendered->width;
    (void)thread;
    for (int64_t y = begin; y < end; ++y) {
        memcpy(groups->scaled.pixels + (size_t)y * width,
               groups->rendered->pixels + (size_t)y * width,
               width * sizeof *groups->rendered->pixels);
        for (int32_t x = 0; x < groups->rendered->width; ++x) scale_pixel(groups, x, (int32_t)y);
    }
}

const film *light_groups_film(light_groups *groups, const film *film) {
    bool scaled = false;
    if (!groups || !groups->rendered) return film;
    for (uint32_t g = 0; g < groups->count; ++g) scaled |= groups->scales[g] != 1;
    if (!scaled) return groups->rendered;
    parallel_for(groups->rendered->height, ROWS_GRAIN, scale_rows, groups);
    return &groups->scaled;
}

uint64_t light_groups_bytes(const light_groups *groups) {
    const film *film = &groups->scaled;
    return sums_of(groups) * sizeof *groups->sums +
           (uint64_t)film->width * (uint64_t)film->height * sizeof *film->pixels;
}
