# The Python module kandela._c: nanobind bindings of the public headers. It contains the library's
# objects, but does not export their names. Included when a wheel is built (pyproject.toml) and if
# KD_PYTHON is ON.
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
# Handlers for compiled JAX functions (python/ext/xla.cc), from the headers in jaxlib.
execute_process(COMMAND ${Python_EXECUTABLE} -c "from importlib.util import find_spec; print(find_spec('jaxlib').submodule_search_locations[0])"
                OUTPUT_VARIABLE jaxlib_folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(EXISTS "${jaxlib_folder}/include/xla/ffi/api/ffi.h")
  set_property(SOURCE ${CMAKE_SOURCE_DIR}/python/ext/xla.cc PROPERTY COMPILE_OPTIONS -isystem ${jaxlib_folder}/include)
endif()
target_link_libraries(kandela_python PRIVATE kandela_internal kd_hardened)
target_link_options(kandela_python PRIVATE -Wl,--exclude-libs,ALL)
add_custom_command(TARGET kandela_python POST_BUILD # next to the module, for tests in the build directory
  COMMAND ${CMAKE_COMMAND} -E copy_directory ${CMAKE_SOURCE_DIR}/python/kandela ${CMAKE_BINARY_DIR}/python/kandela)
# Type stubs of the C functions, for editors and type checkers. Generating them runs the module; a
# cross build therefore needs a Python of the target system and an emulator (cmake/arm64.cmake).
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
