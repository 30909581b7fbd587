/* scenes/formats/obj.c against the test files of other readers, if they are installed
   (KANDELA_MODELS/objtests, with expected.csv): files load or fail as expected, and the counts of
   vertices, faces and triangles are those of the text, unless the text contradicts itself. */
#include "scenes/formats/mesh_formats.h"
#include "tests/test.h"

enum { COLUMNS = 64, LINE = 16384 };

static char header[LINE], line[LINE];
static char *names[COLUMNS], *fields[COLUMNS];
static int name_count, field_count;

/* Splits one line of CSV in place; "" inside quotes means a quote. */
static int csv_split(char *text, char **into) {
    int count = 0;
    char *from = text, *to = text;
    bool quoted = false;
    into[count++] = to;
    for (; *from && *from != '\n' && *from != '\r'; ++from) {
        if (*from == '"' && quoted && from[1] == '"')
            *to++ = *from++;
        else if (*from == '"')
            quoted = !quoted;
        else if (*from == ',' && !quoted && count < COLUMNS) {
            *to++ = '\0';
            into[count++] = to;
        } else
            *to++ = *from;
    }
    *to = '\0';
    return count;
}

static const char *field(const char *name) {
    for (int i = 0; i < name_count && i < field_count; ++i)
        if (strcmp(names[i], name) == 0) return fields[i];
    return "";
}

/* Compares a count with the expected text; an empty text is ignored. */
static bool count_agrees(const char *file, const char *name, uint32_t actual) {
    const char *expected = field(name);
    if (!*expected || (uint32_t)atoi(expected) == actual) return true;
    print_error("%s: %u, expected %s %s\n", file, actual, name, expected);
    return false;
}

/* Returns true for files with vertices that are not finite: this reader omits their faces, unlike
   some others. */
static bool has_broken_numbers(const char *file) {
    return strstr(file, "nan") != NULL;
}

static bool row_holds(const char *folder) {
    char path[8192];
    mesh read;
    snprintf(path, sizeof path, "%s/%s", folder, field("file"));
    const kd_status status = obj_load(&read, path, NULL, NULL);
    const char *expectation = field("peer_test_load");
    bool holds = true;
    if (status != KD_OK && strcmp(expectation, "must_load") == 0) {
        print_error("%s\n", kd_last_error());
        holds = false;
    }
    if (status == KD_OK && strcmp(expectation, "must_fail") == 0) {
        print_error("%s: loads, expected a failure\n", path);
        holds = false;
    }
    if (status == KD_OK) {
        holds = count_agrees(path, "text_v", read.position_count) && holds;
        holds = count_agrees(path, "text_f", read.face_count) && holds;
        if (!has_broken_numbers(path))
            holds = count_agrees(path, "text_fan_tris", read.triangle_count) && holds;
        mesh_close(&read);
    }
    return holds;
}

static void test_conformance_files(void **state) {
    (void)state;
    const char *list = test_model("objtests/expected.csv");
    if (!list) skip();
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", list);
    *strrchr(folder, '/') = '\0';
    FILE *file = fopen(list, "r");
    assert_non_null(file);
    assert_non_null(fgets(header, sizeof header, file));
    name_count = csv_split(header, names);
    int rows = 0, failed = 0;
    while (fgets(line, sizeof line, file)) {
        field_count = csv_split(line, fields);
        if (field_count < 2) continue;
        ++rows;
        failed += !row_holds(folder);
    }
    fclose(file);
    assert_true(rows > 0);
    assert_int_equal(failed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_conformance_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
