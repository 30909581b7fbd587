#include "render/options/render_options.h"
#include "core/hash.h"
#include "core/names.h"
#include "core/version.h"
#include <assert.h>
#include <string.h>

static const char filler[] = "kd_render_options_default";

static const void *field_of(const kd_render_options *options, const option_row *row) {
    return (const char *)options + row->offset;
}

/* --- the table -------------------------------------------------------------------------------- */

const option_row *render_option_next(const option_row *row) {
    if (!row) return render_option_groups[0].rows;
    if ((++row)->name) return row;
    for (const option_group *group = render_option_groups; group[1].heading; ++group) {
        const option_row *end = group->rows;
        while (end->name) ++end;
        if (end == row) return group[1].rows;
    }
    return NULL;
}

const option_row *render_option_find(const char *name) {
    const option_row *row = NULL;
    while ((row = render_option_next(row)) && !option_is_called(row, name)) {
    }
    return row;
}

/* --- all options ------------------------------------------------------------------------------ */

void kd_render_options_default_sized(kd_render_options *options, size_t struct_size) {
    kd_render_options defaults;
    memset(&defaults, 0, sizeof defaults);
    for (const option_row *row = NULL; (row = render_option_next(row));) {
        const kd_status set = row->initial ? option_set(row, row->initial, OPTION_BY_NAME,
                                                        (char *)&defaults + row->offset)
                                           : KD_OK;
        assert(set == KD_OK); /* test_render_options sets each */
        (void)set;
    }
    sized_give(options, struct_size, &defaults, sizeof defaults);
}

void render_options_take_input(kd_render_options *to, const kd_render_options *from) {
    for (const option_row *row = render_input_rows; row->name; ++row)
        memcpy((char *)to + row->offset, (const char *)from + row->offset, row->bytes);
}

kd_status render_options_check(const kd_render_options *options) {
    for (const option_row *row = NULL; (row = render_option_next(row));)
        if (!row->alias) KD_TRY(option_check(row, field_of(options, row)));
    return KD_OK;
}

uint64_t render_options_hash(uint64_t hash, const kd_render_options *options) {
    for (const option_row *row = NULL; (row = render_option_next(row));) {
        if (row->resume != OPTION_RESUME_SAME || row->alias) continue;
        char text[OPTION_TEXT_BYTES];
        option_print(text, sizeof text, row, field_of(options, row));
        hash = hash_combine(hash, row->name, strlen(row->name) + 1);
        hash = hash_combine(hash, text, strlen(text) + 1);
    }
    return hash;
}

/* --- by name, for callers in other languages -------------------------------------------------- */

int32_t kd_render_option_count(void) {
    int32_t count = 0;
    for (const option_row *row = NULL; (row = render_option_next(row));) ++count;
    return count;
}

kd_status kd_render_option_get_info(kd_render_option *out, int32_t index) {
    static const kd_render_option_kind kinds[] = {
        [OPTION_FLAG] = KD_RENDER_OPTION_NAME,     [OPTION_BYTES] = KD_RENDER_OPTION_INTEGER,
        [OPTION_TEXT] = KD_RENDER_OPTION_FILE,     [OPTION_NAME] = KD_RENDER_OPTION_NAME,
        [OPTION_CHOICE] = KD_RENDER_OPTION_NAME,   [OPTION_UINT64] = KD_RENDER_OPTION_INTEGER,
        [OPTION_INT32] = KD_RENDER_OPTION_INTEGER, [OPTION_FLOAT] = KD_RENDER_OPTION_NUMBER,
        [OPTION_DOUBLE] = KD_RENDER_OPTION_NUMBER};
    KD_REQUIRE(out, KD_ERROR_USAGE, "`out` must not be NULL");
    memset(out, 0, sizeof *out);
    const option_row *row = render_option_next(NULL);
    for (int32_t i = 0; i < index && row; ++i) row = render_option_next(row);
    KD_REQUIRE(row && index >= 0, KD_ERROR_USAGE, "`index` is %d; there are %d options", index,
               kd_render_option_count());
    option_key(out->name, sizeof out->name, row);
    option_expect(out->expected, sizeof out->expected, row);
    out->kind = kinds[row->kind];
    out->count = row->count > 1 ? row->count : 1;
    out->alias = row->alias;
    out->unit = row->unit ? row->unit : "";
    out->initial = row->initial ? row->initial : "";
    out->help = row->help;
    return KD_OK;
}

static kd_status find(const option_row **out, const char *name) {
    const char *best = NULL;
    *out = render_option_find(name);
    for (const option_row *row = NULL; !*out && (row = render_option_next(row));)
        nearest_consider(&best, name, row->name);
    KD_REQUIRE(*out, KD_ERROR_USAGE, "no option is called \"%.60s\"%s%s%s", name,
               best ? ", did you mean \"" : "", best ? best : "", best ? "\"?" : "");
    return KD_OK;
}

kd_status kd_render_options_set(kd_render_options *options, const char *name, const char *text) {
    const option_row *row = NULL;
    kd_render_options taken;
    KD_REQUIRE(options && name && text, KD_ERROR_USAGE,
               "`options`, `name` and `text` must not be NULL");
    kd_render_options_default(&taken);
    KD_TRY(sized_take(&taken, sizeof taken, options, filler));
    KD_TRY(find(&row, name));
    KD_REQUIRE(row->offset + row->bytes <= options->struct_size, KD_ERROR_USAGE,
               "the option %s is newer than the program's struct", row->name);
    KD_TRY(option_set(row, text, OPTION_BY_NAME, (char *)&taken + row->offset));
    sized_give(options, options->struct_size, &taken, sizeof taken);
    return KD_OK;
}

kd_status kd_render_options_get(const kd_render_options *options, const char *name, char *text,
                                size_t bytes) {
    const option_row *row = NULL;
    kd_render_options taken;
    KD_REQUIRE(options && name && text && bytes > 0, KD_ERROR_USAGE,
               "`options`, `name` and `text` must not be NULL, `bytes` not 0");
    text[0] = '\0';
    kd_render_options_default(&taken);
    KD_TRY(sized_take(&taken, sizeof taken, options, filler));
    KD_TRY(find(&row, name));
    option_print(text, bytes, row, field_of(&taken, row));
    return KD_OK;
}
