/* Texture statements: options, and a file name that may hold blanks. Options are allowed behind the
   name too, since some programs write them there. */
#include "scenes/obj/mtl.h"
#include "scenes/text/number.h"

typedef enum option_form { FORM_WORD, FORM_NUMBERS, FORM_SWITCH } option_form;

typedef struct option_kind {
    const char *name;
    option_form form;
    int least, most; /* numbers */
} option_kind;

static const option_kind option_kinds[] = {
    {"-s", FORM_NUMBERS, 1, 3},      {"-o", FORM_NUMBERS, 1, 3},
    {"-t", FORM_NUMBERS, 1, 3},      {"-mm", FORM_NUMBERS, 2, 2},
    {"-bm", FORM_NUMBERS, 1, 1},     {"-boost", FORM_NUMBERS, 1, 1},
    {"-texres", FORM_NUMBERS, 1, 2}, {"-clamp", FORM_SWITCH, 0, 0},
    {"-blendu", FORM_SWITCH, 0, 0},  {"-blendv", FORM_SWITCH, 0, 0},
    {"-cc", FORM_SWITCH, 0, 0},      {"-imfchan", FORM_WORD, 0, 0},
    {"-type", FORM_WORD, 0, 0},      {"-colorspace", FORM_WORD, 0, 0}};

static void option_apply(const option_kind *kind, const float values[3], int count, bool on,
                         mtl_texture *texture) {
    if (strcmp(kind->name, "-s") == 0) {
        texture->scale[0] = values[0];
        texture->scale[1] = count > 1 ? values[1] : 1;
    } else if (strcmp(kind->name, "-o") == 0) {
        texture->offset[0] = values[0];
        texture->offset[1] = count > 1 ? values[1] : 0;
    } else if (strcmp(kind->name, "-bm") == 0) {
        texture->bump = values[0];
    } else if (strcmp(kind->name, "-clamp") == 0) {
        texture->clamp = on;
    }
}

static int option_numbers(text_cursor *cursor, float values[3], int most) {
    int count = 0;
    while (count < most) {
        text_cursor ahead = *cursor;
        text_skip_blanks(&ahead);
        const char *next = number_float(ahead.at, &values[count]);
        if (!next || !text_ends_word(next) || !isfinite(values[count])) break;
        ahead.at = next;
        *cursor = ahead;
        ++count;
    }
    return count;
}

/* One option with what belongs to it; the cursor stays if there is none. */
static bool option_read(text_cursor *cursor, mtl_texture *texture) {
    text_cursor ahead = *cursor;
    const text_span word = text_word(&ahead);
    for (size_t i = 0; i < sizeof option_kinds / sizeof *option_kinds; ++i) {
        const option_kind *kind = &option_kinds[i];
        if (!text_is(word, kind->name)) continue;
        float values[3] = {0};
        int count = 0;
        bool on = false;
        if (kind->form == FORM_NUMBERS) {
            count = option_numbers(&ahead, values, kind->most);
            if (count < kind->least) return false;
        } else {
            text_skip_blanks(&ahead);
            const text_span value = text_word(&ahead);
            on = text_is_like(value, "on");
            if (value.count == 0) return false;
            if (kind->form == FORM_SWITCH && !on && !text_is_like(value, "off")) return false;
        }
        option_apply(kind, values, count, on, texture);
        *cursor = ahead;
        return true;
    }
    return false;
}

/* Nothing but options from here to the line's end? */
static bool options_to_end(text_cursor *cursor, mtl_texture *texture) {
    text_cursor ahead = *cursor;
    mtl_texture with = *texture;
    do {
        if (!option_read(&ahead, &with)) return false;
        text_skip_blanks(&ahead);
    } while (!text_is_line_end(*ahead.at));
    *cursor = ahead;
    *texture = with;
    return true;
}

bool mtl_map_read(text_cursor *cursor, mtl_map_text *read) {
    memset(read, 0, sizeof *read);
    mtl_texture *texture = &read->texture;
    texture->scale[0] = texture->scale[1] = texture->bump = 1;
    text_skip_blanks(cursor);
    while (option_read(cursor, texture)) text_skip_blanks(cursor);
    read->name.begin = cursor->at;
    while (!text_is_line_end(*cursor->at)) {
        const char *word_end = cursor->at;
        while (!text_ends_word(word_end)) ++word_end;
        cursor->at = word_end;
        read->name.count = (uint64_t)(word_end - read->name.begin);
        text_skip_blanks(cursor);
        if (*cursor->at == '-' && options_to_end(cursor, texture)) break;
    }
    return read->name.count > 0;
}
