#include "scenes/text/paths.h"
#include "core/files/file.h"
#include "core/memory.h"

static uint64_t name_clean(char *text, text_span name) {
    uint64_t length = 0;
    for (uint64_t i = 0; i < name.count; ++i) {
        const char c = name.begin[i];
        if (c == '\\' && i + 1 < name.count && name.begin[i + 1] == ' ') continue;
        text[length++] = c == '\\' ? '/' : c;
    }
    text[length] = '\0';
    return length;
}

kd_status path_find(const char *beside, text_span name, char **found) {
    char *text = NULL;
    *found = NULL;
    KD_TRY(KD_RESERVE(text, name.count + 1));
    name_clean(text, name);
    const char *last = strrchr(text, '/');
    const char *const tries[2] = {text, last ? last + 1 : NULL};
    kd_status status = KD_OK;
    for (int i = 0; i < 2 && tries[i] && tries[i][0] && !*found; ++i) {
        char *joined = file_path_beside(beside, tries[i]);
        if (!joined) {
            status = KD_ERROR_MEMORY;
            break;
        }
        if (file_is_there(joined))
            *found = joined;
        else
            memory_free(joined);
    }
    memory_free(text);
    return status;
}
