# SPDX-License-Identifier: MIT
# WebAssembly with clang and wasi-libc: `cmake --preset wasm`, or `make wasm`.
#
# TESSERA_WASM_CLANG names another clang than Debian's clang-19, TESSERA_WASM_SYSROOT where wasi-libc is.
set(CMAKE_SYSTEM_NAME WASI)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}") # Platform/WASI.cmake

set(TESSERA_WASM_CLANG clang-19 CACHE STRING "clang with its WebAssembly run-time library")
set(TESSERA_WASM_SYSROOT /usr CACHE PATH "where wasi-libc has include/wasm32-wasi and lib/wasm32-wasi")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TESSERA_WASM_CLANG TESSERA_WASM_SYSROOT)
set(CMAKE_C_COMPILER "${TESSERA_WASM_CLANG}")
set(CMAKE_C_COMPILER_TARGET wasm32-wasi)
set(CMAKE_SYSROOT "${TESSERA_WASM_SYSROOT}")

# What every browser has had since 2023, and wasm-opt 108 reads.
set(CMAKE_C_FLAGS_INIT "-mcpu=mvp -msimd128 -mbulk-memory -msign-ext -mmutable-globals -mnontrapping-fptoint")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
