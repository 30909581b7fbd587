/* Cuts the rows of a PLY file into pieces: binary rows of fixed size by arithmetic, binary rows
   with lists by stepping from row to row, and text by lines, one per row. If a text has not as many
   lines as rows, its rows are first put on one line each (ply_join.c). */
#include "core/growth.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "scenes/formats/ply_parts.h"

enum { PIECE_BYTES = 1 << 20 };

static uint64_t piece_bytes(const ply_file *file) {
    return file->piece_bytes ? file->piece_bytes : PIECE_BYTES;
}

static kd_status piece_add(ply_file *file, const ply_element *element, const char *begin,
                           uint64_t first_row, uint64_t line) {
    KD_TRY(KD_RESERVE_NEXT(file->pieces, file->piece_count, file->piece_capacity, 16));
    ply_piece *piece = &file->pieces[file->piece_count++];
    memset(piece, 0, sizeof *piece);
    piece->element = element;
    piece->begin = piece->end = begin;
    piece->first_row = first_row;
    piece->line = line;
    return KD_OK;
}

static void truncated(ply_file *file, const ply_element *element, uint64_t rows, const char *at,
                      uint64_t line) {
    ply_problem(file, &file->problems, true, "truncated", at, line,
                "found the end of the file after %llu rows of %.*s, expected %llu",
                (unsigned long long)rows, text_shown(element->name), element->name.begin,
                (unsigned long long)element->count);
}

/* --- binary rows ----------------------------------------------------------------------------- */

/* Cuts rows of fixed size. Advances *at past the rows that exist. */
static kd_status even_rows_cut(ply_file *file, const ply_element *element, const char **at) {
    const uint64_t left = (uint64_t)(file->view.bytes + file->view.count - *at);
    const uint64_t bytes = element->min_bytes;
    const uint64_t rows = element->count <= left / bytes ? element->count : left / bytes;
    const uint64_t step = piece_bytes(file) / bytes + 1;
    for (uint64_t i = 0; i < rows && element->kind == PLY_VERTICES; i += step) {
        KD_TRY(piece_add(file, element, *at + i * bytes, i, 0));
        ply_piece *piece = &file->pieces[file->piece_count - 1];
        piece->rows = rows - i < step ? rows - i : step;
        piece->end = piece->begin + piece->rows * bytes;
    }
    *at += rows * bytes;
    if (rows < element->count) truncated(file, element, rows, *at, 0);
    return KD_OK;
}

/* Cuts rows with lists, the size of which is known only after reading them. */
static kd_status listed_rows_cut(ply_file *file, const ply_element *element, const char **at) {
    const uint64_t maximum = piece_bytes(file);
    uint64_t row = 0;
    bool whole = true;
    while (row < element->count && whole) {
        KD_TRY(piece_add(file, element, *at, row, 0));
        ply_piece *piece = &file->pieces[file->piece_count - 1];
        for (; row < element->count && (uint64_t)(*at - piece->begin) < maximum; ++row) {
            uint64_t triangles = 0;
            whole = ply_row_measure(file, element, at, &triangles);
            if (!whole) break;
            piece->triangles += triangles;
            ++piece->rows;
        }
        piece->end = *at;
    }
    if (!whole) truncated(file, element, row, *at, 0);
    return KD_OK;
}

static kd_status bytes_cut(ply_file *file) {
    const char *at = file->view.bytes + file->header.bytes;
    const char *end = file->view.bytes + file->view.count;
    for (uint32_t i = 0; i < file->header.element_count && !file->problems.fatal; ++i) {
        const ply_element *element = &file->header.elements[i];
        if (element->property_count == 0 || element->count == 0) continue;
        if (element->has_lists)
            KD_TRY(listed_rows_cut(file, element, &at));
        else
            KD_TRY(even_rows_cut(file, element, &at));
    }
    if (at < end && !file->problems.fatal)
        ply_problem(file, &file->problems, false, "trailing", at, 0,
                    "found %llu bytes after the last row, expected the end of the file",
                    (unsigned long long)(end - at));
    return KD_OK;
}

/* --- text ------------------------------------------------------------------------------------ */

/* Numbers of lines and of non-empty lines in a chunk. */
typedef struct line_counts {
    uint64_t lines, rows;
} line_counts;

typedef struct line_counter {
    const text_chunks *chunks;
    line_counts *counts;
} line_counter;

static void lines_count(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    line_counter *to = (line_counter *)context;
    for (int64_t i = begin; i < end; ++i) {
        const char *at = to->chunks->spans[i].begin, *stop = at + to->chunks->spans[i].count;
        line_counts counts = {0, 0};
        for (; at < stop; at = text_line_next(at)) {
            at = text_blanks_over(at);
            counts.rows += !text_is_line_end(*at);
            ++counts.lines;
        }
        to->counts[i] = counts;
    }
}

