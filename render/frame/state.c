/* Reads and writes the state file of a rendering; film.h describes the format. */
#include "core/files/file.h"
#include "core/hash.h"
#include "render/frame/film.h"
#include "scenes/assembly/scene.h"
#include "scenes/describe/render_options.h"
#include <kandela/version.h>
#include <string.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "the file is written as it lies in memory");
static_assert(sizeof(film_pixel) == 4 * 8 + 11 * 4 + 3 * 4, "padding would be written");

enum { STATE_VERSION = 6 };
static const char state_magic[8] = "KDSTATE";

typedef struct state_header {
    char magic[8];
    uint64_t version;
    uint64_t program, scene, options;
    int32_t crop[4];
    uint64_t counts[8];
    double watts[6];
    double carried[FRAME_CARRIED];
    uint64_t pixels_hash, header_hash;
} state_header;

static_assert(sizeof(state_header) == 312, "the layout is part of the file format");

static uint64_t text_hash(uint64_t hash, const char *text) {
    return hash_combine(hash, text, strlen(text) + 1);
}

static uint64_t camera_hash(uint64_t hash, const camera *view) {
    static_assert(sizeof *view == 3 * sizeof(vec3) + 4 * 4, "padding would be hashed");
    return hash_combine(hash, view, sizeof *view);
}

/* Covers all that a sample depends on, but nothing that may differ between the runs of a rendering,
   such as time limits and the number of threads. */
static uint64_t options_hash(const frame *frame) {
    const kd_render_options *options = frame->options;
    const bool counted =
        frame->integrator->counts_samples && frame->integrator->counts_samples(options);
    const int32_t period = counted ? options->spp : 0;
    uint64_t hash = render_options_hash(0, options);
    hash = hash_combine(hash, &period, sizeof period);
    hash = hash_combine(hash, &frame->photon_map_hash, sizeof frame->photon_map_hash);
    if (frame->moves) hash = camera_hash(hash, &frame->view_end);
    return camera_hash(hash, &frame->view);
}

static state_header header_of(const frame *frame, const film *film) {
    const frame_statistics *sums = &frame->statistics;
    state_header made;
    memset(&made, 0, sizeof made);
    memcpy(made.magic, state_magic, sizeof made.magic);
    made.version = STATE_VERSION;
    made.program = text_hash(0, kd_version());
    made.scene = frame->identity[0] ? frame->identity[0] : scene_hash(frame->scene);
    made.options = frame->identity[1] ? frame->identity[1] : options_hash(frame);
    const int32_t crop[4] = {film->x0, film->y0, film->x0 + film->width, film->y0 + film->height};
    memcpy(made.crop, crop, sizeof crop);
    const uint64_t counts[8] = {
        sums->rays,           sums->photon_rays,     sums->nan_samples, sums->photons_emitted,
        sums->photons_stored, sums->caustics_stored, sums->photon_hash, sums->volume_stored};
    memcpy(made.counts, counts, sizeof counts);
    const double watts[6] = {sums->watts_emitted, sums->watts_absorbed, sums->watts_escaped,
                             sums->watts_ended,   sums->watts_media,    sums->watts_cut};
    memcpy(made.watts, watts, sizeof watts);
    memcpy(made.carried, frame->carried, sizeof made.carried);
    return made;
}

void state_identify(frame *frame, uint64_t ending) {
    const uint64_t hash = scene_hash(frame->scene);
    frame->identity[0] = hash_combine(hash, &ending, sizeof ending);
    frame->identity[1] = options_hash(frame);
}

uint64_t state_identity(const frame *frame) {
    const uint64_t parts[3] = {text_hash(0, kd_version()), scene_hash(frame->scene),
                               options_hash(frame)};
    return hash_bytes(parts, sizeof parts);
}

static uint64_t pixel_count(const film *film) {
    return (uint64_t)film->width * (uint64_t)film->height;
}

