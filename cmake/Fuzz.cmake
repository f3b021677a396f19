# Fuzz targets: every fuzz/NAME.c but replay.c holds LLVMFuzzerTestOneInput for one reader.
# With TENURE_FUZZ (clang) it becomes the libFuzzer program fuzz_NAME in the build's root. With TENURE_TESTS it becomes
# the test fuzz.NAME, which feeds it every file under fuzz/seeds/NAME, fuzz/corpus/NAME and tests/regress/NAME once.
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/*.c)
list(FILTER sources EXCLUDE REGEX "/replay\\.c$")

if(TENURE_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "TENURE_FUZZ needs clang: libFuzzer is part of it")
  endif()
  # libFuzzer steers by the edges that an input reaches, so the library is instrumented, not the target alone.
  foreach(folder ${TENURE_FOLDERS})
    target_compile_options(tenure_${folder}_objects PRIVATE -fsanitize=fuzzer-no-link)
  endforeach()
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(fuzz_${name} ${source})
    target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer -Wno-missing-prototypes)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(fuzz_${name} PRIVATE tenure_library)
    set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  endforeach()
endif()

if(TENURE_TESTS AND NOT WIN32)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(replay_${name} ${source} ${CMAKE_SOURCE_DIR}/fuzz/replay.c)
    target_compile_options(replay_${name} PRIVATE -Wno-missing-prototypes)
    target_link_libraries(replay_${name} PRIVATE tenure_library)
    add_test(NAME fuzz.${name} COMMAND replay_${name} ${CMAKE_SOURCE_DIR}/fuzz/seeds/${name}
      ${CMAKE_SOURCE_DIR}/fuzz/corpus/${name} ${CMAKE_SOURCE_DIR}/tests/regress/${name})
    set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT 300)
  endforeach()
endif()
