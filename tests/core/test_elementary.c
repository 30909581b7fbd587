/* The project's trigonometric functions, their inverses and exponentials against those of the C
   library in double precision, in units in the last place. */
#include "core/math/elementary.h"
#include "test.h"

/* Distance between a result and the true value in units in the last place of the latter, or in
   units of the smallest denormal if that is larger. */
static double units_off(float actual, double expected) {
    if (isnan(actual) || isnan(expected))
        return isnan(actual) && isnan(expected) ? 0 : (double)INFINITY;
    if (isinf(actual) || isinf(expected)) {
        /* values beyond the largest float may round to infinity */
        if ((double)actual == expected) return 0;
        if (isinf(actual) && fabs(expected) > 0x1.fffffep127) return 0;
        return (double)INFINITY;
    }
    int power = 0;
    frexp(expected, &power);
    const double unit = ldexp(1, power - 24 < -149 ? -149 : power - 24);
    return fabs((double)actual - expected) / unit;
}

typedef struct elementary_case {
    const char *name;
    float (*function)(float x);
    double (*expected)(double x);
    float lo, hi; /* range of |x| */
    double units; /* allowed error */
} elementary_case;

static float computed_sin(float x) {
    return float_sin(x);
}
static float computed_cos(float x) {
    return float_cos(x);
}
static float computed_tan(float x) {
    return float_tan(x);
}
static float computed_acos(float x) {
    return float_acos(x);
}
static float computed_exp(float x) {
    return float_exp(x);
}
static float computed_log(float x) {
    return float_log(x);
}

static const elementary_case cases[] = {
    {"sine", computed_sin, sin, 0, 0x1p20f, 2},
    {"cosine", computed_cos, cos, 0, 0x1p20f, 2},
    {"tangent", computed_tan, tan, 0, 0x1p20f, 3.5},
    {"arc cosine", computed_acos, acos, 0, INFINITY, 2},
    {"exponential", computed_exp, exp, 0, INFINITY, 1.5},
    {"logarithm", computed_log, log, 0, INFINITY, 1.5},
};

/* One in 499 of all floats, of both signs, and the neighbours of multiples of pi/4. */
static void test_accuracy_over_all_floats(void **state) {
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        const elementary_case *test = cases + c;
        double worst = 0;
        float worst_at = 0;
        for (uint32_t i = 0; i < UINT32_MAX / 499 + 40000; ++i) {
            float x = float_from_bits(i * 499u);
            if (i > UINT32_MAX / 499) {
                const uint32_t near = i - UINT32_MAX / 499;
                const float quarter = (float)((double)(near / 4) * 0.78539816339744831);
                x = float_from_bits(float_bits(quarter) + near % 4);
            }
            if (fabsf(x) < test->lo || fabsf(x) > test->hi) continue;
            const double off = units_off(test->function(x), test->expected((double)x));
            if (!(off <= worst)) worst = off, worst_at = x;
        }
        print_message("%s: %.3f units at %a\n", test->name, worst, (double)worst_at);
        if (!(worst <= test->units))
            fail_msg("%s(%a): %.3f units off, allowed %g", test->name, (double)worst_at, worst,
                     test->units);
    }
}

/* Every float of the interval in which random numbers become angles. */
static void test_sine_and_cosine_over_a_circle(void **state) {
    (void)state;
    double worst = 0;
    for (uint32_t i = 0; i < 1u << 24; i += 3) {
        const float angle = 2 * KD_PI * ((float)i * 0x1p-24f);
        const float s = float_sin(angle), c = float_cos(angle);
        const double off = fmax(units_off(s, sin((double)angle)), units_off(c, cos((double)angle)));
        if (!(off <= worst)) worst = off;
        assert_true(fabs((double)s * (double)s + (double)c * (double)c - 1) < 2e-7);
    }
    print_message("circle: %.3f units\n", worst);
    assert_true(worst <= 2);
}

static float random_float(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return float_from_bits(*state ^ *state >> 16);
}

static void test_atan2_accuracy(void **state) {
    (void)state;
    static const float special[] = {0.0f,      -0.0f,       1,         -1,      INFINITY,
                                    -INFINITY, NAN,         0x1p-149f, FLT_MAX, -FLT_MAX,
                                    0x1p-126f, 0.41421356f, 0.4142136f};
    enum { SPECIAL = sizeof special / sizeof *special };
    uint32_t seed = 1;
    double worst = 0;
    for (int i = 0; i < 4000000; ++i) {
        float y = random_float(&seed), x = random_float(&seed);
        if (i % 2) /* of similar magnitude */
            x = ldexpf(x - truncf(x), 4 - i / 2 % 8), y = ldexpf(y - truncf(y), i / 2 % 5);
        if (i < SPECIAL * SPECIAL) y = special[i / SPECIAL], x = special[i % SPECIAL];
        const double expected = atan2((double)y, (double)x);
        const float actual = float_atan2(y, x);
        const double off = units_off(actual, expected);
        if (!(off <= worst)) {
            worst = off;
            if (!(off <= 2.5))
                fail_msg("atan2(%a, %a) = %a, expected %a: %.3f units", (double)y, (double)x,
                         (double)actual, expected, off);
        }
        if (!isnan(actual)) assert_int_equal(signbit(actual) != 0, signbit(expected) != 0);
    }
    print_message("arc tangent: %.3f units\n", worst);
}

/* Outside the documented range results stay finite and in range. */
static void test_huge_angles_stay_in_range(void **state) {
    (void)state;
    for (uint32_t bits = float_bits(0x1p20f); bits <= float_bits(FLT_MAX); bits += 4999) {
        const float x = float_from_bits(bits);
        assert_true(fabsf(float_sin(x)) <= 1 && fabsf(float_cos(-x)) <= 1);
    }
    assert_true(isnan(float_sin(INFINITY)) && isnan(float_cos(-INFINITY)));
    assert_true(isnan(float_tan(NAN)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accuracy_over_all_floats),
        cmocka_unit_test(test_sine_and_cosine_over_a_circle),
        cmocka_unit_test(test_atan2_accuracy),
        cmocka_unit_test(test_huge_angles_stay_in_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
