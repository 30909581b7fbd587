/* The protocol of display servers (live viewers): packets, lost connections, addresses. */
#include "core/status.h"
#include "render/api/render.h"
#include "render/frame/film.h"
#include "test.h"
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CAPACITY = 64 << 20, SIDE = 150 };

/* A viewer that accepts one connection and records all bytes received. */
typedef struct viewer {
    int listener;
    char address[32];
    uint8_t *received;
    size_t bytes;
    size_t leaves_after; /* closes the connection after this many bytes */
    pthread_t thread;
} viewer;

static void *viewer_listen(void *context) {
    viewer *client = (viewer *)context;
    const int talk = accept(client->listener, NULL, NULL);
    while (talk >= 0 && client->bytes < client->leaves_after) {
        const ssize_t part =
            read(talk, client->received + client->bytes, client->leaves_after - client->bytes);
        if (part <= 0) break;
        client->bytes += (size_t)part;
    }
    if (talk >= 0) close(talk);
    return NULL;
}

static viewer *viewer_open(size_t leaves_after) {
    viewer *made = (viewer *)calloc(1, sizeof *made);
    assert_non_null(made);
    made->received = (uint8_t *)malloc(CAPACITY);
    assert_non_null(made->received);
    made->leaves_after = leaves_after;
    made->listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in place;
    socklen_t bytes = sizeof place;
    memset(&place, 0, sizeof place);
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(made->listener, (struct sockaddr *)&place, bytes), 0);
    assert_int_equal(getsockname(made->listener, (struct sockaddr *)&place, &bytes), 0);
    assert_int_equal(listen(made->listener, 1), 0);
    snprintf(made->address, sizeof made->address, "127.0.0.1:%u", ntohs(place.sin_port));
    assert_int_equal(pthread_create(&made->thread, NULL, viewer_listen, made), 0);
    return made;
}

static void viewer_wait(viewer *viewer) {
    pthread_join(viewer->thread, NULL);
    close(viewer->listener);
}

static void viewer_close(viewer *owned) {
    free(owned->received);
    free(owned);
}

/* --- reading packets -------------------------------------------------------------------------- */

typedef struct packet_reader {
    const uint8_t *at, *end;
} packet_reader;

