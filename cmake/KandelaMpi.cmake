# kandela-mpi.so: a plug-in, and the only binary that is linked to MPI. The library loads it if an
# MPI launcher has started the program (distributed/ranks/ranks.c), so nothing else needs libmpi.
if(KD_MPI_BUILT)
  add_library(kandela_mpi MODULE ${CMAKE_SOURCE_DIR}/distributed/ranks/ranks_mpi.c)
  set_target_properties(kandela_mpi PROPERTIES PREFIX "" OUTPUT_NAME kandela-mpi SUFFIX .so)
  target_link_libraries(kandela_mpi PRIVATE kd_common)
  target_include_directories(kandela_mpi SYSTEM PRIVATE ${MPI_C_INCLUDE_DIRS})
  target_link_libraries(kandela_mpi PRIVATE ${MPI_C_LIBRARIES})
  install(TARGETS kandela_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/kandela COMPONENT mpi OPTIONAL)
  add_dependencies(kandela_installed kandela_mpi)
  if(TARGET kandela_program)
    add_dependencies(kandela_program kandela_mpi)
  endif()
endif()
set_source_files_properties(${CMAKE_SOURCE_DIR}/distributed/ranks/ranks.c PROPERTIES
  COMPILE_DEFINITIONS KD_LIBDIR="${CMAKE_INSTALL_LIBDIR}")
