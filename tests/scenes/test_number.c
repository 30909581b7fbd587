/* scenes/text/number.h against the C library: every kind of text that represents a float gives the
   same value, bit for bit. */
#include "core/math/rng.h"
#include "scenes/text/number.h"
#include "tests/test.h"

/* Reads `text` followed by a newline, as the reader does. */
static bool read_float(const char *text, float *value, size_t *used) {
    char line[2048];
    snprintf(line, sizeof line, "%s\n\n", text);
    const char *end = number_float(line, value);
    *used = end ? (size_t)(end - line) : 0;
    return end != NULL;
}

static void same_as_strtof(const char *text) {
    float value;
    size_t used;
    const float expected = strtof(text, NULL);
    if (!read_float(text, &value, &used) || used != strlen(text) ||
        float_bits(value) != float_bits(expected)) {
        print_error("%s: %a, expected %a, %zu bytes\n", text, (double)value, (double)expected,
                    used);
        fail();
    }
}

static uint32_t next(uint32_t *i) {
    const rng_block drawn = rng_draw(rng_key_make(7, 0, (*i)++), 0, 0);
    return float_bits(drawn.value[0]) ^ (float_bits(drawn.value[1]) << 9) ^
           (float_bits(drawn.value[2]) << 21);
}

static void test_printed_floats_round_trip(void **state) {
    (void)state;
    uint32_t i = 0;
    for (int n = 0; n < 1000000; ++n) {
        const float value = float_from_bits(next(&i));
        if (!isfinite(value)) continue;
        char text[128];
        const double wide = (double)value;
        switch (n % 5) {
        case 0: snprintf(text, sizeof text, "%.9g", wide); break;
        case 1: snprintf(text, sizeof text, "%.6f", wide); break;
        case 2: snprintf(text, sizeof text, "%.3e", wide); break;
        case 3: snprintf(text, sizeof text, "%.17g", wide); break;
        default: snprintf(text, sizeof text, "%.20f", wide); break;
        }
        same_as_strtof(text);
    }
}

static void test_random_digits_round_correctly(void **state) {
    (void)state;
    uint32_t i = 0;
    for (int n = 0; n < 1000000; ++n) {
        char text[80];
        int length = 0;
        const int before = (int)(next(&i) % 12), after = (int)(next(&i) % 14);
        if (next(&i) % 2) text[length++] = "+-"[next(&i) % 2];
        for (int k = 0; k < before; ++k) text[length++] = (char)('0' + next(&i) % 10);
        if (after || before == 0) text[length++] = '.';
        for (int k = 0; k < after + (before == 0); ++k)
            text[length++] = (char)('0' + next(&i) % 10);
        text[length] = '\0';
        if (next(&i) % 2)
            snprintf(text + length, sizeof text - (size_t)length, "e%d",
                     (int)(next(&i) % 100) - 50);
        same_as_strtof(text);
    }
}

/* Numbers exactly halfway between two floats, and ones that only a distant digit moves off the
   middle. */
static void test_ties_round_to_even(void **state) {
    (void)state;
    uint32_t i = 0;
    for (int n = 0; n < 20000; ++n) {
        const float value = fabsf(float_from_bits(next(&i)));
        if (!isfinite(value) || value < 1e-30f || value > 1e30f) continue;
        const double middle = ((double)value + (double)float_up(value)) / 2;
        char text[512];
        const int length = snprintf(text, sizeof text, "%.150f", middle);
        same_as_strtof(text);
        text[length - 1] = '1';
        same_as_strtof(text);
        snprintf(text, sizeof text, "%.120e", middle);
        same_as_strtof(text);
    }
}

static void test_special_values(void **state) {
    (void)state;
    static const char *const same[] = {"0",
                                       "-0",
                                       "0.0",
                                       ".5",
                                       "5.",
                                       "-.5",
                                       "+5",
                                       "1e0",
                                       "1E+05",
                                       "1e-045",
                                       "1.4e-45",
                                       "7e-46",
                                       "3.4028235e38",
                                       "3.4028236e38",
                                       "1e39",
                                       "1e999999999999",
                                       "1e-999999999999",
                                       "0e99999999999",
                                       "1.17549435e-38",
                                       "1.1754943e-38",
                                       "16777217",
                                       "33554433",
                                       "9007199254740993",
                                       "123456789012345678901234567890",
                                       "0.000000000000000000000000000000000000000000001401298464"};
    for (size_t i = 0; i < sizeof same / sizeof *same; ++i) same_as_strtof(same[i]);
    char zeros[1500];
    memset(zeros, '0', sizeof zeros);
    memcpy(zeros, "0.", 2);
    memcpy(zeros + 1400, "7e1400", 7);
    same_as_strtof(zeros);
    float value;
    size_t used;
    assert_true(read_float("3.1+e2", &value, &used) && value == 310 && used == 6);
    assert_true(read_float("nan", &value, &used) && isnan(value) && used == 3);
    assert_true(read_float("-inf", &value, &used) && value == -INFINITY);
    assert_true(read_float("1.#IND", &value, &used) && isnan(value) && used == 6);
    assert_true(read_float("-1.#INF00", &value, &used) && value == -INFINITY && used == 9);
    assert_true(read_float("1e", &value, &used) && value == 1 && used == 1);
    assert_true(read_float("1x", &value, &used) && value == 1 && used == 1);
    static const char *const none[] = {"", "-", "+", ".", "-.", "e5", "x", "--1", "in", "1.#"};
    for (size_t i = 0; i + 1 < sizeof none / sizeof *none; ++i)
        assert_false(read_float(none[i], &value, &used));
}

static void test_integers(void **state) {
    (void)state;
    int64_t value;
    assert_true(number_integer("12/", &value) && value == 12);
    assert_true(number_integer("-7 ", &value) && value == -7);
    assert_true(number_integer("+7 ", &value) && value == 7);
    assert_true(number_integer("99999999999999999999999999 ", &value) && value == (int64_t)1 << 40);
    assert_true(number_integer("-99999999999999999999999999 ", &value) &&
                value == -((int64_t)1 << 40));
    assert_null(number_integer("/", &value));
    assert_null(number_integer("-\n", &value));
}

static void test_doubles_equal_strtod(void **state) {
    (void)state;
    uint32_t i = 0;
    for (int n = 0; n < 100000; ++n) {
        char line[128];
        double value = 0, expected;
        const uint64_t bits = (uint64_t)next(&i) << 32 | next(&i);
        memcpy(&expected, &bits, sizeof expected);
        if (!isfinite(expected)) continue;
        snprintf(line, sizeof line, n % 2 ? "%.17g\n\n" : "%.12e\n\n", expected);
        expected = strtod(line, NULL);
        const char *end = number_double(line, &value);
        assert_true(end == line + strlen(line) - 2);
        assert_memory_equal(&value, &expected, sizeof value);
    }
    double value = 0;
    assert_non_null(number_double("-0.000\n\n", &value));
    assert_true(value == 0 && signbit(value));
    assert_non_null(number_double("4649776.9951\n\n", &value));
    assert_true(value == 4649776.9951);
    assert_null(number_double("word\n\n", &value));
    assert_non_null(number_double("1.#INF\n\n", &value));
    assert_true(isinf(value));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_printed_floats_round_trip),
        cmocka_unit_test(test_doubles_equal_strtod),
        cmocka_unit_test(test_random_digits_round_correctly),
        cmocka_unit_test(test_ties_round_to_even),
        cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
