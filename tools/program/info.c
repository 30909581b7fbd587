#include "tools/program/info.h"
#include "core/device/device.h"
#include "core/isa.h"
#include <cjson/cJSON.h>
#if KD_HAVE_OPENEXR
#include <openexr_base.h>
#endif

static void line(FILE *stream, const char *name, const char *text) {
    fprintf(stream, "  %-12s %s\n", name, text);
}

void info_compiled(FILE *stream) {
    char text[96];
#if defined(__clang__)
    snprintf(text, sizeof text, "clang %s", __clang_version__);
#else
    snprintf(text, sizeof text, "gcc %s", __VERSION__);
#endif
    line(stream, "compiler", text);
    line(stream, "processor", isa_description());
    snprintf(text, sizeof text, "code for %s (times ten; +: and later)", device_cuda_code());
    line(stream, "CUDA", device_cuda_compiled() ? text : "no");
#if KD_HAVE_OPENEXR
    int major = 0, minor = 0, patch = 0;
    const char *extra = NULL;
    exr_get_library_version(&major, &minor, &patch, &extra);
    snprintf(text, sizeof text, "%d.%d.%d (.exr)", major, minor, patch);
    line(stream, "OpenEXR", text);
#else
    line(stream, "OpenEXR", "no: .exr pictures are refused");
#endif
#if KD_HAVE_ASSIMP
    line(stream, "assimp", "by kandela-import (.fbx, .dae, .off, ...)");
#else
    line(stream, "assimp", "no: fewer mesh formats are read");
#endif
#if KD_HAVE_MESHOPT
    line(stream, "meshoptimizer", "yes (packed glTF)");
#else
    line(stream, "meshoptimizer", "no: glTF files that it has packed are not read");
#endif
#if KD_HAVE_DEFLATE
    line(stream, "libdeflate", "yes (.png)");
#else
    line(stream, "libdeflate", "no: .png pictures take longer to write");
#endif
#if KD_HAVE_JPEG
    line(stream, "libjpeg", "yes (.jpg)");
#else
    line(stream, "libjpeg", "no: .jpg pictures are refused");
#endif
#if KD_HAVE_WEBP
    line(stream, "libwebp", "yes (.webp)");
#else
    line(stream, "libwebp", "no: .webp pictures are refused");
#endif
    line(stream, "cJSON", cJSON_Version());
#if !KD_HAVE_CMOCKA
    line(stream, "cmocka", "no: built without tests");
#endif
}
