/* What clients of the live view send: cameras, settings, actions, lights and hosts are accepted
   whole or refused with a message, and what is accepted is valid. The first byte selects the
   reader. */
#include "scenes/describe/render_options.h"
#include "tests/fuzz/fuzz.h"
#include "tools/program/serve/live_read.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void read_camera(const char *text, size_t count) {
    const double origin[3] = {0, 0, 0};
    const live_camera before = {.eye = {0, 0, 5}, .up = {0, 1, 0}, .fov = 40};
    live_camera camera = before;
    if (live_camera_read(&camera, origin, text, count) != KD_OK) {
        FUZZ_REQUIRE(kd_last_error()[0] && memcmp(&camera, &before, sizeof camera) == 0);
        return;
    }
    for (int i = 0; i < 3; ++i)
        FUZZ_REQUIRE(fabs(camera.eye[i]) <= 3e38 && fabs(camera.look_at[i]) <= 3e38);
    FUZZ_REQUIRE(camera.fov > 0 && camera.fov < 180 && camera.lens_radius >= 0);
}

static void read_settings(const char *text, size_t count) {
    kd_render_options before, options;
    kd_render_options_default(&before);
    options = before;
    if (live_settings_read(&options, text, count) != KD_OK)
        FUZZ_REQUIRE(kd_last_error()[0] && memcmp(&options, &before, sizeof options) == 0);
    FUZZ_REQUIRE(render_options_check(&options) == KD_OK);
    FUZZ_REQUIRE(!options.photon_map && !options.clip && !options.allow_outside);
}

static void read_lights(const char *text, size_t count) {
    const live_lights before = {.count = 2, .names = {"lamp", "spot 2"}, .scales = {1, 1}};
    live_lights lights = before;
    if (live_lights_read(&lights, text, count) != KD_OK)
        FUZZ_REQUIRE(kd_last_error()[0] && memcmp(&lights, &before, sizeof lights) == 0);
    for (uint32_t i = 0; i < lights.count; ++i)
        FUZZ_REQUIRE(lights.scales[i] >= 0 && lights.scales[i] <= 1e6);
}

static void read_host(const char *text) {
    static const char allowed[] = "0123456789abcdefABCDEF.:[]localhstLOCALHST";
    char address[64];
    int32_t port;
    if (live_address_read(address, &port, text)) FUZZ_REQUIRE(port >= -1 && port <= 65535);
    if (live_host_is_safe(text)) FUZZ_REQUIRE(strspn(text, allowed) == strlen(text));
}

static void read_number(const char *text) {
    int64_t value;
    if (live_number_read(&value, text, -1, 1, 2000))
        FUZZ_REQUIRE(*text ? value >= 1 && value <= 2000 : value == -1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    live_action action;
    if (count == 0) return 0;
    char *text = (char *)malloc(count);
    if (!text) return 0;
    memcpy(text, bytes + 1, count - 1);
    text[count - 1] = '\0'; /* the plug-in ends each body like this */
    switch (bytes[0] % 8) {
    case 0: read_camera(text, count - 1); break;
    case 1: read_settings(text, count - 1); break;
    case 2:
        if (live_action_read(&action, text, count - 1) == KD_OK)
            FUZZ_REQUIRE(action < LIVE_ACTIONS);
        break;
    case 3: read_lights(text, count - 1); break;
    case 5: read_number(text); break;
    default: read_host(text);
    }
    free(text);
    return 0;
}
