/* Command-line options: the command line overrides the environment, and every kind of misuse has
   its own clear error. */
#include "core/names.h"
#include "tests/test.h"
#include "tools/program/options.h"

typedef struct values {
    bool flag, other;
    const char *text;
    option_list list;
    char name[8];
    int32_t choice, number, size[2];
    uint64_t many, bytes;
    float real, triple[3];
    double precise;
} values;

static const char *colour(int index) {
    static const char *const names[] = {"red", "green", "blue"};
    return index < 3 ? names[index] : NULL;
}

static const option_row rows[] = {
    {OPTION_ROW(values, "flag", OPTION_FLAG, flag), .short_name = 'f'},
    {OPTION_ROW(values, "other", OPTION_FLAG, other), .short_name = 'x'},
    {OPTION_ROW(values, "text", OPTION_TEXT, text), .argument = "TEXT"},
    {OPTION_ROW(values, "list", OPTION_LIST, list), .short_name = 'l', .argument = "FILE"},
    {OPTION_ROW(values, "name", OPTION_NAME, name), .argument = "NAME"},
    {OPTION_ROW(values, "choice", OPTION_CHOICE, choice), .argument = "COLOUR", .choice = colour},
    {OPTION_ROW(values, "number", OPTION_INT32, number), .argument = "N", .minimum = -5,
     .maximum = 100, .environment = "KD_TEST_NUMBER"},
    {OPTION_ROW(values, "size", OPTION_INT32, size), .argument = "WxH", .count = 2,
     .separator = 'x', .minimum = 1, .maximum = 100},
    {OPTION_ROW(values, "many", OPTION_UINT64, many), .argument = "N"},
    {OPTION_ROW(values, "bytes", OPTION_BYTES, bytes), .argument = "BYTES"},
    {OPTION_ROW(values, "bright", OPTION_FLOAT, real), .argument = "auto|X", .automatic = "auto",
     .minimum = -4, .maximum = 4},
    {OPTION_ROW(values, "real", OPTION_FLOAT, real), .argument = "X"},
    {OPTION_ROW(values, "triple", OPTION_FLOAT, triple), .argument = "X,Y,Z", .count = 3},
    {OPTION_ROW(values, "precise", OPTION_DOUBLE, precise), .argument = "X", .minimum = 0,
     .maximum = 1},
    {.name = NULL}};
static const option_group groups[] = {{"Test", rows, 0, NULL}, {NULL, NULL, 0, NULL}};

enum { WORDS = 64 };

/* Parses a line and applies it; `arguments` counts the words that are not options. */
static kd_status read_arguments(values *out, int *arguments, const char *line) {
    char words[512];
    snprintf(words, sizeof words, "program %s", line);
    char *argv[WORDS];
    int argc = 0;
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) argv[argc++] = word;
    argv[argc] = NULL;
    memset(out, 0, sizeof *out);
    option_line read;
    kd_status status = option_line_open(&read, groups, argc, argv);
    if (status != KD_OK) return status;
    if (arguments) *arguments = read.argument_count;
    status = option_line_apply(&read, out);
    option_line_close(&read);
    return status;
}

static void test_options_set_fields(void **state) {
    (void)state;
    values got;
    int arguments;
    assert_int_equal(
        read_arguments(&got, &arguments,
                       "a -fx --list=1 -l 2 b --name abc --choice green --number -3 --size 4x5 "
                       "--many 2M --real -1e-3 --triple 1,-2,.5 --precise 0.25 -- --flag"),
        KD_OK);
    assert_int_equal(arguments, 3);
    assert_true(got.flag && got.other);
    assert_int_equal(got.list.count, 2);
    assert_string_equal(got.name, "abc");
    assert_int_equal(got.choice, 1);
    assert_int_equal(got.number, -3);
    assert_int_equal(got.size[0], 4);
    assert_int_equal(got.size[1], 5);
    assert_int_equal(got.many, 2000000);
    assert_true(got.real == -1e-3f && got.precise == 0.25);
    assert_true(got.triple[0] == 1 && got.triple[1] == -2 && got.triple[2] == 0.5f);
    assert_int_equal(read_arguments(&got, NULL, "--many 18446744073709551615"), KD_OK);
    assert_true(got.many == UINT64_MAX);
    assert_int_equal(read_arguments(&got, NULL, "--many 2.5e3"), KD_OK);
    assert_int_equal(got.many, 2500);
}

