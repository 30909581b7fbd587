/* Reads rows of a PLY file, from text or from binary data of either byte order. */
#include "core/growth.h"
#include "core/memory.h"
#include "scenes/formats/ply_parts.h"
#include "scenes/text/number.h"
#include <stdarg.h>

enum { CORNERS_SMALL = 16 };

void ply_problem(const ply_file *file, problem_list *list, bool fatal, const char *kind,
                 const char *at, uint64_t line, const char *format, ...) {
    char text[PROBLEM_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (ply_is_text(file))
        problem_add(list, fatal, kind, line, "%s", text);
    else
        problem_add(list, fatal, kind, 0, "byte %llu: %s",
                    (unsigned long long)(at - file->view.bytes), text);
}

static bool corner_add(ply_piece *piece, ply_row *row, int64_t corner) {
    piece->status =
        KD_RESERVE_NEXT(row->corners, row->corner_count, row->corner_capacity, CORNERS_SMALL);
    if (piece->status != KD_OK) return false;
    row->corners[row->corner_count++] = corner;
    return true;
}

static bool number_add(ply_piece *piece, ply_numbers *list, float number) {
    piece->status = KD_RESERVE_NEXT(list->items, list->count, list->capacity, CORNERS_SMALL);
    if (piece->status != KD_OK) return false;
    list->items[list->count++] = number;
    return true;
}

/* Returns the list of numbers that the property fills; NULL: none. */
static ply_numbers *numbers_of(ply_row *row, ply_role role) {
    return role == PLY_WEDGES ? &row->wedges : role == PLY_PAINTS ? &row->paints : NULL;
}

/* --- binary rows ----------------------------------------------------------------------------- */

static uint64_t bits_read(const char *at, uint64_t bytes, bool big) {
    const bool turned = big == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    uint64_t eight;
    uint32_t four;
    uint16_t two;
    switch (bytes) {
    case 8: memcpy(&eight, at, sizeof eight); return turned ? __builtin_bswap64(eight) : eight;
    case 4: memcpy(&four, at, sizeof four); return turned ? __builtin_bswap32(four) : four;
    default: memcpy(&two, at, sizeof two); return turned ? __builtin_bswap16(two) : two;
    }
}

static int64_t whole_read(const char *at, ply_type type, bool big) {
    switch (type) {
    case PLY_INT8: return (int8_t)*at;
    case PLY_UINT8: return (uint8_t)*at;
    case PLY_INT16: return (int16_t)bits_read(at, 2, big);
    case PLY_UINT16: return (uint16_t)bits_read(at, 2, big);
    case PLY_INT32: return (int32_t)bits_read(at, 4, big);
    case PLY_UINT32: return (uint32_t)bits_read(at, 4, big);
    default: return 0;
    }
}

static float real_read(const char *at, ply_type type, bool big) {
    const uint64_t bits = bits_read(at, ply_type_bytes[type], big);
    if (type == PLY_DOUBLE) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return (float)value;
    }
    const uint32_t half = (uint32_t)bits;
    float value;
    memcpy(&value, &half, sizeof value);
    return value;
}

static float number_read(const char *at, ply_type type, bool big) {
    return ply_type_is_real(type) ? real_read(at, type, big) : (float)whole_read(at, type, big);
}

/* The row has at least `count` bytes, so they limit the memory. */
static bool bytes_corners_read(ply_piece *piece, ply_row *row, const char *at, uint64_t count,
                               ply_type type, bool big) {
    if (count > row->corner_capacity) {
        const uint64_t capacity = count < CORNERS_SMALL ? CORNERS_SMALL : count;
        piece->status = KD_GROW(row->corners, 0, capacity);
        if (piece->status != KD_OK) return false;
        row->corner_capacity = capacity;
    }
    const uint64_t bytes = ply_type_bytes[type];
    for (uint64_t k = 0; k < count; ++k) row->corners[k] = whole_read(at + k * bytes, type, big);
    row->corner_count = count;
    return true;
}

/* Not inlined, so that rows of vertices and of faces without such lists stay as fast. */
__attribute__((noinline)) static bool bytes_numbers_read(ply_piece *piece, ply_numbers *list,
                                                         const char *at, int64_t count,
                                                         ply_type type, bool big) {
    for (int64_t k = 0; k < count; ++k, at += ply_type_bytes[type])
        if (!number_add(piece, list, number_read(at, type, big))) return false;
    return true;
}

