"""usage: one_feature.py PROGRAM

For small files of glTF, OBJ with MTL, PLY and Radiance HDR: drops or renames one feature at a time.
Each must give another picture, another line on stderr, or another exit code. Prints those that give
none of them, and exits with 1 if there are any."""

import base64
import copy
import json
import os
import re
import struct
import subprocess
import sys
import zlib

program = sys.argv[1]
runs = failures = 0


def png(pixels):
    """A PNG of rows of (r, g, b, a)."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(v for pixel in row for v in pixel) for row in pixels)
    head = struct.pack(">IIBBBBB", len(pixels[0]), len(pixels), 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def picture(*arguments):
    """The exit code, the lines on stderr but the last, which has the time, and the picture."""
    global runs
    runs += 1
    if os.path.exists("out.pfm"):
        os.remove("out.pfm")
    line = [program, "render", *arguments, "-o", "out.pfm", "--resolution", "16x16", "--spp", "16", "--threads", "1"]
    done = subprocess.run(line, capture_output=True, text=True, errors="replace")
    said = [re.sub(r":[0-9]+:", ":", text) for text in done.stderr.splitlines() if " on CPU, " not in text and not text.startswith("automatic exposure")]
    shown = open("out.pfm", "rb").read() if os.path.exists("out.pfm") else b""
    return done.returncode, said, shown


def report(what):
    global failures
    failures += 1
    print(f"{what}: neither another picture nor a line")


def judge(what, before, after):
    if before == after:
        report(what)


def paths(node, at=()):
    """All keys of objects within `node`."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        if isinstance(node, dict):
            yield (*at, key)
        yield from paths(value, (*at, key))


def changed(root, path, new_key):
    root = copy.deepcopy(root)
    node = root
    for key in path[:-1]:
        node = node[key]
    value = node.pop(path[-1])
    if new_key:
        node[new_key] = value
    return root


# --- glTF -----------------------------------------------------------------------------------------

numbers, views, accessors = b"", [], []


