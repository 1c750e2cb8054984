# cmake -DBUILD=dir -DCONFIG=name -DPREFIX=dir -P install_and_move.cmake
# Installs BUILD and moves it to PREFIX: what is there afterwards must not know where it was installed.
file(REMOVE_RECURSE ${PREFIX} ${PREFIX}.first)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX}.first --config "${CONFIG}"
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(RENAME ${PREFIX}.first ${PREFIX})

file(GLOB_RECURSE package ${PREFIX}/*.cmake)
foreach(file IN LISTS package)
  file(STRINGS ${file} lines REGEX "${PREFIX}|${BUILD}")
  if(lines)
    message(FATAL_ERROR "${file} names a place that is not its own: ${lines}")
  endif()
endforeach()
