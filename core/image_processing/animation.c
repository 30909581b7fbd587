#include "core/image_processing/animation.h"
#include "core/files/file.h"
#include "core/image/encode.h"
#include "core/memory.h"
#include "core/system/paths.h"
#include "core/system/process.h"
#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

enum { ARGUMENTS_MAX = 48, WORDS_BYTES = 512 };

typedef struct animation_format {
    const char *suffix;
    const char *options; /* options of ffmpeg for the format, separated by spaces; NULL: .webp */
} animation_format;

static const animation_format formats[] = {
    {".webp", NULL},
    /* a palette made of all frames; endless repetition */
    {".gif", "-filter_complex split[a][b];[a]palettegen[p];[b][p]paletteuse -loop 0 -f gif"},
    /* players expect 4:2:0, which needs even sizes */
    {".mp4",
     "-vf pad=ceil(iw/2)*2:ceil(ih/2)*2 -pix_fmt yuv420p -crf 18 -movflags +faststart -f mp4"},
    {NULL, NULL}};

struct animation {
    const animation_format *format;
    file_output file;
    file_output raw;          /* the frames for ffmpeg */
    struct webp_frames *webp; /* the frames of a .webp file */
    double rate;
    int32_t width, height; /* size of the first frame; 0: none yet */
    int32_t count;
};

static const animation_format *format_find(const char *path) {
    const char *suffix = file_suffix(path);
    for (const animation_format *row = formats; row->suffix; ++row)
        if (strcasecmp(suffix, row->suffix) == 0) return row;
    return NULL;
}

bool animation_has_suffix(const char *path) {
    return format_find(path) != NULL;
}

static bool ffmpeg_exists(void) {
    const char *folder = place_variable("PATH");
    while (folder && *folder) {
        char path[PLACE_BYTES];
        const int length = (int)strcspn(folder, ":");
        if (snprintf(path, sizeof path, "%.*s/ffmpeg", length, folder) < PLACE_BYTES &&
            place_allows(path, PLACE_RUNNABLE))
            return true;
        folder += length;
        if (*folder) ++folder;
    }
    return false;
}

kd_status animation_check(const char *path) {
    const animation_format *format = format_find(path);
    KD_REQUIRE(format->options || webp_frames_supported(), KD_ERROR_USAGE,
               "%s: this build lacks libwebp, which writes .webp files", path);
    KD_REQUIRE(!format->options || ffmpeg_exists(), KD_ERROR_USAGE,
               "%s: %s files are written by the program ffmpeg, which is not installed; "
               "install it, or write a .webp file",
               path, format->suffix);
    return KD_OK;
}

kd_status animation_open(animation **out, const char *path, double rate) {
    animation *made = NULL;
    *out = NULL;
    KD_TRY(KD_RESERVE_ZEROED(made, 1));
    made->format = format_find(path);
    made->rate = rate;
    made->file.lock = made->raw.lock = -1;
    kd_status status = file_output_open(&made->file, path);
    if (status == KD_OK && made->format->options) {
        char raw[sizeof made->file.path + 8];
        snprintf(raw, sizeof raw, "%s.frames", made->file.path);
        status = file_output_open(&made->raw, raw);
    }
    if (status != KD_OK) animation_close(made);
    KD_TRY(status);
    *out = made;
    return KD_OK;
}

static int frame_time(const animation *frames, int32_t index) {
    return (int)lround(1000 * index / frames->rate);
}

static kd_status add_bytes(animation *frames, const uint8_t *bytes, int samples) {
    if (!frames->format->options)
        return webp_frames_add(&frames->webp, frames->file.path, bytes, frames->width,
                               frames->height, samples, frame_time(frames, frames->count));
    const size_t count = (size_t)samples * (size_t)frames->width * (size_t)frames->height;
    KD_REQUIRE(fwrite(bytes, 1, count, frames->raw.stream) == count, KD_ERROR_RUNTIME,
               "%s: cannot write: %s", frames->raw.temporary, strerror(errno));
    return KD_OK;
}

kd_status animation_add(animation *frames, const image *image, const image_encoding *encoding) {
    uint8_t *bytes = NULL;
    int samples = 0;
    if (frames->count == 0) frames->width = image->width, frames->height = image->height;
    KD_REQUIRE(image->width == frames->width && image->height == frames->height, KD_ERROR_USAGE,
               "%s: the frames have different sizes; set --resolution", frames->file.path);
    KD_TRY(image_encode(&bytes, &samples, image, encoding, !frames->format->options));
    const kd_status status = add_bytes(frames, bytes, samples);
    memory_free(bytes);
    if (status == KD_OK) ++frames->count;
    return status;
}

/* Appends the words of a text, in which spaces become null characters. */
static void add_words(char **arguments, int *count, char *text) {
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        arguments[(*count)++] = word;
}

/* Runs ffmpeg, which reads the frames and writes the temporary file of the output. */
static kd_status run_ffmpeg(animation *frames) {
    char input[WORDS_BYTES], options[WORDS_BYTES], *arguments[ARGUMENTS_MAX];
    int count = 0;
    snprintf(input, sizeof input,
             "ffmpeg -nostdin -y -loglevel error -f rawvideo -pix_fmt rgb24 -s %dx%d -r %.6g -i",
             (int)frames->width, (int)frames->height, frames->rate);
    snprintf(options, sizeof options, "%s", frames->format->options);
    add_words(arguments, &count, input);
    arguments[count++] = frames->raw.temporary;
    add_words(arguments, &count, options);
    arguments[count++] = frames->file.direct ? frames->file.path : frames->file.temporary;
    arguments[count] = NULL;
    KD_REQUIRE(fflush(frames->raw.stream) == 0, KD_ERROR_RUNTIME, "%s: cannot write: %s",
               frames->raw.temporary, strerror(errno));
    const int code = process_run(arguments);
    KD_REQUIRE(code >= 0, KD_ERROR_RUNTIME, "%s: ffmpeg could not be started or was killed",
               frames->file.path);
    KD_REQUIRE(code == 0, KD_ERROR_RUNTIME,
               "%s: ffmpeg failed with exit code %d; its message is above", frames->file.path,
               code);
    return KD_OK;
}

kd_status animation_commit(animation *frames) {
    if (frames->format->options)
        KD_TRY(run_ffmpeg(frames));
    else
        KD_TRY(webp_frames_write(frames->webp, frames->file.path, frame_time(frames, frames->count),
                                 frames->file.stream));
    KD_TRY(file_output_commit(&frames->file));
    return KD_OK;
}

void animation_close(animation *owned) {
    if (!owned) return;
    file_output_discard(&owned->raw);
    file_output_discard(&owned->file);
    webp_frames_close(owned->webp);
    memory_free(owned);
}
