/* From names to small numbers: a hash table with open addressing. Keys are borrowed. */
#ifndef KD_SCENES_TEXT_NAMES_H
#define KD_SCENES_TEXT_NAMES_H
#include "core/status.h"
#include "scenes/text/text.h"

typedef struct name_entry {
    text_span name; /* begin is NULL: free */
    uint32_t value;
} name_entry;

typedef struct name_table {
    name_entry *entries; /* a power of two of them, at most half in use */
    uint64_t count, room;
} name_table;

/* The entry's value, KD_NONE if the name is not there. */
uint32_t name_table_find(const name_table *table, text_span name);
/* Adds a name that is not there yet. KD_ERROR_MEMORY. */
kd_status name_table_add(name_table *table, text_span name, uint32_t value);
void name_table_close(name_table *table);

#endif
