# End to end: the command as people use it, under kills, crashes, full disks and little memory (tests/end).
if(WIN32 OR NOT TARGET tenure)
  return()
endif()
find_package(Python3 COMPONENTS Interpreter REQUIRED)

# many_probe: one process that identifies many files and says what it costs after each.
add_executable(many_probe ${CMAKE_SOURCE_DIR}/tests/end/many_probe.c)
target_link_libraries(many_probe PRIVATE tenure_library)

# lease_slices: slices by tests/end/differential_slices.py, which compares them with those of NumPy.
add_executable(lease_slices ${CMAKE_SOURCE_DIR}/tests/end/lease_slices.c)
target_link_libraries(lease_slices PRIVATE tenure_static tenure_sqlite tenure_options)

# The examples of the documentation, built as programs.
file(GLOB examples CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/examples/*.c)
foreach(source ${examples})
  get_filename_component(name ${source} NAME_WE)
  add_executable(example_${name} ${source})
  target_link_libraries(example_${name} PRIVATE tenure_static tenure_sqlite tenure_options)
endforeach()

include(Netfs)

set(environment "TENURE_NETFS=${CMAKE_BINARY_DIR}/netfs" "TENURE_EXAMPLES=${CMAKE_BINARY_DIR}" "TENURE=$<TARGET_FILE:tenure>" "TENURE_MANY_PROBE=$<TARGET_FILE:many_probe>")

# tests/end/NAME.py holds unittest classes; each is a test of its own.
function(tenure_end_tests file)
  foreach(group ${ARGN})
    add_test(NAME end.${group} COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/tests/end/${file}.py -v ${group})
    set_tests_properties(end.${group} PROPERTIES ENVIRONMENT "${environment}" TIMEOUT 600
      SKIP_RETURN_CODE 77)
  endforeach()
endfunction()

tenure_end_tests(test_import CrashIsolation TwoAtOnce Interrupt DeadJobs Names)
tenure_end_tests(test_examples Examples)
tenure_end_tests(test_space FullDisk FullDiskForEachVerb SharedBlocks ReadOnly)
tenure_end_tests(test_netfs NetworkFolder)
tenure_end_tests(test_memory ManyProbe ManyImport)

add_test(NAME end.kill_loop COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/tests/end/kill_loop.py --kills 500)
add_test(NAME end.kill_acts COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/tests/end/kill_acts.py --kills 200)
set_tests_properties(end.kill_loop end.kill_acts PROPERTIES ENVIRONMENT "${environment}" TIMEOUT 7200 LABELS slow PROCESSORS 2)
