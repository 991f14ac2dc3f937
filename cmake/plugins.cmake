# Backend plug-ins: each examples/plugin/*.c and tests/plugins/*.c becomes a loadable module.
#
# They are built as a user would build one: from public headers and <tessera/plugin/backend.h> alone, and not linked to
# Tessera. Examples go to <build>/plugins; those of the tests, some of them broken on purpose, to <build>/test_plugins.
set(TESSERA_PLUGIN_DIR "${PROJECT_BINARY_DIR}/plugins")
set(TESSERA_TEST_PLUGIN_DIR "${PROJECT_BINARY_DIR}/test_plugins")
set(plugin_include_dir "${PROJECT_BINARY_DIR}/plugin_include")
configure_file("${PROJECT_SOURCE_DIR}/src/backends/backend.h"
               "${plugin_include_dir}/tessera/plugin/backend.h" COPYONLY)

function(tessera_add_plugin source folder)
  get_filename_component(name "${source}" NAME_WE)
  add_library(plugin_${name} MODULE "${source}")
  set_target_properties(plugin_${name} PROPERTIES
    OUTPUT_NAME ${name} PREFIX "" LIBRARY_OUTPUT_DIRECTORY "${folder}" C_VISIBILITY_PRESET hidden)
  target_include_directories(plugin_${name} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${plugin_include_dir}")
  tessera_set_warnings(plugin_${name})
endfunction()

tessera_glob(plugin_sources examples/plugin/*.c)
foreach(source ${plugin_sources})
  tessera_add_plugin("${source}" "${TESSERA_PLUGIN_DIR}")
endforeach()
