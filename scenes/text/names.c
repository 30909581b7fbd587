#include "scenes/text/names.h"
#include "core/hash.h"
#include "core/math/platform.h"
#include "core/memory.h"

static name_entry *slot_of(const name_table *table, text_span name) {
    uint64_t at = hash_bytes(name.begin, name.count) & (table->capacity - 1);
    for (;; at = (at + 1) & (table->capacity - 1)) {
        name_entry *entry = &table->entries[at];
        if (!entry->name.begin || (entry->name.count == name.count &&
                                   memcmp(entry->name.begin, name.begin, name.count) == 0))
            return entry;
    }
}

uint32_t name_table_find(const name_table *table, text_span name) {
    if (table->capacity == 0) return KD_NONE;
    const name_entry *entry = slot_of(table, name);
    return entry->name.begin ? entry->value : KD_NONE;
}

static kd_status table_grow(name_table *table) {
    name_table larger = {NULL, table->count, table->capacity ? 2 * table->capacity : 32};
    KD_TRY(KD_RESERVE_ZEROED(larger.entries, larger.capacity));
    for (uint64_t i = 0; i < table->capacity; ++i)
        if (table->entries[i].name.begin)
            *slot_of(&larger, table->entries[i].name) = table->entries[i];
    memory_free(table->entries);
    *table = larger;
    return KD_OK;
}

kd_status name_table_add(name_table *table, text_span name, uint32_t value) {
    if (2 * (table->count + 1) > table->capacity) KD_TRY(table_grow(table));
    name_entry *entry = slot_of(table, name);
    entry->name = name;
    entry->value = value;
    ++table->count;
    return KD_OK;
}

void name_table_close(name_table *table) {
    memory_free(table->entries);
    memset(table, 0, sizeof *table);
}
