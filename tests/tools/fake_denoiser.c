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
    struct device *of;
    picture input, output, albedo, normal;
    bool hdr, clean, is_colour;
} filter;

typedef struct device {
    int type, threads, error;
    bool committed, albedo_done, normal_done;
} device;

#define SHOWN __attribute__((visibility("default")))
SHOWN device *oidnNewDevice(int type);
SHOWN void oidnSetDeviceInt(device *of, const char *name, int value);
SHOWN void oidnCommitDevice(device *of);
SHOWN int oidnGetDeviceError(device *of, const char **text);
SHOWN void oidnReleaseDevice(device *of);
SHOWN filter *oidnNewFilter(device *of, const char *type);
SHOWN void oidnSetSharedFilterImage(filter *of, const char *name, void *pixels, int format,
                                    size_t width, size_t height, size_t offset, size_t pixel_bytes,
                                    size_t row_bytes);
SHOWN void oidnSetFilterBool(filter *of, const char *name, bool value);
SHOWN void oidnCommitFilter(filter *of);
SHOWN void oidnExecuteFilter(filter *of);
SHOWN void oidnReleaseFilter(filter *of);

device *oidnNewDevice(int type) {
    device *made = (device *)calloc(1, sizeof *made);
    if (made) made->type = type;
    return made;
}

void oidnSetDeviceInt(device *of, const char *name, int value) {
    if (strcmp(name, "numThreads") == 0) of->threads = value;
}

void oidnCommitDevice(device *of) {
    of->committed = true;
}

int oidnGetDeviceError(device *of, const char **text) {
    const int error = of->error;
    if (error) *text = "called in a wrong way";
    of->error = 0;
    return error;
}

void oidnReleaseDevice(device *of) {
    free(of);
}

filter *oidnNewFilter(device *of, const char *type) {
    filter *made = (filter *)calloc(1, sizeof *made);
    if (!made) return NULL;
    made->of = of;
    if (strcmp(type, "RT") != 0 || !of->committed || of->threads < 1) of->error = 1;
    return made;
}

void oidnSetSharedFilterImage(filter *of, const char *name, void *pixels, int format, size_t width,
                              size_t height, size_t offset, size_t pixel_bytes, size_t row_bytes) {
    const picture given = {(float *)pixels, width * height};
    const bool output = strcmp(name, "output") == 0;
    if (format != 3 || offset || pixel_bytes || row_bytes) of->of->error = 1;
    if (strcmp(name, "color") == 0) of->is_colour = true;
    if (strcmp(name, "albedo") == 0) of->albedo = given;
    if (strcmp(name, "normal") == 0) of->normal = given;
    if (output) of->output = given;
    if (!output && !of->input.pixels) of->input = given;
}

void oidnSetFilterBool(filter *of, const char *name, bool value) {
    if (strcmp(name, "hdr") == 0) of->hdr = value;
    if (strcmp(name, "cleanAux") == 0) of->clean = value;
}

void oidnCommitFilter(filter *of) {
    const bool guided = of->albedo.pixels != NULL;
    if (of->is_colour && (!of->hdr || of->clean != guided || (guided && !of->of->albedo_done) ||
                          (of->normal.pixels && !of->of->normal_done)))
        of->of->error = 1;
    if (!of->is_colour && of->albedo.pixels) of->of->albedo_done = true;
    if (!of->is_colour && of->normal.pixels) of->of->normal_done = true;
}

void oidnExecuteFilter(filter *of) {
    for (size_t c = 0; c < 3; ++c) {
        double sum = 0;
        for (size_t i = 0; i < of->input.count; ++i) sum += (double)of->input.pixels[3 * i + c];
        for (size_t i = 0; i < of->output.count; ++i)
            of->output.pixels[3 * i + c] = (float)(sum / (double)of->input.count);
    }
}

void oidnReleaseFilter(filter *of) {
    free(of);
}
