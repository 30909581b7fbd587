#include "core/image_processing/develop.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/system/paths.h"
#include "core/system/process.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the part of the library's C interface (version 2) that is used --------------------------- */

typedef struct oidn_device oidn_device; /* opaque */
typedef struct oidn_filter oidn_filter;
enum { OIDN_DEVICE_CPU = 1, OIDN_FLOAT3 = 3, OIDN_NO_ERROR = 0 };

typedef struct oidn_library {
    oidn_device *(*new_device)(int type);
    void (*set_device_int)(oidn_device *device, const char *name, int value);
    void (*commit_device)(oidn_device *device);
    int (*get_error)(oidn_device *device, const char **text);
    void (*release_device)(oidn_device *device);
    oidn_filter *(*new_filter)(oidn_device *device, const char *type);
    void (*set_image)(oidn_filter *filter, const char *name, void *pixels, int format, size_t width,
                      size_t height, size_t offset, size_t pixel_bytes, size_t row_bytes);
    void (*set_bool)(oidn_filter *filter, const char *name, bool value);
    void (*commit_filter)(oidn_filter *filter);
    void (*execute)(oidn_filter *filter);
    void (*release_filter)(oidn_filter *filter);
} oidn_library;

static oidn_library oidn;
static bool is_here;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static bool symbols_find(void *handle) {
    static const struct {
        const char *name;
        size_t offset;
    } symbols[] = {
        {"oidnNewDevice", offsetof(oidn_library, new_device)},
        {"oidnSetDeviceInt", offsetof(oidn_library, set_device_int)},
        {"oidnCommitDevice", offsetof(oidn_library, commit_device)},
        {"oidnGetDeviceError", offsetof(oidn_library, get_error)},
        {"oidnReleaseDevice", offsetof(oidn_library, release_device)},
        {"oidnNewFilter", offsetof(oidn_library, new_filter)},
        {"oidnSetSharedFilterImage", offsetof(oidn_library, set_image)},
        {"oidnSetFilterBool", offsetof(oidn_library, set_bool)},
        {"oidnCommitFilter", offsetof(oidn_library, commit_filter)},
        {"oidnExecuteFilter", offsetof(oidn_library, execute)},
        {"oidnReleaseFilter", offsetof(oidn_library, release_filter)},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; ++i) {
        void *symbol = plugin_symbol(handle, symbols[i].name);
        if (!symbol) return false;
        memcpy((char *)&oidn + symbols[i].offset, &symbol, sizeof symbol);
    }
    return true;
}

static bool library_try(const char *path) {
    void *handle = plugin_open(path, false);
    if (!handle) return false;
    if (symbols_find(handle)) return true; /* stays loaded */
    plugin_close(handle);
    return false;
}

/* Tries the files that match a glob pattern in a directory until one can be loaded. */
static bool pattern_try(const char *folder, const char *pattern) {
    char whole[4096];
    if (snprintf(whole, sizeof whole, "%s%s", folder, pattern) >= (int)sizeof whole) return false;
    return plugin_try_each(whole, library_try);
}

#define PYOIDN "/pyoidn/oidn/lib/libOpenImageDenoise.so.2"

/* Searches the directory that tools/quickstart creates: build-denoise, next to the build directory
   (BUILD/bin/kandela). */
static bool try_library_folder(void) {
    char program[PLACE_BYTES];
    if (!place_of_program(program)) return false;
    for (int i = 0; i < 3; ++i) {
        char *slash = strrchr(program, '/');
        if (!slash) return false;
        *slash = '\0';
    }
    if (strlen(program) + sizeof "/build-denoise" > sizeof program) return false;
    strcat(program, "/build-denoise");
    return pattern_try(program, "/lib/python3*/site-packages" PYOIDN);
}

static void load_library(void) {
    const char *library_path = place_variable("KANDELA_OIDN");
    if (library_path && *library_path) { /* no other place is searched */
        is_here = library_try(library_path) ||
                  pattern_try(library_path, "/libOpenImageDenoise.so*") ||
                  pattern_try(library_path, "/lib*/libOpenImageDenoise.so*");
        return;
    }
    is_here = library_try("libOpenImageDenoise.so.2") || try_library_folder();
}

kd_status denoise_check(void) {
    pthread_once(&library_once, load_library);
    const char *library_path = place_variable("KANDELA_OIDN");
    KD_REQUIRE(is_here, KD_ERROR_USAGE,
               "Open Image Denoise 2 %s%s; install it with tools/quickstart --denoise, or set "
               "KANDELA_OIDN to its library",
               library_path && *library_path ? "cannot be loaded from KANDELA_OIDN="
                                             : "was not found",
               library_path && *library_path ? library_path : "");
    return KD_OK;
}