/* Position while cutting a text. */
typedef struct text_cutter {
    ply_file *file;
    uint32_t element;
    uint64_t row, line; /* row within the element; line within the file */
} text_cutter;

/* Returns the element of the next row, or NULL after the last row. */
static const ply_element *element_now(text_cutter *cutter) {
    const ply_header *header = &cutter->file->header;
    for (; cutter->element < header->element_count; ++cutter->element, cutter->row = 0) {
        const ply_element *element = &header->elements[cutter->element];
        if (element->property_count && cutter->row < element->count) return element;
    }
    return NULL;
}

/* Returns the position after `rows` non-empty lines. */
static const char *rows_over(const char *at, uint64_t rows, uint64_t *line) {
    while (rows > 0) {
        at = text_blanks_over(at);
        rows -= !text_is_line_end(*at);
        at = text_line_next(at);
        ++*line;
    }
    return at;
}

/* Skips empty lines. */
static const char *empty_lines_over(const char *at, uint64_t *line) {
    while (text_is_line_end(*text_blanks_over(at))) {
        at = text_line_next(at);
        ++*line;
    }
    return at;
}

static kd_status chunk_cut(text_cutter *cutter, text_span text, line_counts counts) {
    ply_file *from = cutter->file;
    const char *at = text.begin;
    uint64_t line = cutter->line, left = counts.rows;
    while (left > 0) {
        const ply_element *element = element_now(cutter);
        if (!element) {
            at = empty_lines_over(at, &line);
            ply_problem(from, &from->problems, false, "trailing", at, line,
                        "found lines after the last row, expected the end of the file");
            cutter->line = UINT64_MAX; /* report it only once */
            return KD_OK;
        }
        const uint64_t rows_left = element->count - cutter->row;
        const uint64_t rows = rows_left < left ? rows_left : left;
        if (element->kind != PLY_OTHER) {
            KD_TRY(piece_add(from, element, at, cutter->row, line));
            from->pieces[from->piece_count - 1].rows = rows;
        }
        left -= rows;
        cutter->row += rows;
        if (left > 0) at = rows_over(at, rows, &line);
    }
    cutter->line += counts.lines;
    return KD_OK;
}

static kd_status lines_cut(ply_file *file, const line_counts *counts) {
    text_cutter cutter = {file, 0, 0, file->header.lines};
    for (uint64_t i = 0; i < file->chunks.count && cutter.line != UINT64_MAX; ++i)
        KD_TRY(chunk_cut(&cutter, file->chunks.spans[i], counts[i]));
    const ply_element *element = element_now(&cutter);
    if (element) truncated(file, element, cutter.row, NULL, cutter.line > 0 ? cutter.line - 1 : 0);
    return KD_OK;
}

/* Cuts the text into chunks and counts their lines. *counts is freed by memory_free. */
static kd_status chunks_count(ply_file *file, const char *text, uint64_t bytes,
                              line_counts **counts) {
    *counts = NULL;
    KD_TRY(text_chunks_cut(&file->chunks, text, bytes, piece_bytes(file), NULL));
    KD_TRY(KD_RESERVE(*counts, file->chunks.count));
    line_counter counter = {&file->chunks, *counts};
    parallel_for((int64_t)file->chunks.count, 1, lines_count, &counter);
    return KD_OK;
}

/* Returns true if the text has one line per row. */
static bool lines_are_rows(const ply_file *file, const line_counts *counts) {
    uint64_t rows = 0, lines = 0;
    for (uint32_t i = 0; i < file->header.element_count; ++i)
        if (file->header.elements[i].property_count) rows += file->header.elements[i].count;
    for (uint64_t i = 0; i < file->chunks.count; ++i) lines += counts[i].rows;
    return rows == lines;
}

static kd_status text_cut(ply_file *file) {
    const uint64_t bytes = file->view.count - file->header.bytes;
    line_counts *counts = NULL;
    kd_status status = chunks_count(file, file->view.bytes + file->header.bytes, bytes, &counts);
    if (status == KD_OK && !lines_are_rows(file, counts)) {
        status = ply_rows_join(file, &file->joined);
        if (status == KD_OK && file->joined) {
            text_chunks_close(&file->chunks);
            memory_free(counts);
            status = chunks_count(file, file->joined, bytes + 1, &counts);
        }
    }
    if (status == KD_OK) status = lines_cut(file, counts);
    memory_free(counts);
    return status;
}

kd_status ply_cut(ply_file *file) {
    return ply_is_text(file) ? text_cut(file) : bytes_cut(file);
}
