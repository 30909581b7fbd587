/* A scene with many instances: scaled, rotated, mirrored and overlapping ones, of glass, with
   cut-outs, of metal with a tangent, in fog. */
#ifndef KD_TESTS_INSTANCE_SCENE_H
#define KD_TESTS_INSTANCE_SCENE_H

static const char *const instance_scene =
    "{\"kandela\": 1, \"media\": {\"fog\": {\"scattering\": 0.02}, \"milk\": {\"scattering\": 3}},"
    "\"fog\": \"fog\", \"materials\": {"
    "\"gold\": {\"kind\": \"principled\", \"metallic\": 1, \"roughness\": 0.3, \"anisotropy\": 0.6,"
    " \"diffuse\": [0.9, 0.7, 0.3]},"
    "\"veil\": {\"diffuse\": [0.5, 0.6, 0.3], \"opacity\": 0.5},"
    "\"milk\": {\"kind\": \"glass\", \"medium\": \"milk\"}},"
    "\"meshes\": [{\"quad\": [[-9, 0, 9], [9, 0, 9], [9, 0, -9], [-9, 0, -9]]},"
    "{\"file\": \"gen:blob:600\", \"transform\": [{\"scale\": 0.3}], \"scatter\": {\"count\": 60,"
    " \"lo\": [-3, 0.3, -3], \"hi\": [3, 1.5, 3], \"scale\": [0.3, 1.2], \"seed\": 3},"
    " \"material\": \"gold\"},"
    "{\"sphere\": {\"radius\": 0.4, \"triangles\": 300}, \"placements\": ["
    "[{\"scale\": [-1, 1, 0.3]}, {\"translate\": [1, 1, 2]}],"
    "[{\"rotate\": [1, 2, 3], \"degrees\": 40}, {\"translate\": [-1, 1.1, 2]}]],"
    " \"material\": \"milk\"},"
    "{\"box\": {\"lo\": [-0.1, 0, -0.1], \"hi\": [0.1, 1, 0.1]}, \"scatter\": {\"count\": 20,"
    " \"lo\": [-3, 0, -3], \"hi\": [3, 0, 3]}, \"material\": \"veil\"}],"
    "\"camera\": {\"eye\": [0, 2, 6], \"look_at\": [0, 0.6, 0], \"fov\": 35},"
    "\"lights\": [{\"kind\": \"area\", \"corner\": [-1, 4, -1], \"edge_u\": [2, 0, 0],"
    " \"edge_v\": [0, 0, 2], \"power\": 160}],"
    "\"render\": {\"resolution\": [48, 36], \"spp\": 4}}";

#endif
