#!/usr/bin/env bash
# Files that are not what their name says, and files of other programs: one line names what they are and what to do.
# shellcheck source=tests/tools/expect.sh
. "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

refused() { # FILE TEXT
    expect_exit 3 timeout 60 "$program" render "$1" --resolution 8x8 --spp 1 --device cpu -o out.pfm
    expect_says err "$2"
    expect_true "$1: one line, not $(wc -l <err)" test "$(wc -l <err)" = 1
}
python3 - <<'E'
import gzip, io, struct, zipfile
archive = io.BytesIO()
with zipfile.ZipFile(archive, "w") as z: z.writestr("a.obj", "v 0 0 0\n")
text = b'{"asset":{"version":"2.0"}}\n'
kinds = {
    "png": b"\x89PNG\r\n\x1a\n" + bytes(60), "jpeg": b"\xff\xd8\xff\xe0" + bytes(60), "zip": archive.getvalue(),
    "gzip": gzip.compress(b"v 0 0 0\n"), "stl": bytes(80) + struct.pack("<I12fH", 1, *[0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0], 0),
    "glb": b"glTF" + struct.pack("<III4s", 2, 20 + len(text), len(text), b"JSON") + text, "blend": b"BLENDER-v300" + bytes(90),
    "fbx": b"Kaydara FBX Binary  \0" + bytes(90), "pdf": b"%PDF-1.7\n" + bytes(60), "html": b"<!DOCTYPE html><html></html>\n" * 4,
    "lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
}
for name, data in kinds.items():
    for suffix in ("obj", "ply", "json", "gltf", "mtl", "stl"):
        if name != suffix and (name, suffix) != ("glb", "gltf"): open(f"is_{name}.{suffix}", "wb").write(data)
    open(f"is_{name}_mtl.obj", "w").write(f"mtllib is_{name}.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
E
declare -A names=([png]='a PNG image' [jpeg]='a JPEG image' [zip]='a zip archive' [gzip]='a gzip archive' [stl]='an STL file'
    [glb]='a binary glTF file' [blend]='a Blender file' [fbx]='an FBX file' [pdf]='a PDF document' [html]='an HTML page'
    [lfs]='a Git LFS pointer')
declare -A formats=([obj]=OBJ [ply]=PLY [json]=JSON [gltf]=JSON [stl]=STL)
for name in "${!names[@]}"; do
    for suffix in "${!formats[@]}"; do
        [[ -e is_$name.$suffix ]] && refused "is_$name.$suffix" "found ${names[$name]}, expected ${formats[$suffix]}"
    done
    refused "is_${name}_mtl.obj" "found ${names[$name]}, expected MTL"
done
refused is_zip.obj 'unpack it first'
printf 'some\0words\nand\1more\n' >words.obj
refused words.obj 'words.obj:1: found binary data and no OBJ statement'
refused is_lfs.ply 'run git lfs pull'
refused is_stl.obj 'rename it to end in .stl'
printf 'v 0 0 0\n\0\1\2\3' >is_png.obj # one null character does not make an OBJ file another kind
expect_exit 0 "$program" render is_png.obj --resolution 8x8 --spp 1 --device cpu -o out.pfm

# Formats without a reader.
for suffix in usd usda usdc usdz abc blend step iges max ma c4d skp 3dm dwg hip las pbrt vdb; do
    printf 'some text\n' >"model.$suffix"
done
refused model.usdz 'found a USD file, which this build cannot read; convert it to glTF, for example with Blender'
refused model.abc 'found an Alembic file'
refused model.blend 'open it in Blender and export it as glTF'
refused model.step 'found a STEP file, which this build cannot read; export its meshes as OBJ or STL, for example with FreeCAD'
refused model.las 'found a point cloud'
for suffix in usd usda usdc iges max ma c4d skp 3dm dwg hip pbrt vdb; do
    refused "model.$suffix" ', which this build cannot read; '
    expect_true "none of assimp's words for .$suffix" test "$(grep -ci assimp err)" = 0
done
cp is_pdf.obj model.unknown
refused model.unknown 'found a PDF document, expected a mesh'
printf 'x\n' >model.unknown
refused model.unknown 'unknown format ".unknown", expected .obj'

# FBX, in builds with assimp: a square, its colour, and a texture in place of the colour.
if grep -q 'assimp.*yes' <("$program" info); then
    square() { # NAME CONNECTION
        cat >"$1.fbx" <<E
; FBX 7.4.0 project file
FBXHeaderExtension:  {
	FBXVersion: 7400
}
Objects:  {
	Geometry: 1, "Geometry::square", "Mesh" {
		Vertices: *12 {
			a: -1,-1,0,1,-1,0,1,1,0,-1,1,0
		}
		PolygonVertexIndex: *4 {
			a: 0,1,2,-4
		}
		LayerElementUV: 0 {
			MappingInformationType: "ByPolygonVertex"
			ReferenceInformationType: "IndexToDirect"
			UV: *8 {
				a: 0,0,1,0,1,1,0,1
			}
			UVIndex: *4 {
				a: 0,1,2,3
			}
		}
		LayerElementMaterial: 0 {
			MappingInformationType: "AllSame"
			ReferenceInformationType: "IndexToDirect"
			Materials: *1 {
				a: 0
			}
		}
		Layer: 0 {
			LayerElement:  {
				Type: "LayerElementMaterial"
				TypedIndex: 0
			}
			LayerElement:  {
				Type: "LayerElementUV"
				TypedIndex: 0
			}
		}
	}
	Model: 2, "Model::square", "Mesh" {
		Version: 232
	}
	Material: 3, "Material::m", "" {
		ShadingModel: "lambert"
		Properties70:  {
			P: "DiffuseColor", "Color", "", "A",0.8,0.4,0.2
		}
	}
	Texture: 4, "Texture::t", "" {
		FileName: "C:\work\Textures\Grey.PPM"
		RelativeFilename: "..\Textures\Grey.PPM"
	}
}
Connections:  {
	C: "OO",2,0
	C: "OO",1,2
	C: "OO",3,2
	$2
}
E
        printf '{"kandela": 1, "meshes": [{"file": "%s.fbx"}], "environment": {"radiance": 1}, "camera": {"eye": [0, 0, 5], "look_at": [0, 0, 0], "orthographic": 2}}' \
            "$1" >"$1.json"
        expect_exit 0 "$program" render "$1.json" --resolution 2x2 --spp 64 --device cpu -o "$1.pfm"
    }
    printf 'P3 1 1 255 188 188 188\n' >grey.ppm
    square plain ''
    expect_true "no warning of plain.fbx" test "$(grep -c warning err)" = 0
    square textured 'C: "OP",4,3, "DiffuseColor"'
    expect_says err 'found the texture "..\Textures\Grey.PPM" as grey.ppm'
    python3 - <<'E' || expect_fail "the colours of the FBX files"
import struct
for name, right in (("plain", (0.8, 0.4, 0.2)), ("textured", (0.503, 0.503, 0.503))):
    seen = struct.unpack("<3f", open(name + ".pfm", "rb").read()[-12:])
    assert all(abs(a - b) < 0.03 for a, b in zip(seen, right)), (name, seen)
E
fi
expect_done
