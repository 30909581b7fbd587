/* Photon map files: written maps are read back; damaged and hostile files are rejected. */
#include "core/hash.h"
#include "core/math/rng.h"
#include "photon/maps/photon_file.h"
#include "photon/maps/photon_map.h"
#include "test.h"
#include <unistd.h>

enum { PHOTONS = 12, HEADER = PHOTON_FILE_HEADER_BYTES, LIST_HEADER = 88 };
static const char *const path = "test_photon_file.kdp";

static photon_file make_file(uint32_t pass) {
    static photon buffer[2 * PHOTON_LISTS][PHOTONS];
    photon_file made;
    memset(&made, 0, sizeof made);
    made.scene = 77;
    for (int l = 0; l < PHOTON_LISTS; ++l) {
        photon_list *list = &made.lists[l];
        list->photons = buffer[PHOTON_LISTS * pass + (uint32_t)l];
        list->count = PHOTONS - (uint64_t)l;
        list->emitted = 10 + 20 * pass;
        list->complete = true;
        list->ledger.emitted = 4;
        for (uint32_t i = 0; i < list->count; ++i) {
            const rng_block drawn = rng_draw(rng_key_make(1, pass, i), 0, (uint32_t)l);
            photon *one = list->photons + i;
            one->position = vec3_make(drawn.value[0], drawn.value[1], -drawn.value[2]);
            one->power = vec3_all(drawn.value[3]);
            one->direction = vec3_make(0, -1, 0);
            one->normal = vec3_make(0, 1, 0);
            one->triangle = one->path = i;
            one->light = 3;
            one->bounce = (uint8_t)i;
            one->kind = l == 1 || (l == 2 && i % 2) ? PHOTON_CAUSTIC : PHOTON_INDIRECT;
        }
    }
    return made;
}

static double watts(const photon_list *list) {
    double sum = 0;
    for (uint64_t i = 0; i < list->count; ++i) sum += photon_watts(list->photons[i].power);
    return sum;
}

static void test_round_trip(void **state) {
    (void)state;
    const photon_file made = make_file(0);
    photon_file file;
    assert_int_equal(photon_file_write(path, &made), KD_OK);
    assert_int_equal(photon_file_open(&file, path), KD_OK);
    assert_true(file.scene == 77);
    for (int l = 0; l < PHOTON_LISTS; ++l) {
        assert_true(file.lists[l].count == made.lists[l].count && file.lists[l].emitted == 10);
        assert_true(file.lists[l].ledger.emitted == 4);
        assert_memory_equal(file.lists[l].photons, made.lists[l].photons,
                            made.lists[l].count * sizeof(photon));
    }
    photon_file_close(&file);
    unlink(path);
}

/* A file with an origin has its own version; a damaged origin is refused. */
static void test_origin(void **state) {
    (void)state;
    photon_file made = make_file(0), file;
    made.origin[0] = 524288;
    made.origin[2] = -0.5;
    assert_int_equal(photon_file_write(path, &made), KD_OK);
    assert_int_equal(photon_file_open(&file, path), KD_OK);
    assert_memory_equal(file.origin, made.origin, sizeof made.origin);
    for (int l = 0; l < PHOTON_LISTS; ++l)
        assert_memory_equal(file.lists[l].photons, made.lists[l].photons,
                            made.lists[l].count * sizeof(photon));
    photon_file_close(&file);
    FILE *stream = fopen(path, "r+b");
    assert_non_null(stream);
    fseek(stream, HEADER + 1, SEEK_SET);
    fputc(1, stream);
    fclose(stream);
    assert_int_equal(photon_file_open(&file, path), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "the checksum of the origin does not match"));
    unlink(path);
}

static const char *const merged_names[] = {"a", "b", "c"};

