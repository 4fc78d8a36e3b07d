# One CMake library for each folder: its DEPENDS list is the list of folders it may include, and the build checks it.
#
#   plimsoll_library(SOURCES a.cc b.cc  DEPENDS base capture/perf  LINK PUBLIC fmt::fmt)
#
# The library's name is its folder with '/' as '_' (capture/perf -> capture_perf). DEPENDS is direct: what a folder includes it must name,
# and what its dependencies stand on is not its business. A source that includes any other folder of the project fails the build in
# cmake/CheckIncludes.cmake, which names the line. So does one outside of store/ that goes around the store's door: cmake/StoreExceptions.txt
# lists those that still do.

# Compiles the sources of `target` in batches of PLIMSOLL_BATCH (CMakeLists.txt).
function(plimsoll_batch target)
  if(PLIMSOLL_BATCH GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${PLIMSOLL_BATCH})
  endif()
endfunction()

function(plimsoll_target_name folder result)
  string(REPLACE "/" "_" name ${folder})
  set(${result} ${name} PARENT_SCOPE)
endfunction()

# Adds the include check of `folder`'s files to `target`.
function(plimsoll_check_includes target folder permitted)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.h ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(stamp ${CMAKE_CURRENT_BINARY_DIR}/${target}.includes)
  string(REPLACE ";" "," permitted_text "${permitted}")
  string(REPLACE ";" "," files_text "${files}")
  add_custom_command(
    OUTPUT ${stamp}
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DFOLDER=${folder} -DPERMITTED=${permitted_text} -DFILES=${files_text} -DSTAMP=${stamp}
            -P ${PROJECT_SOURCE_DIR}/cmake/CheckIncludes.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/CheckIncludes.cmake ${PROJECT_SOURCE_DIR}/cmake/StoreExceptions.txt
    VERBATIM)
  add_custom_target(${target}_includes ALL DEPENDS ${stamp})
  add_dependencies(${target} ${target}_includes)
endfunction()

# An exception for a file that is gone is needed no more.
file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/StoreExceptions.txt store_exceptions REGEX "^[^#]")
foreach(exception IN LISTS store_exceptions)
  string(REGEX REPLACE " .*" "" file "${exception}")
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${file})
    message(FATAL_ERROR "cmake/StoreExceptions.txt: ${file} is not there: remove the line")
  endif()
endforeach()

function(plimsoll_library)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "" "SOURCES;DEPENDS;LINK")
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  plimsoll_target_name(${folder} target)

  add_library(${target} STATIC ${ARG_SOURCES})
  plimsoll_batch(${target})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  foreach(dependency IN LISTS ARG_DEPENDS)
    plimsoll_target_name(${dependency} dependency_target)
    target_link_libraries(${target} PUBLIC ${dependency_target})
  endforeach()
  if(ARG_LINK)
    target_link_libraries(${target} ${ARG_LINK})
  endif()
  plimsoll_check_includes(${target} ${folder} "${folder};${ARG_DEPENDS}")
endfunction()

# A folder of headers alone: plimsoll_interface(DEPENDS base).
function(plimsoll_interface)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "" "DEPENDS")
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  plimsoll_target_name(${folder} target)
  add_library(${target} INTERFACE)
  target_include_directories(${target} INTERFACE ${PROJECT_SOURCE_DIR})
  foreach(dependency IN LISTS ARG_DEPENDS)
    plimsoll_target_name(${dependency} dependency_target)
    target_link_libraries(${target} INTERFACE ${dependency_target})
  endforeach()
  plimsoll_check_includes(${target} ${folder} "${folder};${ARG_DEPENDS}")
endfunction()

# plimsoll_program(plimsolld SOURCES main.cc DEPENDS daemon LINK PRIVATE ...): an executable in bin/.
function(plimsoll_program name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;DEPENDS;LINK")
  add_executable(${name} ${ARG_SOURCES})
  plimsoll_batch(${name})
  # lld links in a tenth of the time that GNU ld takes. Its own build IDs have 8 bytes, those of other linkers 20.
  target_link_options(${name} PRIVATE -fuse-ld=lld -Wl,--build-id=sha1)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  foreach(dependency IN LISTS ARG_DEPENDS)
    plimsoll_target_name(${dependency} dependency_target)
    target_link_libraries(${name} PRIVATE ${dependency_target})
  endforeach()
  if(ARG_LINK)
    target_link_libraries(${name} ${ARG_LINK})
  endif()
endfunction()