/* All counts accept the same suffixes. */
static void test_count_suffixes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t count;
    } cases[] = {{"20K", 20000},     {"20k", 20000},     {"1.5M", 1500000}, {"1.005K", 1005},
                 {"2G", 2000000000}, {"1B", 1000000000}, {"2e6", 2000000},  {".5K", 500},
                 {"0K", 0},          {"2e1K", 20000},    {"7", 7},          {"1.1M", 1100000}};
    static const char *const wrong[] = {"1.5", "1.0005K", "K", "1KK", "1 K", "1e30", "1e-1", "-1"};
    values got;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char line[40];
        snprintf(line, sizeof line, "--many %s", cases[i].text);
        assert_int_equal(read_arguments(&got, NULL, line), KD_OK);
        assert_true(got.many == cases[i].count);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        const char *end = wrong[i];
        option_read_count(wrong[i], &end);
        if (end && !*end) fail_msg("%s is read as a count", wrong[i]);
    }
    assert_int_equal(read_arguments(&got, NULL, "--number 0.1K"), KD_OK);
    assert_int_equal(got.number, 100);
    assert_int_equal(read_arguments(&got, NULL, "--size 0.01Kx1e1"), KD_OK);
    assert_true(got.size[0] == 10 && got.size[1] == 10);
}

/* A word that occurs twice would hide one of its hints; a word that is an option would never be
   looked up. */
static void test_hints_are_unique(void **state) {
    (void)state;
    char seen[8192] = " ";
    for (const option_hint *hint = option_hints; hint->use; ++hint) {
        char words[512];
        assert_true(strlen(hint->foreign) < sizeof words);
        strcpy(words, hint->foreign);
        for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
            char spaced[64];
            snprintf(spaced, sizeof spaced, " %s ", word);
            if (strstr(seen, spaced)) fail_msg("%s has two hints", word);
            assert_true(strlen(seen) + strlen(spaced) < sizeof seen);
            strcat(seen, spaced + 1);
            assert_ptr_equal(option_hint_find(word, NULL), hint->use);
        }
    }
    assert_null(option_hint_find("--sample", NULL)); /* matches whole words only */
    assert_null(option_hint_find("", NULL));
    assert_null(option_hint_find("--samples", groups)); /* commands of these groups have no --spp */
}

static void test_size_units(void **state) {
    (void)state;
    static const struct {
        const char *line;
        uint64_t bytes;
    } cases[] = {{"--bytes 1K", 1024},
                 {"--bytes 1k", 1024},
                 {"--bytes 1T", 1ull << 40},
                 {"--bytes 1.5G", 3ull << 29},
                 {"--bytes 500M", 500ull << 20},
                 {"--bytes 2GiB", 2ull << 30},
                 {"--bytes 2MB", 2ull << 20},
                 {"--bytes 77", 77},
                 {"--bytes 77B", 77},
                 {"--bytes 2e6", 2000000},
                 {"--bytes 0", 0},
                 {"--bytes .5K", 512}};
    static const char *const wrong[] = {"--bytes 1Q",   "--bytes 1.5", "--bytes -1K",
                                        "--bytes K",    "--bytes 1KK", "--bytes 1Ki",
                                        "--bytes 1e30", "--bytes nan", "--bytes 0x1K"};
    values got;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_int_equal(read_arguments(&got, NULL, cases[i].line), KD_OK);
        assert_true(got.bytes == cases[i].bytes);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        assert_int_equal(read_arguments(&got, NULL, wrong[i]), KD_ERROR_USAGE);
        assert_non_null(strstr(kd_last_error(), "K, M, G and T are powers of 1024"));
    }
}

static void test_automatic_numbers(void **state) {
    (void)state;
    values got;
    assert_int_equal(read_arguments(&got, NULL, "--bright auto"), KD_OK);
    assert_true(got.real != got.real);
    assert_int_equal(read_arguments(&got, NULL, "--bright -2"), KD_OK);
    assert_true(got.real == -2);
    assert_int_equal(read_arguments(&got, NULL, "--bright Auto"), KD_ERROR_USAGE);
    assert_non_null(strstr(kd_last_error(), "from -4 to 4, or auto"));
    assert_int_equal(read_arguments(&got, NULL, "--real auto"), KD_ERROR_USAGE);
}

