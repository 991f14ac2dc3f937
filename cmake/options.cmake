# What a person building Tessera can choose, and the language settings that hold for every target.
set(TESSERA_TESTS AUTO CACHE STRING "Build the tests: ON, OFF, or AUTO (when cmocka is found)")
set_property(CACHE TESSERA_TESTS PROPERTY STRINGS AUTO ON OFF)
set(TESSERA_TEST_PROGRAMS FOLDER CACHE STRING "Test programs: one per FOLDER, linked sooner, or one per FILE, for a few of them")
set_property(CACHE TESSERA_TEST_PROGRAMS PROPERTY STRINGS FOLDER FILE)
set(TESSERA_SANITIZE "" CACHE STRING "Sanitizers to build with, as the compiler spells them (address,undefined)")
option(TESSERA_WERROR "Treat warnings as errors" OFF)
option(TESSERA_FUZZ "Build tests/fuzz (clang only)" OFF)
set(TESSERA_FUZZ_SECONDS 4 CACHE STRING "How long ctest runs each fuzz target")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(CMAKE_SYSTEM_NAME MATCHES "Linux|WASI")
  add_compile_definitions(_GNU_SOURCE)
endif()
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  # Messages of errors and of failed tests name files by their path in the source tree.
  add_compile_options("-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
endif()

# Structs of some hundred bytes are cleared by plain stores. GCC's own choice, `rep stos`, takes longer to start than recording
# an operator may take.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  add_compile_options(-mmemset-strategy=unrolled_loop:512:noalign,libcall:-1:noalign)
endif()

set(TESSERA_IS_WASM OFF)
if(CMAKE_SYSTEM_NAME STREQUAL "WASI")
  set(TESSERA_IS_WASM ON)
endif()

set(TESSERA_MATH_LIBRARY "")
set(TESSERA_STATIC_NAME tessera)
set(TESSERA_LINKER_IS_GNU_LIKE OFF)
if(UNIX)
  set(TESSERA_MATH_LIBRARY m)
endif()
if(WIN32)
  set(TESSERA_STATIC_NAME tessera_static) # tessera.lib is the import library of the DLL there
elseif(NOT APPLE AND NOT TESSERA_IS_WASM)
  set(TESSERA_LINKER_IS_GNU_LIKE ON)
endif()
