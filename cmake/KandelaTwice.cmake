# The hot files: where time goes. With an empty KD_MARCH they are compiled for any x86-64 and for one with AVX2
# (what core/hot.h asks the CPU for), a few for AVX-512, too, and one of these is taken when the library is loaded:
# KandelaHot.cmake.
# A file with variables, or with functions of the public interface, cannot be among them; the build says so.
set(KD_HOT
  core/parallel/radix_sort core/parallel/scan accel/tree/build_median accel/sweep/build_parallel
  accel/sweep/build_sweep accel/zhou/build_zhou accel/sweep/small_nodes accel/sweep/sweep accel/sweep/events
  accel/sweep/open accel/sweep/rows accel/sweep/search accel/rays/batch accel/wide/wide_rays accel/tree/corner_rows accel/nearest/nearest_find
  accel/tree/writer accel/wide/wide_cells accel/wide/wide_parts accel/wide/wide_tree accel/zhou/large_nodes accel/zhou/small_nodes
  core/math/noise photon/emission/aim points/papers/build_brown points/select/build_select
  points/select/places points/tree/build_recursive points/papers/build_wald points/papers/build_wehr points/select/columns
  photon/emission/emit points/neighbours/leaf_index points/neighbours/leaf_ties
  points/neighbours/leaf_index_query photon/maps/precompute photon/maps/photon_map points/tree/coordinate_keys
  points/neighbours/query points/tree/bounds core/compare/compare render/frame/film core/compare/flip render/frame/frame
  render/integrators/debug render/integrators/light render/integrators/path render/photon_mapping/photon
  render/photon_mapping/progressive render/integrators/whitted render/waves/path_pool)

# What gains by AVX-512: rays through nodes of sixteen cells; exact trees, by its masks and its many registers; lists of
# neighbours in registers.
set(KD_HOT_WIDEST accel/wide/wide_rays accel/sweep/small_nodes accel/sweep/search accel/sweep/sweep
  points/neighbours/leaf_index_query)

include(CheckCCompilerFlag)
set(KD_HOT_FLAGS -march=x86-64-v3)
set(KD_HOT_V4_FLAGS -march=x86-64-v4 -mprefer-vector-width=512)
set(KD_HOT_TWICE FALSE)
# Ninja alone knows the objects of other targets as files; with make there is the plain variant only.
if(NOT KD_MARCH AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND CMAKE_OBJCOPY AND CMAKE_NM
   AND CMAKE_GENERATOR MATCHES "Ninja" AND NOT WIN32 AND NOT APPLE) # names are changed in ELF files
  check_c_compiler_flag("${KD_HOT_FLAGS}" KD_HOT_FLAGS_WORK)
  check_c_compiler_flag("-march=x86-64-v4" KD_HOT_V4_FLAGS_WORK)
  if(KD_HOT_FLAGS_WORK AND KD_HOT_V4_FLAGS_WORK)
    set(KD_HOT_TWICE TRUE)
  endif()
endif()
if(KD_HOT_TWICE)
  target_compile_definitions(kd_common INTERFACE KD_HOT_TWICE=1)
endif()
message(STATUS "Kandela: hot files for AVX2 beside plain ones: ${KD_HOT_TWICE}")

# Moves the hot files of a list of files into another list.
function(kd_hot_split of_sources of_hot)
  set(${of_hot} "" PARENT_SCOPE)
  if(NOT KD_HOT_TWICE)
    return()
  endif()
  set(kept ${${of_sources}})
  set(taken)
  foreach(stem ${KD_HOT})
    set(file ${CMAKE_SOURCE_DIR}/${stem}.c)
    if(file IN_LIST kept)
      list(REMOVE_ITEM kept ${file})
      list(APPEND taken ${file})
    endif()
  endforeach()
  set(${of_sources} ${kept} PARENT_SCOPE)
  set(${of_hot} ${taken} PARENT_SCOPE)
endfunction()

function(kd_hot_room room) # further arguments: its hot files
  foreach(variant base v3)
    add_library(kd_${room}_${variant} OBJECT ${ARGN})
    target_link_libraries(kd_${room}_${variant} PRIVATE kd_common)
    target_compile_options(kd_${room}_${variant} PRIVATE ${KD_FRAME_WARNINGS})
    set_property(GLOBAL APPEND PROPERTY KD_HOT_${variant} "$<TARGET_OBJECTS:kd_${room}_${variant}>")
  endforeach()
  target_compile_options(kd_${room}_v3 PRIVATE ${KD_HOT_FLAGS})
  set_property(GLOBAL APPEND PROPERTY KD_HOT_FILES ${ARGN})
  set(widest ${KD_HOT_WIDEST})
  list(TRANSFORM widest PREPEND ${CMAKE_SOURCE_DIR}/)
  list(TRANSFORM widest APPEND .c)
  set(here)
  foreach(file ${ARGN})
    if(file IN_LIST widest)
      list(APPEND here ${file})
    endif()
  endforeach()
  if(here)
    add_library(kd_${room}_v4 OBJECT ${here})
    target_link_libraries(kd_${room}_v4 PRIVATE kd_common)
    target_compile_options(kd_${room}_v4 PRIVATE ${KD_HOT_V4_FLAGS} ${KD_FRAME_WARNINGS})
    set_property(GLOBAL APPEND PROPERTY KD_HOT_v4 "$<TARGET_OBJECTS:kd_${room}_v4>")
    set_property(GLOBAL APPEND PROPERTY KD_HOT_V4_FILES ${here})
  endif()
endfunction()

# Adds what is made of all hot files to a list of objects.
function(kd_hot_join of_objects)
  if(NOT KD_HOT_TWICE)
    return()
  endif()
  get_property(base GLOBAL PROPERTY KD_HOT_base)
  get_property(v3 GLOBAL PROPERTY KD_HOT_v3)
  get_property(v4 GLOBAL PROPERTY KD_HOT_v4)
  get_property(files GLOBAL PROPERTY KD_HOT_FILES)
  get_property(widest GLOBAL PROPERTY KD_HOT_V4_FILES)
  set(folder ${CMAKE_BINARY_DIR}/hot)
  file(MAKE_DIRECTORY ${folder})
  set(made)
  foreach(file ${files})
    file(RELATIVE_PATH stem ${CMAKE_SOURCE_DIR} ${file})
    string(REPLACE "/" "-" stem ${stem})
    string(REGEX REPLACE "\\.c$" "" stem ${stem})
    list(APPEND made ${folder}/${stem}.base.o ${folder}/${stem}.v3.o)
    if(file IN_LIST widest)
      list(APPEND made ${folder}/${stem}.v4.o)
    endif()
  endforeach()
  set_source_files_properties(${made} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set(script ${CMAKE_SOURCE_DIR}/cmake/KandelaHot.cmake)
  add_custom_command(OUTPUT ${made} ${folder}/hot_jumps.c
    COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -DOBJCOPY=${CMAKE_OBJCOPY} -DOUTPUT=${folder}
            "-DBASE=${base}" "-DV3=${v3}" "-DV4=${v4}" -P ${script}
    DEPENDS ${base} ${v3} ${v4} ${script} VERBATIM COMMENT "Two of each hot function, three of some")
  add_library(kd_hot OBJECT ${folder}/hot_jumps.c)
  target_link_libraries(kd_hot PRIVATE kd_common)
  add_custom_target(kd_hot_made DEPENDS ${made})
  set(${of_objects} ${${of_objects}} $<TARGET_OBJECTS:kd_hot> ${made} PARENT_SCOPE)
endfunction()
