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
    light_groups_close(groups);
    groups->rendered = film;
    const kd_status status = KD_RESERVE_ZEROED(groups->sums, sums_of(groups));
    if (status != KD_OK) groups->rendered = NULL;
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

void light_groups_add(const light_groups *groups, int32_t x, int32_t y, uint32_t light,
                      vec3 radiance) {
    if (light == KD_NONE || groups->light_count == 0 || !vec3_is_finite(radiance)) return;
    /* the discs of a look belong to the environment, the last light of the scene */
    const uint32_t last = groups->light_count - 1;
    const uint32_t group = groups->group_of_light[light < last ? light : last];
    if (group >= groups->count) return;
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
    const int32_t crop[4] = {groups->rendered->x0, groups->rendered->y0,
                             groups->rendered->x0 + groups->rendered->width,
                             groups->rendered->y0 + groups->rendered->height};
    if (!groups->scaled.pixels && film_open(&groups->scaled, crop) != KD_OK) {
        status_clear();
        return groups->rendered;
    }
    parallel_for(groups->rendered->height, ROWS_GRAIN, scale_rows, groups);
    return &groups->scaled;
}

uint64_t light_groups_bytes(const light_groups *groups) {
    return sums_of(groups) * sizeof *groups->sums;
}