/* Needs no bounds checks: ply_cut has validated the row. */
static bool bytes_row_read(const ply_file *file, ply_piece *piece, const char **at, ply_row *row) {
    const ply_element *element = piece->element;
    const bool big = file->header.form == PLY_BIG;
    const char *next = *at;
    for (uint32_t i = 0; i < element->property_count; ++i) {
        const ply_property *property = &file->header.properties[element->first + i];
        const uint64_t bytes = ply_type_bytes[property->type];
        if (!property->is_list) {
            if (property->role < PLY_SCALARS)
                row->numbers[property->role] = number_read(next, property->type, big);
            next += bytes;
            continue;
        }
        const int64_t count = whole_read(next, property->count_type, big);
        next += ply_type_bytes[property->count_type];
        if (property->role == PLY_CORNERS &&
            !bytes_corners_read(piece, row, next, (uint64_t)count, property->type, big))
            return false;
        if ((property->role == PLY_WEDGES || property->role == PLY_PAINTS) &&
            !bytes_numbers_read(piece, numbers_of(row, property->role), next, count, property->type,
                                big))
            return false;
        next += (uint64_t)count * bytes;
    }
    *at = next;
    return true;
}

static uint64_t list_triangles(const ply_element *element, const char *at, int64_t count,
                               const ply_property *property, bool big) {
    if (property->role != PLY_CORNERS) return 0;
    if (element->kind == PLY_FACES) return count > 2 ? (uint64_t)count - 2 : 0;
    ply_strip strip = {{0, 0}, 0};
    int64_t corners[3];
    uint64_t triangles = 0;
    for (int64_t k = 0; k < count; ++k, at += ply_type_bytes[property->type])
        triangles += ply_strip_next(&strip, whole_read(at, property->type, big), corners);
    return triangles;
}

bool ply_row_measure(const ply_file *file, const ply_element *element, const char **at,
                     uint64_t *triangles) {
    const bool big = file->header.form == PLY_BIG;
    const char *end = file->view.bytes + file->view.count, *next = *at;
    for (uint32_t i = 0; i < element->property_count; ++i) {
        const ply_property *property = &file->header.properties[element->first + i];
        const uint64_t left = (uint64_t)(end - next), bytes = ply_type_bytes[property->type];
        if (!property->is_list) {
            if (left < bytes) return false;
            next += bytes;
            continue;
        }
        const uint64_t counted = ply_type_bytes[property->count_type];
        if (left < counted) return false;
        const int64_t count = whole_read(next, property->count_type, big);
        if (count < 0 || (uint64_t)count * bytes > left - counted) return false;
        next += counted;
        *triangles += list_triangles(element, next, count, property, big);
        next += (uint64_t)count * bytes;
    }
    *at = next;
    return true;
}

/* --- text ------------------------------------------------------------------------------------ */

static bool word_ends(const char *at) {
    return text_is_blank(*at) || text_is_line_end(*at);
}

static bool text_fail(const ply_file *file, ply_piece *piece, const char *at, uint64_t line,
                      const char *expected) {
    text_span word = {at, 0};
    while (!word_ends(word.begin + word.count)) ++word.count;
    if (word.count)
        ply_problem(file, &piece->problems, true, "malformed", at, line,
                    "found \"%.*s\", expected %s", text_shown(word), word.begin, expected);
    else
        ply_problem(file, &piece->problems, true, "malformed", at, line,
                    "found the end of the line, expected %s", expected);
    return false;
}

static const char *word_over(const char *at) {
    while (!word_ends(at)) ++at;
    return at;
}

static const char *whole_of(const char *at, int64_t *value) {
    const char *next = number_integer(at, value);
    return next && word_ends(next) ? next : NULL;
}

/* Parses the list at *at: its length, then its items. */
static bool text_list_read(const ply_file *file, ply_piece *piece, const ply_property *property,
                           const char **at, uint64_t line, ply_row *row) {
    int64_t count = 0, corner = 0;
    float number = 0;
    ply_numbers *numbers = numbers_of(row, property->role);
    const char *next = whole_of(*at, &count);
    if (!next || count < 0)
        return text_fail(file, piece, *at, line, "the number of a list's items");
    for (int64_t k = 0; k < count; ++k) {
        *at = text_blanks_over(next);
        next = word_over(*at);
        if (next == *at) return text_fail(file, piece, *at, line, "as many items as the list has");
        if (numbers) {
            const char *end = number_float(*at, &number);
            if (!end || !word_ends(end)) return text_fail(file, piece, *at, line, "a number");
            if (!number_add(piece, numbers, number)) return false;
        }
        if (property->role != PLY_CORNERS) continue;
        if (!whole_of(*at, &corner)) return text_fail(file, piece, *at, line, "a vertex index");
        if (!corner_add(piece, row, corner)) return false;
    }
    *at = next;
    return true;
}

static bool text_values_read(const ply_file *file, ply_piece *piece, const char **at, uint64_t line,
                             ply_row *row) {
    const ply_element *element = piece->element;
    for (uint32_t i = 0; i < element->property_count; ++i) {
        const ply_property *property = &file->header.properties[element->first + i];
        *at = text_blanks_over(*at);
        if (property->is_list) {
            if (!text_list_read(file, piece, property, at, line, row)) return false;
            continue;
        }
        float ignored = 0;
        float *value = property->role < PLY_SCALARS ? &row->numbers[property->role] : &ignored;
        const char *next = property->role < PLY_SCALARS ? number_float(*at, value) : word_over(*at);
        if (!next || next == *at || !word_ends(next))
            return text_fail(file, piece, *at, line, "a number");
        *at = next;
    }
    *at = text_blanks_over(*at);
    return text_is_line_end(**at) || text_fail(file, piece, *at, line, "the end of the line");
}

