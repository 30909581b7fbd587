#include "core/system/text_stream.h"
#include <stdlib.h>

bool text_stream_open(text_stream *out) {
    out->text = NULL;
    out->count = 0;
    out->stream = tmpfile();
    return out->stream != NULL;
}

bool text_stream_end(text_stream *of) {
    const bool failed = ferror(of->stream) != 0 || fflush(of->stream) != 0;
    const long bytes = failed ? -1 : ftell(of->stream);
    if (bytes >= 0) of->text = (char *)malloc((size_t)bytes + 1);
    rewind(of->stream);
    if (of->text) {
        of->count = fread(of->text, 1, (size_t)bytes, of->stream);
        of->text[of->count] = '\0';
    }
    fclose(of->stream);
    of->stream = NULL;
    const bool whole = of->text && of->count == (size_t)bytes;
    if (whole) return true;
    free(of->text);
    of->text = NULL;
    return false;
}