/* Merged maps equal one emission of 10 + 30 paths: each power is 1/40 of what its path carries. */
static void test_merge(void **state) {
    (void)state;
    const photon_file maps[3] = {make_file(0), make_file(1), make_file(0)};
    photon_file merged;
    assert_int_equal(photon_file_merge(&merged, maps, merged_names, 2), KD_OK);
    for (int l = 0; l < PHOTON_LISTS; ++l) {
        const double expected = 0.25 * watts(&maps[0].lists[l]) + 0.75 * watts(&maps[1].lists[l]);
        assert_true(fabs(watts(&merged.lists[l]) - expected) < 1e-5 * expected);
        assert_true(merged.lists[l].emitted == 40 && merged.lists[l].ledger.emitted == 4);
    }
    photon_file_close(&merged);
    assert_int_equal(photon_file_merge(&merged, maps, merged_names, 3), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "a and c contain the same photons"));
    photon_file other[2] = {maps[0], maps[1]};
    other[1].scene = 78;
    assert_int_equal(photon_file_merge(&merged, other, merged_names, 2), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "different scenes"));
}

/* Rejected: a map that has already been merged into the other, or that is the first part of the
   other. */
static void test_merge_finds_sectioned_files(void **state) {
    (void)state;
    const photon_file maps[2] = {make_file(0), make_file(1)};
    photon_file merged, file[2];
    assert_int_equal(photon_file_merge(&file[0], maps, merged_names, 2), KD_OK);
    file[1] = maps[1];
    assert_int_equal(photon_file_merge(&merged, file, merged_names, 2), KD_ERROR_INPUT);
    photon_file_close(&file[0]);
    file[0] = maps[0];
    file[1] = maps[0];
    for (int l = 0; l < PHOTON_LISTS; ++l) file[1].lists[l].count = 5;
    assert_int_equal(photon_file_merge(&merged, file, merged_names, 2), KD_ERROR_INPUT);
}

/* Merging files in any order gives the same bytes. */
static void test_merge_order_is_irrelevant(void **state) {
    (void)state;
    static const char *const files[] = {"merge_a.kdp", "merge_b.kdp"};
    photon_file merged[2];
    for (int i = 0; i < 2; ++i) {
        const photon_file made = make_file((uint32_t)i);
        assert_int_equal(photon_file_write(files[i], &made), KD_OK);
    }
    for (int turn = 0; turn < 2; ++turn) {
        photon_file maps[2];
        for (int i = 0; i < 2; ++i)
            assert_int_equal(photon_file_open(&maps[i], files[i ^ turn]), KD_OK);
        uint64_t content = 0;
        assert_int_equal(photon_file_read_content(&content, files[turn]), KD_OK);
        assert_true(content == maps[0].content && content != maps[1].content);
        assert_int_equal(photon_file_merge(&merged[turn], maps, merged_names, 2), KD_OK);
        for (int i = 0; i < 2; ++i) photon_file_close(&maps[i]);
    }
    for (int l = 0; l < PHOTON_LISTS; ++l) {
        const photon_list *one = &merged[0].lists[l], *two = &merged[1].lists[l];
        assert_true(one->count == two->count && one->emitted == two->emitted);
        assert_memory_equal(one->photons, two->photons, one->count * sizeof(photon));
        assert_memory_equal(&one->ledger, &two->ledger, sizeof one->ledger);
    }
    for (int i = 0; i < 2; ++i) {
        photon_file_close(&merged[i]);
        unlink(files[i]);
    }
}

static kd_status open_bytes(const char *bytes, size_t count) {
    photon_file photon_file;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    fclose(file);
    const kd_status status = photon_file_open(&photon_file, path);
    if (status == KD_OK) photon_file_close(&photon_file);
    return status;
}

static size_t read_bytes(char *to, size_t maximum) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t count = fread(to, 1, maximum, file);
    fclose(file);
    return count;
}

static char bytes[8192];

