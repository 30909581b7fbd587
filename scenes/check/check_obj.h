/* Reads the text of an OBJ file line by line, for checks that need more than the mesh. Statements,
   their order and their line numbers are the same as in the OBJ reader. */
#ifndef KD_SCENES_CHECK_OBJ_H
#define KD_SCENES_CHECK_OBJ_H
#include "scenes/formats/obj_chunk.h"

typedef struct obj_line {
    obj_statement kind;
    const char *begin, *end; /* the line with its line end and continuation lines */
    const char *rest;        /* text after the keyword; STATEMENT_OTHER: text from the keyword on */
    uint32_t line;           /* 1-based */
} obj_line;

/* Corners of a face, or vertices of a line or point element: 0-based; KD_NONE if absent. */
typedef struct obj_ring {
    uint32_t *position, *texcoord, *normal; /* `capacity` elements each; owned */
    uint64_t count, capacity;
    bool sound; /* all corners could be parsed; they may be out of range */
} obj_ring;

/* Numbers of elements before a line. */
typedef struct obj_seen {
    uint64_t positions, texcoords, normals;
} obj_seen;

/* Reads the whole file and terminates it by two line ends; freed by memory_free. *begin is after
   the byte order mark. */
kd_status obj_text_read(char **text, const char **begin, const char **end, const char *path);
/* Reads the next line. Returns false at the end. The cursor must start at line 0. */
bool obj_line_next(text_cursor *cursor, const char *end, obj_line *out);
/* Counts the vertex, texture coordinate or normal of the line. */
void obj_seen_add(obj_seen *seen, const obj_line *line);
/* Returns true for an `l` or `p` statement; *rest is then after the keyword. */
bool obj_line_is_element(const obj_line *line, const char **rest);
/* Parses v, v/vt, v//vn or v/vt/vn up to the end of the line. May return KD_ERROR_MEMORY. */
kd_status obj_ring_read(obj_ring *ring, const char *rest, const obj_seen *seen);
void obj_ring_close(obj_ring *owned);

#endif
