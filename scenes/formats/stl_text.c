/* The text format of STL: solids with facets of one loop each, one keyword per line, in any
   case. */
#include "core/memory.h"
#include "scenes/formats/stl_piece.h"
#include "scenes/mesh/mesh_cleanup.h"
#include "scenes/text/number.h"

enum { CORNERS_SMALL = 8 };

typedef enum stl_keyword {
    WORD_SOLID,
    WORD_FACET,
    WORD_OUTER,
    WORD_VERTEX,
    WORD_ENDLOOP,
    WORD_ENDFACET,
    WORD_ENDSOLID,
    WORDS,
    WORD_NONE,
    WORD_OTHER
} stl_keyword;

static const char *const keywords[WORDS] = {"solid",   "facet",    "outer",   "vertex",
                                            "endloop", "endfacet", "endsolid"};

typedef struct stl_parser {
    stl_piece *piece;
    const char *at;
    uint64_t line;       /* 0-based in the piece */
    uint64_t facet_line; /* line where the facet began */
    vec3 normal;
    vec3 *corners; /* corners of the facet */
    uint32_t *cut;
    uint64_t count, capacity;
    bool in_facet;
    bool lost; /* after an error: report nothing until the next facet */
} stl_parser;

static text_span word_at(const char *at) {
    text_span word = {at, 0};
    while (!text_is_blank(at[word.count]) && !text_is_line_end(at[word.count])) ++word.count;
    return word;
}

static stl_keyword keyword_of(text_span word) {
    if (word.count == 0) return WORD_NONE;
    for (int i = 0; i < WORDS; ++i)
        if (text_is_like(word, keywords[i])) return (stl_keyword)i;
    return WORD_OTHER;
}

bool stl_text_begins(const char *line) {
    return keyword_of(word_at(text_blanks_over(line))) == WORD_FACET;
}

static void fail(stl_parser *from, const char *at, const char *expected) {
    const text_span word = word_at(at);
    if (!from->lost) {
        if (word.count)
            problem_add(&from->piece->problems, true, "malformed", from->line,
                        "found \"%.*s\", expected %s", text_shown(word), word.begin, expected);
        else
            problem_add(&from->piece->problems, true, "malformed", from->line,
                        "found the end of the line, expected %s", expected);
    }
    from->lost = true;
    from->in_facet = false;
}

static bool vector_read(stl_parser *from, const char *at, vec3 *read) {
    float values[3];
    for (int k = 0; k < 3; ++k) {
        at = text_blanks_over(at);
        const char *next = number_float(at, &values[k]);
        if (!next || !(text_is_blank(*next) || text_is_line_end(*next))) {
            fail(from, at, "a number");
            return false;
        }
        at = next;
    }
    at = text_blanks_over(at);
    if (!text_is_line_end(*at)) fail(from, at, "the end of the line");
    *read = vec3_make(values[0], values[1], values[2]);
    return text_is_line_end(*at);
}

/* --- what a facet becomes -------------------------------------------------------------------- */

static bool triangle_add(stl_parser *from, vec3 a, vec3 b, vec3 c) {
    stl_piece *piece = from->piece;
    if (piece->triangles == piece->capacity) {
        const uint64_t capacity = piece->capacity ? 2 * piece->capacity : 1024;
        piece->status = KD_GROW(piece->corners, 3 * piece->triangles, 3 * capacity);
        if (piece->status == KD_OK)
            piece->status = KD_GROW(piece->lines, piece->triangles, capacity);
        if (piece->status != KD_OK) return false;
        piece->capacity = capacity;
    }
    vec3 *corners = &piece->corners[3 * piece->triangles];
    corners[0] = a;
    corners[1] = b;
    corners[2] = c;
    piece->lines[piece->triangles++] = (uint32_t)(from->facet_line + 1);
    return true;
}

static void polygon_add(stl_parser *from) {
    stl_piece *piece = from->piece;
    piece->status = KD_GROW(from->cut, 0, 3 * from->capacity);
    if (piece->status == KD_OK)
        piece->status = polygon_triangulate(from->corners, (uint32_t)from->count, from->cut);
    for (uint64_t i = 0; i + 2 < from->count && piece->status == KD_OK; ++i) {
        const uint32_t *cut = &from->cut[3 * i];
        triangle_add(from, from->corners[cut[0]], from->corners[cut[1]], from->corners[cut[2]]);
    }
}

