# Each examples/*.c is a program of its own against the shared library, built as a user would; ctest runs them.
# Those that draw link examples/common.
tessera_glob(example_common_sources examples/common/*.c)
add_library(example_common STATIC ${example_common_sources})
target_include_directories(example_common PUBLIC examples/common)
target_link_libraries(example_common PRIVATE Tessera::tessera)
tessera_set_warnings(example_common)

tessera_glob(TESSERA_EXAMPLE_SOURCES examples/*.c)
set(TESSERA_EXAMPLES)
foreach(source ${TESSERA_EXAMPLE_SOURCES})
  get_filename_component(name "${source}" NAME_WE)
  add_executable(example_${name} "${source}")
  set_target_properties(example_${name} PROPERTIES
    OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/examples")
  target_link_libraries(example_${name} PRIVATE Tessera::tessera example_common ${TESSERA_MATH_LIBRARY})
  tessera_set_warnings(example_${name})
  list(APPEND TESSERA_EXAMPLES ${name})
endforeach()

# The arguments with which tests run the examples that take long or write a picture.
set(pictures "${PROJECT_BINARY_DIR}/examples")
set(TESSERA_EXAMPLE_ARGUMENTS_07_spirals 200 "${pictures}/spirals.png")
set(TESSERA_EXAMPLE_ARGUMENTS_11_digits 0.2)
set(TESSERA_EXAMPLE_ARGUMENTS_12_writer 0.2 "${PROJECT_SOURCE_DIR}/docs/training.md")
set(TESSERA_EXAMPLE_ARGUMENTS_13_dream 0.2 "${pictures}/dream.png")
set(TESSERA_EXAMPLE_ARGUMENTS_14_two_devices 50)
set(TESSERA_EXAMPLE_ARGUMENTS_15_training_loop 300)
set(TESSERA_EXAMPLE_ARGUMENTS_16_mixed_precision 50)
set(TESSERA_EXAMPLE_ARGUMENTS_17_saved_capture "${pictures}/ring.tsr")
if(TESSERA_SANITIZE)
  set(TESSERA_EXAMPLE_ARGUMENTS_18_overlap 1) # a batch is four large products in each of two ways: ten seconds
endif()
