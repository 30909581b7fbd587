/* points/select/places.h: keys of doubles keep the order, ties are resolved by the full value;
   trees equal the reference builder's. */
#include "core/parallel/parallel.h"
#include "points/select/builders.h"
#include "points/select/places.h"
#include "points/tree/bounds.h"
#include "points/tree/pointtree.h"
#include "tests/test.h"

enum { MANY = 60000, FEW = 3000, SETS = 10 };
static double buffer[MANY * 8];

static double drawn(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

static const struct {
    const char *name;
    bool by_place, rough;
} sets[SETS] = {{"uniform", true, true},
                {"twins that differ in the last bits", true, true},
                {"each point three times", true, true},
                {"half of them in a crowd smaller than a place", false, false},
                {"a grid", true, false},
                {"floats", true, false},
                {"a range that no double holds", false, false},
                {"denormal", false, false},
                {"all equal", true, false},
                {"one of 250 in a crowd smaller than a place", true, true}};

static double coordinate(int set, uint32_t i, double x, double twin) {
    switch (set) {
    case 1: return i % 2 ? twin * (1 - 0x1p-50) : x;
    case 2: return i % 3 ? twin : x;
    case 3: return i % 2 ? 0.3 + x * 0x1p-40 : x;
    case 4: return floor(x * 37) - 11;
    case 5: return (double)((float)x * 3 - 1) * 0x1p-60;
    case 6: return (x - 0.5) * 2 * DBL_MAX;
    case 7: return x * 0x1p-1040;
    case 8: return 0.7;
    case 9: return i % 250 == 7 ? 0.3 + x * 0x1p-40 : x;
    default: return x;
    }
}

static point_array make(int set, uint32_t count, uint32_t dims) {
    uint64_t state = (uint64_t)set + dims;
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t axis = 0; axis < dims; ++axis) {
            const uint64_t at = (uint64_t)i * dims + axis;
            buffer[at] = coordinate(set, i, drawn(&state), i ? buffer[at - dims] : 0.5);
        }
    return point_array_make(buffer, count, dims, POINT_DOUBLE);
}

static void places_are_taken_where_they_serve(void **state) {
    (void)state;
    for (int set = 0; set < SETS; ++set) {
        const point_array array = make(set, MANY, 3);
        point_places places;
        point_box box;
        memset(&places, 0, sizeof places);
        assert_int_equal(point_scan(&box, &array), KD_OK);
        point_places_choose(&places, &array, &box);
        if ((places.points != NULL) != sets[set].by_place)
            fail_msg("%s: places %s", sets[set].name, places.points ? "taken" : "not taken");
        if (!places.points) continue;
        bool rough = false;
        for (uint32_t i = 0; i < MANY; ++i)
            rough |= !point_places_holds(&places, point_places_key(&places, buffer[3 * i], 0),
                                         buffer[3 * i], 0);
        if (rough != sets[set].rough) fail_msg("%s: rough %d", sets[set].name, rough);
    }
}

static void keys_rise_with_coordinates(void **state) {
    (void)state;
    const double ends[][2] = {
        {0, 1}, {-3, -1}, {1e-200, 1e-199}, {-1e250, 3}, {5, nextafter(5, 6)}};
    for (int e = 0; e < 5; ++e) {
        const double neighbours[] = {ends[e][0], ends[e][1]};
        const point_array array = point_array_make(neighbours, 2, 1, POINT_DOUBLE);
        point_places places;
        point_box box;
        memset(&places, 0, sizeof places);
        assert_int_equal(point_scan(&box, &array), KD_OK);
        point_places_choose(&places, &array, &box);
        assert_non_null(places.points);
        int32_t before = point_places_key(&places, neighbours[0], 0);
        assert_int_equal(before, INT32_MIN);
        for (int i = 1; i <= 1000; ++i) {
            const double x = i == 1000
                                 ? neighbours[1]
                                 : neighbours[0] + (neighbours[1] - neighbours[0]) * (i / 1000.0);
            const int32_t key = point_places_key(&places, x, 0);
            assert_true(key >= before && key < INT32_MAX);
            before = key;
        }
    }
}

static uint64_t hash_of(const point_array *array, const char *builder, pointtree_split split) {
    const pointtree_options options = {split, false, 0};
    pointtree tree;
    assert_int_equal(pointtree_open_nd(&tree, array, &options, builder, NULL), KD_OK);
    const uint64_t hash = pointtree_hash(&tree);
    pointtree_close(&tree);
    return hash;
}

static void compare(int set, uint32_t count, uint32_t dims) {
    const point_array array = make(set, count, dims);
    for (int split = 0; split < 2; ++split) {
        const pointtree_split rule = split ? POINTTREE_WIDEST : POINTTREE_ROUND_ROBIN;
        const uint64_t expected = hash_of(&array, "recursive", rule);
        for (int threads = 1; threads <= (count == MANY ? 8 : 1); threads *= 2) {
            parallel_set_threads(threads);
            if (hash_of(&array, "select", rule) != expected)
                fail_msg("%s: %u points of %u dimensions, %d threads: another tree", sets[set].name,
                         count, dims, threads);
        }
    }
    parallel_set_threads(0);
}

static void trees_are_the_oracles(void **state) {
    (void)state;
    for (int set = 0; set < SETS; ++set) {
        compare(set, MANY, 3);
        for (uint32_t dims = 1; dims <= 8; ++dims) {
            compare(set, FEW, dims);
            compare(set, 7 + dims, dims);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_taken_where_they_serve),
        cmocka_unit_test(keys_rise_with_coordinates),
        cmocka_unit_test(trees_are_the_oracles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
