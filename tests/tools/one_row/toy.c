/* An integrator for nightly_one_row.sh: one file that ends with its row.
   Idea: brightness by distance, without lights. With KANDELA_TOY_FAULT in the environment samples
   depend on the clock, which the tests of the table must detect. */
#include "accel/rays/batch.h"
#include "render/frame/integrator.h"
#include <stdlib.h>
#include <time.h>

static pixel_sample toy_sample(const frame *frame, int32_t x, int32_t y, uint32_t sample) {
    const pixel_view view = integrator_view(frame);
    const ray ray = pixel_ray(&view, x, y, pixel_key(&view, x, y, sample));
    const ray_hit hit = tritree_closest(&frame->scene->tree, ray);
    pixel_sample seen;
    memset(&seen, 0, sizeof seen);
    seen.rays = 1;
    seen.alpha = hit.triangle != KD_NONE ? 1 : 0;
    seen.depth = hit.triangle != KD_NONE ? hit.t : INFINITY;
    seen.radiance = vec3_all(seen.alpha / (1 + (seen.alpha > 0 ? hit.t : 0)));
    struct timespec now;
    if (getenv("KANDELA_TOY_FAULT") && timespec_get(&now, TIME_UTC) == TIME_UTC)
        seen.radiance.x = (float)(now.tv_nsec % 1000);
    return seen;
}

const integrator integrator_toy = {
    .name = "toy", .source = "a test of the table", .sample = toy_sample};
