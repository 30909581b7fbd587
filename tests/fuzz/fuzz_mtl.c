/* Arbitrary bytes as an MTL file: the reader returns, and every record is a valid material. */
#include "scenes/formats/mtl.h"
#include "tests/fuzz/fuzz.h"

static void share_require(vec3 c) {
    FUZZ_REQUIRE(c.x >= 0 && c.x <= 1 && c.y >= 0 && c.y <= 1 && c.z >= 0 && c.z <= 1);
}

static void record_require(const mesh_material *made) {
    const material *record = &made->record;
    FUZZ_REQUIRE(made->name && record->kind >= 0 && record->kind < MATERIAL_KINDS);
    share_require(record->diffuse);
    share_require(record->specular);
    share_require(record->transmission);
    FUZZ_REQUIRE(vec3_is_finite(record->emission) && record->emission.x >= 0 &&
                 record->emission.y >= 0 && record->emission.z >= 0);
    FUZZ_REQUIRE(record->roughness >= 0 && record->roughness <= 1);
    FUZZ_REQUIRE(record->metallic >= 0 && record->metallic <= 1);
    FUZZ_REQUIRE(record->opacity >= 0 && record->opacity <= 1);
    FUZZ_REQUIRE(record->ior > 0.05f && record->ior < 100);
    FUZZ_REQUIRE(isfinite(record->bump_scale) && isfinite(made->map_scale[0]) &&
                 isfinite(made->map_offset[1]));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    mtl_library library = {0};
    if (mtl_load(&library, fuzz_file(bytes, count), NULL) == KD_OK)
        for (uint32_t i = 0; i < library.count; ++i) {
            record_require(&library.materials[i]);
            const text_span name = {library.materials[i].name, strlen(library.materials[i].name)};
            const uint32_t number = name_table_find(&library.names, name);
            FUZZ_REQUIRE(number <= i || memchr(bytes, 0, count)); /* the first record of a name */
        }
    mtl_library_close(&library);
    return 0;
}
