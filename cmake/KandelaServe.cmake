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
