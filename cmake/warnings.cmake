# The warnings every target of ours builds without.
function(tessera_set_warnings target)
  if(MSVC)
    target_compile_options(${target} PRIVATE /W4 $<$<BOOL:${TESSERA_WERROR}>:/WX>)
  else()
    target_compile_options(${target} PRIVATE
      -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes $<$<BOOL:${TESSERA_WERROR}>:-Werror>)
  endif()
endfunction()
