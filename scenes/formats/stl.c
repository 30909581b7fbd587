/* The STL reader, with the binary format.
   Idea: a file is binary if its size agrees with its header, even if it begins with "solid".
     Binary facets are read directly into one array of corners. A text is cut before facets; each
     piece fills an array of its own, and the arrays are concatenated. Then corners at equal
     positions are merged into one vertex.
   Work: O(bytes), parallel.
   Invariants: the result does not depend on the number of threads or the size of pieces; no memory
     is allocated for facets that the file has no bytes for. */
#include "core/files/content.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "scenes/formats/mesh_formats.h"
#include "scenes/formats/mtl.h"
#include "scenes/formats/stl_piece.h"
#include "scenes/mesh/mesh_cleanup.h"

enum { PIECE_BYTES = 1 << 20, PROBE_BYTES = 1 << 10 };

typedef struct stl_reader {
    const char *path;
    const obj_options *options;
    job_control *job;
    file_view view;
    text_chunks chunks; /* text only */
    stl_piece *pieces;
    uint64_t piece_count;
    bool is_text;
    vec3 *corners; /* 3 per triangle */
    uint32_t *lines;
    uint64_t triangles;
    uint32_t attributes;   /* attributes of all facets, combined by OR */
    problem_list problems; /* problems that belong to no piece */
} stl_reader;