static void test_misuse_is_rejected(void **state) {
    (void)state;
    static const char *const lines[] = {"--flga",
                                        "--flag=1",
                                        "--t",
                                        "--text",
                                        "-q",
                                        "-l",
                                        "--name abcdefgh",
                                        "--choice gren",
                                        "--choice",
                                        "--number 101",
                                        "--number -6",
                                        "--number 1.5",
                                        "--number abc",
                                        "--number 5x",
                                        "--number 99999999999999999999",
                                        "--number nan",
                                        "--number ''",
                                        "--number +5",
                                        "--size 4",
                                        "--size 4,5",
                                        "--size 4x5x6",
                                        "--size 0x5",
                                        "--size 4x101",
                                        "--size x",
                                        "--many -1",
                                        "--many 1.5",
                                        "--many 18446744073709551616",
                                        "--many 2T",
                                        "--many 2Mx",
                                        "--many 99999999999999999G",
                                        "--real nan",
                                        "--real inf",
                                        "--real -inf",
                                        "--real 1e39",
                                        "--real 0x10",
                                        "--real -0x10",
                                        "--real 1,2",
                                        "--real e5",
                                        "--real --",
                                        "--triple 1,2",
                                        "--triple 1,2,3,4",
                                        "--triple 1,,3",
                                        "--triple 1,2,nan",
                                        "--precise 1.01",
                                        "--precise 1e999",
                                        "--precise 1e",
                                        "--precise -",
                                        "--precise ."};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
        values got;
        const kd_status status = read_arguments(&got, NULL, lines[i]);
        if (status != KD_ERROR_USAGE) fail_msg("%s: accepted", lines[i]);
        assert_null(strchr(kd_last_error(), '\n'));
        assert_true(strlen(kd_last_error()) > 10);
    }
}

static void test_messages_suggest_options(void **state) {
    (void)state;
    values got;
    read_arguments(&got, NULL, "--numbr 3");
    assert_string_equal(kd_last_error(), "unknown option --numbr, did you mean --number?");
    read_arguments(&got, NULL, "--choice blu");
    assert_non_null(strstr(kd_last_error(), "red, green or blue; did you mean blue?"));
    read_arguments(&got, NULL, "--number 500");
    assert_string_equal(kd_last_error(), "--number 500: expected a whole number from -5 to 100");
    read_arguments(&got, NULL, "--size");
    assert_string_equal(kd_last_error(), "option --size needs an argument: --size WxH");
    read_arguments(&got, NULL, "--zzzzzzzzzz");
    assert_string_equal(kd_last_error(),
                        "unknown option --zzzzzzzzzz; --help=all lists all options");
}

static void test_command_line_overrides_environment(void **state) {
    (void)state;
    values got;
    setenv("KD_TEST_NUMBER", "7", 1);
    assert_int_equal(read_arguments(&got, NULL, ""), KD_OK);
    assert_int_equal(got.number, 7);
    assert_int_equal(read_arguments(&got, NULL, "--number 8"), KD_OK);
    assert_int_equal(got.number, 8);
    setenv("KD_TEST_NUMBER", "seven", 1);
    assert_int_equal(read_arguments(&got, NULL, ""), KD_ERROR_USAGE);
    assert_string_equal(kd_last_error(),
                        "KD_TEST_NUMBER=seven: expected a whole number from -5 to 100");
    setenv("KD_TEST_NUMBER", "", 1);
    assert_int_equal(read_arguments(&got, NULL, ""), KD_OK);
    assert_int_equal(got.number, 0);
    unsetenv("KD_TEST_NUMBER");
}

static void test_edit_distance(void **state) {
    (void)state;
    assert_int_equal(nearest_distance("render", "render"), 0);
    assert_int_equal(nearest_distance("redner", "render"), 1);
    assert_int_equal(nearest_distance("Rendr", "render"), 1);
    assert_int_equal(nearest_distance("", "abc"), 3);
    assert_int_equal(nearest_distance("abc", ""), 3);
    assert_int_equal(nearest_distance("kitten", "sitting"), 3);
    const char *best = NULL;
    nearest_consider(&best, "chek", "render");
    assert_null(best);
    nearest_consider(&best, "chek", "check");
    assert_string_equal(best, "check");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_set_fields),
        cmocka_unit_test(test_count_suffixes),
        cmocka_unit_test(test_hints_are_unique),
        cmocka_unit_test(test_size_units),
        cmocka_unit_test(test_automatic_numbers),
        cmocka_unit_test(test_misuse_is_rejected),
        cmocka_unit_test(test_messages_suggest_options),
        cmocka_unit_test(test_command_line_overrides_environment),
        cmocka_unit_test(test_edit_distance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
