/* "render" of a description: its keys are the table of options (render/options). */
#include "core/memory.h"
#include "render/options/render_options.h"
#include "scenes/describe/describe_reader.h"
#include "scenes/describe/render_keys.h"
#include <stdio.h>

static json_kind kind_of(const option_row *row) {
    switch (row->kind) {
    case OPTION_FLAG: return JSON_BOOL;
    case OPTION_TEXT: return JSON_TEXT;
    case OPTION_LIST: return JSON_LIST;
    case OPTION_NAME: return JSON_NAME;
    case OPTION_CHOICE: return JSON_CHOICE;
    case OPTION_UINT64:
    case OPTION_BYTES: return JSON_COUNT;
    case OPTION_INT32: return JSON_INT;
    case OPTION_FLOAT: return JSON_FLOAT;
    case OPTION_DOUBLE: return JSON_DOUBLE;
    }
    return JSON_VALUE;
}

/* The default as JSON has it: "path", [512, 512], 64. */
static void write_initial(char *out, size_t bytes, const option_row *row) {
    const char separator = row->separator ? row->separator : ',';
    size_t used = 0;
    if (row->kind == OPTION_NAME || row->kind == OPTION_CHOICE) {
        snprintf(out, bytes, "\"%s\"", row->initial);
    } else if (row->count > 1) {
        out[used++] = '[';
        for (const char *c = row->initial; *c && used + 3 < bytes; ++c) {
            out[used++] = *c == separator ? ',' : *c;
            if (*c == separator) out[used++] = ' ';
        }
        out[used++] = ']';
        out[used] = '\0';
    } else {
        snprintf(out, bytes, "%s", row->initial);
    }
}

void render_keys_fill(render_keys *out) {
    memset(out, 0, sizeof *out);
    out->rows[0].name = "about";
    out->rows[0].kind = JSON_REMARK;
    out->rows[0].help = "a remark, ignored";
    int i = 1;
    for (const option_row *row = NULL; (row = render_option_next(row));) {
        if (row->no_key) continue;
        assert(i < RENDER_KEYS - 1);
        json_key *key = &out->rows[i];
        option_key(out->names[i], sizeof out->names[i], row);
        option_choices(out->choices[i], sizeof out->choices[i], row, "|");
        if (row->initial) write_initial(out->initial[i], sizeof out->initial[i], row);
        key->name = out->names[i];
        key->kind = kind_of(row);
        key->offset = row->offset;
        key->bytes = row->bytes;
        key->count = row->count;
        key->least = row->least;
        key->most = row->most;
        key->choices = row->choice ? out->choices[i] : NULL;
        if (row->by_build) key->expected = "a name that `kandela info` lists";
        key->unit = row->unit;
        key->initial = row->initial ? out->initial[i] : NULL;
        key->help = row->help;
        ++i;
    }
}

kd_status describe_render(describe_reader *in, const json_place *at, const cJSON *object,
                          kd_render_options *to) {
    render_keys *keys = NULL;
    kd_render_options words = *to;
    KD_TRY(KD_RESERVE(keys, 1));
    render_keys_fill(keys);
    const kd_status status = json_read(at, object, keys->rows, &words);
    memory_free(keys);
    KD_TRY(status);
    const int32_t *crop = words.crop;
    if (json_has(object, "crop") && (crop[0] >= crop[2] || crop[1] >= crop[3]))
        return json_fail(at, "crop is [%d, %d, %d, %d], expected x0 < x1 and y0 < y1", crop[0],
                         crop[1], crop[2], crop[3]);
    if (json_has(object, "photon_map")) {
        KD_TRY(describe_path(in, words.photon_map, &in->draft->photon_map));
        words.photon_map = in->draft->photon_map;
    }
    *to = words;
    return KD_OK;
}
