# Debian packages, created by `cpack -G DEB` in a build directory that was configured with
# -DKD_DEB=ON and -DCMAKE_INSTALL_PREFIX=/usr (tools/package/deb does both): libkandela0,
# libkandela-dev, kandela, kandela-mpi. Other generators of CPack package the components without
# changes.
set(CPACK_PACKAGE_NAME kandela)
set(CPACK_PACKAGE_CONTACT "The authors of Kandela <kandela@example.org>")
set(CPACK_PACKAGE_VENDOR "The authors of Kandela")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own summary
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_COMPONENTS_ALL runtime development tools)
if(KD_MPI_BUILT)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(same "libkandela0 (= ${PROJECT_VERSION}-1)")

# Describes the package of a component: its section, the dependencies that dpkg-shlibdeps does not
# find, its summary, and the lines of its description.
function(kd_deb component package section needs summary)
  string(TOUPPER ${component} name)
  string(JOIN "\n" text "${summary}" ${ARGN})
  foreach(field PACKAGE_NAME=${package} PACKAGE_SECTION=${section} PACKAGE_DEPENDS=${needs})
    string(REGEX MATCH "^[A-Z_]+" key ${field})
    string(REGEX REPLACE "^[A-Z_]+=" "" value "${field}")
    set(CPACK_DEBIAN_${name}_${key} "${value}" PARENT_SCOPE)
  endforeach()
  set(CPACK_DEBIAN_${name}_DESCRIPTION "${text}" PARENT_SCOPE)
  if(KD_DEB)
    install(FILES ${CMAKE_BINARY_DIR}/deb/changelog.Debian.gz ${CMAKE_BINARY_DIR}/deb/copyright
            DESTINATION share/doc/${package} COMPONENT ${component})
  endif()
endfunction()
kd_deb(runtime libkandela0 libs "" "nearest neighbours and rays on k-d trees, shared library"
       "Left-balanced k-d trees of points, triangle trees by the surface area"
       "heuristic, watertight rays, photon maps and path tracing, on CPUs and NVIDIA"
       "GPUs, with bit-identical results. This package contains the shared library.")
kd_deb(development libkandela-dev libdevel "${same}" "nearest neighbours and rays on k-d trees, for C programs"
       "Headers, static library, and files for CMake and pkg-config.")
kd_deb(tools kandela graphics "${same}" "ray tracer and photon mapper on k-d trees"
       "Renders meshes (OBJ, PLY, STL, glTF) and scene descriptions by path tracing"
       "and photon mapping, checks and repairs meshes, and inspects trees and photon"
       "maps. Includes benchmarks.")
kd_deb(mpi kandela-mpi graphics "${same}" "MPI plug-in of kandela"
       "Renders one picture by many processes on one or many machines.")

if(KD_DEB)
  set(folder ${CMAKE_BINARY_DIR}/deb)
  file(WRITE ${folder}/triggers "activate-noawait ldconfig\n")
  file(WRITE ${folder}/shlibs "libkandela 0 libkandela0 (>= ${PROJECT_VERSION})\n")
  file(WRITE ${folder}/changelog.Debian "kandela (${PROJECT_VERSION}-1) unstable; urgency=medium\n\n  * See CHANGELOG.md of the sources.\n\n -- The authors of Kandela <kandela@example.org>  Thu, 01 Jan 1970 00:00:00 +0000\n")
  execute_process(COMMAND gzip -9nkf ${folder}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${CMAKE_SOURCE_DIR}/NOTICE notice)
  string(REGEX REPLACE "\n\n" "\n.\n" notice "${notice}")
  string(REGEX REPLACE "\n" "\n " notice "${notice}")
  string(STRIP "${notice}" notice)
  file(WRITE ${folder}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: Kandela\nComment:\n ${notice}\n\nFiles: *\nCopyright: The authors of Kandela\nLicense: Apache-2.0\n On Debian systems the full text of the license is in\n /usr/share/common-licenses/Apache-2.0.\n")
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${folder}/triggers ${folder}/shlibs)
endif()
include(CPack)
