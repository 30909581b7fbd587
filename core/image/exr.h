/* What reading and writing of EXR files share: the stream that OpenEXR's C core works on, its
   complaints, its answers as statuses. */
#ifndef KD_CORE_IMAGE_EXR_H
#define KD_CORE_IMAGE_EXR_H
#include "core/image/formats.h"
#if KD_HAVE_OPENEXR
#include <openexr.h>

typedef struct exr_stream {
    const char *path;
    FILE *output;
    const file_view *input;
    int reason; /* errno of the first write that failed */
} exr_stream;

/* The library's last complaint to this thread. Its handler is called while the library holds the
   context's lock, so it may call nothing of the library, not even for its user data. */
void exr_complaint_keep(exr_const_context_t context, exr_result_t code, const char *text);
void exr_complaint_forget(void);
const char *exr_complaint(exr_result_t code); /* or, without one, what the code says */
/* What a call of the library answered, as a status. */
kd_status exr_answered(const exr_stream *stream, exr_result_t code, kd_status failure);
/* What a call answered that writes: complaints of the stream and of memory first. */
kd_status exr_written(const exr_stream *stream, exr_result_t code);
/* All chunks of the picture, by ZIP, behind a header that is written and has its channels. By all
   cores and libdeflate; by the library's own pipeline where a build has none. */
kd_status exr_deflate(exr_context_t context, const exr_stream *stream, const image *from);
/* Transposes: OpenEXR multiplies row vectors with worldToCamera, an image's matrix multiplies
   column vectors. */
void exr_matrix_transpose(float to[16], const float from[16]);

kd_status exr_read(image *out, const char *path, const file_view *file);
/* R, G, B, A alone. */
kd_status exr_read_colours(image *out, const char *path, const file_view *file);

/* ZIP and ZIPS chunks by libdeflate, which inflates faster than the zlib that the library calls. */
typedef struct exr_inflate {
    void *inflater; /* of libdeflate; owned, as the bytes are */
    unsigned char *bytes;
    uint64_t room;
    exr_result_t (*usual)(exr_decode_pipeline_t *pipeline); /* for all other chunks */
} exr_inflate;

/* The pipeline decompresses by this from now on, where it can; builds without libdeflate change
   nothing. `by` lives as long as the pipeline does. */
void exr_inflate_choose(exr_inflate *by, exr_decode_pipeline_t *pipeline);
void exr_inflate_close(exr_inflate *owned); /* takes a zeroed one */
#endif
#endif
