# rules/*.rules -> rules_table.c, compiled into identify. The compiler (tools/rulec.c) runs on the machine that builds:
# when building for another, it is made by that machine's own cc (TENURE_HOST_CC).
file(GLOB TENURE_RULES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/rules/*.rules)
list(SORT TENURE_RULES)
set(parser_sources rules_hash rules_layers rules_lines rules_parse rules_test_line rules_words)
list(TRANSFORM parser_sources PREPEND ${CMAKE_SOURCE_DIR}/src/identify/)
list(TRANSFORM parser_sources APPEND .c)

if(CMAKE_CROSSCOMPILING)
  find_program(TENURE_HOST_CC NAMES cc gcc clang REQUIRED NO_CMAKE_FIND_ROOT_PATH)
  set(rulec ${CMAKE_BINARY_DIR}/rulec)
  file(GLOB core_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/core/*.c)
  file(GLOB rules_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/identify/rules*.h ${CMAKE_SOURCE_DIR}/src/core/*.h)
  add_custom_command(OUTPUT ${rulec}
    COMMAND ${TENURE_HOST_CC} -std=c17 -O1 -D_GNU_SOURCE -ffunction-sections -Wl,--gc-sections
      -I${CMAKE_SOURCE_DIR}/include -I${CMAKE_SOURCE_DIR}/src
      ${CMAKE_SOURCE_DIR}/tools/rulec.c ${parser_sources} ${core_sources} -lm -o ${rulec}
    DEPENDS ${CMAKE_SOURCE_DIR}/tools/rulec.c ${parser_sources} ${core_sources} ${rules_headers}
    COMMENT "Compiling rulec for this machine" VERBATIM)
else()
  add_executable(rulec ${CMAKE_SOURCE_DIR}/tools/rulec.c ${parser_sources})
  target_link_libraries(rulec PRIVATE tenure_core)
  set(rulec rulec)
endif()

set(rules_table ${CMAKE_BINARY_DIR}/rules_table.c)
add_custom_command(OUTPUT ${rules_table}
  COMMAND ${rulec} ${rules_table} ${TENURE_RULES}
  DEPENDS ${rulec} ${TENURE_RULES}
  COMMENT "Compiling rules" VERBATIM)
target_sources(tenure_identify_objects PRIVATE ${rules_table})