static void facet_add(stl_parser *from) {
    stl_piece *piece = from->piece;
    ++piece->facets;
    from->in_facet = false;
    if (from->count < 3) {
        problem_add(&piece->problems, false, "short-face", from->facet_line,
                    "found a facet of %llu corner%s, expected three; it is skipped",
                    (unsigned long long)from->count, from->count == 1 ? "" : "s");
        return;
    }
    for (uint64_t i = 0; i < from->count; ++i)
        if (!vec3_is_finite(from->corners[i])) {
            problem_add(&piece->problems, false, "nan", from->facet_line,
                        "found the corner %g %g %g, expected finite numbers; the facet is skipped",
                        (double)from->corners[i].x, (double)from->corners[i].y,
                        (double)from->corners[i].z);
            return;
        }
    piece->turned += stl_is_turned(from->normal, from->corners);
    if (from->count == 3)
        triangle_add(from, from->corners[0], from->corners[1], from->corners[2]);
    else
        polygon_add(from);
}

/* --- lines ----------------------------------------------------------------------------------- */

static void facet_begin(stl_parser *from, const char *at, const char *rest) {
    if (from->in_facet) fail(from, at, "endfacet");
    const text_span word = word_at(rest = text_blanks_over(rest));
    from->lost = false;
    from->in_facet = true;
    from->facet_line = from->line;
    from->count = 0;
    if (text_is_like(word, "normal"))
        (void)vector_read(from, rest + word.count, &from->normal);
    else
        fail(from, rest, "a normal (facet normal x y z)");
}

static void vertex_read(stl_parser *from, const char *at, const char *rest) {
    vec3 corner;
    if (!from->in_facet) {
        fail(from, at, "\"facet\" before \"vertex\"");
        return;
    }
    if (!vector_read(from, rest, &corner)) return;
    if (from->count == from->capacity) {
        const uint64_t capacity = from->capacity ? 2 * from->capacity : CORNERS_SMALL;
        from->piece->status = KD_GROW(from->corners, from->count, capacity);
        if (from->piece->status != KD_OK) return;
        from->capacity = capacity;
    }
    from->corners[from->count++] = corner;
}

static void line_read(stl_parser *from) {
    const char *at = text_blanks_over(from->at);
    const text_span word = word_at(at);
    const char *rest = at + word.count;
    const stl_keyword keyword = keyword_of(word);
    stl_piece *piece = from->piece;
    if (keyword < WORDS) ++piece->known;
    if (keyword < WORDS) piece->end = keyword == WORD_ENDSOLID ? STL_END_OUTSIDE : STL_END_INSIDE;
    switch (keyword) {
    case WORD_FACET: facet_begin(from, at, rest); break;
    case WORD_VERTEX: vertex_read(from, at, rest); break;
    case WORD_OUTER:
    case WORD_ENDLOOP:
        if (!from->in_facet) fail(from, at, "\"facet\" before the loop");
        break;
    case WORD_ENDFACET:
        if (from->in_facet)
            facet_add(from);
        else
            fail(from, at, "\"facet\" before \"endfacet\"");
        break;
    case WORD_SOLID:
    case WORD_ENDSOLID:
        if (from->in_facet) fail(from, at, "endfacet");
        from->lost = false;
        break;
    case WORD_OTHER:
        ++piece->unknown;
        problem_add(&piece->problems, false, "unknown-keyword", from->line,
                    "found \"%.*s\", expected a keyword of STL; the line is skipped",
                    text_shown(word), word.begin);
        break;
    default: break;
    }
}

void stl_text_read(stl_piece *piece, bool is_last) {
    stl_parser from;
    memset(&from, 0, sizeof from);
    from.piece = piece;
    from.at = piece->bytes.begin;
    const char *end = from.at + piece->bytes.count;
    while (from.at < end && piece->status == KD_OK) {
        line_read(&from);
        from.at = text_line_next(from.at);
        ++from.line;
    }
    piece->line_count = from.line;
    if (from.in_facet && is_last)
        problem_add(&piece->problems, true, "truncated", from.line ? from.line - 1 : 0,
                    "found the end of the file within a facet, expected endfacet");
    else if (from.in_facet)
        problem_add(&piece->problems, true, "malformed", from.line,
                    "found \"facet\", expected endfacet");
    memory_free(from.corners);
    memory_free(from.cut);
}