/* --- images ----------------------------------------------------------------------------------- */

typedef struct denoise_work {
    oidn_device *device;
    size_t width, height;
    float *colour, *albedo, *normal; /* 3 floats per pixel; albedo and normal may be NULL */
} denoise_work;

static kd_status run_filter(const denoise_work *work, const char *name, float *pixels, bool hdr) {
    oidn_filter *filter = oidn.new_filter(work->device, "RT");
    const size_t w = work->width, h = work->height;
    const bool beauty = pixels == work->colour;
    oidn.set_image(filter, name, pixels, OIDN_FLOAT3, w, h, 0, 0, 0);
    if (beauty && work->albedo)
        oidn.set_image(filter, "albedo", work->albedo, OIDN_FLOAT3, w, h, 0, 0, 0);
    if (beauty && work->albedo && work->normal)
        oidn.set_image(filter, "normal", work->normal, OIDN_FLOAT3, w, h, 0, 0, 0);
    oidn.set_image(filter, "output", pixels, OIDN_FLOAT3, w, h, 0, 0, 0);
    if (hdr) oidn.set_bool(filter, "hdr", true);
    if (beauty && work->albedo) oidn.set_bool(filter, "cleanAux", true);
    oidn.commit_filter(filter);
    oidn.execute(filter);
    oidn.release_filter(filter);
    const char *said = NULL;
    KD_REQUIRE(oidn.get_error(work->device, &said) == OIDN_NO_ERROR, KD_ERROR_RUNTIME,
               "Open Image Denoise: %s", said ? said : "unknown error");
    return KD_OK;
}

/* Prefilters the guides, which improves the result. */
static kd_status run_filters(const denoise_work *work) {
    if (work->albedo) KD_TRY(run_filter(work, "albedo", work->albedo, false));
    if (work->albedo && work->normal) KD_TRY(run_filter(work, "normal", work->normal, false));
    KD_TRY(run_filter(work, "color", work->colour, true));
    return KD_OK;
}

/* Interleaves three planes; *out stays NULL if one is missing. Non-finite values become 0, since
   the filter would spread them. */
static kd_status planes_join(float **out, const image *image, const char *const names[3]) {
    const size_t count = (size_t)image->width * (size_t)image->height;
    const float *planes[3];
    for (int c = 0; c < 3; ++c) {
        planes[c] = image_plane(image, names[c]);
        if (!planes[c]) return KD_OK;
    }
    KD_TRY(KD_RESERVE(*out, 3 * count));
    for (size_t i = 0; i < count; ++i)
        for (size_t c = 0; c < 3; ++c) {
            const float value = planes[c][i];
            (*out)[3 * i + c] = value - value == 0 ? value : 0;
        }
    return KD_OK;
}

static kd_status device_open(denoise_work *work) {
    const char *said = NULL;
    work->device = oidn.new_device(OIDN_DEVICE_CPU);
    KD_REQUIRE(work->device, KD_ERROR_RUNTIME, "Open Image Denoise found no device");
    oidn.set_device_int(work->device, "numThreads", parallel_threads());
    oidn.commit_device(work->device);
    KD_REQUIRE(oidn.get_error(work->device, &said) == OIDN_NO_ERROR, KD_ERROR_RUNTIME,
               "Open Image Denoise: %s", said ? said : "found no device");
    return KD_OK;
}

kd_status denoise_image(image *image) {
    static const char *const colours[] = {"R", "G", "B"}, *const normals[] = {"N.X", "N.Y", "N.Z"},
                             *const albedos[] = {"Albedo.R", "Albedo.G", "Albedo.B"};
    denoise_work work = {.width = (size_t)image->width, .height = (size_t)image->height};
    kd_status status = KD_OK;
    KD_TRY(denoise_check());
    KD_TRY_GOTO(planes_join(&work.colour, image, colours));
    KD_TRY_GOTO(planes_join(&work.albedo, image, albedos));
    KD_TRY_GOTO(planes_join(&work.normal, image, normals));
    if (!work.colour)
        status = status_fail(KD_ERROR_USAGE, __FILE__, __LINE__,
                             "cannot denoise an image without the channels R, G and B");
    KD_TRY_GOTO(status);
    KD_TRY_GOTO(device_open(&work));
    KD_TRY_GOTO(run_filters(&work));
    for (size_t i = 0; i < work.width * work.height; ++i)
        for (size_t c = 0; c < 3; ++c) image_plane(image, colours[c])[i] = work.colour[3 * i + c];
done:
    if (work.device) oidn.release_device(work.device);
    memory_free(work.colour);
    memory_free(work.albedo);
    memory_free(work.normal);
    return status;
}
