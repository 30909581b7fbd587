/* Arbitrary bytes as an STL file; fuzz_mesh.h states the properties checked. */
#include "scenes/formats/mesh_formats.h"
#include "tests/fuzz/fuzz_mesh.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    fuzz_reader(stl_load, bytes, count);
    return 0;
}
