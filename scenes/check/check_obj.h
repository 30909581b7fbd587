/* The text of an OBJ file by lines, for who wants to know more than the mesh that it yields: the
   same statements, in the same order and with the same line numbers as the reader's. */
#ifndef KD_SCENES_CHECK_OBJ_H
#define KD_SCENES_CHECK_OBJ_H
#include "scenes/formats/obj_chunk.h"

typedef struct obj_line {
    obj_statement kind;
    const char *begin, *end; /* with its line end, and with lines joined to it */
    const char *rest;        /* behind the keyword; of STATEMENT_OTHER: the keyword */
    uint32_t line;           /* 1-based */
} obj_line;

/* Corners of a face, or vertices of a line or a point: counted from 0; KD_NONE: none. */
typedef struct obj_ring {
    uint32_t *position, *texcoord, *normal; /* `room` of each; owned */
    uint64_t count, room;
    bool sound; /* all could be read; they may be out of range */
} obj_ring;

/* How many there were before a line. */
typedef struct obj_seen {
    uint64_t positions, texcoords, normals;
} obj_seen;

/* The whole file with two line ends behind it, to memory_free; *begin is behind its mark. */
kd_status obj_text_read(char **text, const char **begin, const char **end, const char *path);
/* False at the end. The cursor begins at line 0. */
bool obj_line_next(text_cursor *cursor, const char *end, obj_line *out);
/* Counts the line's vertex. */
void obj_seen_add(obj_seen *seen, const obj_line *line);
/* Whether the line is `l` or `p`; *rest is behind the keyword then. */
bool obj_line_is_element(const obj_line *line, const char **rest);
/* v, v/vt, v//vn, v/vt/vn up to the line's end. KD_ERROR_MEMORY. */
kd_status obj_ring_read(obj_ring *ring, const char *rest, const obj_seen *seen);
void obj_ring_close(obj_ring *owned);

#endif
