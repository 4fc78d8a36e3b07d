# cmake --install build --prefix DIR: the programs, stripped, their debug files apart, the daemon's unit and the examples of both
# configurations. Debug files lie by build ID in lib/debug, where gdb, perf and plimsoll itself look for those of /usr.
include(GNUInstallDirs)

find_program(READELF readelf REQUIRED)
foreach(program plimsoll plimsolld)
  install(TARGETS ${program} RUNTIME)
  install(CODE "
    execute_process(
      COMMAND \${CMAKE_COMMAND} -DPROGRAM=\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/${program}
              -DDEBUG_FOLDER=\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/debug/.build-id
              -DOBJCOPY=${CMAKE_OBJCOPY} -DREADELF=${READELF} -P ${PROJECT_SOURCE_DIR}/cmake/SplitDebug.cmake
      COMMAND_ERROR_IS_FATAL ANY)")
endforeach()

# The unit starts the daemon from where it was installed.
install(CODE "
  file(READ ${PROJECT_SOURCE_DIR}/scripts/plimsolld.service unit)
  string(REPLACE /usr/bin/ \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/ unit \"\${unit}\")
  set(path \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/systemd/system/plimsolld.service)
  message(STATUS \"Installing: \${path}\")
  file(WRITE \${path} \"\${unit}\")")
install(FILES config/daemon.example.toml config/server.example.toml DESTINATION ${CMAKE_INSTALL_DATADIR}/plimsoll)
