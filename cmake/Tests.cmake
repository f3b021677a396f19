# Tests that belong to no single folder: the command as people and scripts use it, driven by Python.
if(NOT WIN32)
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
  file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/cli/test_*.py)
  foreach(script ${scripts})
    get_filename_component(name ${script} NAME_WE)
    add_test(NAME command.${name} COMMAND Python3::Interpreter -B ${script} -v)
    set_tests_properties(command.${name} PROPERTIES TIMEOUT 300
      ENVIRONMENT "TENURE=$<TARGET_FILE:tenure>;TENURE_BUILD=${CMAKE_BINARY_DIR}")
  endforeach()
  # With TENURE_SOAK=1 every cut point is tried.
  set_tests_properties(library.test_posix_power library.test_posix_power_acts PROPERTIES TIMEOUT 3600)
endif()
