#include "core/system/text_stream.h"
#include <stdlib.h>

bool text_stream_open(text_stream *out) {
    out->text = NULL;
    out->count = 0;
    out->stream = open_memstream(&out->text, &out->count);
    return out->stream != NULL;
}

bool text_stream_end(text_stream *of) {
    const bool failed = ferror(of->stream) != 0;
    const bool whole = fclose(of->stream) == 0 && !failed;
    of->stream = NULL;
    if (whole) return true;
    free(of->text);
    of->text = NULL;
    return false;
}
