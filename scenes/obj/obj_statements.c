/* The lines of an OBJ file that are neither vertices nor faces: materials, and what is skipped. */
#include "core/memory.h"
#include "scenes/obj/obj_chunk.h"

/* Names, grouping, points, lines, display hints, tags of other programs: nothing to render. */
static const char *const silent[] = {"o",        "g",      "l",          "p",         "mg",
                                     "vw",       "vp",     "t",          "bevel",     "c_interp",
                                     "d_interp", "lod",    "shadow_obj", "trace_obj", "usemap",
                                     "maplib",   "cstech", "ctech",      "stech"};
/* Free-form curves and surfaces, and files that include others: left out, which is worth saying. */
static const char *const unsupported[] = {"cstype", "deg",  "bmat", "step", "curv", "curv2", "surf",
                                          "parm",   "trim", "hole", "scrv", "sp",   "end",   "con",
                                          "call",   "csh",  "bsp",  "bzp",  "cdc",  "cdp",   "res"};

static bool is_one_of(text_span word, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; ++i)
        if (text_is(word, words[i])) return true;
    return false;
}

static void event_note(obj_chunk *chunk, const obj_event *event) {
    if (chunk->event_count == chunk->event_room) {
        const uint64_t room = chunk->event_room ? 2 * chunk->event_room : 16;
        if (KD_GROW(chunk->events, chunk->event_count, room) != KD_OK) {
            chunk->out_of_memory = true;
            return;
        }
        chunk->event_room = room;
    }
    chunk->events[chunk->event_count++] = *event;
}

/* The name is what stands on this very line: it may be empty, or a lone backslash before the line's
   end (Blender 2.61), which joins nothing to it. */
static void material_read(obj_chunk *chunk, text_cursor *cursor, uint64_t triangle) {
    while (text_is_blank(*cursor->at)) ++cursor->at;
    const uint64_t line = cursor->line;
    obj_event event = {{cursor->at, 0}, chunk->before.lines + line, triangle, false, false, 0};
    if (!(*cursor->at == '\\' && text_is_line_end(cursor->at[1]))) event.name = text_rest(cursor);
    event_note(chunk, &event);
    text_skip_line(cursor);
}

/* Names of files up to the line's end; joined lines add more. */
static void library_read(obj_chunk *chunk, text_cursor *cursor, uint64_t triangle) {
    const uint64_t line = cursor->line;
    bool any = false;
    for (;;) {
        const obj_event event = {
            text_rest(cursor), chunk->before.lines + cursor->line, triangle, true, false, 0};
        if (event.name.count == 0) break;
        event_note(chunk, &event);
        any = true;
    }
    if (!any)
        problem_add(&chunk->problems, false, "missing-mtl", line,
                    "found mtllib without a name, expected a file");
    text_skip_line(cursor);
}

/* s 1, s off: the smoothing group of what follows. */
static void group_read(obj_chunk *chunk, text_cursor *cursor, uint64_t triangle) {
    obj_event event = {
        {cursor->at, 0}, chunk->before.lines + cursor->line, triangle, false, true, 0};
    text_skip_blanks(cursor);
    const text_span word = text_at_end(cursor) ? event.name : text_word(cursor);
    for (uint64_t i = 0; i < word.count && word.begin[i] >= '0' && word.begin[i] <= '9'; ++i)
        event.group = 10 * event.group + (uint32_t)(word.begin[i] - '0');
    if (text_is_like(word, "on")) event.group = 1;
    event_note(chunk, &event);
    text_skip_line(cursor);
}

void obj_chunk_other(obj_chunk *chunk, text_cursor *cursor, uint64_t triangle) {
    const uint64_t line = cursor->line;
    const text_span word = text_word(cursor);
    if (text_is(word, "usemtl")) {
        ++chunk->known;
        material_read(chunk, cursor, triangle);
        return;
    }
    if (text_is(word, "s")) {
        ++chunk->known;
        group_read(chunk, cursor, triangle);
        return;
    }
    if (text_is(word, "mtllib")) {
        ++chunk->known;
        library_read(chunk, cursor, triangle);
        return;
    }
    if (is_one_of(word, silent, sizeof silent / sizeof *silent)) {
        ++chunk->known;
    } else if (is_one_of(word, unsupported, sizeof unsupported / sizeof *unsupported)) {
        ++chunk->known;
        problem_add(&chunk->problems, false, "unsupported", line,
                    "found \"%.*s\", which Kandela does not draw; it is left out", text_shown(word),
                    word.begin);
    } else {
        ++chunk->unknown;
        problem_add(&chunk->problems, false, "unknown-keyword", line,
                    "found \"%.*s\", expected a keyword of OBJ; the line is skipped",
                    text_shown(word), word.begin);
    }
    text_skip_line(cursor);
}

void obj_chunk_close(obj_chunk *chunk) {
    problem_list_close(&chunk->problems);
    memory_free(chunk->events);
    memory_free(chunk->polygons);
    memset(chunk, 0, sizeof *chunk);
}
