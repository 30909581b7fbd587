/* The table of options (scenes/describe/render_options.h): each field of the struct has a row, each
   row has a textual form, and C structs, text and scene files follow the table. */
#include "core/files/file.h"
#include "core/memory.h"
#include "scenes/describe/render_options.h"
#include "tests/test.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const option_row *row_of_field(const char *field) {
    for (const option_row *row = NULL; (row = render_option_next(row));)
        if (!row->alias && strcmp(row->field, field) == 0) return row;
    return NULL;
}

/* Reads the struct's definition from the header, without comments. */
static void read_struct(char *text, size_t bytes) {
    file_view file;
    assert_int_equal(file_open(&file, KD_TEST_SOURCE_DIR "/include/kandela/render.h"), KD_OK);
    const char *at = strstr(file.bytes, "typedef struct kd_render_options {");
    assert_non_null(at);
    size_t used = 0;
    for (at = strchr(at, '{') + 1; *at != '}' && used + 1 < bytes; ++at) {
        if (at[0] == '/' && at[1] == '*') at = strstr(at, "*/") + 2;
        text[used++] = *at;
    }
    text[used] = '\0';
    file_close(&file);
}

/* A field without a row would have no default, no check, no option and no key. */
static void test_every_field_has_a_row(void **state) {
    (void)state;
    static char text[1 << 14];
    const option_row *last = NULL;
    int fields = 0;
    read_struct(text, sizeof text);
    for (char *word = strtok(text, ";,"); word; word = strtok(NULL, ";,")) {
        word[strcspn(word, "[")] = '\0';
        size_t end = strlen(word);
        while (end > 0 && (word[end - 1] == ' ' || word[end - 1] == '\n')) word[--end] = '\0';
        const char *name = word + end;
        while (name > word && (name[-1] == '_' || isalnum((unsigned char)name[-1]))) --name;
        if (!*name || strcmp(name, "struct_size") == 0) continue;
        const option_row *row = row_of_field(name);
        /* the second field of a row for two adjacent fields */
        const bool second = last && last->count == 2;
        if (!row && !second) fail_msg("kd_render_options.%s has no row", name);
        last = row;
        ++fields;
    }
    assert_true(fields > 30);
}

static void test_every_row_is_complete(void **state) {
    (void)state;
    for (const option_row *row = NULL; (row = render_option_next(row));) {
        if (!row->help || !row->help[0]) fail_msg("--%s has no help", row->name);
        const bool flag = row->kind == OPTION_FLAG;
        if (!row->argument != flag) fail_msg("--%s has no argument, or too many", row->name);
        if (!row->initial && !flag && strcmp(row->name, "crop") != 0 && row->kind != OPTION_TEXT)
            fail_msg("--%s has no default", row->name);
        if (strpbrk(row->name, "_ ")) fail_msg("--%s: expected - between words", row->name);
        if (render_option_find(row->name) != row) fail_msg("--%s is there twice", row->name);
        if (row->kind == OPTION_CHOICE && !row->choice) fail_msg("--%s: no choices", row->name);
        if (row->kind == OPTION_TEXT && row->resume == OPTION_RESUME_SAME)
            fail_msg("--%s: a file's name says nothing of its content", row->name);
    }
}

/* The table's default equals the struct's, is valid, and survives conversion to text and back. */
static void test_defaults_match_table(void **state) {
    (void)state;
    kd_render_options options;
    kd_render_options_default(&options);
    assert_int_equal(render_options_check(&options), KD_OK);
    for (const option_row *row = NULL; (row = render_option_next(row));) {
        char text[OPTION_TEXT_BYTES];
        assert_int_equal(kd_render_options_get(&options, row->name, text, sizeof text), KD_OK);
        if (row->initial) assert_string_equal(text, row->initial);
    }
    assert_int_equal(options.photons, 200000);
    assert_int_equal(options.spp, 64);
    assert_string_equal(options.kernel, "cone");
    assert_true(options.alpha == 0.7f && options.precompute == 1 && options.filter == 0);
}

