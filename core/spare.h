/* Memory for a while that a caller can do without: what is too large for a stack, of which a call
   of the library has 128 KB. */
#ifndef KD_CORE_SPARE_H
#define KD_CORE_SPARE_H
#include <stdint.h>

/* 64-byte aligned, not initialised, freed by memory_free; NULL, without a message, if there is
   none. */
void *memory_spare(uint64_t bytes);

#endif
