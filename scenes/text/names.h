/* A map from names to small integers: a hash table with open addressing. Names are borrowed. */
#ifndef KD_SCENES_TEXT_NAMES_H
#define KD_SCENES_TEXT_NAMES_H
#include "core/status.h"
#include "scenes/text/text.h"

typedef struct name_entry {
    text_span name; /* begin is NULL: empty slot */
    uint32_t value;
} name_entry;

typedef struct name_table {
    name_entry *entries; /* `capacity` slots, a power of two, at most half of them in use */
    uint64_t count, capacity;
} name_table;

/* Returns the value of `name`, or KD_NONE if it is absent. */
uint32_t name_table_find(const name_table *table, text_span name);
/* Adds a name that must be absent. May return KD_ERROR_MEMORY. */
kd_status name_table_add(name_table *table, text_span name, uint32_t value);
void name_table_close(name_table *table);

#endif
