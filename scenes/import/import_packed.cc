/* Decodes Draco data for kandela-import. C++, because Draco has no C interface. */
#include "scenes/import/import_draco_answer.h"
#include <draco/compression/decode.h>
#include <vector>

static bool put(FILE *file, const void *bytes, size_t count) {
    return count == 0 || fwrite(bytes, 1, count, file) == count;
}

static bool attribute_put(FILE *file, draco::PointAttribute *attribute, uint32_t points) {
    const uint32_t components = static_cast<uint32_t>(attribute->num_components());
    const uint32_t head[2] = {attribute->unique_id(), components};
    std::vector<float> values(static_cast<size_t>(points) * components);
    attribute->set_normalized(false); /* do not normalise integers */
    for (uint32_t i = 0; i < points; ++i) {
        const draco::AttributeValueIndex at = attribute->mapped_index(draco::PointIndex(i));
        if (!attribute->ConvertValue<float>(at, static_cast<int8_t>(components),
                                            values.data() + static_cast<size_t>(i) * components))
            return false;
    }
    return put(file, head, sizeof head) && put(file, values.data(), values.size() * sizeof(float));
}

static bool mesh_put(FILE *file, draco::Mesh *mesh) {
    draco_answer_head head = {DRACO_ANSWER_MAGIC, DRACO_FINE, mesh->num_points(),
                              static_cast<uint32_t>(mesh->num_faces()),
                              static_cast<uint32_t>(mesh->num_attributes())};
    if (!put(file, &head, sizeof head)) return false;
    for (uint32_t i = 0; i < head.triangles; ++i) {
        const draco::Mesh::Face &face = mesh->face(draco::FaceIndex(i));
        const uint32_t corners[3] = {face[0].value(), face[1].value(), face[2].value()};
        if (!put(file, corners, sizeof corners)) return false;
    }
    for (int i = 0; i < mesh->num_attributes(); ++i)
        if (!attribute_put(file, mesh->attribute(i), head.points)) return false;
    return true;
}

bool import_packed(const file_view *packed, FILE *answer) {
    const draco_answer_head cannot = {DRACO_ANSWER_MAGIC, DRACO_CANNOT, 0, 0, 0};
    draco::DecoderBuffer bytes;
    draco::Decoder decoder;
    bytes.Init(packed->bytes, packed->count);
    auto unpacked = decoder.DecodeMeshFromBuffer(&bytes);
    return unpacked.ok() ? mesh_put(answer, unpacked.value().get())
                         : put(answer, &cannot, sizeof cannot);
}