static uint32_t u32_at(const char *at) {
    const unsigned char *b = (const unsigned char *)at;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static vec3 vec3_at(const char *at) {
    const uint32_t bits[3] = {u32_at(at), u32_at(at + 4), u32_at(at + 8)};
    float values[3];
    memcpy(values, bits, sizeof values);
    return vec3_make(values[0], values[1], values[2]);
}

static uint32_t u16_at(const char *at) {
    const unsigned char *b = (const unsigned char *)at;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8;
}

bool stl_corners_read(const char *facet, vec3 *corners) {
    for (int k = 0; k < 3; ++k) corners[k] = vec3_at(facet + 12 + 12 * k);
    return vec3_is_finite(corners[0]) && vec3_is_finite(corners[1]) && vec3_is_finite(corners[2]);
}

/* --- binary facets --------------------------------------------------------------------------- */

static void bytes_read(const stl_reader *reader, stl_piece *piece) {
    const char *at = piece->bytes.begin, *end = at + piece->bytes.count;
    for (; at < end; at += STL_FACET) {
        vec3 *corners = &piece->corners[3 * piece->triangles];
        ++piece->facets;
        piece->attributes |= u16_at(at + 48);
        if (stl_corners_read(at, corners)) {
            piece->reversed += stl_is_turned(vec3_at(at), corners);
            ++piece->triangles;
        } else {
            problem_add(&piece->problems, false, "nan", 0,
                        "byte %llu: found a corner that is not finite, expected finite numbers; "
                        "the facet is skipped",
                        (unsigned long long)(at - reader->view.bytes));
        }
    }
}

/* Cuts binary facets into pieces. Fewer facets than the header says are a fatal problem. */
static kd_status bytes_cut(stl_reader *reader) {
    const uint64_t said = u32_at(reader->view.bytes + 80);
    const uint64_t available = (reader->view.count - STL_HEADER) / STL_FACET;
    const uint64_t facets = said < available ? said : available;
    const uint64_t bytes = reader->options && reader->options->chunk_bytes
                               ? reader->options->chunk_bytes
                               : PIECE_BYTES;
    const uint64_t step = bytes / STL_FACET + 1;
    if (available < said)
        problem_add(&reader->problems, true, "truncated", 0,
                    "byte %llu: found the end of the file after %llu facets, expected %llu",
                    (unsigned long long)reader->view.count, (unsigned long long)available,
                    (unsigned long long)said);
    else if (reader->view.count > STL_HEADER + said * STL_FACET)
        problem_add(&reader->problems, false, "trailing", 0,
                    "byte %llu: found more after the last facet, expected the end of the file",
                    (unsigned long long)(STL_HEADER + said * STL_FACET));
    reader->piece_count = (facets + step - 1) / step;
    KD_TRY(KD_RESERVE_ZEROED(reader->pieces, reader->piece_count));
    KD_TRY(KD_RESERVE(reader->corners, 3 * facets));
    for (uint64_t i = 0; i < reader->piece_count; ++i) {
        const uint64_t first = i * step, last = first + step < facets ? first + step : facets;
        reader->pieces[i].bytes.begin = reader->view.bytes + STL_HEADER + first * STL_FACET;
        reader->pieces[i].bytes.count = (last - first) * STL_FACET;
        reader->pieces[i].corners = reader->corners + 3 * first;
    }
    return KD_OK;
}

static kd_status text_cut(stl_reader *reader) {
    const uint64_t mark = text_bom_bytes(reader->view.bytes, reader->view.count);
    const uint64_t bytes = reader->options && reader->options->chunk_bytes
                               ? reader->options->chunk_bytes
                               : PIECE_BYTES;
    KD_TRY(text_chunks_cut(&reader->chunks, reader->view.bytes + mark, reader->view.count - mark,
                           bytes, stl_text_begins));
    reader->piece_count = reader->chunks.count;
    KD_TRY(KD_RESERVE_ZEROED(reader->pieces, reader->piece_count));
    for (uint64_t i = 0; i < reader->piece_count; ++i)
        reader->pieces[i].bytes = reader->chunks.spans[i];
    return KD_OK;
}

static void read_body(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    stl_reader *from = (stl_reader *)context;
    for (int64_t i = begin; i < end && !job_cancelled(from->job); ++i) {
        stl_piece *piece = &from->pieces[i];
        if (from->is_text)
            stl_text_read(piece, (uint64_t)i + 1 == from->piece_count);
        else
            bytes_read(from, piece);
        job_advance(from->job, (int64_t)piece->bytes.count);
    }
}

/* --- text or binary -------------------------------------------------------------------------- */

/* Accepts leading blanks and any case. */
static bool begins_with_solid(const file_view *view) {
    static const char word[] = "solid";
    size_t i = text_bom_bytes(view->bytes, view->count);
    while (i < view->count && (text_is_blank(view->bytes[i]) || text_is_line_end(view->bytes[i])))
        ++i;
    for (size_t k = 0; k < sizeof word - 1; ++k)
        if (i + k >= view->count || (view->bytes[i + k] | 0x20) != word[k]) return false;
    return true;
}

/* Decides between text and binary. Many programs begin the header of a binary file with "solid",
   so the size decides first; a text contains no byte 0. */
static kd_status form_find(stl_reader *reader) {
    const file_view *view = &reader->view;
    const bool has_header = view->count >= STL_HEADER;
    const uint64_t said = has_header ? u32_at(view->bytes + 80) : 0;
    const bool fits = has_header && view->count == STL_HEADER + said * STL_FACET;
    const uint64_t probed = view->count < PROBE_BYTES ? view->count : PROBE_BYTES;
    reader->is_text = !fits && begins_with_solid(view) && !memchr(view->bytes, 0, probed);
    if (reader->is_text || fits) return KD_OK;
    const file_content content = file_content_of(view->bytes, view->count);
    if (content.name)
        problem_add(&reader->problems, true, "not-stl", 0, "found %s, expected STL%s%s",
                    content.name, *content.advice ? "; " : "", content.advice);
    if (content.name || has_header) return KD_OK;
    problem_add(&reader->problems, true, "not-stl", 0,
                "found %llu bytes that do not begin with \"solid\", expected a text file, or a "
                "binary one of at least 84 bytes",
                (unsigned long long)view->count);
    return KD_OK;
}

/* --- the passes ------------------------------------------------------------------------------ */

/* Concatenates the pieces of a text; closes the gaps that skipped binary facets left. */
static kd_status pieces_join(stl_reader *reader) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < reader->piece_count; ++i) sum += reader->pieces[i].triangles;
    KD_REQUIRE(sum < KD_NONE / 3, KD_ERROR_INPUT,
               "%s: found %llu triangles, expected less than 2^32 corners", reader->path,
               (unsigned long long)sum);
    if (reader->is_text) KD_TRY(KD_RESERVE(reader->corners, 3 * sum));
    const bool lines = reader->is_text && reader->options && reader->options->triangle_lines;
    if (lines) KD_TRY(KD_RESERVE(reader->lines, sum));
    uint64_t line = 0;
    for (uint64_t i = 0; i < reader->piece_count; ++i) {
        const stl_piece *piece = &reader->pieces[i];
        vec3 *to = reader->corners + 3 * reader->triangles;
        if (to != piece->corners && piece->triangles)
            memmove(to, piece->corners, 3 * piece->triangles * sizeof *to);
        for (uint64_t k = 0; k < piece->triangles && lines; ++k)
            reader->lines[reader->triangles + k] = (uint32_t)(line + piece->lines[k]);
        reader->triangles += piece->triangles;
        line += piece->line_count;
    }
    return KD_OK;
}

/* Adds the problems that concern the whole file. */
static void whole_judge(stl_reader *reader) {
    uint64_t turned = 0, facets = 0, unknown = 0;
    stl_end end = STL_END_NONE;
    for (uint64_t i = 0; i < reader->piece_count; ++i) {
        const stl_piece *piece = &reader->pieces[i];
        turned += piece->reversed;
        facets += piece->facets;
        unknown += piece->unknown;
        reader->attributes |= piece->attributes;
        if (piece->end != STL_END_NONE) end = piece->end;
    }
    if (reader->is_text && facets == 0 && unknown > 0)
        problem_add(&reader->problems, true, "not-stl", 0,
                    "found unknown keywords and no facet, expected facets");
    else if (reader->is_text && end == STL_END_INSIDE)
        problem_add(&reader->problems, false, "truncated", 0,
                    "found no endsolid after the last facet, expected one");
    if (turned)
        problem_add(&reader->problems, false, "flipped-normal", 0,
                    "found %llu facets whose normal is opposite to the winding of their corners, "
                    "expected both on the same side; the winding is used",
                    (unsigned long long)turned);
}

