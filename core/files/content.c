#include "core/files/content.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { PROBE_BYTES = 1 << 10 };

typedef struct signature {
    uint32_t offset, count; /* position and number of the bytes */
    const char *bytes, *name, *advice;
} signature;

#define UNPACK "unpack it first"
#define EXPORT "export it as glTF or OBJ with the program that made it"
/* `bytes` and the literals of rows are read-only strings; their last, terminating zero is left out.
 */
#define BEGINS(bytes, name, advice)                                                                \
    { 0, sizeof bytes - 1, bytes, name, advice }
#define AT(offset, bytes, name, advice)                                                            \
    { offset, sizeof bytes - 1, bytes, name, advice }

/* The first row that fits counts. */
static const signature signatures[] = {
    BEGINS("\x89PNG\r\n\x1a\n", "a PNG image", ""),
    BEGINS("\xff\xd8\xff", "a JPEG image", ""),
    BEGINS("GIF8", "a GIF image", ""),
    BEGINS("II*\0", "a TIFF image", ""),
    BEGINS("MM\0*", "a TIFF image", ""),
    BEGINS("II+\0", "a TIFF image", ""),
    BEGINS("MM\0+", "a TIFF image", ""),
    BEGINS("DDS ", "a DDS image", ""),
    BEGINS("\xabKTX 20\xbb\r\n\x1a\n", "a KTX2 image", ""),
    BEGINS("\xabKTX 11\xbb\r\n\x1a\n", "a KTX image", ""),
    BEGINS("\x13\xab\xa1\x5c", "an ASTC image", ""),
    BEGINS("8BPS", "a Photoshop image", ""),
    BEGINS("\x76\x2f\x31\x01", "an OpenEXR image", ""),
    BEGINS("#?RADIANCE", "a Radiance image", ""),
    BEGINS("#?RGBE", "a Radiance image", ""),
    BEGINS("PF\n", "a PFM image", ""),
    BEGINS("Pf\n", "a PFM image", ""),
    BEGINS("qoif", "a QOI image", ""),
    BEGINS("\xff\x0a", "a JPEG XL image", ""),
    BEGINS("\0\0\0\x0cJXL ", "a JPEG XL image", ""),
    BEGINS("\0\0\0\x0cjP  ", "a JPEG 2000 image", ""),
    BEGINS("\xff\x4f\xff\x51", "a JPEG 2000 image", ""),
    BEGINS("gimp xcf", "a GIMP image", ""),
    BEGINS("\x01\xda\0", "an SGI image", ""),
    BEGINS("\x01\xda\1", "an SGI image", ""),
    BEGINS("\0\0\1\0", "an icon", ""),
    AT(4, "ftypavi", "an AVIF image", ""),
    AT(4, "ftyphei", "a HEIF image", ""),
    AT(4, "ftypmif", "a HEIF image", ""),
    AT(8, "WEBP", "a WebP image", ""),
    AT(4, "ftyp", "an MP4 video", ""),
    BEGINS("%PDF", "a PDF document", ""),
    BEGINS("PK\3\4", "a zip archive", UNPACK),
    BEGINS("PK\5\6", "an empty zip archive", ""),
    BEGINS("\x1f\x8b", "a gzip archive", UNPACK),
    BEGINS("BZh", "a bzip2 archive", UNPACK),
    BEGINS("\xfd\x37zXZ\0", "an xz archive", UNPACK),
    BEGINS("\x28\xb5\x2f\xfd", "a zstd archive", UNPACK),
    BEGINS("7z\xbc\xaf\x27\x1c", "a 7-Zip archive", UNPACK),
    BEGINS("Rar!", "a RAR archive", UNPACK),
    AT(257, "ustar", "a tar archive", UNPACK),
    BEGINS("glTF", "a binary glTF file", "rename it to end in .glb"),
    BEGINS("BLENDER", "a Blender file", EXPORT),
    BEGINS("Kaydara FBX Binary", "an FBX file", "rename it to end in .fbx"),
    BEGINS("; FBX", "an FBX file", "rename it to end in .fbx"),
    BEGINS("PXR-USDC", "a USD file", EXPORT),
    BEGINS("#usda", "a USD file", EXPORT),
    BEGINS("Ogawa", "an Alembic file", EXPORT),
    BEGINS("\x89HDF", "an HDF5 file", EXPORT),
    BEGINS("AC10", "a DWG file", EXPORT),
    BEGINS("ISO-10303-21", "a STEP file", EXPORT),
    BEGINS("3D Geometry File Format", "a 3DM file", EXPORT),
    BEGINS("\xd0\xcf\x11\xe0", "a compound file (3ds Max, SketchUp, Office)", EXPORT),
    BEGINS("\xff\xfe\xff\x0eS\0k\0e\0t\0c\0h", "a SketchUp file", EXPORT),
    BEGINS("MM\0\0", "a 3DS file", "rename it to end in .3ds"),
    BEGINS("//Maya", "a Maya file", EXPORT),
    BEGINS("FOR4", "a Maya file", EXPORT),
    BEGINS("FOR8", "a Maya file", EXPORT),
    BEGINS("ply\n", "a PLY file", "rename it to end in .ply"),
    BEGINS("ply\r", "a PLY file", "rename it to end in .ply"),
    BEGINS("OFF\n", "an OFF file", "rename it to end in .off"),
    BEGINS("#VRML", "a VRML file", "rename it to end in .wrl"),
    BEGINS("DRACO", "a Draco file", EXPORT),
    BEGINS("version https://git-lfs", "a Git LFS pointer", "run git lfs pull"),
    BEGINS("<!DOCTYPE", "an HTML page", "download the file itself"),
    BEGINS("<!doctype", "an HTML page", "download the file itself"),
    BEGINS("<html", "an HTML page", "download the file itself"),
    BEGINS("<?xml", "an XML file", ""),
    BEGINS("<svg", "an SVG image", ""),
    BEGINS("\x7f"
           "ELF",
           "a program", ""),
    BEGINS("MZ\x90", "a program", ""),
    BEGINS("SQLite format 3", "an SQLite database", "")};

