# The live view (kandela serve): its page, embedded in the program, and kandela-serve.so, a plug-in
# and the only binary that is linked to libmicrohttpd.
set(serve ${CMAKE_SOURCE_DIR}/tools/program/serve)
if(TARGET kandela_program)
  set(page ${CMAKE_BINARY_DIR}/generated/tools/live_page.h)
  file(GLOB page_files CONFIGURE_DEPENDS ${serve}/page/*)
  add_custom_command(OUTPUT ${page} DEPENDS ${page_files} ${CMAKE_SOURCE_DIR}/cmake/KandelaPage.cmake
                                            ${CMAKE_SOURCE_DIR}/cmake/KandelaBytes.cmake
    COMMAND ${CMAKE_COMMAND} -DPAGE=${serve}/page -DOUTPUT=${page} -P ${CMAKE_SOURCE_DIR}/cmake/KandelaPage.cmake)
  target_sources(kandela_program PRIVATE ${page})
endif()
if(KD_MICROHTTPD_BUILT)
  add_library(kandela_serve MODULE ${serve}/serve_http.c)
  set_target_properties(kandela_serve PROPERTIES PREFIX "" OUTPUT_NAME kandela-serve SUFFIX .so)
  target_link_libraries(kandela_serve PRIVATE kd_common kd_dep_microhttpd)
  install(TARGETS kandela_serve LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/kandela COMPONENT tools OPTIONAL)
  add_dependencies(kandela_installed kandela_serve)
  if(TARGET kandela_program)
    add_dependencies(kandela_program kandela_serve)
  endif()
endif()
set_source_files_properties(${serve}/live.c PROPERTIES COMPILE_DEFINITIONS KD_LIBDIR="${CMAKE_INSTALL_LIBDIR}")
