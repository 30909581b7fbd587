/* The OBJ reader: runs the passes and assembles the mesh.
   Idea: the text is cut at line ends into chunks. Pass 1 counts the elements of each chunk; a
     prefix sum over the chunks gives every vertex, triangle and line its number; pass 2 parses
     each chunk directly into the mesh's arrays, and again, relative to an origin, if the mesh is
     far from (0, 0, 0); pass 3 triangulates polygons. Then materials are
     assigned, and unusable triangles are removed.
   Work: O(bytes), parallel except for the prefix sum and the materials.
   Memory: the file and the arrays; the file's pages are released chunk by chunk.
   Invariants: the result does not depend on the number of threads; every index is in range. */
#include "core/files/content.h"
#include "core/files/file.h"
#include "core/growth.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "scenes/formats/mesh_formats.h"
#include "scenes/formats/obj_chunk.h"
#include "scenes/mesh/mesh_cleanup.h"
#include "scenes/mesh/origin.h"
#include <stdatomic.h>

enum { CHUNK_BYTES = 1 << 20 };

typedef struct obj_reader {
    const char *path;
    const obj_options *options;
    job_control *job;
    file_view file;
    char *tail; /* copy of the last line with a line end, if the file lacks one */
    obj_chunk *chunks;
    uint64_t chunk_count, chunk_capacity;
    obj_target target;
    atomic_int failed; /* kd_status of a parallel pass */
} obj_reader;

static kd_status chunk_add(obj_reader *reader, const char *begin, uint64_t count) {
    KD_TRY(KD_RESERVE_NEXT(reader->chunks, reader->chunk_count, reader->chunk_capacity, 16));
    obj_chunk *chunk = &reader->chunks[reader->chunk_count++];
    memset(chunk, 0, sizeof *chunk);
    chunk->text.begin = begin;
    chunk->text.count = count;
    return KD_OK;
}

/* Returns the first line begin at or after `at` that no backslash joins to the line before, or
   NULL. A CR as the last byte does not count as a line end, because the byte after it would be
   read. */
static const char *line_begin_find(const char *begin, const char *at, const char *end) {
    for (; at < end; ++at) {
        if (!text_is_line_end(*at)) continue;
        if (*at == '\r' && (at + 1 == end || at[1] == '\n')) continue;
        const char *before = *at == '\n' && at > begin && at[-1] == '\r' ? at - 1 : at;
        if (before == begin || before[-1] != '\\') return at + 1;
    }
    return NULL;
}

/* Cuts the text into chunks of whole lines. A last line without a line end is copied and
   terminated. */
static kd_status text_split(obj_reader *reader) {
    const char *begin = reader->file.bytes, *end = begin + reader->file.count;
    const int64_t bytes = reader->options && reader->options->chunk_bytes
                              ? reader->options->chunk_bytes
                              : CHUNK_BYTES;
    begin += text_bom_bytes(begin, reader->file.count);
    while (begin < end) {
        const char *nominal = end - begin > bytes ? begin + bytes : end - 1;
        const char *next = line_begin_find(begin, nominal, end);
        if (!next) { /* the last chunk: ends after its last whole line */
            next = end;
            while (next > begin &&
                   !(text_is_line_end(next[-1]) && line_begin_find(begin, next - 1, next) == next))
                --next;
            if (next > begin) KD_TRY(chunk_add(reader, begin, (uint64_t)(next - begin)));
            break;
        }
        KD_TRY(chunk_add(reader, begin, (uint64_t)(next - begin)));
        begin = next;
    }
    const char *last = begin;
    if (reader->chunk_count) {
        const obj_chunk *chunk = &reader->chunks[reader->chunk_count - 1];
        last = chunk->text.begin + chunk->text.count;
    }
    if (last == end) return KD_OK;
    const uint64_t left = (uint64_t)(end - last);
    KD_TRY(KD_RESERVE(reader->tail, left + 2));
    memcpy(reader->tail, last, left);
    memcpy(reader->tail + left, "\n\n", 2);
    return chunk_add(reader, reader->tail, left + 1);
}

/* --- the passes over the chunks ------------------------------------------------------------ */

/* Positions may be parsed several times. */
static bool recentres(const obj_reader *reader) {
    return reader->options && reader->options->recentre;
}

/* Releases the pages of a parsed chunk, unless later passes read names from them. Keeps the first
   byte, which the parser of the preceding chunk may read. */
static void chunk_release(const obj_reader *reader, const obj_chunk *chunk) {
    const bool is_named = chunk->event_count || chunk->problems.count || chunk->paint_count;
    if (chunk->text.begin == reader->tail || is_named) return;
    file_release(chunk->text.begin + 1, chunk->text.count - 1);
}