static void test_damaged_files_are_rejected(void **state) {
    (void)state;
    const photon_file made = make_file(0);
    assert_int_equal(photon_file_write(path, &made), KD_OK);
    const size_t count = read_bytes(bytes, sizeof bytes);
    for (size_t i = 0; i < count; ++i) {
        bytes[i] = (char)(bytes[i] ^ 0x04);
        assert_int_equal(open_bytes(bytes, count), KD_ERROR_INPUT);
        bytes[i] = (char)(bytes[i] ^ 0x04);
        assert_int_equal(open_bytes(bytes, i), KD_ERROR_INPUT);
    }
    assert_int_equal(open_bytes(bytes, count + 1), KD_ERROR_INPUT);
    assert_int_equal(open_bytes(bytes, count), KD_OK);
    unlink(path);
}

/* Recomputes the hashes, as an attacker would, so that the reader must detect invalid numbers. */
static void sign(size_t count) {
    size_t first = HEADER;
    for (size_t l = 0; l < PHOTON_LISTS; ++l) {
        const size_t part = (PHOTONS - l) * sizeof(photon);
        const uint64_t hash = hash_bytes(bytes + first, part);
        memcpy(bytes + 24 + (l + 1) * LIST_HEADER - 8, &hash, sizeof hash);
        first += part;
    }
    const uint64_t hash = hash_bytes(bytes, HEADER - 8);
    memcpy(bytes + HEADER - 8, &hash, sizeof hash);
    uint64_t trees = 0;
    for (size_t l = 0; first < count && l < PHOTON_LISTS; ++l) {
        const uint64_t tree = hash_bytes(bytes + first, (PHOTONS - l) * sizeof(uint32_t));
        trees = hash_combine(trees, &tree, sizeof tree);
        first += (PHOTONS - l) * sizeof(uint32_t);
    }
    if (first < count) memcpy(bytes + first, &trees, sizeof trees);
}

static void test_hostile_files(void **state) {
    (void)state;
    const photon_file made = make_file(0);
    assert_int_equal(photon_file_write(path, &made), KD_OK);
    const size_t count = read_bytes(bytes, sizeof bytes);
    sign(count);
    assert_int_equal(open_bytes(bytes, count), KD_OK);
    static const float wrong[] = {NAN, INFINITY, -1e30f};
    for (size_t field = 3; field < 12; ++field) /* power, direction, normal */
        for (int i = 0; i < 3; ++i) {
            char *at = bytes + HEADER + 5 * sizeof(photon) + field * sizeof(float);
            float kept;
            memcpy(&kept, at, sizeof kept);
            memcpy(at, &wrong[i], sizeof kept);
            sign(count);
            assert_int_equal(open_bytes(bytes, count), KD_ERROR_INPUT);
            memcpy(at, &kept, sizeof kept);
        }
    /* with any byte changed: an error or a map, never a crash */
    for (uint32_t i = 0; i < 3000; ++i) {
        const rng_words drawn = rng_draw_words(rng_key_make(5, 0, i), 0, 0);
        char *at = bytes + drawn.word[0] % count;
        const char kept = *at;
        *at = (char)drawn.word[1];
        sign(count);
        const kd_status status = open_bytes(bytes, count);
        assert_true(status == KD_OK || status == KD_ERROR_INPUT);
        *at = kept;
    }
    unlink(path);
}

