/* Positions in JSON text, for error messages: the parser reports the position of a syntax error
   only roughly and what it expected not at all, and its values have no positions. */
#ifndef KD_SCENES_TEXT_JSON_POSITION_H
#define KD_SCENES_TEXT_JSON_POSITION_H
#include "scenes/text/json_keys.h"

/* Finds the first syntax error of a text that the parser has rejected. Returns what was expected at
   byte *offset; NULL if this scanner accepts the text. */
const char *json_find_error(const char *text, size_t bytes, size_t *offset);

/* Finds the key or list item `at` in the text of a file. Returns false if it is not there, as for a
   missing key. */
bool json_find_place(const char *text, size_t bytes, const json_place *at, size_t *offset);

/* Formats "12:5", line and column of the byte, both counted from 1; columns count characters. */
void json_position_text(char *out, size_t out_bytes, const char *text, size_t offset);

#endif