static kd_status problems_report(stl_reader *reader) {
    kd_status first = KD_OK;
    uint64_t line = 0;
    for (uint64_t i = 0; i <= reader->piece_count; ++i) {
        const bool is_piece = i < reader->piece_count;
        const problem_list *list = is_piece ? &reader->pieces[i].problems : &reader->problems;
        if (first != KD_OK && !(reader->options && reader->options->problem)) break;
        const kd_status status = problem_list_report(
            list, reader->path, is_piece && reader->is_text ? line : PROBLEM_NO_LINES,
            reader->options);
        if (first == KD_OK) first = status;
        if (is_piece) line += reader->pieces[i].line_count;
    }
    return first;
}

static kd_status mesh_fill(stl_reader *reader, mesh *mesh) {
    const text_span plain = {"default", 7};
    const uint64_t count = reader->triangles;
    mtl_library library = {0};
    uint32_t index = 0;
    kd_status status = KD_OK;
    if (count == 0) return KD_OK;
    KD_TRY_GOTO(mtl_library_add(&library, plain, &index));
    KD_TRY_GOTO(KD_RESERVE(mesh->triangles, 3 * count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(mesh->triangle_materials, count));
    KD_TRY_GOTO(weld_places(reader->corners, 3 * count, mesh->triangles, &mesh->positions,
                            &mesh->position_count));
    mesh->triangle_count = (uint32_t)count;
    mesh->materials = library.materials;
    mesh->material_count = library.count;
    library.materials = NULL;
    library.count = 0;
done:
    mtl_library_close(&library);
    return status;
}

static kd_status facets_read(stl_reader *reader, mesh *mesh) {
    KD_TRY(reader->is_text ? text_cut(reader) : bytes_cut(reader));
    parallel_for((int64_t)reader->piece_count, 1, read_body, reader);
    KD_REQUIRE(!job_cancelled(reader->job), KD_INTERRUPTED, "%s: interrupted while reading",
               reader->path);
    uint64_t facets = 0;
    for (uint64_t i = 0; i < reader->piece_count; ++i) {
        KD_REQUIRE(reader->pieces[i].status == KD_OK, KD_ERROR_MEMORY,
                   "%s: out of memory to read it", reader->path);
        facets += reader->pieces[i].facets;
    }
    whole_judge(reader);
    KD_TRY(problems_report(reader));
    KD_TRY(pieces_join(reader));
    KD_TRY(mesh_fill(reader, mesh));
    if (!reader->is_text) {
        const text_span header = {reader->view.bytes, 80};
        const text_span all = {reader->view.bytes + STL_HEADER, facets * STL_FACET};
        KD_TRY(stl_colours(mesh, header, all, reader->attributes));
    }
    mesh->face_count = facets < KD_NONE ? (uint32_t)facets : KD_NONE;
    return KD_OK;
}

static kd_status file_read(stl_reader *reader, mesh *mesh) {
    KD_TRY(text_encoding_check(reader->view.bytes, reader->view.count, reader->path));
    KD_TRY(form_find(reader));
    if (!reader->problems.fatal) return facets_read(reader, mesh);
    return problem_list_report(&reader->problems, reader->path, PROBLEM_NO_LINES, reader->options);
}

static void reader_close(stl_reader *owned) {
    for (uint64_t i = 0; i < owned->piece_count && owned->pieces; ++i) {
        problem_list_close(&owned->pieces[i].problems);
        memory_free(owned->pieces[i].lines);
        if (owned->is_text) memory_free(owned->pieces[i].corners);
    }
    problem_list_close(&owned->problems);
    memory_free(owned->pieces);
    memory_free(owned->corners);
    text_chunks_close(&owned->chunks);
    file_close(&owned->view);
}

kd_status stl_load(mesh *out, const char *path, const obj_options *options, job_control *job) {
    stl_reader from;
    memset(&from, 0, sizeof from);
    memset(out, 0, sizeof *out);
    from.path = path;
    from.options = options;
    from.job = job;
    if (options && options->triangle_lines) *options->triangle_lines = NULL;
    KD_TRY(file_open(&from.view, path));
    job_stage_begin(job, "load", (int64_t)from.view.count);
    const kd_status status = file_read(&from, out);
    reader_close(&from);
    if (status != KD_OK) {
        mesh_close(out);
        memory_free(from.lines);
        return status_pass(status, __FILE__, __LINE__, "file_read");
    }
    if (from.lines) *options->triangle_lines = from.lines;
    return KD_OK;
}
