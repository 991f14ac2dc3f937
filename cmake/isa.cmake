# Files that are compiled once per SIMD level: every *_isa.c under src/backends/cpu.
#
# Such a file is compiled with the flags of each level, and with TSRI_ISA set to the level's name (baseline, avx2, avx512), which is part
# of the names of its external symbols. Which level runs is decided at run time. Results must be the same at every level, so compilers must
# not contract a * b + c into fma: code that wants fma calls it.
#
# For each pair of file and level a source of one line, which includes the file, is written to the build folder.

# Sets `out` to the flags for files that keep vectors of 64 bytes in arrays.
function(tessera_frame_flags out)
  set(${out} "" PARENT_SCOPE)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND TESSERA_SANITIZE MATCHES "address")
    # To find uses of a stack frame after its function has returned, GCC 12 puts frames into separate memory. There, arrays lack the alignment that it
    # assumes for vectors of 64 bytes, and storing one faults (GCC bug 110027). So this one check is switched off.
    set(${out} --param=asan-use-after-return=0 PARENT_SCOPE)
  endif()
endfunction()

# Sets `out` to the levels that the compiler has for this processor family, and isa_flags_<level> to the flags of each.
function(tessera_isa_levels out)
  set(levels baseline)
  if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang" AND NOT MSVC)
    set(common -fno-math-errno -fno-trapping-math -ffp-contract=off)
    if(NOT TESSERA_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
      list(APPEND common -O3) # not with a sanitizer: compiling takes over twice as long, and longer still with its checks in the loops
    endif()
    if(CMAKE_C_COMPILER_ID MATCHES "Clang" AND (TESSERA_SANITIZE OR TESSERA_FUZZ))
      list(APPEND common -Wno-pass-failed) # warns of loops with checks that were not vectorised as a pragma asks
    endif()
    tessera_frame_flags(frame_flags)
    list(APPEND common ${frame_flags})
    set(isa_flags_baseline ${common})
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
      list(APPEND levels avx2 avx512)
      set(isa_flags_avx2 ${common} -mavx2 -mfma -mf16c)
      # Without -mprefer-vector-width both compilers use 256-bit registers only.
      set(isa_flags_avx512 ${common} -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl
          -mprefer-vector-width=512)
    endif()
  endif()
  foreach(level ${levels})
    set(isa_flags_${level} ${isa_flags_${level}} PARENT_SCOPE)
  endforeach()
  set(${out} ${levels} PARENT_SCOPE)
endfunction()

# Sets the SIMD level that the CPU backend chooses on this machine; empty if it cannot be determined.
function(tessera_find_simd_level out)
  set(${out} "" PARENT_SCOPE)
  if(EXISTS /proc/cpuinfo AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    file(STRINGS /proc/cpuinfo flags REGEX "^flags" LIMIT_COUNT 1)
    set(${out} baseline PARENT_SCOPE)
    if(flags MATCHES "avx512f" AND flags MATCHES "avx512bw" AND flags MATCHES "avx512dq" AND flags MATCHES "avx512vl")
      set(${out} avx512 PARENT_SCOPE)
    elseif(flags MATCHES " avx2 ")
      set(${out} avx2 PARENT_SCOPE)
    endif()
  endif()
endfunction()

# Replaces the *_isa.c in the list of sources by one source per level.
function(tessera_expand_isa_sources sources_variable)
  tessera_isa_levels(levels)
  tessera_find_simd_level(chosen_level)
  set(sources ${${sources_variable}})
  set(isa_sources ${sources})
  list(FILTER isa_sources INCLUDE REGEX "_isa\\.c$")
  list(FILTER sources EXCLUDE REGEX "_isa\\.c$")
  set(group_sources ${sources})
  list(FILTER group_sources INCLUDE REGEX "/product/groups_[a-z0-9]+\\.c$") # they name their instructions one by one
  tessera_frame_flags(frame_flags)
  if(group_sources AND frame_flags)
    set_source_files_properties(${group_sources} PROPERTIES COMPILE_OPTIONS "${frame_flags}")
  endif()
  foreach(source ${isa_sources})
    file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}/src" "${source}")
    string(REGEX REPLACE "\\.c$" "" path "${path}")
    foreach(level ${levels})
      set(unit "${PROJECT_BINARY_DIR}/isa/${path}_${level}.c")
      file(CONFIGURE OUTPUT "${unit}" CONTENT "#include \"${source}\"\n")
      set(flags ${isa_flags_${level}})
      if(CMAKE_SYSTEM_NAME STREQUAL "WASI" AND path MATCHES "/rows/")
        list(APPEND flags -Os) # compiled once for each dtype, and a page loads all of them
      endif()
      if(TESSERA_SANITIZE MATCHES "thread" AND chosen_level AND NOT level STREQUAL chosen_level)
        list(APPEND flags -fno-sanitize=thread) # every level shares its work among threads in the same way, so one is enough
      endif()
      set_source_files_properties("${unit}" PROPERTIES
        COMPILE_OPTIONS "${flags}" COMPILE_DEFINITIONS "TSRI_ISA=${level}")
      list(APPEND sources "${unit}")
    endforeach()
  endforeach()
  set(${sources_variable} ${sources} PARENT_SCOPE)
endfunction()
