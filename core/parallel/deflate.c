/* A zlib stream in pieces, by libdeflate.
   Source: RFC 1951, section 3.2; RFC 1950, section 2.2.
   Idea: pieces are packed apart and follow each other. A piece is one deflate block; where another
         one follows, the bit that calls it the last is cleared, and an empty stored block fills
         it up to a whole byte: its header's three bits fit into the last byte or need one more.
         Which of these it is, and that it was one block, is found out by unpacking the piece.
   Work: packing and unpacking, by all threads; a checksum of all bytes by one of them.
   Memory: about as much as the bytes.
   Invariants: pieces do not depend on threads. */
#include "core/parallel/deflate.h"
#include "core/memory.h"
#include <string.h>

#if KD_HAVE_DEFLATE
#include "core/parallel/parallel.h"
#include <libdeflate.h>

/* Bytes of a piece: level 1 makes one block of up to 65,535. */
enum { PIECE = 60000, LEVEL = 1, PIECES_AT_ONCE = 4 };
enum { HEAD = 2, ADLER = 4, TAIL = 10 };

typedef struct packing {
    const uint8_t *bytes;
    uint64_t count;
    deflated *to;
} packing;

static void put_big_endian(uint8_t *to, uint32_t value) {
    for (int i = 0; i < 4; ++i) to[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* Whether the bytes are the piece, and all of them are needed. */
static bool unpacks(struct libdeflate_decompressor *by, const uint8_t *packed, size_t bytes,
                    const uint8_t *piece, size_t count, uint8_t *unpacked) {
    size_t read = 0, made = 0;
    return libdeflate_deflate_decompress_ex(by, packed, bytes, unpacked, count, &read, &made) ==
               LIBDEFLATE_SUCCESS &&
           read == bytes && made == count && memcmp(unpacked, piece, count) == 0;
}

/* Makes a packed piece one that others follow; its bytes then, 0 if it is none. */
static size_t open_end(struct libdeflate_decompressor *by, uint8_t *packed, size_t bytes,
                       const uint8_t *piece, size_t count, uint8_t unpacked[PIECE]) {
    static const uint8_t tail[TAIL] = {0, 0, 0, 0xff, 0xff, 1, 0, 0, 0xff, 0xff};
    packed[0] &= 0xfe;
    for (size_t more = 0; more < 2; ++more) {
        const size_t added = TAIL - 1 + more;
        memcpy(packed + bytes, tail + 1 - more, added);
        if (unpacks(by, packed, bytes + added, piece, count, unpacked)) return bytes + 4 + more;
    }
    return 0;
}

/* Its bytes; 0: it could not be packed so. */
static uint64_t pack_piece(const packing *work, uint64_t which, struct libdeflate_compressor *by,
                           struct libdeflate_decompressor *back, uint8_t unpacked[PIECE]) {
    const uint64_t begin = which * PIECE, left = work->count - begin;
    const size_t count = left < PIECE ? (size_t)left : PIECE;
    const bool last = which + 1 == work->to->pieces;
    const uint64_t head = which == 0 ? HEAD : 0;
    uint8_t *to = work->to->bytes + which * work->to->room, *packed = to + head;
    const size_t room = (size_t)(work->to->room - head - TAIL - ADLER);
    size_t bytes = libdeflate_deflate_compress(by, work->bytes + begin, count, packed, room);
    if (bytes && !last) bytes = open_end(back, packed, bytes, work->bytes + begin, count, unpacked);
    if (!bytes) return 0;
    if (which == 0) { /* deflate, a window of 32 KB; the fastest level */
        to[0] = 0x78;
        to[1] = 0x01;
    }
    if (!last) return head + bytes;
    put_big_endian(packed + bytes, libdeflate_adler32(1, work->bytes, (size_t)work->count));
    return head + bytes + ADLER;
}

static void pack_pieces(void *context, int64_t begin, int64_t end, int thread) {
    const packing *work = (const packing *)context;
    struct libdeflate_compressor *by = libdeflate_alloc_compressor(LEVEL);
    struct libdeflate_decompressor *back = libdeflate_alloc_decompressor();
    uint8_t *unpacked = (uint8_t *)memory_spare(PIECE);
    (void)thread;
    for (int64_t i = begin; i < end && by && back && unpacked; ++i)
        work->to->made[i] = pack_piece(work, (uint64_t)i, by, back, unpacked);
    memory_free(unpacked);
    libdeflate_free_compressor(by);
    libdeflate_free_decompressor(back);
}

kd_status deflate_open(deflated *out, const uint8_t *bytes, uint64_t count) {
    kd_status status = KD_OK;
    packing work = {bytes, count, out};
    memset(out, 0, sizeof *out);
    out->pieces = count ? (count + PIECE - 1) / PIECE : 1;
    out->room = libdeflate_deflate_compress_bound(NULL, PIECE) + HEAD + TAIL + ADLER;
    KD_TRY_GOTO(KD_RESERVE(out->bytes, out->pieces * out->room));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(out->made, out->pieces));
    parallel_for((int64_t)out->pieces, PIECES_AT_ONCE, pack_pieces, &work);
    for (uint64_t i = 0; i < out->pieces; ++i)
        if (out->made[i] == 0) out->pieces = 0;
done:
    if (status != KD_OK) deflate_close(out);
    return status;
}

uint32_t deflate_crc32(uint32_t from, const void *bytes, uint64_t count) {
    return libdeflate_crc32(from, bytes, (size_t)count);
}

#else

kd_status deflate_open(deflated *out, const uint8_t *bytes, uint64_t count) {
    (void)bytes;
    (void)count;
    memset(out, 0, sizeof *out);
    return KD_OK;
}

uint32_t deflate_crc32(uint32_t from, const void *bytes, uint64_t count) {
    (void)from;
    (void)bytes;
    (void)count;
    return 0;
}

#endif

void deflate_close(deflated *owned) {
    memory_free(owned->bytes);
    memory_free(owned->made);
    memset(owned, 0, sizeof *owned);
}
