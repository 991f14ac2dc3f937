# Each examples/*.c is a program of its own against the shared library, built as a user would; ctest runs them.
tessera_glob(TESSERA_EXAMPLE_SOURCES examples/*.c)
set(TESSERA_EXAMPLES)
foreach(source ${TESSERA_EXAMPLE_SOURCES})
  get_filename_component(name "${source}" NAME_WE)
  add_executable(example_${name} "${source}")
  set_target_properties(example_${name} PROPERTIES
    OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/examples")
  target_link_libraries(example_${name} PRIVATE Tessera::tessera ${TESSERA_MATH_LIBRARY})
  tessera_set_warnings(example_${name})
  list(APPEND TESSERA_EXAMPLES ${name})
endforeach()
