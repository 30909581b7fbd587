/* The PLY reader: runs the passes and assembles the mesh.
   Idea: the rows that the header announces are cut into pieces (ply_cut.c). Their triangles are
     counted, so that every piece is read directly into the mesh's arrays: first vertices, then
     faces and strips, which are triangulated as in OBJ.
   Work: O(bytes), parallel except for stepping over the lists of a binary file.
   Invariants: the result does not depend on the number of threads or the size of pieces; no memory
     is allocated for rows that the file has no bytes for; every index is in range. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "scenes/formats/mesh_formats.h"
#include "scenes/formats/ply_parts.h"
#include "scenes/mesh/mesh_cleanup.h"
#include "scenes/mesh/mesh_colours.h"
#include "scenes/mesh/origin.h"

typedef struct ply_reader {
    ply_file file;
    ply_target target;
    const obj_options *options;
    job_control *job;
} ply_reader;

/* --- vertices -------------------------------------------------------------------------------- */

static void position_take(ply_reader *reader, ply_piece *piece, const ply_row *row, uint64_t index,
                          const char *at, uint64_t line) {
    const vec3 position = vec3_make(row->numbers[PLY_X], row->numbers[PLY_Y], row->numbers[PLY_Z]);
    if (!vec3_is_finite(position)) {
        piece->bad_position = true;
        ply_problem(&reader->file, &piece->problems, false, "nan", at, line,
                    "found the vertex %g %g %g, expected finite numbers up to 3.4e38 (floats); its "
                    "faces are skipped",
                    (double)position.x, (double)position.y, (double)position.z);
    }
    reader->target.mesh->positions[index] = position;
}

static void normal_take(ply_reader *reader, ply_piece *piece, const ply_row *row, uint64_t index,
                        const char *at, uint64_t line) {
    const vec3 normal = vec3_make(row->numbers[PLY_NX], row->numbers[PLY_NY], row->numbers[PLY_NZ]);
    const vec3 unit = vec3_is_finite(normal) ? vec3_normalize(normal) : vec3_all(0);
    if (vec3_is_zero(unit)) piece->bad_normal = true;
    if (!vec3_is_finite(normal))
        ply_problem(&reader->file, &piece->problems, false, "nan", at, line,
                    "found the normal %g %g %g, expected finite numbers; it is ignored",
                    (double)normal.x, (double)normal.y, (double)normal.z);
    reader->target.mesh->normals[index] = unit;
}

static void texcoord_take(ply_reader *reader, ply_piece *piece, const ply_row *row, uint64_t index,
                          const char *at, uint64_t line) {
    const vec2 texcoord = vec2_make(row->numbers[PLY_U], row->numbers[PLY_V]);
    if (!isfinite(texcoord.x) || !isfinite(texcoord.y)) {
        piece->bad_texcoord = true;
        ply_problem(
            &reader->file, &piece->problems, false, "nan", at, line,
            "found the texture coordinates %g %g, expected finite numbers; they are ignored",
            (double)texcoord.x, (double)texcoord.y);
    }
    reader->target.mesh->texcoords[index] = texcoord;
}

/* Returns the alpha of an opaque vertex; 0 if vertices have no alpha. */
static float opaque_of(const ply_file *file) {
    const ply_element *element = file->header.vertices;
    for (uint32_t k = 0; k < element->property_count; ++k) {
        const ply_property *property = &file->header.properties[element->first + k];
        if (property->role != PLY_ALPHA) continue;
        return ply_type_is_real(property->type) ? 1 : property->type == PLY_UINT16 ? 65535 : 255;
    }
    return 0;
}

