/* Replaces Open Image Denoise (its C interface, version 2) if that is not installed: every picture
   becomes its mean, so that tests can see the calls and their order. Requires colours with clean
   guides or none; anything else is an error. */
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct picture {
    float *pixels;
    size_t count;
} picture;

typedef struct filter {
    struct device *device;
    picture input, output, albedo, normal;
    bool hdr, clean, is_colour;
} filter;

typedef struct device {
    int type, threads, error;
    bool committed, albedo_done, normal_done;
} device;

#define SHOWN __attribute__((visibility("default")))
SHOWN device *oidnNewDevice(int type);
SHOWN void oidnSetDeviceInt(device *device, const char *name, int value);
SHOWN void oidnCommitDevice(device *device);
SHOWN int oidnGetDeviceError(device *device, const char **text);
SHOWN void oidnReleaseDevice(device *device);
SHOWN filter *oidnNewFilter(device *device, const char *type);
SHOWN void oidnSetSharedFilterImage(filter *filter, const char *name, void *pixels, int format,
                                    size_t width, size_t height, size_t offset, size_t pixel_bytes,
                                    size_t row_bytes);
SHOWN void oidnSetFilterBool(filter *filter, const char *name, bool value);
SHOWN void oidnCommitFilter(filter *filter);
SHOWN void oidnExecuteFilter(filter *filter);
SHOWN void oidnReleaseFilter(filter *filter);

device *oidnNewDevice(int type) {
    device *made = (device *)calloc(1, sizeof *made);
    if (made) made->type = type;
    return made;
}

void oidnSetDeviceInt(device *device, const char *name, int value) {
    if (strcmp(name, "numThreads") == 0) device->threads = value;
}

void oidnCommitDevice(device *device) {
    device->committed = true;
}

int oidnGetDeviceError(device *device, const char **text) {
    const int error = device->error;
    if (error) *text = "called in a wrong way";
    device->error = 0;
    return error;
}

void oidnReleaseDevice(device *device) {
    free(device);
}

filter *oidnNewFilter(device *device, const char *type) {
    filter *made = (filter *)calloc(1, sizeof *made);
    if (!made) return NULL;
    made->device = device;
    if (strcmp(type, "RT") != 0 || !device->committed || device->threads < 1) device->error = 1;
    return made;
}

void oidnSetSharedFilterImage(filter *filter, const char *name, void *pixels, int format,
                              size_t width, size_t height, size_t offset, size_t pixel_bytes,
                              size_t row_bytes) {
    const picture image = {(float *)pixels, width * height};
    const bool output = strcmp(name, "output") == 0;
    if (format != 3 || offset || pixel_bytes || row_bytes) filter->device->error = 1;
    if (strcmp(name, "color") == 0) filter->is_colour = true;
    if (strcmp(name, "albedo") == 0) filter->albedo = image;
    if (strcmp(name, "normal") == 0) filter->normal = image;
    if (output) filter->output = image;
    if (!output && !filter->input.pixels) filter->input = image;
}

void oidnSetFilterBool(filter *filter, const char *name, bool value) {
    if (strcmp(name, "hdr") == 0) filter->hdr = value;
    if (strcmp(name, "cleanAux") == 0) filter->clean = value;
}

void oidnCommitFilter(filter *filter) {
    const bool guided = filter->albedo.pixels != NULL;
    if (filter->is_colour &&
        (!filter->hdr || filter->clean != guided || (guided && !filter->device->albedo_done) ||
         (filter->normal.pixels && !filter->device->normal_done)))
        filter->device->error = 1;
    if (!filter->is_colour && filter->albedo.pixels) filter->device->albedo_done = true;
    if (!filter->is_colour && filter->normal.pixels) filter->device->normal_done = true;
}

void oidnExecuteFilter(filter *filter) {
    for (size_t c = 0; c < 3; ++c) {
        double sum = 0;
        for (size_t i = 0; i < filter->input.count; ++i)
            sum += (double)filter->input.pixels[3 * i + c];
        for (size_t i = 0; i < filter->output.count; ++i)
            filter->output.pixels[3 * i + c] = (float)(sum / (double)filter->input.count);
    }
}

void oidnReleaseFilter(filter *filter) {
    free(filter);
}
