# What `cmake --install` puts where: libraries, headers, the program with its man page and bash
# completion, and the files by which CMake (find_package(kandela)) and pkg-config find them.
include(CMakePackageConfigHelpers)

# The shared library offers kd_ and nothing else, whatever kernels and static libraries bring.
set(symbols ${CMAKE_SOURCE_DIR}/cmake/kandela.map)
target_link_options(kandela PRIVATE LINKER:--version-script=${symbols})
set_target_properties(kandela PROPERTIES LINK_DEPENDS ${symbols})

install(TARGETS kandela EXPORT kandela_targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/kandela DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
install(EXPORT kandela_targets NAMESPACE kandela:: FILE kandela-targets.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kandela)
# The static library lies beside it; pkg-config --static names what it needs.
set_target_properties(kandela_static PROPERTIES OUTPUT_NAME kandela)
install(TARGETS kandela_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})

file(WRITE ${CMAKE_BINARY_DIR}/kandela-config.cmake
     "include(\${CMAKE_CURRENT_LIST_DIR}/kandela-targets.cmake)\n")
write_basic_package_version_file(${CMAKE_BINARY_DIR}/kandela-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/kandela-config.cmake ${CMAKE_BINARY_DIR}/kandela-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kandela)

file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
set(static_libraries "${KD_CJSON_LIBRARY} -fopenmp -lm")
if(KD_OPENEXR)
  string(APPEND static_libraries " $<TARGET_FILE:OpenEXR::OpenEXRCore>")
endif()
if(KD_ASSIMP)
  string(APPEND static_libraries " ${KD_ASSIMP_LIBRARY}")
endif()
if(KD_CUDA_FOUND AND NOT KD_CUDA STREQUAL "EMULATED")
  string(APPEND static_libraries " $<TARGET_FILE:CUDA::cudart_static> -lstdc++ -lpthread -ldl -lrt")
endif()
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/kandela.pc CONTENT
"prefix=\${pcfiledir}/${to_prefix}
libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}
includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}

Name: kandela
Description: ${PROJECT_DESCRIPTION}
Version: ${PROJECT_VERSION}
Libs: -L\${libdir} -lkandela
Libs.private: ${static_libraries}
Cflags: -I\${includedir}
")
install(FILES ${CMAKE_BINARY_DIR}/kandela.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET kandela_program)
  # `kandela bench` finds its scene in ../share beside the program's folder, built or installed.
  set(bench_scene kandela/scenes/cornell_caustic.json)
  configure_file(${CMAKE_SOURCE_DIR}/scenes/cornell_caustic.json ${CMAKE_BINARY_DIR}/share/${bench_scene} COPYONLY)
  install(FILES ${CMAKE_BINARY_DIR}/share/${bench_scene} DESTINATION share/kandela/scenes)
  # Both come from the table of options, so they are written by the program itself.
  set(man_page ${CMAKE_BINARY_DIR}/share/man/man1/kandela.1)
  set(completion ${CMAKE_BINARY_DIR}/share/bash-completion/completions/kandela)
  add_custom_command(
    OUTPUT ${man_page} ${completion} DEPENDS kandela_program
    COMMAND ${CMAKE_COMMAND} -E make_directory share/man/man1 share/bash-completion/completions
    COMMAND kandela_program --man > ${man_page}
    COMMAND kandela_program --completion > ${completion}
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR} VERBATIM)
  add_custom_target(kandela_pages ALL DEPENDS ${man_page} ${completion})
  install(TARGETS kandela_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES ${man_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${completion}
          DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions)
endif()
