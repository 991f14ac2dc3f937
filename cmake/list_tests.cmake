# Run after a test program is linked: asks it for its tests (--list) and writes one add_test for each to OUTPUT.
#
# A test core.shape.NAME is run by core_shape_test, which is the program itself or, where the program has the tests of a folder, a link to it.
# EMULATOR runs programs that are built for another processor. A program that cannot even list its tests becomes one test, which then fails where people look for failures.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${EMULATOR} "${PROGRAM}" --list OUTPUT_VARIABLE names RESULT_VARIABLE result ERROR_QUIET)
if(NOT result EQUAL 0)
  set(names "")
endif()
string(STRIP "${names}" names)
string(REPLACE "\n" ";" names "${names}")

set(text "include(\"${ENVIRONMENT_FILE}\")\n")
string(REPLACE ";" " " emulator "${EMULATOR}")
get_filename_component(folder "${PROGRAM}" DIRECTORY)
get_filename_component(program_name "${PROGRAM}" NAME)

# Makes the link under which the program has the tests of one file.
function(link_for_file name)
  if(NOT name STREQUAL program_name)
    file(CREATE_LINK "${program_name}" "${folder}/${name}" SYMBOLIC)
  endif()
endfunction()

function(add_line test program arguments)
  set(labels "${LABEL}")
  set(timeout 300)
  if(EMULATOR)
    set(timeout 3600)
  endif()
  if(test MATCHES "^lang\\.(emit_|random)") # with TSR_TEST_SAMPLE=1, compilers get all kernels, or five times as many: minutes each
    set(timeout 3600)
  endif()
  if(LABEL STREQUAL "attack") # as long as TSR_TEST_ATTACK_SECONDS says
    set(timeout 7200)
  endif()
  if(test MATCHES "thread")
    list(APPEND labels threads)
  endif()
  string(APPEND text "add_test([==[${test}]==] ${emulator} [==[${program}]==] ${arguments})\n"
    "set_tests_properties([==[${test}]==] PROPERTIES LABELS \"${labels}\" SKIP_RETURN_CODE 77 TIMEOUT ${timeout} "
    "ENVIRONMENT \"\${test_environment}\"")
  if(LABEL STREQUAL "timing")
    string(APPEND text " RUN_SERIAL TRUE")
  endif()
  string(APPEND text ")\n")
  set(text "${text}" PARENT_SCOPE)
endfunction()

# Removes the links to this program that have the names of files that are no more, so that nobody runs them.
function(remove_other_links)
  file(GLOB paths "${folder}/*_test")
  foreach(path ${paths})
    get_filename_component(name "${path}" NAME)
    if(IS_SYMLINK "${path}" AND NOT name IN_LIST ARGN)
      file(READ_SYMLINK "${path}" target)
      if(target STREQUAL program_name)
        file(REMOVE "${path}")
      endif()
    endif()
  endforeach()
endfunction()

set(file_programs)
foreach(test ${names})
  string(REGEX MATCH "^(.*)\\.([^.]*)$" matched "${test}")
  set(claim "${CMAKE_MATCH_2}")
  string(REPLACE "." "_" file_program "${CMAKE_MATCH_1}_test")
  if(NOT file_program IN_LIST file_programs)
    link_for_file("${file_program}")
    list(APPEND file_programs "${file_program}")
  endif()
  add_line("${test}" "${folder}/${file_program}" "${claim}")
endforeach()
remove_other_links(${file_programs})
if(NOT names)
  add_line("${program_name}" "${PROGRAM}" "")
endif()
file(WRITE "${OUTPUT}" "${text}")
