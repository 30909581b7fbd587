# Writes kandela.spdx.json (SPDX 2.3), which lists the third-party code in this build. kd_part adds
# a component if the variable `built` is true: its name, licence, URL, how it is used, and its
# version if that is known.
set(parts)
function(kd_part built name licence url used version)
  if(${built})
    set(parts "${parts}\n    ,{\"name\": \"${name}\", \"SPDXID\": \"SPDXRef-${name}\", \"versionInfo\": \"${version}\", \"downloadLocation\": \"${url}\",
     \"licenseConcluded\": \"${licence}\", \"licenseDeclared\": \"${licence}\", \"copyrightText\": \"NOASSERTION\", \"filesAnalyzed\": false, \"comment\": \"${used}\"}"
        PARENT_SCOPE)
    set(relations "${relations}\n    ,{\"spdxElementId\": \"SPDXRef-kandela\", \"relationshipType\": \"DEPENDS_ON\", \"relatedSpdxElement\": \"SPDXRef-${name}\"}"
        PARENT_SCOPE)
  endif()
endfunction()

# Sets `result` to the version that up to three macros of a header state, or else the package's .pc
# file.
function(kd_version_said result header)
  set(numbers)
  foreach(macro ${ARGN})
    set(number)
    if(EXISTS ${header})
      file(STRINGS ${header} line REGEX "#[ ]*define[ ]+${macro}[ ]+[0-9]+" LIMIT_COUNT 1)
      string(REGEX MATCH "[0-9]+[ ]*$" number "${line}")
    endif()
    list(APPEND numbers "${number}")
  endforeach()
  string(REPLACE ";" "." version "${numbers}")
  set(${result} "${version}" PARENT_SCOPE)
endfunction()
function(kd_version_packaged result package)
  set(version)
  if(PkgConfig_FOUND)
    execute_process(COMMAND ${PKG_CONFIG_EXECUTABLE} --modversion ${package} OUTPUT_VARIABLE version
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

set(always TRUE)
set(KD_CUDA_BUILT ${KD_CUDA_FOUND})
if(KD_CUDA STREQUAL "EMULATED")
  set(KD_CUDA_BUILT FALSE)
endif()
kd_version_said(version ${KD_CJSON_INCLUDE}/cjson/cJSON.h CJSON_VERSION_MAJOR CJSON_VERSION_MINOR CJSON_VERSION_PATCH)
kd_part(always cJSON MIT https://github.com/DaveGamble/cJSON "shared library" "${version}")
kd_part(always stb "MIT OR Unlicense" https://github.com/nothings/stb "headers: its pictures' code is compiled in" "")
kd_version_said(version ${KD_XXHASH_INCLUDE}/xxhash.h XXH_VERSION_MAJOR XXH_VERSION_MINOR XXH_VERSION_RELEASE)
kd_part(always xxHash BSD-2-Clause https://github.com/Cyan4973/xxHash "header: its hash is compiled in" "${version}")
kd_part(KD_OPENEXR_BUILT OpenEXR BSD-3-Clause https://openexr.com "shared library" "${OpenEXR_VERSION}")
kd_version_packaged(version libdeflate)
kd_part(KD_DEFLATE_BUILT libdeflate MIT https://github.com/ebiggers/libdeflate "shared library" "${version}")
kd_version_packaged(version libjpeg)
kd_part(KD_JPEG_BUILT libjpeg-turbo "IJG AND BSD-3-Clause" https://libjpeg-turbo.org "shared library" "${version}")
kd_version_packaged(version libwebp)
kd_part(KD_WEBP_BUILT libwebp BSD-3-Clause https://chromium.googlesource.com/webm/libwebp "shared library" "${version}")
kd_version_packaged(version libtiff-4)
kd_part(KD_TIFF_BUILT libtiff libtiff https://libtiff.gitlab.io/libtiff "shared library" "${version}")
kd_version_said(version "${KD_MESHOPT_INCLUDE}/meshoptimizer.h" MESHOPTIMIZER_VERSION)
kd_part(KD_MESHOPT_BUILT meshoptimizer MIT https://github.com/zeux/meshoptimizer "shared library" "${version}")
kd_version_packaged(version assimp)
kd_part(KD_ASSIMP_BUILT assimp BSD-3-Clause https://github.com/assimp/assimp "shared library of kandela-import alone" "${version}")
kd_part(KD_DRACO_BUILT Draco Apache-2.0 https://github.com/google/draco "library of kandela-import alone" "")
kd_part(KD_MPI_BUILT MPI BSD-3-Clause https://www.open-mpi.org "shared library of kandela-mpi.so alone" "${MPI_C_VERSION}")
kd_version_packaged(version libmicrohttpd)
kd_part(KD_MICROHTTPD_BUILT libmicrohttpd LGPL-2.1-or-later https://www.gnu.org/software/libmicrohttpd "shared library of kandela-serve.so alone" "${version}")
kd_part(KD_CUDA_BUILT CUDA-runtime LicenseRef-NVIDIA-CUDA-EULA https://developer.nvidia.com/cuda-toolkit "static library; CUB's headers" "${CMAKE_CUDA_COMPILER_VERSION}")
kd_part(KD_PYTHON nanobind BSD-3-Clause https://github.com/wjakob/nanobind "static library of the Python module alone" "${nanobind_VERSION}")

set(KD_PARTS_FILE ${CMAKE_BINARY_DIR}/kandela.spdx.json)
string(MAKE_C_IDENTIFIER "${parts}" named)
string(SHA1 named "${parts} ${PROJECT_VERSION}")
string(REGEX REPLACE "^\n    ," "" first "${relations}")
file(CONFIGURE OUTPUT ${KD_PARTS_FILE} @ONLY CONTENT [[{
  "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "kandela-@PROJECT_VERSION@",
  "documentNamespace": "https://spdx.org/spdxdocs/kandela-@PROJECT_VERSION@-@named@",
  "creationInfo": {"created": "1970-01-01T00:00:00Z", "creators": ["Tool: cmake/KandelaParts.cmake"]},
  "hasExtractedLicensingInfos": [{"licenseId": "LicenseRef-NVIDIA-CUDA-EULA", "name": "NVIDIA CUDA Toolkit End User License Agreement",
    "extractedText": "https://docs.nvidia.com/cuda/eula/index.html"}],
  "packages": [
    {"name": "kandela", "SPDXID": "SPDXRef-kandela", "versionInfo": "@PROJECT_VERSION@", "downloadLocation": "NOASSERTION",
     "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION", "filesAnalyzed": false}@parts@
  ],
  "relationships": [
    {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-kandela"}@relations@
  ]
}
]])
install(FILES ${KD_PARTS_FILE} ${CMAKE_SOURCE_DIR}/NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
