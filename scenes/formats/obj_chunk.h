/* The inside of the OBJ reader: a file in pieces, each of which one thread reads at a time.
   Pass 1 counts what each chunk holds, so that pass 2 writes every vertex and every triangle to its
   final place and knows each line's number; nothing is copied or grown. A polygon is first written
   as the fan of its n - 2 triangles, and put right when all positions are there. */
#ifndef KD_SCENES_FORMATS_OBJ_CHUNK_H
#define KD_SCENES_FORMATS_OBJ_CHUNK_H
#include "scenes/mesh/mesh.h"
#include "scenes/text/problems.h"
#include "scenes/text/text.h"

typedef struct obj_counts {
    uint64_t positions, texcoords, normals, faces, triangles, lines;
} obj_counts;

/* A usemtl, mtllib or s line. */
typedef struct obj_event {
    text_span name;    /* in the text */
    uint64_t line;     /* 0-based in the file */
    uint64_t triangle; /* the first one after it */
    bool is_library, is_group;
    uint32_t group; /* of smoothing; 0: flat */
} obj_event;

/* A face of more than three corners. */
typedef struct obj_polygon {
    uint32_t first_triangle, corner_count;
} obj_polygon;

typedef struct obj_chunk {
    text_span text;        /* whole logical lines */
    obj_counts counts;     /* what it holds: by pass 1 */
    obj_counts before;     /* what the chunks before it hold */
    problem_list problems; /* lines count from the chunk's beginning */
    obj_event *events;
    obj_polygon *polygons;
    uint64_t event_count, event_room, polygon_count, polygon_room;
    uint64_t unusable_triangles;                 /* corners are KD_NONE */
    uint64_t known, unknown;                     /* statements */
    bool bad_position, bad_normal, bad_texcoord; /* NaN or infinite; a normal without a direction */
    bool uses_normals, uses_texcoords;
    bool out_of_memory;
} obj_chunk;

/* Where pass 2 writes; normal_indices and texcoord_indices may be NULL. */
typedef struct obj_target {
    mesh *into;
    uint32_t *triangle_lines; /* 1-based; may be NULL */
    obj_counts totals;
} obj_target;

typedef enum obj_statement {
    STATEMENT_EMPTY,
    STATEMENT_POSITION,
    STATEMENT_TEXCOORD,
    STATEMENT_NORMAL,
    STATEMENT_FACE,
    STATEMENT_OTHER
} obj_statement;

/* What the line at the cursor (behind its blanks) says; the cursor moves behind the keyword, except
   for STATEMENT_OTHER and STATEMENT_EMPTY. Both passes read lines by this. */
static inline obj_statement obj_statement_read(text_cursor *cursor) {
    const char *at = cursor->at;
    if (*at == 'v') {
        if (text_ends_word(at + 1)) {
            cursor->at = at + 1;
            return STATEMENT_POSITION;
        }
        if ((at[1] == 't' || at[1] == 'n') && text_ends_word(at + 2)) {
            cursor->at = at + 2;
            return at[1] == 't' ? STATEMENT_TEXCOORD : STATEMENT_NORMAL;
        }
        return STATEMENT_OTHER;
    }
    if (*at == 'f') {
        const int length = at[1] == 'o' ? 2 : 1; /* fo: a face, in files of before 1992 */
        if (!text_ends_word(at + length)) return STATEMENT_OTHER;
        cursor->at = at + length;
        return STATEMENT_FACE;
    }
    return text_at_end(cursor) ? STATEMENT_EMPTY : STATEMENT_OTHER;
}

/* Over the word at the cursor, in a statement of numbers: # begins a comment there, but not in
   1.#IND and its kin. */
static inline void obj_word_skip(text_cursor *cursor) {
    const char *at = cursor->at;
    while (!text_ends_word(at) && !(*at == '#' && at[-1] != '.')) ++at;
    cursor->at = at;
}

/* To the first byte after a statement of numbers. */
static inline void obj_statement_skip(text_cursor *cursor) {
    for (;;) {
        obj_word_skip(cursor);
        text_skip_blanks(cursor);
        if (text_at_end(cursor)) break;
    }
    text_skip_comment(cursor);
}

/* Pass 1. */
void obj_chunk_count(obj_chunk *chunk);
/* Pass 2. */
void obj_chunk_parse(obj_chunk *chunk, const obj_target *target);
/* What pass 2 does with a line that is no vertex and no face. */
void obj_chunk_other(obj_chunk *chunk, text_cursor *cursor, uint64_t triangle);
/* Pass 3: triangulates the chunk's polygons. KD_ERROR_MEMORY. */
kd_status obj_chunk_polygons(const obj_chunk *chunk, mesh *into);
void obj_chunk_close(obj_chunk *chunk);

/* Loads the MTL files of the mtllib lines, and gives each triangle the material of the usemtl line
   before it. `path` is the OBJ file's. */
kd_status obj_materials(mesh *into, const obj_chunk *chunks, uint64_t chunk_count, const char *path,
                        const obj_options *options);
/* Makes normals of the smoothing groups (s) of a file that has none; *smoothed: some were made. */
kd_status obj_smooth(mesh *into, const obj_chunk *chunks, uint64_t chunk_count, bool *smoothed);

#endif
