# The Python module kandela._c, by nanobind, over the public headers alone; linked with the library's objects, whose names
# it does not show. Included when a wheel is made (pyproject.toml) or where KD_PYTHON is ON.
enable_language(CXX)
find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development.Module
             OPTIONAL_COMPONENTS Development.SABIModule)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_folder
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
find_package(nanobind CONFIG REQUIRED HINTS ${nanobind_folder} NO_CMAKE_FIND_ROOT_PATH)
file(GLOB extension CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/ext/*.cc)
nanobind_add_module(kandela_python STABLE_ABI NB_STATIC PROTECT_STACK ${extension})
set_target_properties(kandela_python PROPERTIES OUTPUT_NAME _c LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python/kandela)
target_compile_features(kandela_python PRIVATE cxx_std_17)
target_include_directories(kandela_python PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR})
target_link_libraries(kandela_python PRIVATE kandela_internal kd_hardened)
target_link_options(kandela_python PRIVATE -Wl,--exclude-libs,ALL)
add_custom_command(TARGET kandela_python POST_BUILD # beside the module, for tests from the build folder
  COMMAND ${CMAKE_COMMAND} -E copy_directory ${CMAKE_SOURCE_DIR}/python/kandela ${CMAKE_BINARY_DIR}/python/kandela)
# Types of the C functions for editors and checkers. Writing them runs the module: in a cross build by a Python of the target, under
# an emulator (cmake/arm64.cmake).
set(folder ${CMAKE_BINARY_DIR}/python/kandela)
if(NOT CMAKE_CROSSCOMPILING)
  nanobind_add_stub(kandela_python_stub MODULE _c OUTPUT ${folder}/_c.pyi PYTHON_PATH ${folder} DEPENDS kandela_python)
elseif(KD_TARGET_PYTHON)
  add_custom_target(kandela_python_stub DEPENDS kandela_python
    COMMAND ${KD_TARGET_PYTHON} ${NB_DIR}/stubgen.py -q -i ${folder} -m _c -o ${folder}/_c.pyi VERBATIM)
endif()
if(TARGET kandela_python_stub)
  install(FILES ${folder}/_c.pyi DESTINATION kandela COMPONENT python)
endif()
install(TARGETS kandela_python LIBRARY DESTINATION kandela COMPONENT python)