static void vertices_read(ply_reader *reader, ply_piece *piece) {
    const mesh *into = reader->target.mesh;
    const float opaque = opaque_of(&reader->file);
    ply_row row = {0};
    const char *at = piece->begin;
    uint64_t line = piece->line;
    for (uint64_t i = 0; i < piece->rows; ++i) {
        const char *begin = at;
        const uint64_t index = piece->first_row + i;
        if (!ply_row_read(&reader->file, piece, &at, &line, &row)) {
            memset(row.numbers, 0, sizeof row.numbers);
            if (piece->status != KD_OK) break;
        }
        /* in a text, `line` is past the row already */
        const uint64_t row_line = line > 0 ? line - 1 : 0;
        position_take(reader, piece, &row, index, begin, row_line);
        if (into->normals) normal_take(reader, piece, &row, index, begin, row_line);
        if (into->texcoords && !reader->target.has_wedges)
            texcoord_take(reader, piece, &row, index, begin, row_line);
        piece->transparent += row.numbers[PLY_ALPHA] < opaque;
        if (reader->target.vertex_colours)
            reader->target.vertex_colours[index] =
                vec3_make(row.numbers[PLY_RED], row.numbers[PLY_GREEN], row.numbers[PLY_BLUE]);
    }
    ply_row_close(&row);
}

static void vertices_body(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    ply_reader *to = (ply_reader *)context;
    for (int64_t i = begin; i < end && !job_cancelled(to->job); ++i)
        if (to->file.pieces[i].element->kind == PLY_VERTICES)
            vertices_read(to, &to->file.pieces[i]);
}

/* Reads positions again, relative to the origin of the mesh. */
static void recentre_body(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    ply_reader *to = (ply_reader *)context;
    mesh *into = to->target.mesh;
    for (int64_t i = begin; i < end && !job_cancelled(to->job); ++i) {
        const ply_piece *piece = &to->file.pieces[i];
        const char *at = piece->begin;
        for (uint64_t k = 0; k < piece->rows && piece->element->kind == PLY_VERTICES; ++k) {
            double place[3];
            if (ply_place_read(&to->file, piece->element, &at, place))
                into->positions[piece->first_row + k] = origin_to_local(into->origin, place);
        }
    }
}

/* --- faces ----------------------------------------------------------------------------------- */

static bool has_faces(const ply_piece *piece) {
    return piece->element->kind == PLY_FACES || piece->element->kind == PLY_STRIPS;
}

static void count_body(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    ply_reader *to = (ply_reader *)context;
    for (int64_t i = begin; i < end && !job_cancelled(to->job); ++i)
        if (has_faces(&to->file.pieces[i]))
            to->file.pieces[i].triangles = ply_text_triangles(&to->file, &to->file.pieces[i]);
}

static void faces_body(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    ply_reader *to = (ply_reader *)context;
    for (int64_t i = begin; i < end && !job_cancelled(to->job); ++i)
        if (has_faces(&to->file.pieces[i]))
            ply_faces_read(&to->file, &to->file.pieces[i], &to->target);
}

/* --- the passes ------------------------------------------------------------------------------ */

static kd_status pass(ply_reader *reader, parallel_body body) {
    ply_file *file = &reader->file;
    parallel_for((int64_t)file->piece_count, 1, body, reader);
    KD_REQUIRE(!job_cancelled(reader->job), KD_INTERRUPTED, "%s: interrupted while reading",
               file->path);
    for (uint64_t i = 0; i < file->piece_count; ++i)
        KD_REQUIRE(file->pieces[i].status == KD_OK, KD_ERROR_MEMORY, "%s: out of memory to read it",
                   file->path);
    return KD_OK;
}

/* Computes the first triangle of each piece, and the totals. */
static kd_status totals_sum(ply_reader *reader, uint64_t *vertices, uint64_t *triangles) {
    uint64_t faces = 0;
    *vertices = *triangles = 0;
    for (uint64_t i = 0; i < reader->file.piece_count; ++i) {
        ply_piece *piece = &reader->file.pieces[i];
        piece->first_triangle = *triangles;
        *triangles += piece->triangles;
        if (piece->element->kind == PLY_VERTICES) *vertices += piece->rows;
        if (piece->element->kind == PLY_FACES) faces += piece->rows;
        if (piece->element->kind == PLY_STRIPS) faces += piece->triangles;
    }
    const uint64_t maximum = KD_NONE - 1;
    KD_REQUIRE(*vertices <= maximum && *triangles <= maximum && faces <= maximum, KD_ERROR_INPUT,
               "%s: found %llu vertices and %llu triangles, expected less than 2^32 of each",
               reader->file.path, (unsigned long long)*vertices, (unsigned long long)*triangles);
    reader->target.mesh->face_count = (uint32_t)faces;
    return KD_OK;
}

