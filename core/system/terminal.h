/* The terminal behind stderr. */
#ifndef KD_CORE_SYSTEM_TERMINAL_H
#define KD_CORE_SYSTEM_TERMINAL_H
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

bool terminal_is_there(void);
int terminal_columns(void); /* 80 where it does not say */

#ifdef __cplusplus
}
#endif
#endif
