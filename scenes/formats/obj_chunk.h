/* Internals of the OBJ reader. The text is cut at line ends into chunks, each parsed by one
   thread. Pass 1 counts the elements of each chunk, so that pass 2 can write every vertex and
   triangle to its final position and knows its line number; nothing is copied or reallocated. Pass
   2 writes a polygon as a fan of n - 2 triangles; pass 3 replaces the fan by a valid
   triangulation, when all positions are known. */
#ifndef KD_SCENES_FORMATS_OBJ_CHUNK_H
#define KD_SCENES_FORMATS_OBJ_CHUNK_H
#include "scenes/mesh/mesh.h"
#include "scenes/text/problems.h"
#include "scenes/text/text.h"

typedef struct obj_counts {
    uint64_t positions, texcoords, normals, faces, triangles, lines;
} obj_counts;

/* A usemtl, mtllib or s statement. */
typedef struct obj_event {
    text_span name;    /* points into the text */
    uint64_t line;     /* 0-based, in the file */
    uint64_t triangle; /* the first triangle after the statement */
    bool is_library, is_group;
    uint32_t group; /* smoothing group; 0: flat */
} obj_event;

/* A line of colours, "#MRGB" and eight hexadecimal digits for each vertex: mask, red, green, blue.
 */
typedef struct obj_paint {
    const char *at;     /* position in the text after "#MRGB " */
    uint64_t positions; /* number of vertices before the line, in the file */
} obj_paint;

/* A face with more than three corners. */
typedef struct obj_polygon {
    uint32_t first_triangle, corner_count;
} obj_polygon;

typedef struct obj_chunk {
    text_span text;        /* whole logical lines (after joining by backslash) */
    obj_counts counts;     /* elements of this chunk; set by pass 1 */
    obj_counts before;     /* elements of all preceding chunks */
    problem_list problems; /* line numbers are relative to the chunk */
    obj_event *events;
    obj_polygon *polygons;
    uint64_t event_count, event_capacity, polygon_count, polygon_capacity;
    vec3 *colours; /* one per position, NaN in x where there is none; NULL: no vertex has one */
    obj_paint *paints;
    uint64_t paint_count, paint_capacity;
    uint64_t unusable_triangles; /* triangles with KD_NONE as corners */
    uint64_t known, unknown;     /* numbers of statements */
    /* some values are not finite, or a normal has length 0 */
    bool bad_position, bad_normal, bad_texcoord;
    bool uses_normals, uses_texcoords;
    bool out_of_memory;
} obj_chunk;

/* The output of pass 2. normal_indices and texcoord_indices may be NULL. */
typedef struct obj_target {
    struct mesh *mesh;
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

/* Identifies the statement at the cursor, which is after any blanks. Advances the cursor past the
   keyword, except for STATEMENT_OTHER and STATEMENT_EMPTY. Both passes use it. */
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
        const int length = at[1] == 'o' ? 2 : 1; /* fo: a face, in files from before 1992 */
        if (!text_ends_word(at + length)) return STATEMENT_OTHER;
        cursor->at = at + length;
        return STATEMENT_FACE;
    }
    return text_at_end(cursor) ? STATEMENT_EMPTY : STATEMENT_OTHER;
}

/* Skips a word in a statement of numbers. There, # begins a comment, except in 1.#IND and the
   like. */
static inline void obj_word_skip(text_cursor *cursor) {
    const char *at = cursor->at;
    while (!text_ends_word(at) && !(*at == '#' && at[-1] != '.')) ++at;
    cursor->at = at;
}

/* Skips to the first byte after a statement of numbers. */
static inline void obj_statement_skip(text_cursor *cursor) {
    for (;;) {
        obj_word_skip(cursor);
        text_skip_blanks(cursor);
        if (text_at_end(cursor)) break;
    }
    text_skip_comment(cursor);
}

/* Pass 1: sets chunk->counts. */
void obj_chunk_count(obj_chunk *chunk);
/* Pass 2: parses the chunk into the target. */
void obj_chunk_parse(obj_chunk *chunk, const obj_target *target);
/* Pass 2 for any line that is neither a vertex nor a face. */
void obj_chunk_other(obj_chunk *chunk, text_cursor *cursor, uint64_t triangle);
/* Parses the positions of the chunk again, and writes them relative to the origin of the mesh.
   Positions that are not numbers stay as pass 2 has left them. */
void obj_chunk_recentre(const obj_chunk *chunk, mesh *mesh);
/* Pass 3: triangulates the chunk's polygons. May return KD_ERROR_MEMORY. */
kd_status obj_chunk_polygons(const obj_chunk *chunk, mesh *mesh);
void obj_chunk_close(obj_chunk *chunk);

/* Loads the MTL files of the mtllib statements, and assigns to each triangle the material of the
   preceding usemtl. `path` is the path of the OBJ file. Materials that no MTL file has are
   copies of the default; *fallback is set to the first of them, and all that follow are such. */
kd_status obj_materials(mesh *mesh, const obj_chunk *chunks, uint64_t chunk_count, const char *path,
                        const obj_options *options, uint32_t *fallback);
/* Gives the mesh the colours of its vertices, if there are any, and coloured triangles of the
   materials from `fallback` on a white one. Every corner must be in range. */
kd_status obj_colours(mesh *mesh, const obj_chunk *chunks, uint64_t chunk_count, uint32_t fallback);
/* Computes vertex normals from the smoothing groups (s) if the file has no normals. Sets *smoothed
   if it has computed normals. */
kd_status obj_smooth(mesh *mesh, const obj_chunk *chunks, uint64_t chunk_count, bool *smoothed);

#endif