/* Texture coordinates of corners replace those of vertices. */
static kd_status texcoords_reserve(ply_reader *reader, uint64_t vertices, uint64_t triangles) {
    const ply_header *header = &reader->file.header;
    mesh *into = reader->target.mesh;
    reader->target.has_wedges = ply_faces_have(header, PLY_WEDGES, 1);
    if (!reader->target.has_wedges && !ply_has_all(header->vertices, PLY_U, 2)) return KD_OK;
    const uint64_t count = reader->target.has_wedges ? 3 * triangles : vertices;
    KD_REQUIRE(count < KD_NONE, KD_ERROR_INPUT,
               "%s: found %llu texture coordinates, expected less than 2^32 - 1", reader->file.path,
               (unsigned long long)count);
    if (count == 0) return KD_OK;
    reader->target.has_texcoords = true;
    KD_TRY(KD_RESERVE(into->texcoords, count));
    KD_TRY(KD_RESERVE(into->texcoord_indices, 3 * triangles));
    into->texcoord_count = (uint32_t)count;
    return KD_OK;
}

static kd_status arrays_reserve(ply_reader *reader) {
    const ply_element *element = reader->file.header.vertices;
    mesh *into = reader->target.mesh;
    uint64_t vertices, triangles;
    KD_TRY(totals_sum(reader, &vertices, &triangles));
    KD_TRY(KD_RESERVE(into->positions, vertices));
    KD_TRY(KD_RESERVE(into->triangles, 3 * triangles));
    KD_TRY(KD_RESERVE(into->triangle_materials, triangles));
    if (ply_has_all(element, PLY_NX, 3) && vertices) {
        KD_TRY(KD_RESERVE(into->normals, vertices));
        KD_TRY(KD_RESERVE(into->normal_indices, 3 * triangles));
        into->normal_count = (uint32_t)vertices;
    }
    KD_TRY(texcoords_reserve(reader, vertices, triangles));
    if (ply_faces_have(&reader->file.header, PLY_PAINTS, 1) && triangles)
        KD_TRY(KD_RESERVE(reader->target.corner_colours, 3 * triangles));
    else if (ply_has_all(element, PLY_RED, 3) && triangles)
        KD_TRY(KD_RESERVE(reader->target.vertex_colours, vertices));
    else if (ply_faces_have(&reader->file.header, PLY_RED, 3) && triangles)
        KD_TRY(KD_RESERVE(reader->target.triangle_colours, triangles));
    if (reader->options && reader->options->triangle_lines && ply_is_text(&reader->file))
        KD_TRY(KD_RESERVE(reader->target.lines, triangles));
    into->position_count = (uint32_t)vertices;
    into->triangle_count = (uint32_t)triangles;
    memset(into->triangle_materials, 0, triangles * sizeof *into->triangle_materials);
    return KD_OK;
}

/* Reports all problems in file order. Returns the first fatal one. */
static kd_status problems_report(ply_reader *reader) {
    const uint64_t first_line = ply_is_text(&reader->file) ? 0 : PROBLEM_NO_LINES;
    kd_status first = KD_OK;
    for (uint64_t i = 0; i <= reader->file.piece_count; ++i) {
        const problem_list *list = i < reader->file.piece_count ? &reader->file.pieces[i].problems
                                                                : &reader->file.problems;
        if (first != KD_OK && !(reader->options && reader->options->problem)) break;
        const kd_status status =
            problem_list_report(list, reader->file.path, first_line, reader->options);
        if (first == KD_OK) first = status;
    }
    return first;
}

/* Alpha is what other programs draw as a cut-out, a blend, or not at all. */
static void alpha_report(ply_reader *reader) {
    uint64_t transparent = 0;
    for (uint64_t i = 0; i < reader->file.piece_count; ++i)
        transparent += reader->file.pieces[i].transparent;
    if (transparent)
        problem_add(&reader->file.problems, false, "left-out", reader->file.header.vertices->line,
                    "found %llu vertices with an alpha below %g, which Kandela does not use: they "
                    "are opaque",
                    (unsigned long long)transparent, (double)opaque_of(&reader->file));
}

