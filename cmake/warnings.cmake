# The warnings every target of ours builds without.
function(tessera_set_warnings target)
  if(MSVC)
    target_compile_options(${target} PRIVATE /W4 $<$<BOOL:${TESSERA_WERROR}>:/WX>)
  else()
    # Enum constants are our named integers, and some are operands of float arithmetic.
    target_compile_options(${target} PRIVATE
      -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes
      $<$<C_COMPILER_ID:Clang>:-Wno-enum-float-conversion> $<$<BOOL:${TESSERA_WERROR}>:-Werror>)
  endif()
endfunction()
