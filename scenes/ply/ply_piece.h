/* The inside of the PLY reader: rows of one element in pieces, each of which one thread reads at a
   time. Cutting checks that every row of a binary file lies within it, and counts triangles, so
   that reading writes everything to its final place. */
#ifndef KD_SCENES_PLY_PLY_PIECE_H
#define KD_SCENES_PLY_PLY_PIECE_H
#include "scenes/mesh/mesh.h"
#include "scenes/ply/ply_header.h"
#include "scenes/text/text_chunks.h"

typedef struct ply_piece {
    const ply_element *element;
    const char *begin, *end; /* binary: of its rows; a text: of whole lines that hold them */
    uint64_t first_row, rows;
    uint64_t line;                      /* of `begin`, 0-based in the file; a text only */
    uint64_t triangles, first_triangle; /* its room in the mesh */
    uint64_t unusable;                  /* of them: those left without corners */
    problem_list problems;              /* lines from the file's beginning */
    bool bad_position, bad_normal, bad_texcoord;
    kd_status status; /* of its thread: KD_ERROR_MEMORY */
} ply_piece;

typedef struct ply_file {
    const char *path;
    file_view view;
    ply_header header;
    text_chunks chunks; /* of a text's rows */
    ply_piece *pieces;
    uint64_t piece_count, piece_room;
    problem_list problems; /* of the file as a whole; lines from its beginning */
    uint64_t piece_bytes;  /* about so many bytes are a piece; 0: chosen here. Changes no result. */
} ply_file;

/* One row, as far as it matters. */
typedef struct ply_row {
    float numbers[PLY_SCALARS]; /* 0 where there is none */
    int64_t *corners;           /* of the list; owned */
    uint64_t corner_count, corner_room;
} ply_row;

/* ply_cut.c: the pieces, in the file's order, with their triangles counted (a text's: not yet). A
   file that ends too early is a fatal problem; the pieces hold what is there. KD_ERROR_MEMORY. */
kd_status ply_cut(ply_file *from);

/* ply_rows.c: reads the row at *at and moves there behind it (a text: behind its line). False: a
   fault of a text, which has been told; or no memory, which the piece's status says. */
bool ply_row_read(const ply_file *from, ply_piece *piece, const char **at, uint64_t *line,
                  ply_row *row);
/* Triangles of a text's piece of faces or strips; at least as many as its rows can make. */
uint64_t ply_text_triangles(const ply_file *from, const ply_piece *piece);
/* The same of one row of a binary file; *at moves behind it. False if the file ends before. */
bool ply_row_measure(const ply_file *from, const ply_element *element, const char **at,
                     uint64_t *triangles);

/* A problem of a row: at its line, or at its byte. */
void ply_problem(const ply_file *from, problem_list *to, bool fatal, const char *kind,
                 const char *at, uint64_t line, const char *format, ...)
    __attribute__((format(printf, 7, 8)));

static inline bool ply_is_text(const ply_file *from) {
    return from->header.form == PLY_ASCII;
}

/* Triangles of a strip's corners: -1 begins a new one; corners that are the same make none. */
typedef struct ply_strip {
    int64_t before[2];
    uint64_t length; /* corners since it began */
} ply_strip;

/* Takes the next corner; true if it closes a triangle, whose corners are then in `triangle` with
   the winding of the strip's first. */
static inline bool ply_strip_next(ply_strip *strip, int64_t corner, int64_t triangle[3]) {
    if (corner < 0) {
        strip->length = 0;
        return false;
    }
    const int64_t a = strip->before[0], b = strip->before[1];
    const uint64_t length = ++strip->length;
    strip->before[0] = b;
    strip->before[1] = corner;
    if (length < 3 || a == b || b == corner || a == corner) return false;
    const bool turned = length % 2 == 0;
    triangle[0] = turned ? b : a;
    triangle[1] = turned ? a : b;
    triangle[2] = corner;
    return true;
}

#endif
