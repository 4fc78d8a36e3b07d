# Moves the debug information and the symbol table of PROGRAM into DEBUG_FOLDER/ab/cdef....debug, named by its build ID.
# cmake -DPROGRAM=bin/plimsoll -DDEBUG_FOLDER=lib/debug/.build-id -DOBJCOPY=objcopy -DREADELF=readelf -P SplitDebug.cmake
cmake_policy(VERSION 3.25)
execute_process(COMMAND ${READELF} --notes --wide ${PROGRAM} OUTPUT_VARIABLE notes COMMAND_ERROR_IS_FATAL ANY)
if(NOT notes MATCHES "Build ID: ([0-9a-f][0-9a-f])([0-9a-f]+)")
  message(FATAL_ERROR "${PROGRAM} has no build ID, by which its debug file would be found")
endif()
set(debug_file ${DEBUG_FOLDER}/${CMAKE_MATCH_1}/${CMAKE_MATCH_2}.debug)
get_filename_component(folder ${debug_file} DIRECTORY)
file(MAKE_DIRECTORY ${folder})
execute_process(COMMAND ${OBJCOPY} --only-keep-debug ${PROGRAM} ${debug_file} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${OBJCOPY} --strip-all ${PROGRAM} COMMAND_ERROR_IS_FATAL ANY)
message(STATUS "Installing: ${debug_file}")
