/* Arbitrary bytes as a scene description: they are read or rejected. No file is opened, and no
   large mesh is generated. */
#include "scenes/describe/describe_json.h"
#include "scenes/mesh/mesh_builder.h"
#include "tests/fuzz/fuzz.h"
#include <stdlib.h>

static kd_status load_triangle(mesh *out, const char *path, const obj_options *how,
                               job_control *job) {
    mesh_builder part;
    (void)path, (void)how, (void)job;
    memset(&part, 0, sizeof part);
    mesh_builder_flat_triangle(&part, vec3_all(0), vec3_make(1, 0, 0), vec3_make(0, 1, 0));
    return mesh_builder_finish(&part, out);
}

/* Returns true if a shape would have more than 100,000 triangles. */
static bool wants_large_mesh(const char *text) {
    static const char key[] = "\"triangles\"";
    for (const char *at = strstr(text, key); at; at = strstr(at + 1, key)) {
        const char *value = at + strlen(key);
        value += strspn(value, " \t\r\n:");
        if (strtod(value, NULL) > 1e5) return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const describe_source source = {"fuzz.json", load_triangle, NULL, 0};
    kd_render_options options;
    scene_draft draft;
    char text[4096]; /* longer inputs are searched up to there */
    const size_t kept = size < sizeof text ? size : sizeof text - 1;
    if (kept) memcpy(text, data, kept);
    text[kept] = '\0';
    if (wants_large_mesh(text)) return 0;
    memset(&draft, 0, sizeof draft);
    kd_render_options_default(&options);
    const kd_status status =
        describe_json_parse(&draft, (const char *)data, size, &source, &options, NULL);
    if (status == KD_OK)
        for (uint32_t i = 0; i < draft.geometry.triangle_count; ++i)
            FUZZ_REQUIRE(draft.geometry.triangle_materials[i] < draft.geometry.material_count);
    scene_draft_close(&draft);
    return 0;
}