static void count_body(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    obj_reader *from = (obj_reader *)context;
    for (int64_t i = begin; i < end && !job_cancelled(from->job); ++i) {
        obj_chunk_count(&from->chunks[i]);
        job_advance(from->job, (int64_t)from->chunks[i].text.count);
    }
}

static void parse_body(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    obj_reader *from = (obj_reader *)context;
    for (int64_t i = begin; i < end && !job_cancelled(from->job); ++i) {
        obj_chunk_parse(&from->chunks[i], &from->target);
        if (!recentres(from)) chunk_release(from, &from->chunks[i]);
        job_advance(from->job, (int64_t)from->chunks[i].text.count);
    }
}

static void recentre_body(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    obj_reader *from = (obj_reader *)context;
    for (int64_t i = begin; i < end && !job_cancelled(from->job); ++i)
        obj_chunk_recentre(&from->chunks[i], from->target.mesh);
}

static void polygon_body(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    obj_reader *from = (obj_reader *)context;
    for (int64_t i = begin; i < end; ++i) {
        const kd_status status = obj_chunk_polygons(&from->chunks[i], from->target.mesh);
        if (status != KD_OK) atomic_store(&from->failed, (int)status);
    }
}

static kd_status pass(obj_reader *reader, parallel_body body, const char *name) {
    parallel_for((int64_t)reader->chunk_count, 1, body, reader);
    KD_REQUIRE(!job_cancelled(reader->job), KD_INTERRUPTED, "%s: interrupted while reading",
               reader->path);
    const int failed = atomic_load(&reader->failed);
    KD_REQUIRE(failed == KD_OK, (kd_status)failed, "%s: out of memory to %s", reader->path, name);
    for (uint64_t i = 0; i < reader->chunk_count; ++i)
        KD_REQUIRE(!reader->chunks[i].out_of_memory, KD_ERROR_MEMORY, "%s: out of memory to %s",
                   reader->path, name);
    return KD_OK;
}

static kd_status totals_sum(obj_reader *reader) {
    obj_counts sum = {0};
    for (uint64_t i = 0; i < reader->chunk_count; ++i) {
        const obj_counts *counts = &reader->chunks[i].counts;
        reader->chunks[i].before = sum;
        sum.positions += counts->positions;
        sum.texcoords += counts->texcoords;
        sum.normals += counts->normals;
        sum.faces += counts->faces;
        sum.triangles += counts->triangles;
        sum.lines += counts->lines;
    }
    reader->target.totals = sum;
    const uint64_t maximum = KD_NONE - 1;
    KD_REQUIRE(sum.positions <= maximum && sum.texcoords <= maximum && sum.normals <= maximum &&
                   sum.faces <= maximum && sum.triangles <= maximum,
               KD_ERROR_INPUT,
               "%s: found %llu vertices and %llu triangles, expected less than 2^32 of each",
               reader->path, (unsigned long long)sum.positions, (unsigned long long)sum.triangles);
    return KD_OK;
}

static kd_status arrays_reserve(obj_reader *reader) {
    mesh *into = reader->target.mesh;
    const obj_counts *totals = &reader->target.totals;
    KD_TRY(KD_RESERVE(into->positions, totals->positions));
    if (totals->normals) KD_TRY(KD_RESERVE(into->normals, totals->normals));
    if (totals->texcoords) KD_TRY(KD_RESERVE(into->texcoords, totals->texcoords));
    KD_TRY(KD_RESERVE(into->triangles, 3 * totals->triangles));
    if (totals->normals) KD_TRY(KD_RESERVE(into->normal_indices, 3 * totals->triangles));
    if (totals->texcoords) KD_TRY(KD_RESERVE(into->texcoord_indices, 3 * totals->triangles));
    if (reader->options && reader->options->triangle_lines)
        KD_TRY(KD_RESERVE(reader->target.triangle_lines, totals->triangles));
    into->position_count = (uint32_t)totals->positions;
    into->normal_count = (uint32_t)totals->normals;
    into->texcoord_count = (uint32_t)totals->texcoords;
    into->triangle_count = (uint32_t)totals->triangles;
    into->face_count = (uint32_t)totals->faces;
    return KD_OK;
}