/* A value out of range is rejected both as text and in the struct, which stays unchanged. */
static void test_values_out_of_range_are_rejected(void **state) {
    (void)state;
    for (const option_row *row = NULL; (row = render_option_next(row));) {
        kd_render_options options, before;
        kd_render_options_default(&options);
        before = options;
        const char *wrong = row->kind == OPTION_TEXT ? NULL : "nonsense nobody would allow";
        /* checked when they are used */
        if (strcmp(row->name, "device") == 0 || strcmp(row->name, "background") == 0 || !wrong)
            continue;
        assert_int_equal(kd_render_options_set(&options, row->name, wrong), KD_ERROR_USAGE);
        assert_non_null(strstr(kd_last_error(), row->name));
        assert_memory_equal(&options, &before, sizeof options);
        char *field = (char *)&options + row->offset;
        /* the option accepts every value, or is an alias, whose target checks the value */
        if (row->kind == OPTION_FLAG || row->alias) continue;
        if (row->kind == OPTION_NAME)
            memset(field, 'x', row->bytes); /* not terminated */
        else if (row->kind == OPTION_FLOAT)
            *(float *)field = -1e30f;
        else if (row->kind == OPTION_DOUBLE)
            *(double *)field = -1;
        else if (row->kind == OPTION_UINT64)
            *(uint64_t *)field = UINT64_MAX;
        else
            *(int32_t *)field = INT32_MAX;
        const bool any = !(row->minimum < row->maximum) && !row->choice && row->kind != OPTION_NAME;
        assert_int_equal(render_options_check(&options), any ? KD_OK : KD_ERROR_USAGE);
        if (!any && !strstr(kd_last_error(), row->field))
            fail_msg("--%s: %s", row->name, kd_last_error());
    }
}

/* Names written with - and with _ are equivalent. */
static void test_name_spellings_are_equivalent(void **state) {
    (void)state;
    kd_render_options options;
    char text[64];
    kd_render_options_default(&options);
    assert_int_equal(kd_render_options_set(&options, "max-depth", "7"), KD_OK);
    assert_int_equal(kd_render_options_get(&options, "max_depth", text, sizeof text), KD_OK);
    assert_string_equal(text, "7");
    assert_int_equal(kd_render_options_set(&options, "resolution", "640x480"), KD_OK);
    assert_true(options.width == 640 && options.height == 480);
    assert_int_equal(kd_render_options_set(&options, "sah_costs", "2,0.125"), KD_OK);
    assert_true(options.sah_traversal_cost == 2 && options.sah_intersect_cost == 0.125f);
    assert_int_equal(kd_render_options_set(&options, "max_dept", "7"), KD_ERROR_USAGE);
    assert_non_null(strstr(kd_last_error(), "did you mean \"max-depth\""));
    for (int32_t i = 0; i < kd_render_option_count(); ++i) {
        kd_render_option row;
        assert_int_equal(kd_render_option_get_info(&row, i), KD_OK);
        assert_null(strchr(row.name, '-'));
        assert_non_null(render_option_find(row.name));
        assert_true(row.help[0] && row.expected[0] && row.count >= 1);
    }
    kd_render_option none;
    assert_int_equal(kd_render_option_get_info(&none, -1), KD_ERROR_USAGE);
    assert_int_equal(kd_render_option_get_info(&none, kd_render_option_count()), KD_ERROR_USAGE);
    kd_render_options_default_sized(&options, offsetof(kd_render_options, maps_ahead));
    assert_int_equal(kd_render_options_set(&options, "maps-ahead", "off"), KD_ERROR_USAGE);
}

/* The state's hash depends on those options that must not change when resuming, and on no other. */
static void test_hash_covers_resume_options(void **state) {
    (void)state;
    kd_render_options options;
    kd_render_options_default(&options);
    const uint64_t usual = render_options_hash(0, &options);
    for (const option_row *row = NULL; (row = render_option_next(row));) {
        kd_render_options changed = options;
        char *field = (char *)&changed + row->offset;
        if (row->alias || row->kind == OPTION_TEXT) continue;
        field[0] =
            (char)(field[0] ^ 1); /* changes a number's lowest byte, or a name's first letter */
        if (row->kind == OPTION_FLOAT) *(float *)field += 0.125f;
        const bool covered = row->resume == OPTION_RESUME_SAME;
        if ((render_options_hash(0, &changed) != usual) != covered)
            fail_msg("--%s: the hash is %s", row->name, covered ? "the same" : "another");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_field_has_a_row),
        cmocka_unit_test(test_every_row_is_complete),
        cmocka_unit_test(test_defaults_match_table),
        cmocka_unit_test(test_values_out_of_range_are_rejected),
        cmocka_unit_test(test_name_spellings_are_equivalent),
        cmocka_unit_test(test_hash_covers_resume_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