static bool fits(const signature *row, const char *bytes, size_t count) {
    return count >= row->offset + row->count &&
           memcmp(bytes + row->offset, row->bytes, row->count) == 0;
}

/* Returns true for a header of 80 bytes, a count, and as many facets of 50 bytes. */
static bool is_binary_stl(const char *bytes, size_t count) {
    if (count < 84) return false;
    const unsigned char *b = (const unsigned char *)bytes + 80;
    const uint64_t facets =
        b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 | (uint64_t)b[3] << 24;
    return facets > 0 && count == 84 + 50 * facets;
}

static bool has_word(const char *bytes, size_t count, const char *word) {
    const size_t length = strlen(word);
    for (size_t i = 0; i + length <= count; ++i)
        if (memcmp(bytes + i, word, length) == 0) return true;
    return false;
}

file_content file_content_of(const char *bytes, size_t count) {
    const size_t probed = count < PROBE_BYTES ? count : PROBE_BYTES;
    const file_content stl = {"an STL file", "rename it to end in .stl"};
    const file_content unknown = {NULL, ""};
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; ++i)
        if (fits(&signatures[i], bytes, count)) {
            const file_content known = {signatures[i].name, signatures[i].advice};
            return known;
        }
    if (is_binary_stl(bytes, count)) return stl;
    const bool solid = probed > 5 && memcmp(bytes, "solid", 5) == 0;
    return solid && has_word(bytes, probed, "facet") ? stl : unknown;
}

file_content file_content_not_text(const char *bytes, size_t count) {
    const file_content known = file_content_of(bytes, count), binary = {"binary data", ""};
    const size_t probed = count < PROBE_BYTES ? count : PROBE_BYTES;
    return known.name || !memchr(bytes, 0, probed) ? known : binary;
}

kd_status file_content_refuse(const char *bytes, size_t count, const char *path,
                              const char *expected) {
    const file_content found = file_content_of(bytes, count);
    KD_REQUIRE(!found.name, KD_ERROR_INPUT, "%s: found %s, expected %s%s%s", path, found.name,
               expected, *found.advice ? "; " : "", found.advice);
    return KD_OK;
}
