# What `cmake --install` installs: libraries, headers, the program with its man pages and bash
# completion, the files with which CMake (find_package(kandela)) and pkg-config find them, documents and
# examples.
include(CMakePackageConfigHelpers)

# Up to kd_install_always(), installs only if the files are built, so that a build of some targets can be
# installed, and prints what is left out.
function(kd_install_if_built what)
  set(absent)
  foreach(file ${ARGN})
    list(APPEND absent "NOT EXISTS \"${file}\"")
  endforeach()
  list(JOIN absent " OR " absent)
  install(CODE "set(kd_component \"\${CMAKE_INSTALL_COMPONENT}\")
if(${absent})
  message(STATUS \"Kandela: not built, not installed: ${what} (all: cmake --build DIR --target kandela_installed)\")
  set(CMAKE_INSTALL_COMPONENT none)
endif()" ALL_COMPONENTS)
endfunction()
function(kd_install_always)
  install(CODE "set(CMAKE_INSTALL_COMPONENT \"\${kd_component}\")" ALL_COMPONENTS)
endfunction()

# The shared library exports only names that begin with kd_, whatever kernels and static libraries
# define.
set(symbols ${CMAKE_SOURCE_DIR}/cmake/kandela.map)
if(NOT WIN32 AND NOT APPLE) # on Windows and macOS, KD_API alone marks exported names
  target_link_options(kandela PRIVATE LINKER:--version-script=${symbols})
  set_target_properties(kandela PROPERTIES LINK_DEPENDS ${symbols})
endif()

# Components: runtime, development, tools, mpi (cmake/KandelaPackages.cmake packages these four),
# and python.
kd_install_if_built("the library" $<TARGET_FILE:kandela> $<TARGET_FILE:kandela_static>)
install(TARGETS kandela EXPORT kandela_targets
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# The static library consists of one object, in which only names that begin with kd_ are global, so
# that a program may contain its own stb_image. It includes the static CUDA runtime. Its other
# dependencies are given as -l options.
find_program(KD_LD NAMES ld.bfd ld)
find_program(KD_OBJCOPY objcopy)
set(whole ${objects})
if(KD_LD AND KD_OBJCOPY AND NOT KD_SANITIZE AND NOT WIN32 AND NOT APPLE)
  set(one ${CMAKE_BINARY_DIR}/kandela_one.o)
  set(list ${CMAKE_BINARY_DIR}/kandela_objects.txt)
  file(GENERATE OUTPUT ${list} CONTENT "$<JOIN:${objects},\n>\n")
  if(KD_CUDA_FOUND AND NOT KD_CUDA STREQUAL "EMULATED")
    set(cudart $<TARGET_FILE:CUDA::cudart_static>)
  endif()
  add_custom_command(OUTPUT ${one} DEPENDS ${modules} ${objects} ${list} VERBATIM COMMAND_EXPAND_LISTS
    COMMAND ${KD_LD} -r --force-group-allocation -o ${one} @${list} ${cudart}
    COMMAND ${KD_OBJCOPY} --wildcard --keep-global-symbol=kd_* ${one})
  set_source_files_properties(${one} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set(whole ${one})
endif()
set(needed ${KD_CJSON_LIBRARY} m pthread ${CMAKE_DL_LIBS})
if(WIN32)
  list(APPEND needed ws2_32 psapi)
endif()
list(APPEND needed ${KD_DEFLATE_LIBRARIES} ${KD_MESHOPT_LIBRARIES} ${KD_JPEG_LIBRARIES} ${KD_WEBP_LIBRARIES})
list(APPEND needed ${KD_TIFF_LIBRARIES})
if(KD_OPENEXR_BUILT)
  find_library(KD_OPENEXRCORE_LIBRARY NAMES OpenEXRCore OpenEXRCore-${OpenEXR_VERSION_MAJOR}_${OpenEXR_VERSION_MINOR})
  get_filename_component(name ${KD_OPENEXRCORE_LIBRARY} NAME_WE)
  string(REGEX REPLACE "^lib" "" name ${name})
  list(APPEND needed ${name})
endif()
list(TRANSFORM needed REPLACE "^.*/lib([^/]*)\\.(so|a)$" "\\1")
if(KD_CUDA_FOUND)
  list(APPEND needed stdc++ rt)
endif()
add_library(kandela_static STATIC ${whole})
set_target_properties(kandela_static PROPERTIES OUTPUT_NAME kandela LINKER_LANGUAGE C)
target_include_directories(kandela_static INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(kandela_static INTERFACE ${needed})
install(TARGETS kandela_static EXPORT kandela_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        COMPONENT development)

install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/kandela DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT development FILES_MATCHING PATTERN "*.h" PATTERN "*.cuh")
install(EXPORT kandela_targets NAMESPACE kandela:: FILE kandela-targets.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kandela COMPONENT development)

file(WRITE ${CMAKE_BINARY_DIR}/kandela-config.cmake
     "include(\${CMAKE_CURRENT_LIST_DIR}/kandela-targets.cmake)\n")
write_basic_package_version_file(${CMAKE_BINARY_DIR}/kandela-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/kandela-config.cmake ${CMAKE_BINARY_DIR}/kandela-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kandela COMPONENT development)

file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
list(JOIN needed " -l" static_libraries)
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/kandela.pc CONTENT
"prefix=\${pcfiledir}/${to_prefix}
libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}
includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}

Name: kandela
Description: ${PROJECT_DESCRIPTION}
Version: ${PROJECT_VERSION}
Libs: -L\${libdir} -lkandela
Libs.private: -l${static_libraries}
Cflags: -I\${includedir}
")
install(FILES ${CMAKE_BINARY_DIR}/kandela.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development
        FILES_MATCHING PATTERN "*.c" PATTERN "*.cu" PATTERN "*.ipynb" PATTERN "*.sbatch")
install(FILES ${CMAKE_SOURCE_DIR}/include/kandela/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/include/kandela
        COMPONENT development)
if(NOT TARGET kandela_program) # which installs it, too
  install(FILES ${CMAKE_SOURCE_DIR}/scenes/DESCRIPTION.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/scenes COMPONENT development)
endif()
kd_install_always()

if(TARGET kandela_import)
  install(TARGETS kandela_import RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/kandela COMPONENT tools OPTIONAL)
endif()
# Builds everything that `cmake --install` needs, and nothing else: no tests.
add_custom_target(kandela_installed DEPENDS kandela kandela_static)
if(TARGET kandela_import)
  add_dependencies(kandela_installed kandela_import)
endif()
if(TARGET kandela_program)
  # `kandela bench` finds its scene in ../share relative to the program's directory, in the build
  # tree and installed.
  set(bench_scene kandela/scenes/cornell_caustic.json)
  configure_file(${CMAKE_SOURCE_DIR}/scenes/cornell_caustic.json ${CMAKE_BINARY_DIR}/share/${bench_scene} COPYONLY)
  install(FILES ${CMAKE_BINARY_DIR}/share/${bench_scene} DESTINATION share/kandela/scenes COMPONENT tools)
  # The program itself writes its man pages (one per command) and the completion, from its tables of
  # options.
  set(man_page ${CMAKE_BINARY_DIR}/share/man/man1/kandela.1)
  set(man_pages ${man_page})
  set(man_commands COMMAND kandela_program --man > ${man_page})
  file(STRINGS ${CMAKE_SOURCE_DIR}/tools/program/commands.inc rows REGEX "^COMMAND")
  foreach(row ${rows})
    string(REGEX REPLACE "^COMMAND\\((.*)\\)$" "\\1" name ${row})
    set(page ${CMAKE_BINARY_DIR}/share/man/man1/kandela-${name}.1)
    list(APPEND man_pages ${page})
    list(APPEND man_commands COMMAND kandela_program --man ${name} > ${page})
  endforeach()
  set(completion ${CMAKE_BINARY_DIR}/share/bash-completion/completions/kandela)
  set(pages_made TRUE)
  if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    set(pages_made FALSE) # no emulator can run the program
  endif()
  add_custom_command(
    OUTPUT ${man_pages} ${completion} DEPENDS kandela_program
    COMMAND ${CMAKE_COMMAND} -E make_directory share/man/man1 share/bash-completion/completions
    ${man_commands}
    COMMAND kandela_program --completion > ${completion}
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR} VERBATIM)
  add_dependencies(kandela_installed kandela_program)
  if(pages_made)
    add_custom_target(kandela_pages ALL DEPENDS ${man_pages} ${completion})
    add_dependencies(kandela_installed kandela_pages)
  endif()
  kd_install_if_built("the program" $<TARGET_FILE:kandela_program>)
  install(TARGETS kandela_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  kd_install_always()
  foreach(document README.md CHANGELOG.md scenes/DESCRIPTION.md)
    get_filename_component(folder ${document} DIRECTORY)
    install(FILES ${CMAKE_SOURCE_DIR}/${document} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder} COMPONENT tools)
  endforeach()
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tools
          FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png")
  if(KD_DEB)
    list(TRANSFORM man_pages APPEND .gz OUTPUT_VARIABLE packed_pages)
    add_custom_command(OUTPUT ${packed_pages} DEPENDS ${man_pages} COMMAND gzip -9nkf ${man_pages} VERBATIM)
    add_custom_target(kandela_page_packed ALL DEPENDS ${packed_pages})
    add_dependencies(kandela_installed kandela_page_packed)
    set(man_pages ${packed_pages})
  endif()
  if(pages_made)
    kd_install_if_built("man pages and completion" ${completion})
    install(FILES ${man_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
    install(FILES ${completion}
            DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions COMPONENT tools)
    kd_install_always()
  endif()
endif()