kd_status state_write(const char *path, const frame *frame, const film *film) {
    const uint64_t count = pixel_count(film);
    state_header header = header_of(frame, film);
    header.pixels_hash = hash_bytes(film->pixels, count * sizeof *film->pixels);
    header.header_hash = hash_bytes(&header, offsetof(state_header, header_hash));
    file_output output;
    KD_TRY(file_output_open(&output, path));
    fwrite(&header, sizeof header, 1, output.stream); /* file_output_commit reports write errors */
    fwrite(film->pixels, sizeof *film->pixels, count, output.stream);
    KD_TRY(file_output_commit(&output));
    return KD_OK;
}

static kd_status check(const file_view *file, const char *path, const state_header *header,
                       const state_header *expected, const film *film) {
    const uint64_t pixels = pixel_count(film) * sizeof *film->pixels;
    KD_REQUIRE(file->count >= sizeof *header && memcmp(header->magic, state_magic, 8) == 0,
               KD_ERROR_INPUT, "%s: not a saved rendering state", path);
    KD_REQUIRE(header->version == STATE_VERSION, KD_ERROR_INPUT,
               "%s: found state version %llu, expected %d", path,
               (unsigned long long)header->version, STATE_VERSION);
    KD_REQUIRE(header->header_hash == hash_bytes(header, offsetof(state_header, header_hash)),
               KD_ERROR_INPUT, "%s: damaged: the checksum of the header does not match", path);
    KD_REQUIRE(header->program == expected->program, KD_ERROR_INPUT,
               "%s: the state was written by another version of this program; resume it with that "
               "one, or start again",
               path);
    KD_REQUIRE(header->scene == expected->scene, KD_ERROR_INPUT,
               "%s: the state belongs to another scene, or to another time of it", path);
    KD_REQUIRE(header->options == expected->options &&
                   memcmp(header->crop, expected->crop, sizeof header->crop) == 0,
               KD_ERROR_INPUT,
               "%s: the state belongs to other options or another photon map (only passes, spp, "
               "time and threads may change)",
               path);
    KD_REQUIRE(file->count == sizeof *header + pixels, KD_ERROR_INPUT,
               "%s: found %zu bytes, expected %llu; the file is truncated or damaged", path,
               file->count, (unsigned long long)(sizeof *header + pixels));
    KD_REQUIRE(header->pixels_hash == hash_bytes(file->bytes + sizeof *header, pixels),
               KD_ERROR_INPUT, "%s: damaged: the checksum of the pixels does not match", path);
    return KD_OK;
}

static void take_header(frame *frame, const state_header *header) {
    frame_statistics *sums = &frame->statistics;
    sums->rays = header->counts[0];
    sums->photon_rays = header->counts[1];
    sums->nan_samples = header->counts[2];
    sums->photons_emitted = header->counts[3];
    sums->photons_stored = header->counts[4];
    sums->caustics_stored = header->counts[5];
    sums->photon_hash = header->counts[6];
    sums->volume_stored = header->counts[7];
    sums->watts_emitted = header->watts[0];
    sums->watts_absorbed = header->watts[1];
    sums->watts_escaped = header->watts[2];
    sums->watts_ended = header->watts[3];
    sums->watts_media = header->watts[4];
    sums->watts_cut = header->watts[5];
    memcpy(frame->carried, header->carried, sizeof frame->carried);
}

kd_status state_read(const char *path, frame *frame, film *film) {
    kd_status status = KD_OK;
    file_view file;
    state_header header;
    const state_header expected = header_of(frame, film);
    KD_TRY(file_open(&file, path));
    memset(&header, 0, sizeof header);
    memcpy(&header, file.bytes, file.count < sizeof header ? file.count : sizeof header);
    KD_TRY_GOTO(check(&file, path, &header, &expected, film));
    memcpy(film->pixels, file.bytes + sizeof header, pixel_count(film) * sizeof *film->pixels);
    take_header(frame, &header);
    film->resumed = true;
done:
    file_close(&file);
    return status;
}
