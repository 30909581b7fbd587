/* A zlib stream of pieces that libdeflate compresses independently.
   Source: RFC 1951, section 3.2; RFC 1950, section 2.2.
   Idea: each piece is one deflate block. In all pieces but the last, the BFINAL bit of the block is
         cleared and an empty stored block aligns the end to a byte, as zlib's Z_SYNC_FLUSH does.
         The three header bits of the stored block either fit into the last byte or need another
         one. Decompressing the piece decides which, and verifies that it is a single block.
   Work: compression and decompression on all threads; an Adler-32 checksum of all bytes on one.
   Memory: about as much as the input.
   Invariants: the division into pieces does not depend on the number of threads. */
#include "core/parallel/deflate.h"
#include "core/memory.h"
#include <string.h>

#if KD_HAVE_DEFLATE
#include "core/parallel/parallel.h"
#include <libdeflate.h>

/* Bytes per piece: at level 1 libdeflate emits one block for up to 65,535 bytes. */
enum { PIECE = 60000, LEVEL = 1, PIECES_AT_ONCE = 4 };
enum { HEAD = 2, ADLER = 4, TAIL = 10 };

typedef struct packing {
    const uint8_t *bytes;
    uint64_t count;
    deflated *output;
} packing;

static void put_big_endian(uint8_t *to, uint32_t value) {
    for (int i = 0; i < 4; ++i) to[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* Returns true if the packed bytes decompress to the piece and none of them is left over. */
static bool unpacks(struct libdeflate_decompressor *decompressor, const uint8_t *packed,
                    size_t bytes, const uint8_t *piece, size_t count, uint8_t *unpacked) {
    size_t read = 0, made = 0;
    return libdeflate_deflate_decompress_ex(decompressor, packed, bytes, unpacked, count, &read,
                                            &made) == LIBDEFLATE_SUCCESS &&
           read == bytes && made == count && memcmp(unpacked, piece, count) == 0;
}

/* Clears BFINAL and appends a stored block, so that another piece can follow. Returns the new size,
   or 0 if the piece is not a single block. */
static size_t open_end(struct libdeflate_decompressor *decompressor, uint8_t *packed, size_t bytes,
                       const uint8_t *piece, size_t count, uint8_t unpacked[PIECE]) {
    static const uint8_t tail[TAIL] = {0, 0, 0, 0xff, 0xff, 1, 0, 0, 0xff, 0xff};
    packed[0] &= 0xfe;
    for (size_t more = 0; more < 2; ++more) {
        const size_t added = TAIL - 1 + more;
        memcpy(packed + bytes, tail + 1 - more, added);
        if (unpacks(decompressor, packed, bytes + added, piece, count, unpacked))
            return bytes + 4 + more;
    }
    return 0;
}

/* Returns the size of the packed piece in bytes, or 0 on failure. */
static uint64_t pack_piece(const packing *work, uint64_t which,
                           struct libdeflate_compressor *compressor,
                           struct libdeflate_decompressor *back, uint8_t unpacked[PIECE]) {
    const uint64_t begin = which * PIECE, left = work->count - begin;
    const size_t count = left < PIECE ? (size_t)left : PIECE;
    const bool last = which + 1 == work->output->pieces;
    const uint64_t head = which == 0 ? HEAD : 0;
    uint8_t *to = work->output->bytes + which * work->output->capacity, *packed = to + head;
    const size_t capacity = (size_t)(work->output->capacity - head - TAIL - ADLER);
    size_t bytes =
        libdeflate_deflate_compress(compressor, work->bytes + begin, count, packed, capacity);
    if (bytes && !last) bytes = open_end(back, packed, bytes, work->bytes + begin, count, unpacked);
    if (!bytes) return 0;
    if (which == 0) { /* zlib header: deflate, window of 32 KB, fastest level */
        to[0] = 0x78;
        to[1] = 0x01;
    }
    if (!last) return head + bytes;
    put_big_endian(packed + bytes, libdeflate_adler32(1, work->bytes, (size_t)work->count));
    return head + bytes + ADLER;
}

static void pack_pieces(void *context, int64_t begin, int64_t end, int thread) {
    const packing *work = (const packing *)context;
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(LEVEL);
    struct libdeflate_decompressor *back = libdeflate_alloc_decompressor();
    uint8_t *unpacked = (uint8_t *)memory_try_allocate(PIECE);
    (void)thread;
    for (int64_t i = begin; i < end && compressor && back && unpacked; ++i)
        work->output->made[i] = pack_piece(work, (uint64_t)i, compressor, back, unpacked);
    memory_free(unpacked);
    libdeflate_free_compressor(compressor);
    libdeflate_free_decompressor(back);
}

kd_status deflate_open(deflated *out, const uint8_t *bytes, uint64_t count) {
    kd_status status = KD_OK;
    packing work = {bytes, count, out};
    memset(out, 0, sizeof *out);
    out->pieces = count ? (count + PIECE - 1) / PIECE : 1;
    out->capacity = libdeflate_deflate_compress_bound(NULL, PIECE) + HEAD + TAIL + ADLER;
    KD_TRY_GOTO(KD_RESERVE(out->bytes, out->pieces * out->capacity));
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

/* CRC-32 of ISO 3309 with reflected bits (PNG specification, annex D), four bits at a time. */
uint32_t deflate_crc32(uint32_t from, const void *bytes, uint64_t count) {
    const uint8_t *at = (const uint8_t *)bytes;
    uint32_t table[16];
    for (uint32_t i = 0; i < 16; ++i) {
        uint32_t v = i;
        for (int k = 0; k < 4; ++k) v = v & 1 ? 0xedb88320u ^ v >> 1 : v >> 1;
        table[i] = v;
    }
    uint32_t crc = ~from;
    for (uint64_t i = 0; i < count; ++i) {
        crc ^= at[i];
        crc = table[crc & 15] ^ crc >> 4;
        crc = table[crc & 15] ^ crc >> 4;
    }
    return ~crc;
}

#endif

void deflate_close(deflated *owned) {
    memory_free(owned->bytes);
    memory_free(owned->made);
    memset(owned, 0, sizeof *owned);
}