/* Trees in a file are read, not rebuilt, and equal those that are built. */
static void test_trees_are_stored(void **state) {
    (void)state;
    const photon_file made = make_file(0);
    photon_file file;
    scene_view scene;
    photon_maps maps[2];
    photon_options options = photon_options_default();
    memset(&scene, 0, sizeof scene);
    options.gather = 4;
    options.tiles = false;
    assert_int_equal(photon_file_write(path, &made), KD_OK);
    const size_t count = read_bytes(bytes, sizeof bytes);
    for (int old = 0; old < 2; ++old) {
        if (old) { /* a file of version 2 ends with the photons */
            const size_t photons = (3 * PHOTONS - 3) * sizeof(photon);
            bytes[8] = PHOTON_FILE_VERSION_OLD;
            sign(HEADER + photons);
            assert_int_equal(open_bytes(bytes, HEADER + photons), KD_OK);
        }
        assert_int_equal(photon_file_open(&file, path), KD_OK);
        for (int l = 0; l < PHOTON_LISTS; ++l)
            assert_true((file.lists[l].nodes == NULL) == (old != 0));
        assert_int_equal(photon_maps_build_trees(&maps[old], &scene, file.lists, &options, NULL),
                         KD_OK);
        photon_file_close(&file);
    }
    assert_true(!maps[0].global.built && !maps[0].caustic.built && !maps[0].media.built);
    assert_true(maps[1].global.built && maps[1].caustic.built && maps[1].media.built);
    assert_true(pointtree_hash(&maps[0].global.tree) == pointtree_hash(&maps[1].global.tree));
    assert_true(pointtree_hash(&maps[0].media.tree) == pointtree_hash(&maps[1].media.tree));
    assert_memory_equal(maps[0].global.photons, maps[1].global.photons, PHOTONS * sizeof(photon));
    for (int i = 0; i < 2; ++i) photon_maps_close(&maps[i]);
    /* two nodes exchanged, an id out of range, an id twice: each tree is rejected although its
       hashes are valid */
    assert_int_equal(photon_file_write(path, &made), KD_OK);
    read_bytes(bytes, sizeof bytes);
    uint32_t *nodes = (uint32_t *)(void *)(bytes + HEADER + (3 * PHOTONS - 3) * sizeof(photon));
    for (int a = 0; a < PHOTONS; ++a)
        for (int b = 0; b < a + 2; ++b) {
            const uint32_t kept = nodes[a], other = b < PHOTONS ? nodes[b] : PHOTONS;
            nodes[a] = b < a ? other : b == a ? nodes[(a + 1) % PHOTONS] : PHOTONS;
            if (b < a) nodes[b] = kept;
            sign(count);
            assert_int_equal(open_bytes(bytes, count), KD_OK);
            assert_int_equal(photon_file_open(&file, path), KD_OK);
            assert_int_equal(photon_maps_build_trees(&maps[0], &scene, file.lists, &options, NULL),
                             KD_ERROR_INPUT);
            photon_file_close(&file);
            if (b < a) nodes[b] = other;
            nodes[a] = kept;
        }
    unlink(path);
}

/* Messages state the reason. */
static void test_messages(void **state) {
    (void)state;
    const photon_file made = make_file(0);
    photon_file file;
    assert_int_equal(photon_file_write(path, &made), KD_OK);
    const size_t count = read_bytes(bytes, sizeof bytes);
    assert_int_equal(open_bytes(bytes, count - 1), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "the file is truncated"));
    bytes[8] = 99;
    assert_int_equal(open_bytes(bytes, count), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "version 99, expected"));
    bytes[8] = 0;
    bytes[15] = PHOTON_FILE_VERSION;
    assert_int_equal(open_bytes(bytes, count), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "big-endian photon map, expected little-endian"));
    bytes[0] = 'X';
    assert_int_equal(open_bytes(bytes, count), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "not a photon map"));
    /* the photons are borrowed from the file until they are changed */
    assert_int_equal(photon_file_write(path, &made), KD_OK);
    assert_int_equal(photon_file_open(&file, path), KD_OK);
    assert_true(file.lists[PHOTON_LIST_GLOBAL].borrowed &&
                file.lists[PHOTON_LIST_CAUSTIC].borrowed);
    assert_int_equal(photon_list_copy_borrowed(&file.lists[PHOTON_LIST_GLOBAL]), KD_OK);
    file.lists[PHOTON_LIST_GLOBAL].photons[0].power = vec3_all(3);
    assert_int_equal(photon_file_check_scene(&file, path, NULL, 78), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "belongs to another scene"));
    photon_file_close(&file);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_origin),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_merge_finds_sectioned_files),
        cmocka_unit_test(test_merge_order_is_irrelevant),
        cmocka_unit_test(test_damaged_files_are_rejected),
        cmocka_unit_test(test_hostile_files),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_trees_are_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
