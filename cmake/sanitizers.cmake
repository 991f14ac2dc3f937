# Turns TESSERA_SANITIZE into flags for everything that is built, and TESSERA_SANITIZER_ENVIRONMENT: settings for the programs that tests run.
set(TESSERA_SANITIZER_ENVIRONMENT)
if(TESSERA_SANITIZE)
  add_compile_options(-fsanitize=${TESSERA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TESSERA_SANITIZE})
  # Dozens of programs are linked to the library, with tables of the sanitizer: gold takes half the time of GNU's usual linker.
  find_program(TESSERA_GOLD ld.gold)
  mark_as_advanced(TESSERA_GOLD)
  if(TESSERA_GOLD AND CMAKE_C_COMPILER_ID STREQUAL "GNU" AND TESSERA_LINKER_IS_GNU_LIKE AND NOT CMAKE_CROSSCOMPILING)
    add_link_options(-fuse-ld=gold)
  endif()
  if(TESSERA_SANITIZE MATCHES "undefined")
    add_compile_options(-fsanitize=float-cast-overflow) # not in "undefined" with either compiler
  endif()
endif()
if(TESSERA_SANITIZE MATCHES "address")
  # Freed memory is reused after 16 MiB more have been freed, not after 256: tests then touch far fewer pages, which saves a tenth of their time.
  list(APPEND TESSERA_SANITIZER_ENVIRONMENT
    "ASAN_OPTIONS=quarantine_size_mb=16:detect_leaks=1:intercept_tls_get_addr=0:detect_stack_use_after_return=1:strict_string_checks=1:allocator_may_return_null=1:handle_segv=2:handle_sigbus=2:handle_sigfpe=2:handle_sigill=2:use_sigaltstack=0"
    "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/lsan.supp:print_suppressions=0"
    "UBSAN_OPTIONS=print_stacktrace=1")
elseif(TESSERA_SANITIZE MATCHES "thread")
  # Drivers that were not built for the thread sanitizer look like data races, so they are hidden: only the CPU and null backends are tested.
  list(APPEND TESSERA_SANITIZER_ENVIRONMENT
    "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp:halt_on_error=1:second_deadlock_stack=1:allocator_may_return_null=1"
    "OCL_ICD_VENDORS=/nonexistent"
    "VK_ICD_FILENAMES=/nonexistent")
endif()
if(TESSERA_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "TESSERA_FUZZ needs clang (cmake --preset fuzz)")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
