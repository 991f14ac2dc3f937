# SPDX-License-Identifier: MIT
# The modules a web page loads, side by side with web/ in <build>/web:
#
#   tessera.wasm           the library, for web/tessera.js
#   tessera_program.wasm   the program (`tessera check` in a page)

set(web_dir "${PROJECT_BINARY_DIR}/web")

function(tessera_add_module target name)
  add_executable(${target} ${ARGN} $<TARGET_OBJECTS:tessera_objects>)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${web_dir}")
  target_link_options(${target} PRIVATE -Wl,--strip-all LINKER:-z,stack-size=1048576 LINKER:--stack-first)
endfunction()

# A module without main: its functions are called one by one.
tessera_add_module(tessera_web tessera)
set_target_properties(tessera_web PROPERTIES LINKER_LANGUAGE C)
target_link_options(tessera_web PRIVATE -mexec-model=reactor
  LINKER:--export-dynamic LINKER:--export=malloc LINKER:--export=free)

tessera_glob(program_sources tools/tessera/*.c)
tessera_add_module(tessera_program tessera_program ${program_sources})
target_include_directories(tessera_program PRIVATE include)
tessera_set_warnings(tessera_program)
