# Fails when a file of FOLDER includes a folder of the project that is not in PERMITTED, or goes around the door of the store.
# cmake -DROOT=. -DFOLDER=store/model -DPERMITTED=store/model,base -DFILES=a.h,b.cc -DSTAMP=file -P CheckIncludes.cmake
#
# The door (docs/architecture.md): what files outside of store/ may include of it, beside what StoreExceptions.txt lists. Its headers include
# no database and nothing of the store behind the door.
cmake_policy(VERSION 3.25)
string(REPLACE "," ";" PERMITTED "${PERMITTED}")
string(REPLACE "," ";" FILES "${FILES}")
set(DOOR "^store/(store|fleet)\\.h$|^store/(door|model)/[^/]+\\.h$|^store/access/access_log\\.h$|\
^store/draws/(draw|draw_outcome|experiment|stop)\\.h$|^store/live/(inventory|live_machine|past_fleet|placed_jobs)\\.h$")
set(violations "")

# Tests and benchmarks look at what is behind it.
set(exceptions "")
if(NOT FOLDER MATCHES "^(store|tests|bench)(/|$)")
  file(STRINGS ${ROOT}/cmake/StoreExceptions.txt exceptions REGEX "^${FOLDER}/[^/ ]+ ")
endif()
set(unused ${exceptions})

# `file`, from the root, includes `header`.
function(check_door file header)
  if(FOLDER MATCHES "^store(/|$)")
    if(file MATCHES "${DOOR}" AND (header MATCHES "^sqlite/" OR (header MATCHES "^store/" AND NOT header MATCHES "${DOOR}")))
      set(violations "${violations}${file}: a header of the store's door may not include ${header}\n" PARENT_SCOPE)
    endif()
  elseif(header MATCHES "^store/" AND NOT header MATCHES "${DOOR}" AND NOT FOLDER MATCHES "^(tests|bench)(/|$)")
    if("${file} ${header}" IN_LIST exceptions)
      list(REMOVE_ITEM unused "${file} ${header}")
      set(unused "${unused}" PARENT_SCOPE)
    else()
      set(violations "${violations}${file}: ${header} is behind the store's door (cmake/StoreExceptions.txt)\n" PARENT_SCOPE)
    endif()
  endif()
endfunction()

foreach(file IN LISTS FILES)
  file(RELATIVE_PATH relative ${ROOT} ${file})
  file(STRINGS ${file} lines REGEX "^#include \"")
  foreach(line IN LISTS lines)
    if(line MATCHES "^#include \"([^\"]+)\"")
      check_door(${relative} ${CMAKE_MATCH_1})
    endif()
    if(NOT line MATCHES "^#include \"([^\"]+)/[^/\"]+\"")
      string(APPEND violations "${file}: ${line}: name the folder from the project's root\n")
    elseif(NOT CMAKE_MATCH_1 IN_LIST PERMITTED)
      string(APPEND violations "${file}: ${line}: ${FOLDER} may not depend on ${CMAKE_MATCH_1}\n")
    endif()
  endforeach()
endforeach()
foreach(exception IN LISTS unused)
  string(APPEND violations "cmake/StoreExceptions.txt: \"${exception}\" is needed no more: remove it\n")
endforeach()
if(violations)
  message(FATAL_ERROR "includes outside the permitted dependencies (DEPENDS in ${FOLDER}/CMakeLists.txt) or the door of the store:\n${violations}")
endif()
file(TOUCH ${STAMP})
