/* Pictures with 16 bits per sample as textures: every value is exact, not truncated to 8 bits. */
#include "core/parallel/deflate.h"
#include "scenes/assembly/scene_parts.h"
#include "tests/scenes/files.h"

typedef struct bytes_out {
    char *bytes;
    size_t count;
} bytes_out;

static void take_bytes(bytes_out *out, const void *data, size_t size) {
    out->bytes = (char *)realloc(out->bytes, out->count + size);
    memcpy(out->bytes + out->count, data, size);
    out->count += size;
}

static void take_chunk(bytes_out *out, const char *type, const uint8_t *data, uint32_t count) {
    uint8_t head[8], tail[4];
    for (int i = 0; i < 4; ++i) head[i] = (uint8_t)(count >> (24 - 8 * i));
    memcpy(head + 4, type, 4);
    const uint32_t crc = deflate_crc32(deflate_crc32(0, head + 4, 4), data, count);
    for (int i = 0; i < 4; ++i) tail[i] = (uint8_t)(crc >> (24 - 8 * i));
    take_bytes(out, head, 8);
    take_bytes(out, data, count);
    take_bytes(out, tail, 4);
}

/* Writes a PNG with 16 bits per sample, in stored deflate blocks of one row each. */
static void write_wide_png(const char *name, uint32_t side, uint32_t samples,
                           const uint16_t *data) {
    static const uint8_t colours[] = {0, 4, 2, 6};
    const uint32_t row = 1 + 2 * samples * side;
    const uint8_t head[13] = {0,
                              0,
                              (uint8_t)(side >> 8),
                              (uint8_t)side,
                              0,
                              0,
                              (uint8_t)(side >> 8),
                              (uint8_t)side,
                              16,
                              colours[samples - 1]};
    uint8_t *packed = (uint8_t *)malloc(6 + (5 + row) * side), *to = packed;
    uint32_t a = 1, b = 0; /* Adler-32 */
    *to++ = 0x78;
    *to++ = 1;
    for (uint32_t y = 0; y < side; ++y) {
        const uint8_t block[] = {y + 1 == side, (uint8_t)row, (uint8_t)(row >> 8), (uint8_t)~row,
                                 (uint8_t)(~row >> 8)};
        memcpy(to, block, sizeof block);
        to += sizeof block;
        uint8_t *const first = to;
        *to++ = 0; /* no filter */
        for (uint32_t i = 0; i < samples * side; ++i) {
            *to++ = (uint8_t)(data[y * samples * side + i] >> 8);
            *to++ = (uint8_t)data[y * samples * side + i];
        }
        for (const uint8_t *at = first; at < to; ++at) a = (a + *at) % 65521, b = (b + a) % 65521;
    }
    for (int i = 0; i < 4; ++i) *to++ = (uint8_t)((b << 16 | a) >> (24 - 8 * i));
    bytes_out out = {NULL, 0};
    static const uint8_t signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    take_bytes(&out, signature, sizeof signature);
    take_chunk(&out, "IHDR", head, sizeof head);
    take_chunk(&out, "IDAT", packed, (uint32_t)(to - packed));
    take_chunk(&out, "IEND", head, 0);
    file_put(name, out.bytes, out.count);
    free(out.bytes);
    free(packed);
}

static texture_view load_one(texture_store *store, const char *path, texture_role role) {
    const texture_request request = {
        path,           role,        vec2_make(1, 1), vec2_make(0, 0), vec2_make(0, 0),
        TEXTURE_REPEAT, {0, 0, 0, 0}};
    uint32_t index = KD_NONE;
    memset(store, 0, sizeof *store);
    assert_int_equal(texture_store_add(store, &request, &index), KD_OK);
    assert_int_equal(texture_store_load(store), KD_OK);
    return store->views[index];
}

/* Every 16-bit value for every use of a texture is exact; values that 8 bits can represent give the
   floats of 8-bit files. */
static void test_samples_of_16_bits_are_exact(void **state) {
    (void)state;
    enum { SIDE = 256 };
    static uint16_t ramp[SIDE * SIDE];
    static const texture_role roles[] = {TEXTURE_COLOUR, TEXTURE_SKY,  TEXTURE_NORMAL,
                                         TEXTURE_GREY,   TEXTURE_BLUE, TEXTURE_OPACITY};
    for (int i = 0; i < SIDE * SIDE; ++i) ramp[i] = (uint16_t)i;
    write_wide_png("ramp.png", SIDE, 1, ramp);
    for (size_t r = 0; r < sizeof roles / sizeof *roles; ++r) {
        texture_store store;
        const texture_view view = load_one(&store, file_in("ramp.png"), roles[r]);
        const bool is_colour = r < 2;
        assert_true(view.bytes && view.is_wide);
        assert_int_equal(view.samples, roles[r] == TEXTURE_NORMAL ? 2 : 1);
        for (int i = 0; i < SIDE * SIDE; ++i) {
            const vec3 seen = texture_texel(&view, i % SIDE, i / SIDE);
            const double c = i / 65535.0;
            const double linear = c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
            const float value = is_colour ? (float)linear : (float)i / 65535;
            if (seen.x != value || seen.y != value || seen.z != value)
                fail_msg("%d in role %zu: %.9g, expected %.9g", i, r, (double)seen.x,
                         (double)value);
            if (i % 257 == 0)
                assert_true(seen.x == (is_colour ? srgb_to_linear((uint8_t)(i / 257))
                                                 : (float)(i / 257) / 255));
        }
        texture_store_close(&store);
    }
}

/* Pictures with 16-bit colours and alpha: the channel that each use reads. */
static void test_channels_of_16_bit_textures(void **state) {
    (void)state;
    static const uint16_t rgba[] = {0x1234, 0x2345, 0x3456, 0x4567, 9, 8, 7, 6,
                                    5,      4,      3,      2,      1, 2, 3, 65535};
    static const struct {
        texture_role role;
        uint32_t samples;
        uint16_t first[3];
    } rows[] = {{TEXTURE_NORMAL, 4, {0x1234, 0x2345, 0x3456}},
                {TEXTURE_GREEN, 1, {0x2345, 0x2345, 0x2345}},
                {TEXTURE_ALPHA, 1, {0x4567, 0x4567, 0x4567}},
                {TEXTURE_OPACITY, 1, {0x4567, 0x4567, 0x4567}}};
    write_wide_png("wide.png", 2, 4, rgba);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        texture_store store;
        const texture_view view = load_one(&store, file_in("wide.png"), rows[i].role);
        const vec3 seen = texture_texel(&view, 0, 0);
        const uint16_t *first = rows[i].first;
        assert_int_equal(view.samples, rows[i].samples);
        assert_true(seen.x == (float)first[0] / 65535 && seen.y == (float)first[1] / 65535 &&
                    seen.z == (float)first[2] / 65535);
        texture_store_close(&store);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples_of_16_bits_are_exact),
        cmocka_unit_test(test_channels_of_16_bit_textures),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
