/* Arbitrary bytes as a glTF file, text or .glb; fuzz_mesh.h states the properties checked. */
#include "scenes/import/gltf.h"
#include "tests/fuzz/fuzz_mesh.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    fuzz_reader(gltf_load, bytes, count);
    return 0;
}
