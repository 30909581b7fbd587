/* Shared by the reader and writer of EXR files: the choice of layers, the stream that OpenEXR's C
   core operates on, its error messages, and their conversion to statuses. */
#ifndef KD_CORE_IMAGE_EXR_H
#define KD_CORE_IMAGE_EXR_H
#include "core/image/formats.h"
#if KD_HAVE_OPENEXR
#include <openexr.h>

typedef struct exr_stream {
    const char *path;
    FILE *output;
    const file_view *input;
    int reason; /* errno of the first failed write */
} exr_stream;

/* The last error message of the library on this thread. The library calls the handler while it
   holds the lock of the context, so the handler must not call the library, not even for the user
   data. */
void exr_complaint_keep(exr_const_context_t context, exr_result_t code, const char *text);
void exr_complaint_forget(void);
/* Returns the stored message, or, if there is none, the library's text for the code. */
const char *exr_complaint(exr_result_t code);
/* Converts a result of the library to a status; `failure` is the status of an error. */
kd_status exr_answered(const exr_stream *stream, exr_result_t code, kd_status failure);
/* As exr_answered for calls that write; reports errors of the stream and of memory first. */
kd_status exr_written(const exr_stream *stream, exr_result_t code);
/* Writes all chunks of the picture with ZIP compression, after a header with its channels has been
   written. Uses all cores and libdeflate, or the library's own pipeline in a build without
   libdeflate. */
kd_status exr_deflate(exr_context_t context, const exr_stream *stream, const image *image);
/* Transposes a matrix: worldToCamera in OpenEXR multiplies row vectors, the matrix of an image
   column vectors. */
void exr_matrix_transpose(float to[16], const float from[16]);

kd_status exr_read(image *out, const char *path, const file_view *file,
                   const image_reading *reading);

typedef enum exr_colours {
    EXR_RGB,
    EXR_GREY,  /* one channel */
    EXR_CHROMA /* luminance Y and two channels of chroma, (R - Y) / Y and (B - Y) / Y */
} exr_colours;

/* The channels that are read as colours. */
typedef struct exr_choice {
    int part;
    exr_colours kind;
    /* indices in the part's list of channels, -1: none: R, G, B, A; the only one at 0; or RY, Y, BY
       in the places of R, G, B */
    int channel[4];
} exr_choice;

/* Chooses a part and layer, and logs the choice if there were several; `layer`: the name of the
   one to be chosen, or NULL. Returns KD_ERROR_INPUT, which lists those of the file, if there is
   none. */
kd_status exr_choose(exr_choice *out, exr_const_context_t context, const char *path,
                     const char *layer);
/* Converts the decoded planes of the choice to R, G and B of Rec. 709, and logs that if the file
   has other chromaticities. */
kd_status exr_colours_finish(const image *out, const exr_choice *choice,
                             exr_const_context_t context, const char *path);

/* Decompression of chunks that the library does not decompress, or slowly: ZIP and ZIPS by
   libdeflate, B44 stored without compression. */
typedef struct exr_inflate {
    void *inflater; /* a libdeflate_decompressor; owned, as is `bytes` */
    unsigned char *bytes;
    uint64_t capacity;
    /* the library's own decompression, for all other chunks */
    exr_result_t (*usual)(exr_decode_pipeline_t *pipeline);
} exr_inflate;

/* Makes the pipeline decompress with `inflate` where possible, ZIP only in builds with libdeflate.
   `inflate` must live as long as the pipeline. */
void exr_inflate_choose(exr_inflate *inflate, exr_decode_pipeline_t *pipeline);
void exr_inflate_close(exr_inflate *owned); /* accepts a zeroed struct */
#endif
#endif
