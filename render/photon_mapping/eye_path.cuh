/* The kernel that follows paths from the eye, a thread a pixel of a tile, and leaves in `looks`
   what each has brought; eye_asks.cu compiles it for paths that only ask, eye_walk.cu for paths
   that look into the maps by themselves (`eye_way`).
   Data flow: a thread a pixel: scene (and maps, by eye_way) -> its request list, and what else
              its path brought, at the pixel's place in `looks`; the gathering kernels and
              add_to_film read them. */
#ifndef KD_RENDER_PHOTON_MAPPING_EYE_PATH_CUH
#define KD_RENDER_PHOTON_MAPPING_EYE_PATH_CUH
#include "render/frame/take_samples.cuh"
#include "render/photon_mapping/photons_device.h"

constexpr int LOOK_BLOCK = 128; /* threads */

/* Blocks on a multiprocessor. */
constexpr int looks_each(eye_way way) {
    return way == EYE_LOOKS ? 6 : 4;
}

/* What one path has brought, but for the maps. */
struct pixel_look {
    pixel_sample sample;
    uint32_t first_request; /* KD_NONE: none */
    bool taken;             /* false: the pixel has this sample already */
};

static_assert(sizeof(pixel_look) == PIXEL_LOOK_BYTES, "what the plan counts");

struct look_work {
    pixel_view view; /* its scene is set by the thread */
    sample_range range;
    const film_pixel *pixels;
    pixel_look *looks;
    uint32_t sample, camera_sample;
};

template <eye_way way>
static __device__ __forceinline__ pixel_look look(const pixel_view *view,
                                                  const photon_view *photons, int32_t x, int32_t y,
                                                  uint32_t sample, uint32_t camera_sample) {
    const rng_key key = pixel_key(view, x, y, sample);
    const ray cast = pixel_ray(view, x, y, pixel_key(view, x, y, camera_sample));
    const eye_path path = photon_eye_path(view->scene, photons, way, cast, key);
    const vec3 radiance = vec3_add(path.found.radiance, path.gathered);
    pixel_look made;
    made.sample = pixel_of(view, &cast, &path.found.first,
                           photons->later.list ? path.found.radiance : radiance, path.found.rays);
    made.first_request = path.first_request;
    made.taken = true;
    return made;
}

template <eye_way way>
__global__ __launch_bounds__(LOOK_BLOCK, looks_each(way)) void take_looks(
    const __grid_constant__ scene_view scene, const __grid_constant__ photon_view photons,
    const __grid_constant__ look_work work) {
    const sample_range &range = work.range;
    const int32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int32_t x = (int32_t)blockIdx.x * TAKE_WIDTH + warp % 2 * 8 + lane % 8;
    const int32_t y = range.top + (int32_t)blockIdx.y * TAKE_HEIGHT + warp / 2 * 4 + lane / 8;
    if (x >= range.width || y >= range.bottom) return;
    const int64_t pixel = (int64_t)y * range.width + x;
    pixel_look *to = work.looks + pixel - (int64_t)range.top * range.width;
    if (work.pixels[pixel].samples > work.sample) {
        to->taken = false;
        return;
    }
    pixel_view view = work.view;
    view.scene = &scene;
    *to = look<way>(&view, &photons, range.x0 + x, range.y0 + y, work.sample, work.camera_sample);
}

template <eye_way way>
kd_status launch_looks(const frame *of, const photon_view *view, const look_work *work) {
    const sample_range *range = &work->range;
    const dim3 blocks((unsigned)((range->width + TAKE_WIDTH - 1) / TAKE_WIDTH),
                      (unsigned)((range->bottom - range->top + TAKE_HEIGHT - 1) / TAKE_HEIGHT));
    take_looks<way><<<blocks, LOOK_BLOCK>>>(of->there->scene.view, *view, *work);
    KD_CUDA_LAUNCHED("take_looks");
    return KD_OK;
}

/* launch_looks for paths that look by themselves, and for those that only ask. */
kd_status photon_walk_looks(const frame *of, const photon_view *view, const look_work *work);
kd_status photon_ask_looks(const frame *of, const photon_view *view, const look_work *work);

#endif
