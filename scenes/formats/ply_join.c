/* Puts each row of a PLY text on one line, for files that break rows over lines or write several
   rows on one: words are then separated by any blanks, and only their number tells the rows
   apart. */
#include "scenes/formats/ply_parts.h"
#include "scenes/text/number.h"

/* Works on a terminated copy of the text. */
typedef struct row_joiner {
    char *at, *end; /* the end of the last word; the terminator */
} row_joiner;

static bool is_space(char c) {
    return text_is_blank(c) || text_is_line_end(c);
}

/* Advances past the next word, and replaces the blanks before it by `separator` and spaces.
   Returns its begin, or NULL at the end of the text. */
static const char *word_take(row_joiner *joiner, char separator) {
    char *begin = joiner->at;
    while (begin < joiner->end && is_space(*begin)) ++begin;
    if (begin == joiner->end) return NULL;
    for (char *at = joiner->at; at < begin; ++at) *at = at == joiner->at ? separator : ' ';
    joiner->at = begin;
    while (joiner->at < joiner->end && !is_space(*joiner->at)) ++joiner->at;
    return begin;
}

static bool row_join(row_joiner *joiner, const ply_header *header, const ply_element *element) {
    for (uint32_t i = 0; i < element->property_count; ++i) {
        const char *word = word_take(joiner, i == 0 ? '\n' : ' ');
        int64_t items = 0;
        if (!word) return false;
        if (!header->properties[element->first + i].is_list) continue;
        if (number_integer(word, &items) != joiner->at || items < 0) return false;
        for (int64_t k = 0; k < items; ++k)
            if (!word_take(joiner, ' ')) return false;
    }
    return true;
}

static bool rows_join(row_joiner *joiner, const ply_header *header) {
    for (uint32_t i = 0; i < header->element_count; ++i) {
        const ply_element *element = &header->elements[i];
        for (uint64_t k = 0; k < element->count && element->property_count; ++k)
            if (!row_join(joiner, header, element)) return false;
    }
    return !word_take(joiner, '\n'); /* otherwise there are more words than the header says */
}

kd_status ply_rows_join(const ply_file *file, char **joined) {
    const char *text = file->view.bytes + file->header.bytes;
    const uint64_t bytes = file->view.count - file->header.bytes;
    char *copy = NULL;
    *joined = NULL;
    KD_TRY(KD_RESERVE(copy, bytes + 1));
    memcpy(copy, text, bytes);
    copy[bytes] = '\n';
    row_joiner joiner = {copy, copy + bytes};
    if (rows_join(&joiner, &file->header))
        *joined = copy;
    else
        memory_free(copy);
    return KD_OK;
}