static kd_status problems_report(const obj_reader *reader) {
    kd_status first = KD_OK;
    uint64_t known_lines = 0, unknown = 0;
    for (uint64_t i = 0; i < reader->chunk_count; ++i) {
        const obj_chunk *chunk = &reader->chunks[i];
        known_lines += chunk->known + chunk->counts.positions + chunk->counts.texcoords +
                       chunk->counts.normals + chunk->counts.faces;
        unknown += chunk->unknown;
    }
    const bool foreign = known_lines == 0 && unknown > 0;
    const bool binary =
        foreign && file_content_not_text(reader->file.bytes, reader->file.count).name != NULL;
    /* The words of binary data would be quoted. */
    for (uint64_t i = 0; i < reader->chunk_count && !binary; ++i) {
        if (first != KD_OK && !(reader->options && reader->options->problem)) break;
        const obj_chunk *chunk = &reader->chunks[i];
        const kd_status status = problem_list_report(&chunk->problems, reader->path,
                                                     chunk->before.lines, reader->options);
        if (first == KD_OK) first = status;
    }
    if (first != KD_OK || !foreign) return first;
    problem_list none = {0};
    problem_add(&none, true, "not-obj", 0, "found %sno OBJ statement, expected v, f and others",
                binary ? "binary data and " : "");
    const kd_status status = problem_list_report(&none, reader->path, 0, reader->options);
    problem_list_close(&none);
    return status;
}

static mesh_faults faults_found(const obj_reader *reader) {
    mesh_faults faults = {0};
    for (uint64_t i = 0; i < reader->chunk_count; ++i) {
        const obj_chunk *chunk = &reader->chunks[i];
        faults.unusable = faults.unusable || chunk->unusable_triangles > 0;
        faults.position = faults.position || chunk->bad_position;
        faults.normal = faults.normal || chunk->bad_normal;
        faults.texcoord = faults.texcoord || chunk->bad_texcoord;
        faults.uses_normals = faults.uses_normals || chunk->uses_normals;
        faults.uses_texcoords = faults.uses_texcoords || chunk->uses_texcoords;
    }
    return faults;
}

/* Parses the positions of a far mesh again, relative to its origin. */
static kd_status recentre(obj_reader *reader) {
    mesh *into = reader->target.mesh;
    if (!recentres(reader)) return KD_OK;
    for (int i = 0; i < ORIGIN_MOVES && origin_move(into->origin, mesh_box(into)); ++i)
        KD_TRY(pass(reader, recentre_body, "parse"));
    for (uint64_t i = 0; i < reader->chunk_count; ++i) chunk_release(reader, &reader->chunks[i]);
    return KD_OK;
}

static kd_status passes_run(obj_reader *reader) {
    KD_TRY(text_encoding_check(reader->file.bytes, reader->file.count, reader->path));
    KD_TRY(file_content_refuse(reader->file.bytes, reader->file.count, reader->path, "OBJ"));
    KD_TRY(text_split(reader));
    KD_TRY(pass(reader, count_body, "count"));
    KD_TRY(totals_sum(reader));
    KD_TRY(arrays_reserve(reader));
    KD_TRY(pass(reader, parse_body, "parse"));
    KD_TRY(problems_report(reader));
    KD_TRY(recentre(reader));
    KD_TRY(pass(reader, polygon_body, "cut its polygons"));
    mesh *into = reader->target.mesh;
    KD_TRY(KD_RESERVE(into->triangle_materials, into->triangle_count));
    uint32_t fallback = 0;
    KD_TRY(obj_materials(into, reader->chunks, reader->chunk_count, reader->path, reader->options,
                         &fallback));
    mesh_faults faults = faults_found(reader);
    bool smoothed;
    KD_TRY(obj_smooth(into, reader->chunks, reader->chunk_count, &smoothed));
    faults.uses_normals = faults.uses_normals || smoothed;
    mesh_compact(into, reader->target.triangle_lines, &faults);
    return obj_colours(into, reader->chunks, reader->chunk_count, fallback);
}

kd_status obj_load(mesh *out, const char *path, const obj_options *options, job_control *job) {
    obj_reader from = {0};
    from.path = path;
    from.options = options;
    from.job = job;
    from.target.mesh = out;
    memset(out, 0, sizeof *out);
    if (options && options->triangle_lines) *options->triangle_lines = NULL;
    KD_TRY(file_open(&from.file, path));
    job_stage_begin(job, "load", 2 * (int64_t)from.file.count);
    const kd_status status = passes_run(&from);
    for (uint64_t i = 0; i < from.chunk_count; ++i) obj_chunk_close(&from.chunks[i]);
    memory_free(from.chunks);
    memory_free(from.tail);
    file_close(&from.file);
    if (status != KD_OK) {
        mesh_close(out);
        memory_free(from.target.triangle_lines);
        return status_pass(status, __FILE__, __LINE__, "passes_run");
    }
    if (from.target.triangle_lines) *options->triangle_lines = from.target.triangle_lines;
    return KD_OK;
}