static mesh_faults faults_found(const ply_reader *reader) {
    mesh_faults faults = {0};
    for (uint64_t i = 0; i < reader->file.piece_count; ++i) {
        const ply_piece *piece = &reader->file.pieces[i];
        faults.unusable = faults.unusable || piece->unusable > 0;
        faults.position = faults.position || piece->bad_position;
        faults.normal = faults.normal || piece->bad_normal;
        faults.texcoord = faults.texcoord || piece->bad_texcoord;
    }
    faults.uses_normals =
        reader->target.mesh->normal_indices && reader->target.mesh->triangle_count;
    faults.uses_texcoords =
        reader->target.mesh->texcoord_indices && reader->target.mesh->triangle_count;
    return faults;
}

static kd_status recentre(ply_reader *reader) {
    mesh *into = reader->target.mesh;
    if (!reader->options || !reader->options->recentre) return KD_OK;
    for (int i = 0; i < ORIGIN_MOVES && origin_move(into->origin, mesh_box(into)); ++i)
        KD_TRY(pass(reader, recentre_body));
    return KD_OK;
}

static kd_status rows_read(ply_reader *reader) {
    mesh *into = reader->target.mesh;
    KD_TRY(ply_cut(&reader->file));
    if (ply_is_text(&reader->file)) KD_TRY(pass(reader, count_body));
    KD_TRY(arrays_reserve(reader));
    KD_TRY(pass(reader, vertices_body));
    KD_TRY(recentre(reader));
    KD_TRY(pass(reader, faces_body));
    alpha_report(reader);
    KD_TRY(problems_report(reader));
    KD_TRY(ply_colours(&reader->file, &reader->target));
    const mesh_faults faults = faults_found(reader);
    KD_TRY(ply_materials(&reader->file, &reader->target, reader->options));
    mesh_compact(into, reader->target.lines, &faults);
    if (reader->target.vertex_colours)
        KD_TRY(mesh_colour_vertices(into, reader->target.vertex_colours));
    return KD_OK;
}

static kd_status file_read(ply_reader *reader) {
    problem_list problems = {0};
    kd_status status = ply_header_read(&reader->file.header, &reader->file.view, &problems);
    const bool fatal = problems.fatal;
    if (status == KD_OK)
        status = problem_list_report(&problems, reader->file.path, 0, reader->options);
    problem_list_close(&problems);
    KD_TRY(status);
    if (!fatal) KD_TRY(rows_read(reader));
    return KD_OK;
}

kd_status ply_load(mesh *out, const char *path, const obj_options *options, job_control *job) {
    ply_reader from;
    memset(&from, 0, sizeof from);
    memset(out, 0, sizeof *out);
    from.file.path = path;
    from.file.piece_bytes = options ? options->chunk_bytes : 0;
    from.target.mesh = out;
    from.options = options;
    from.job = job;
    if (options && options->triangle_lines) *options->triangle_lines = NULL;
    KD_TRY(file_open(&from.file.view, path));
    job_stage_begin(job, "load", (int64_t)from.file.view.count);
    const kd_status status = file_read(&from);
    for (uint64_t i = 0; i < from.file.piece_count; ++i)
        problem_list_close(&from.file.pieces[i].problems);
    problem_list_close(&from.file.problems);
    memory_free(from.file.pieces);
    memory_free(from.file.joined);
    memory_free(from.target.vertex_colours);
    memory_free(from.target.triangle_colours);
    memory_free(from.target.corner_colours);
    text_chunks_close(&from.file.chunks);
    ply_header_close(&from.file.header);
    file_close(&from.file.view);
    if (status != KD_OK) {
        mesh_close(out);
        memory_free(from.target.lines);
        return status_pass(status, __FILE__, __LINE__, "file_read");
    }
    if (from.target.lines) *options->triangle_lines = from.target.lines;
    return KD_OK;
}