static uint32_t take_number(packet_reader *reader) {
    assert_true(reader->end - reader->at >= 4);
    const uint8_t *b = reader->at;
    reader->at += 4;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static uint8_t take_byte(packet_reader *reader) {
    assert_true(reader->at < reader->end);
    return *reader->at++;
}

static void expect_text(packet_reader *reader, const char *text) {
    const size_t bytes = strlen(text) + 1;
    assert_true((size_t)(reader->end - reader->at) >= bytes);
    assert_memory_equal(reader->at, text, bytes);
    reader->at += bytes;
}

static void expect_channels(packet_reader *reader) {
    static const char *const names[] = {"R", "G", "B", "A"};
    assert_int_equal(take_number(reader), 4);
    for (int i = 0; i < 4; ++i) expect_text(reader, names[i]);
}

/* Copies a tile into planes of SIDE x SIDE, and counts its pixels. */
static uint32_t take_tile(packet_reader *reader, float *plane[4]) {
    expect_channels(reader);
    const uint32_t x0 = take_number(reader), y0 = take_number(reader);
    const uint32_t width = take_number(reader), height = take_number(reader);
    assert_true(x0 + width <= SIDE && y0 + height <= SIDE);
    for (int c = 0; c < 4; ++c)
        for (uint32_t y = y0; y < y0 + height; ++y)
            for (uint32_t x = x0; x < x0 + width; ++x) {
                const uint32_t bits = take_number(reader);
                memcpy(&plane[c][y * SIDE + x], &bits, sizeof bits);
            }
    assert_ptr_equal(reader->at, reader->end);
    return width * height;
}

/* Reads the packets close, create and updates; returns the number of pixels received. */
static uint32_t read_packets(const viewer *viewer, const char *title, float *plane[4]) {
    uint32_t pixels = 0;
    packet_reader all = {viewer->received, viewer->received + viewer->bytes};
    for (int i = 0; all.at < all.end; ++i) {
        packet_reader packet = all;
        const uint32_t bytes = take_number(&packet);
        assert_true(bytes >= 5 && bytes <= (size_t)(all.end - all.at));
        packet.end = all.at + bytes;
        all.at = packet.end;
        assert_int_equal(take_byte(&packet), i == 0 ? 2 : i == 1 ? 4 : 5);
        if (i > 0) assert_int_equal(take_byte(&packet), 0);
        expect_text(&packet, title);
        if (i == 1) {
            assert_int_equal(take_number(&packet), SIDE);
            assert_int_equal(take_number(&packet), SIDE);
            expect_channels(&packet);
        }
        if (i > 1)
            pixels += take_tile(&packet, plane);
        else
            assert_ptr_equal(packet.at, packet.end);
    }
    return pixels;
}

/* --- renderings with a viewer ----------------------------------------------------------------- */

static kd_status shoot(render_result *out, const char *address, const char *title) {
    scene *made = NULL;
    kd_render_options options, unused;
    kd_render_options_default(&options);
    unused = options;
    assert_int_equal(
        scene_open(&made, KD_TEST_SOURCE_DIR "/scenes/cornell_diffuse.json", &unused, NULL), KD_OK);
    strcpy(options.integrator, "direct");
    options.width = options.height = SIDE;
    options.spp = 4;
    const render_keeping keeping = {.display = address, .title = title};
    const kd_status status = render_run_kept(out, made, &options, &keeping, NULL);
    scene_close(made);
    return status;
}

static void test_viewer_receives_final_picture(void **state) {
    (void)state;
    viewer *viewer_state = viewer_open(CAPACITY);
    render_result result;
    assert_int_equal(shoot(&result, viewer_state->address, "a picture.png"), KD_OK);
    viewer_wait(viewer_state);
    float *plane[4];
    static const char *const names[] = {"R", "G", "B", "A"};
    for (int c = 0; c < 4; ++c) {
        plane[c] = (float *)calloc(SIDE * SIDE, sizeof(float));
        assert_non_null(plane[c]);
    }
    const uint32_t pixels = read_packets(viewer_state, "a picture.png", plane);
    assert_true(pixels >= 2 * SIDE * SIDE); /* after the first pass, and at the end */
    assert_int_equal(pixels % (SIDE * SIDE), 0);
    for (int c = 0; c < 4; ++c) {
        assert_memory_equal(plane[c], image_plane(&result.picture, names[c]),
                            SIDE * SIDE * sizeof(float));
        free(plane[c]);
    }
    render_close(&result);
    viewer_close(viewer_state);
}

static int warnings;

static void count_warnings(void *context, log_level level, const char *message) {
    (void)context;
    if (level != LOG_WARNING) return;
    ++warnings;
    assert_non_null(strstr(message, "display server 127.0.0.1:"));
    assert_non_null(strstr(message, "rendering continues without it"));
}

/* A viewer that is absent or leaves gives one warning each, and the picture is unchanged. */
static void test_missing_viewer_is_a_warning(void **state) {
    (void)state;
    render_result alone, absent, left;
    assert_int_equal(shoot(&alone, NULL, NULL), KD_OK);
    viewer *closed = viewer_open(1);
    shutdown(closed->listener, SHUT_RDWR); /* the port refuses connections from now on */
    viewer_wait(closed);
    log_set_sink(count_warnings, NULL);
    assert_int_equal(shoot(&absent, closed->address, "x"), KD_OK);
    assert_int_equal(warnings, 1);
    viewer *leaves = viewer_open(1000);
    assert_int_equal(shoot(&left, leaves->address, "x"), KD_OK);
    assert_int_equal(warnings, 2);
    log_set_sink(NULL, NULL);
    viewer_wait(leaves);
    assert_true(alone.image_hash == absent.image_hash && alone.image_hash == left.image_hash);
    viewer_close(closed);
    viewer_close(leaves);
    render_close(&alone);
    render_close(&absent);
    render_close(&left);
}

static void test_addresses_are_validated(void **state) {
    (void)state;
    static const char *const good[] = {"localhost", "localhost:14158", "10.0.0.1:1", "[::1]:65535"};
    static const char *const bad[] = {
        "", ":", ":14158", "host:", "host:0", "host:65536", "host:1x"};
    for (size_t i = 0; i < sizeof good / sizeof *good; ++i)
        assert_int_equal(display_check(good[i]), KD_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
        assert_int_equal(display_check(bad[i]), KD_ERROR_USAGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_viewer_receives_final_picture),
        cmocka_unit_test(test_missing_viewer_is_a_warning),
        cmocka_unit_test(test_addresses_are_validated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
