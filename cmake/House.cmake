# The tests of the house itself: dependence, headers, symbols, words, packages.
find_package(Python3 COMPONENTS Interpreter REQUIRED)
if(NOT WIN32)
  foreach(group House PublicHeaders Words Packages)
    add_test(NAME house.${group} COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/tests/house/test_house.py ${group})
    set_tests_properties(house.${group} PROPERTIES ENVIRONMENT "TENURE_BUILD=${CMAKE_BINARY_DIR}" TIMEOUT 300)
  endforeach()
endif()