def accessor(form, values, kind, component, **more):
    """Appends the values to the buffer; returns the number of their accessor."""
    global numbers
    width = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}[kind]
    data = struct.pack(f"<{len(values)}{form}", *values)
    numbers += b"\0" * (-len(numbers) % 4)
    views.append({"buffer": 0, "byteOffset": len(numbers), "byteLength": len(data)})
    numbers += data
    accessors.append({"bufferView": len(views) - 1, "componentType": component, "count": len(values) // width, "type": kind, **more})
    return len(accessors) - 1


square = [-0.4, -0.4, 0, 0.4, -0.4, 0, 0.4, 0.4, 0, -0.4, 0.4, 0]
accessor("B", [0, 0, 0], "SCALAR", 5121)  # 0: not used, so that no number is 0
POSITION = accessor("f", square, "VEC3", 5126, min=[-0.4, -0.4, 0], max=[0.4, 0.4, 0])
NORMAL = accessor("f", [0.3, 0, 1, -0.3, 0, 1, 0, 0.3, 1, 0, 0, 1], "VEC3", 5126)
UV = accessor("f", [0, 0, 1.5, 0, 1.5, 1.5, 0, 1.5], "VEC2", 5126)
UV2 = accessor("B", [0, 255, 255, 255, 255, 0, 0, 0], "VEC2", 5121, normalized=True)
COLOUR = accessor("f", [1, 0, 0, 1, 0, 1, 0, 0.3, 0, 0, 1, 1, 1, 1, 1, 1], "VEC4", 5126)
TANGENT = accessor("f", [0, 1, 0, 1] * 4, "VEC4", 5126)
INDICES = accessor("H", [0, 1, 2, 0, 2, 3], "SCALAR", 5123)
JOINTS = accessor("B", [1, 0, 0, 0] * 2 + [0, 0, 0, 0] * 2, "VEC4", 5121)
WEIGHTS = accessor("f", [1, 0, 0, 0] * 4, "VEC4", 5126)
BIND = accessor("f", [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0.1, 0, 0, 1] * 2, "MAT4", 5126)
TIMES = accessor("f", [0, 2], "SCALAR", 5126, min=[0], max=[2])
MOVES = accessor("f", [0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0.3, 0.3, 0, 0, 0, 0], "VEC3", 5126)
SHAPES = accessor("f", [0.2, 1], "SCALAR", 5126)
TARGET = accessor("f", [0.3, 0.3, 0] * 4, "VEC3", 5126)
for view in views[1:]:
    view["byteOffset"] += 4
numbers = b"\1\2\3\4" + numbers

plain = {"POSITION": POSITION}
coloured = {**plain, "NORMAL": NORMAL, "TEXCOORD_0": UV}
grey = {"baseColorFactor": [0.8, 0.7, 0.6, 1], "metallicFactor": 0.3, "roughnessFactor": 0.4}
dark = {"baseColorFactor": [0.2, 0.3, 0.4, 1], "metallicFactor": 0.1, "roughnessFactor": 0.3}
moved = {"offset": [0.3, 0.1], "rotation": 0.5, "scale": [0.7, 1.4]}


def image(index, **more):
    return {"index": index, **more}


def extended(name, pbr=None, **keys):
    return {"pbrMetallicRoughness": pbr or dark, "extensions": {name: keys}}


surfaces = [  # attributes, material
    ({**coloured, "TEXCOORD_1": UV2}, {
        "pbrMetallicRoughness": {"baseColorTexture": image(1, texCoord=1, extensions={"KHR_texture_transform": moved}), "metallicFactor": 0.2},
        "alphaMode": "MASK", "alphaCutoff": 0.7, "doubleSided": True}),
    (coloured, {"pbrMetallicRoughness": {**grey, "metallicRoughnessTexture": image(1)}, "occlusionTexture": image(1, strength=0.5)}),
    ({**coloured, "TANGENT": TANGENT}, {"pbrMetallicRoughness": grey, "normalTexture": image(1, scale=0.4)}),
    ({**coloured, "COLOR_0": COLOUR}, {"pbrMetallicRoughness": {"metallicFactor": 0}, "alphaMode": "BLEND"}),
    (coloured, {"pbrMetallicRoughness": dark, "emissiveFactor": [0.1, 0.2, 0.05], "emissiveTexture": image(1),
                "extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": 2}}}),
    (coloured, extended("KHR_materials_clearcoat", clearcoatFactor=0.8, clearcoatTexture=image(1), clearcoatRoughnessFactor=0.3,
                        clearcoatRoughnessTexture=image(1), clearcoatNormalTexture=image(1, scale=0.5))),
    (coloured, extended("KHR_materials_sheen", sheenColorFactor=[0.9, 0.5, 0.7], sheenColorTexture=image(1), sheenRoughnessFactor=0.5,
                        sheenRoughnessTexture=image(1))),
    (coloured, {"pbrMetallicRoughness": {**dark, "metallicFactor": 0}, "doubleSided": True, "extensions": {
        "KHR_materials_transmission": {"transmissionFactor": 0.6, "transmissionTexture": image(1)},
        "KHR_materials_ior": {"ior": 1.8}}}),
    (coloured, extended("KHR_materials_specular", {**dark, "metallicFactor": 0}, specularFactor=0.7, specularTexture=image(1), specularColorFactor=[1, 0.5, 0.2],
                        specularColorTexture=image(1))),
    (coloured, {"pbrMetallicRoughness": dark, "extensions": {"KHR_materials_unlit": {}}}),
    (coloured, extended("KHR_materials_anisotropy", {**dark, "metallicFactor": 1}, anisotropyStrength=0.8, anisotropyRotation=0.6, anisotropyTexture=image(1))),
    (coloured, extended("KHR_materials_pbrSpecularGlossiness", diffuseFactor=[0.5, 0.4, 0.3, 1], diffuseTexture=image(1), specularFactor=[0.4, 0.3, 0.2],
                        glossinessFactor=0.6, specularGlossinessTexture=image(1))),
    (coloured, extended("KHR_materials_iridescence", iridescenceFactor=0.8, iridescenceIor=1.6, iridescenceThicknessMaximum=300)),
    (coloured, extended("KHR_materials_diffuse_transmission", diffuseTransmissionFactor=0.5, diffuseTransmissionColorFactor=[1, 0.5, 0.2])),
]
nodes = [
    {"children": list(range(2, 10 + len(surfaces))), "translation": [0.1, 0, 0], "rotation": [0, 0.05, 0, 0.99875], "scale": [1.1, 1, 1]},
    {"translation": [-2.3, -1.5, 0]},
    {"camera": 1, "translation": [0, 0, 6]},
    {"extensions": {"KHR_lights_punctual": {"light": 1}}, "translation": [0.5, 1, 3]},
    {"extensions": {"KHR_lights_punctual": {"light": 2}}, "rotation": [-0.3, 0, 0, 0.95]},
    {"mesh": len(surfaces), "skin": 0},
    {"matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, -1.2, -1.5, 0, 1]},
    {"mesh": len(surfaces) + 1, "weights": [0.5], "translation": [0.4, -1.5, 0]},
    {"mesh": 3, "translation": [1.6, -1.5, 0]},
    {"mesh": len(surfaces) + 1, "weights": [0.3], "translation": [1.2, -0.6, 0.2]},
]
for number in range(len(surfaces)):
    nodes.append({"mesh": number, "translation": [number % 5 - 2.3, 1.5 - number // 5, -0.2 * (number % 2)]})
texels = [[(40, 90, 200, 255), (220, 60, 130, 150), (128, 128, 255, 255)], [(250, 200, 90, 60), (90, 150, 240, 255), (30, 220, 60, 150)]]
scene = {
    "asset": {"version": "2.0"}, "scene": 1, "scenes": [{"nodes": [1]}, {"nodes": [0, 1]}], "nodes": nodes,
    "extensionsUsed": ["KHR_texture_transform"],
    "cameras": [{"type": "perspective", "perspective": {"yfov": 1, "znear": 0.1}},
                {"type": "perspective", "perspective": {"yfov": 0.85, "aspectRatio": 1, "znear": 0.1, "zfar": 90}}],
    "extensions": {"KHR_lights_punctual": {"lights": [{"type": "point"}, {"type": "spot", "intensity": 600, "color": [1, 0.8, 0.6], "range": 20,
                   "spot": {"innerConeAngle": 0.3, "outerConeAngle": 0.9}}, {"type": "directional", "intensity": 2, "color": [0.5, 0.7, 1]}]}},
    "meshes": [{"primitives": [{"attributes": attributes, "indices": INDICES, "material": number, "mode": 4}]} for number, (attributes, _) in enumerate(surfaces)]
    + [{"primitives": [{"attributes": {**plain, "JOINTS_0": JOINTS, "WEIGHTS_0": WEIGHTS}, "indices": INDICES}]},
       {"primitives": [{"attributes": plain, "indices": INDICES, "targets": [{"POSITION": TARGET}]}], "weights": [1]}],
    "skins": [{"joints": [1, 6], "inverseBindMatrices": BIND}],
    "materials": [material for _, material in surfaces],
    "textures": [{"source": 0}, {"source": 1, "sampler": 1}], "samplers": [{}, {"magFilter": 9728, "minFilter": 9984, "wrapS": 33071, "wrapT": 33648}],
    "images": [{"uri": "data:image/png;base64," + base64.b64encode(png(picture_)).decode()} for picture_ in ([[(9, 9, 9, 255)]], texels)],
    "animations": [{"name": "idle", "channels": [], "samplers": []}, {"name": "go", "channels": [{"sampler": 1, "target": {"node": 8, "path": "translation"}},
                   {"sampler": 0, "target": {"node": 7, "path": "weights"}}],
                   "samplers": [{"input": TIMES, "output": SHAPES, "interpolation": "STEP"}, {"input": TIMES, "output": MOVES, "interpolation": "CUBICSPLINE"}]}],
    "bufferViews": views, "accessors": accessors,
    "buffers": [{"byteLength": len(numbers), "uri": "data:application/octet-stream;base64," + base64.b64encode(numbers).decode()}],
}


# Keys that may change nothing, by the names of the path without numbers: they describe what Kandela
# does not use (clip planes, the aspect ratio), repeat what other keys tell (min and max, targets of
# animations), have the value of the default, or say what is reported as a whole.
free = """extensionsUsed cameras.type cameras.perspective.aspectRatio cameras.perspective.znear cameras.perspective.zfar
meshes.primitives.mode meshes.weights materials.doubleSided materials.occlusionTexture.index materials.occlusionTexture.strength
samplers.minFilter accessors.min accessors.max animations.name""".split()
free_parts = ("KHR_materials_iridescence.", "KHR_materials_diffuse_transmission.")


def gltf(root):
    with open("one.gltf", "w", encoding="utf-8") as file:
        json.dump(root, file)
    return picture("one.gltf", "--clip", "go", "--frame", "24")


def check_gltf():
    """Renames each key, of equal ones in different objects until one has an effect."""
    before, found = gltf(scene), {}
    for path in paths(scene):
        name = ".".join(key for key in path if isinstance(key, str))
        if name in free or any(part in name for part in free_parts) or found.get(name):
            continue
        found[name] = gltf(changed(scene, path, path[-1] + "_x")) != before
    for name in (name for name, effect in found.items() if not effect):
        report(f"one.gltf: {name} renamed")


# --- text files -------------------------------------------------------------------------------------

def lines_changed(lines):
    """Each line, what is done to it, and the lines without it, or with another first word."""
    for number, line in enumerate(lines):
        if line:
            yield line, "dropped", lines[:number] + lines[number + 1:]
            yield line, "renamed", [*lines[:number], "x_" + line, *lines[number + 1:]]


def put(name, lines):
    with open(name, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)


with open("map2.png", "wb") as file:
    file.write(png([[(240, 90, 20, 255), (20, 160, 130, 255)]]))
with open("map.png", "wb") as file:
    file.write(png([[(40, 90, 200, 255), (220, 60, 130, 150), (128, 128, 255, 255)], [(250, 200, 90, 60), (90, 150, 240, 255), (30, 220, 60, 200)]]))
materials = {
    "kd": ["Kd 0.6 0.5 0.4", "Ks 0.3 0.2 0.1", "Ns 30", "d 0.7", "illum 2"],
    "glass": ["Kd 0.2 0.2 0.2", "Ks 0.9 0.9 0.9", "Tf 0.8 0.9 0.7", "Ni 1.4", "illum 7", "d 0.4"],
    "lamp": ["Kd 0 0 0", "Ke 0.3 0.2 0.1", "map_Ke map.png"],
    "maps": ["Kd 1 1 1", "map_Kd -s 1.5 0.7 1 -o 0.2 0.1 0 map.png", "map_d -imfchan m map.png", "map_Bump -bm 3 map.png"],
    "pbr": ["Kd 0.7 0.6 0.5", "Pr 0.3", "Pm 0.4", "Ps 0.5", "Pc 0.8", "Pcr 0.2", "aniso 0.5", "anisor 0.2", "map_Pr map.png", "map_Pm -imfchan g map.png", "norm map.png"],
    "specular": ["Kd 0.3 0.3 0.3", "Ks 0.5 0.4 0.3", "Ns 200", "map_Ks map.png", "map_Kd -clamp on -cc off map.png"],
    "trans": ["Kd 0.5 0.6 0.7", "Tr 0.6", "map_Ns map.png", "disp map.png", "refl -type sphere map.png"],
}
mtl, obj = [], ["mtllib one.mtl", "vn 0.2 0 1", "vn -0.2 0 1", "vn 0 0.3 1", "vt 0.1 0", "vt 1.2 0", "vt 1.2 1.2", "vt 0 1.2"]
for number, (name, rows) in enumerate(materials.items()):
    mtl += [f"newmtl {name}", *rows]
    x, y = number % 3 - 1, number // 3 - 1
    obj += [f"v {x - 0.4} {y - 0.4} 0", f"v {x + 0.4} {y - 0.4} 0", f"v {x + 0.4} {y + 0.4} {0.1 * x}", f"v {x - 0.4} {y + 0.4} 0.1"]
    first = 4 * number + 1
    obj += [f"usemtl {name}", f"f {first}/1/1 {first + 1}/2/2 {first + 2}/3/3 {first + 3}/4/3"]
obj += ["v 1 1 -0.2 1 0 0", "v 1.4 0.6 -0.2 0 1 0", "v 1.4 1.4 0.2 0 0 1", "v 0.6 0.8 0.4 1 1 0", "usemtl kd", "s 1", "f -4 -3 -2", "f -4 -2 -1", "s off"]
ply_head = [
    "ply", "format ascii 1.0", "comment TextureFile map.png", "comment TextureFile map2.png", "element vertex 8", "property float x", "property float y", "property float z",
    "property float nx", "property float ny", "property float nz", "property uchar red", "property uchar green", "property uchar blue", "property uchar alpha",
    "element face 2", "property list uchar int vertex_indices", "property list uchar float texcoord", "property int texnumber", "end_header"]
ply_rows = [f"{x} {y} {z} 0.{i}1 0.{i}2 1 {20 * i + 9} {200 - 15 * i} 77 {250 - i}" for i, (x, y, z) in enumerate(
    [(-1, -1, 0.1), (0, -1, 0), (0, 1, 0), (-1, 1, 0.1), (0.1, -1, 0), (1, -1, 0.1), (1, 1, 0), (0.1, 1, 0.1)])]
ply_faces = ["4 0 1 2 3 8 0 0 1.5 0.1 1.4 1.5 0 1 1", "4 4 5 6 7 8 0 0 1 0 1 1 0 1 0"]
hdr_head = ["#?RADIANCE", "EXPOSURE=2.5", "COLORCORR=1.2 0.8 1.1", "PRIMARIES=0.7 0.3 0.2 0.7 0.15 0.06 0.33 0.33", "FORMAT=32-bit_rle_rgbe", "", "-Y 4 +X 8"]

view = {"kandela": 1, "environment": {"radiance": [0.5, 0.6, 0.7]}, "camera": {"eye": [0.5, 0.3, 4], "look_at": [0, 0, 0], "fov": 45},
        "lights": [{"kind": "point", "position": [1, 2, 3], "power": [200, 180, 150]}]}
# without effect: numbers of glass that its index replaces, 0 for a lamp, 1 with a map
free_lines = ["illum 2", "d 0.4", "Kd 0.2 0.2 0.2", "Ks 0.9 0.9 0.9", "Kd 0 0 0", "Kd 1 1 1", "FORMAT=32-bit_rle_rgbe", "s off"]


def described(mesh, **more):
    with open("one.json", "w", encoding="utf-8") as file:
        json.dump({**view, "meshes": [{"file": mesh}], **more}, file)


def check_lines(name, lines, write):
    write(lines)
    before = picture("one.json")
    for line, what, fewer in lines_changed(lines):
        if line in free_lines:
            continue
        write(fewer)
        judge(f"{name}: {line!r} {what}", before, picture("one.json"))
    write(lines)


def write_ply(head):
    put("one.ply", head + ply_rows + ply_faces)


def write_hdr(head):
    with open("one.hdr", "wb") as file:
        texels = bytes(128 if i % 4 == 3 else (37 * i + 11) % 200 for i in range(4 * 32))
        file.write("\n".join(head).encode() + b"\n" + texels)


def check_ply_names():
    write_ply(ply_head)
    before = picture("one.json")
    for number, line in enumerate(ply_head):
        if line.startswith("property"):
            write_ply([*ply_head[:number], line + "_x", *ply_head[number + 1:]])
            judge(f"one.ply: {line!r} with another name", before, picture("one.json"))


check_gltf()
put("one.mtl", mtl)
described("one.obj")
check_lines("one.obj", obj, lambda lines: put("one.obj", lines))
check_lines("one.mtl", mtl, lambda lines: put("one.mtl", lines))
described("one.ply")
check_lines("one.ply", ply_head, write_ply)
check_ply_names()
described("gen:blob:100", environment={"image": "one.hdr"})
check_lines("one.hdr", hdr_head, write_hdr)
print(f"{runs} files, {failures} without effect")
sys.exit(failures > 0)
