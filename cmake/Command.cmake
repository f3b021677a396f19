# The tenure command: src/cli as a library (so that tests can link it) and the program's start for each system. Man pages
# and completion are printed by the program itself, out of its table of options.
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cli/*.c)
list(FILTER sources EXCLUDE REGEX "/main_[a-z0-9]+\\.c$")
add_library(tenure_cli STATIC ${sources})
target_link_libraries(tenure_cli PUBLIC tenure_options tenure_library)

if(WIN32)
  add_executable(tenure ${CMAKE_SOURCE_DIR}/src/cli/main_win32.c)
  target_link_options(tenure PRIVATE -municode)
else()
  add_executable(tenure ${CMAKE_SOURCE_DIR}/src/cli/main_posix.c)
endif()
target_link_libraries(tenure PRIVATE tenure_cli)
install(TARGETS tenure RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

if(TENURE_TESTS)
  tenure_tests(cli)
endif()

# tenure_printed(FILE ARGUMENTS...): build/FILE holds what `tenure ARGUMENTS` prints.
set(TENURE_PRINTED "")
function(tenure_printed file)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/${file}
    COMMAND tenure ${ARGN} > ${CMAKE_BINARY_DIR}/${file}
    DEPENDS tenure VERBATIM)
  set(TENURE_PRINTED ${TENURE_PRINTED} ${CMAKE_BINARY_DIR}/${file} PARENT_SCOPE)
endfunction()

# What is built for another system cannot be run here: no man pages and no completion there.
if(NOT CMAKE_CROSSCOMPILING)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/man ${CMAKE_BINARY_DIR}/completion)
  tenure_printed(man/tenure.1 man)
  foreach(verb import list show probe inspect hash jobs search tag note rename set duplicates usage export restore help version)
    tenure_printed(man/tenure-${verb}.1 man ${verb})
  endforeach()
  tenure_printed(completion/tenure completion bash)
  tenure_printed(completion/_tenure completion zsh)
  tenure_printed(completion/tenure.fish completion fish)
  add_custom_target(tenure_pages ALL DEPENDS ${TENURE_PRINTED})
  install(DIRECTORY ${CMAKE_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${CMAKE_BINARY_DIR}/completion/tenure
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${CMAKE_BINARY_DIR}/completion/_tenure DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${CMAKE_BINARY_DIR}/completion/tenure.fish
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
