/* Scrambled lattice points for photon emission: as uniform as the lattice in every box, without its
   lines. */
#include "shaders/light_emit.h"
#include "test.h"
#include <stdlib.h>

enum { POINTS = 1024, BOXES = 16, WAVES = 40 };

static int compare(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

/* Returns coordinate d of a point, of the lattice alone or scrambled. */
static float number(const photon_emission *emission, bool scrambled, uint64_t i, uint32_t d) {
    return scrambled ? photon_emission_number(emission, i, d)
                     : rng_unit_float(photon_emission_lattice(emission, i, d));
}

/* Counts the points in each box of two coordinates; the counts are in ascending order. */
static void count_boxes(const photon_emission *emission, bool scrambled, uint32_t d, int *counts) {
    memset(counts, 0, BOXES * BOXES * sizeof *counts);
    for (uint64_t i = 0; i < POINTS; ++i) {
        const int x = (int)(number(emission, scrambled, i, d) * BOXES);
        const int y = (int)(number(emission, scrambled, i, d + 1) * BOXES);
        ++counts[x * BOXES + y];
    }
    qsort(counts, BOXES * BOXES, sizeof *counts, compare);
}

/* Returns the power of the strongest plane wave among the points, relative to independent
   points. */
static double strongest_wave(const photon_emission *emission, bool scrambled, uint32_t d) {
    double maximum = 0;
    for (int h = 0; h <= WAVES; ++h)
        for (int k = -WAVES; k <= WAVES; ++k) {
            if (h == 0 && k <= 0) continue;
            double c = 0, s = 0;
            for (uint64_t i = 0; i < POINTS; ++i) {
                const double turns = h * (double)number(emission, scrambled, i, d) +
                                     k * (double)number(emission, scrambled, i, d + 1);
                c += cos(2 * 3.141592653589793 * turns);
                s += sin(2 * 3.141592653589793 * turns);
            }
            const double power = (c * c + s * s) / POINTS;
            if (power > maximum) maximum = power;
        }
    return maximum;
}

static void test_scrambling_preserves_stratification(void **state) {
    (void)state;
    for (uint32_t pass = 0; pass < 4; ++pass)
        for (uint32_t d = 0; d + 1 < EMISSION_DIMENSIONS; ++d) {
            int plain[BOXES * BOXES], mixed[BOXES * BOXES];
            const photon_emission emission = photon_emission_make(5, pass, vec3_all(0), 1, false);
            count_boxes(&emission, false, d, plain);
            count_boxes(&emission, true, d, mixed);
            assert_memory_equal(plain, mixed, sizeof plain);
        }
}

static void test_scrambling_removes_lattice_waves(void **state) {
    (void)state;
    const photon_emission emission = photon_emission_make(5, 1, vec3_all(0), 1, false);
    const double lattice = strongest_wave(&emission, false, 3);
    const double scrambled = strongest_wave(&emission, true, 3);
    if (!(lattice > 200 && scrambled < 60))
        fail_msg("strongest wave %.1f times an independent one, %.1f of the lattice", scrambled,
                 lattice);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scrambling_preserves_stratification),
        cmocka_unit_test(test_scrambling_removes_lattice_waves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
