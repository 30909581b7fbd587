/* The text format of STL: solids with facets of one loop each, one keyword per line, in any
   case. */
#include "core/growth.h"
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
    bool lost; /* an error was reported: nothing more until the next facet */
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

static void fail(stl_parser *parser, const char *at, const char *expected) {
    const text_span word = word_at(at);
    if (!parser->lost) {
        if (word.count)
            problem_add(&parser->piece->problems, true, "malformed", parser->line,
                        "found \"%.*s\", expected %s", text_shown(word), word.begin, expected);
        else
            problem_add(&parser->piece->problems, true, "malformed", parser->line,
                        "found the end of the line, expected %s", expected);
    }
    parser->lost = true;
    parser->in_facet = false;
}

static bool vector_read(stl_parser *parser, const char *at, vec3 *read) {
    float values[3];
    for (int k = 0; k < 3; ++k) {
        at = text_blanks_over(at);
        const char *next = number_float(at, &values[k]);
        if (!next || !(text_is_blank(*next) || text_is_line_end(*next))) {
            fail(parser, at, "a number");
            return false;
        }
        at = next;
    }
    at = text_blanks_over(at);
    if (!text_is_line_end(*at)) fail(parser, at, "the end of the line");
    *read = vec3_make(values[0], values[1], values[2]);
    return text_is_line_end(*at);
}

/* --- triangles of a facet -------------------------------------------------------------------- */

static bool triangle_add(stl_parser *parser, vec3 a, vec3 b, vec3 c) {
    stl_piece *piece = parser->piece;
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
    piece->lines[piece->triangles++] = (uint32_t)(parser->facet_line + 1);
    return true;
}

static void polygon_add(stl_parser *parser) {
    stl_piece *piece = parser->piece;
    piece->status = KD_GROW(parser->cut, 0, 3 * parser->capacity);
    if (piece->status == KD_OK)
        piece->status = polygon_triangulate(parser->corners, (uint32_t)parser->count, parser->cut);
    for (uint64_t i = 0; i + 2 < parser->count && piece->status == KD_OK; ++i) {
        const uint32_t *cut = &parser->cut[3 * i];
        triangle_add(parser, parser->corners[cut[0]], parser->corners[cut[1]],
                     parser->corners[cut[2]]);
    }
}

static void facet_add(stl_parser *parser) {
    stl_piece *piece = parser->piece;
    ++piece->facets;
    parser->in_facet = false;
    if (parser->count < 3) {
        problem_add(&piece->problems, false, "short-face", parser->facet_line,
                    "found a facet of %llu corner%s, expected three; it is skipped",
                    (unsigned long long)parser->count, parser->count == 1 ? "" : "s");
        return;
    }
    for (uint64_t i = 0; i < parser->count; ++i)
        if (!vec3_is_finite(parser->corners[i])) {
            problem_add(&piece->problems, false, "nan", parser->facet_line,
                        "found the corner %g %g %g, expected finite numbers up to 3.4e38 (floats); "
                        "the facet is skipped",
                        (double)parser->corners[i].x, (double)parser->corners[i].y,
                        (double)parser->corners[i].z);
            return;
        }
    piece->reversed += stl_is_turned(parser->normal, parser->corners);
    if (parser->count == 3)
        triangle_add(parser, parser->corners[0], parser->corners[1], parser->corners[2]);
    else
        polygon_add(parser);
}

/* --- lines ----------------------------------------------------------------------------------- */

static void facet_begin(stl_parser *parser, const char *at, const char *rest) {
    if (parser->in_facet) fail(parser, at, "endfacet");
    const text_span word = word_at(rest = text_blanks_over(rest));
    parser->lost = false;
    parser->in_facet = true;
    parser->facet_line = parser->line;
    parser->count = 0;
    if (text_is_like(word, "normal"))
        (void)vector_read(parser, rest + word.count, &parser->normal);
    else
        fail(parser, rest, "a normal (facet normal x y z)");
}

static void vertex_read(stl_parser *parser, const char *at, const char *rest) {
    vec3 corner;
    if (!parser->in_facet) {
        fail(parser, at, "\"facet\" before \"vertex\"");
        return;
    }
    if (!vector_read(parser, rest, &corner)) return;
    parser->piece->status =
        KD_RESERVE_NEXT(parser->corners, parser->count, parser->capacity, CORNERS_SMALL);
    if (parser->piece->status != KD_OK) return;
    parser->corners[parser->count++] = corner;
}

static void line_read(stl_parser *parser) {
    const char *at = text_blanks_over(parser->at);
    const text_span word = word_at(at);
    const char *rest = at + word.count;
    const stl_keyword keyword = keyword_of(word);
    stl_piece *piece = parser->piece;
    if (keyword < WORDS) ++piece->known;
    if (keyword < WORDS) piece->end = keyword == WORD_ENDSOLID ? STL_END_OUTSIDE : STL_END_INSIDE;
    switch (keyword) {
    case WORD_FACET: facet_begin(parser, at, rest); break;
    case WORD_VERTEX: vertex_read(parser, at, rest); break;
    case WORD_OUTER:
    case WORD_ENDLOOP:
        if (!parser->in_facet) fail(parser, at, "\"facet\" before the loop");
        break;
    case WORD_ENDFACET:
        if (parser->in_facet)
            facet_add(parser);
        else
            fail(parser, at, "\"facet\" before \"endfacet\"");
        break;
    case WORD_SOLID:
    case WORD_ENDSOLID:
        if (parser->in_facet) fail(parser, at, "endfacet");
        parser->lost = false;
        break;
    case WORD_OTHER:
        ++piece->unknown;
        problem_add(&piece->problems, false, "unknown-keyword", parser->line,
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