static const char *rows_begin(const char *at, uint64_t *line) {
    for (;;) { /* skip empty lines */
        const char *word = text_blanks_over(at);
        if (!text_is_line_end(*word)) return at;
        at = text_line_next(word);
        ++*line;
    }
}

bool ply_row_read(const ply_file *file, ply_piece *piece, const char **at, uint64_t *line,
                  ply_row *row) {
    row->corner_count = row->wedges.count = row->paints.count = 0;
    if (!ply_is_text(file)) return bytes_row_read(file, piece, at, row);
    const char *next = rows_begin(*at, line);
    const bool sound = text_values_read(file, piece, &next, *line, row);
    *at = text_line_next(next);
    ++*line;
    return sound;
}

/* --- positions in double precision ----------------------------------------------------------- */

static double wide_read(const char *at, ply_type type, bool big) {
    if (type != PLY_DOUBLE)
        return ply_type_is_real(type) ? (double)real_read(at, type, big)
                                      : (double)whole_read(at, type, big);
    const uint64_t bits = bits_read(at, 8, big);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ply_cut has validated the row. */
static void bytes_place_read(const ply_file *file, const ply_element *element, const char **at,
                             double place[3]) {
    const bool big = file->header.form == PLY_BIG;
    const char *next = *at;
    for (uint32_t i = 0; i < element->property_count; ++i) {
        const ply_property *property = &file->header.properties[element->first + i];
        uint64_t items = 1;
        if (property->is_list) {
            items = (uint64_t)whole_read(next, property->count_type, big);
            next += ply_type_bytes[property->count_type];
        } else if (property->role <= PLY_Z) {
            place[property->role] = wide_read(next, property->type, big);
        }
        next += items * ply_type_bytes[property->type];
    }
    *at = next;
}

static bool text_place_read(const ply_file *file, const ply_element *element, const char *at,
                            double place[3]) {
    for (uint32_t i = 0; i < element->property_count; ++i) {
        const ply_property *property = &file->header.properties[element->first + i];
        int64_t items = 1;
        at = text_blanks_over(at);
        if (property->is_list) {
            at = whole_of(at, &items);
            if (!at) return false;
        } else if (property->role <= PLY_Z && !number_double(at, &place[property->role])) {
            return false;
        }
        for (int64_t k = 0; k < items && !text_is_line_end(*at); ++k)
            at = word_over(text_blanks_over(at));
    }
    return true;
}

bool ply_place_read(const ply_file *file, const ply_element *element, const char **at,
                    double place[3]) {
    uint64_t line = 0;
    place[0] = place[1] = place[2] = 0;
    if (!ply_is_text(file)) {
        bytes_place_read(file, element, at, place);
        return true;
    }
    const char *row = rows_begin(*at, &line);
    *at = text_line_next(row);
    return text_place_read(file, element, row, place);
}

/* --- counting -------------------------------------------------------------------------------- */

/* Counts the triangles of a line; 0 for a malformed one, which is reported when it is read. A line
   of n bytes has at most n / 2 items, so a larger count is malformed. */
static uint64_t line_triangles(const ply_file *file, const ply_element *element, const char *at,
                               uint64_t bytes) {
    for (uint32_t i = 0; i < element->property_count; ++i) {
        const ply_property *property = &file->header.properties[element->first + i];
        int64_t count = 1, corners[3], corner;
        at = text_blanks_over(at);
        if (property->is_list) {
            const char *next = whole_of(at, &count);
            if (!next || count < 0) return 0;
            if (property->role == PLY_CORNERS && element->kind == PLY_FACES)
                return count > 2 && (uint64_t)count <= bytes / 2 ? (uint64_t)count - 2 : 0;
            at = next;
        }
        ply_strip strip = {{0, 0}, 0};
        uint64_t triangles = 0;
        for (int64_t k = 0; k < count; ++k) {
            at = text_blanks_over(at);
            const char *next = word_over(at);
            if (next == at) return triangles;
            if (property->role == PLY_CORNERS && !whole_of(at, &corner)) return triangles;
            if (property->role == PLY_CORNERS) triangles += ply_strip_next(&strip, corner, corners);
            at = next;
        }
        if (property->role == PLY_CORNERS) return triangles;
    }
    return 0;
}

uint64_t ply_text_triangles(const ply_file *file, const ply_piece *piece) {
    uint64_t triangles = 0, line = 0;
    const char *at = piece->begin;
    for (uint64_t i = 0; i < piece->rows; ++i) {
        at = rows_begin(at, &line);
        const char *next = text_line_next(at);
        triangles += line_triangles(file, piece->element, at, (uint64_t)(next - at));
        at = next;
    }
    return triangles;
}
