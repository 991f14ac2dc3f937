# Writes OUTPUT, a C file with one function for each function that the headers in FOLDER declare with TSR_API. Each gets its
# arguments from give_TYPE and hands its result to take_TYPE (tests/attack/garbage.h), where TYPE is the C type with "p" for "*":
# a function with a type that has no such pair does not compile.
file(GLOB headers "${FOLDER}/*.h")
list(SORT headers)

# "const tsr_tensor *" becomes const_tsr_tensor_p.
function(name_type out type)
  string(REPLACE "*" " p " type "${type}")
  string(STRIP "${type}" type)
  string(REGEX REPLACE " +" "_" type "${type}")
  set(${out} "${type}" PARENT_SCOPE)
endfunction()

set(functions "")
set(rows "")
set(count 0)
foreach(header ${headers})
  file(READ "${header}" text)
  string(REGEX REPLACE "//[^\n]*" "" text "${text}")
  string(REGEX REPLACE "[ \t\n]+" " " text "${text}")
  string(REGEX REPLACE "([A-Za-z0-9_]+)\\[[0-9]*\\]" "*\\1" text "${text}") # an array parameter is a pointer
  string(REPLACE ";" "@" text "${text}") # CMake takes semicolons and brackets for lists
  string(REPLACE "[" "" text "${text}")
  string(REPLACE "]" "" text "${text}")
  string(REGEX MATCHALL "TSR_API [^@(]*tsr_[a-z0-9_]+\\([^@]*\\)@" declarations "${text}")
  string(REGEX MATCHALL "TSR_API " all "${text}")
  list(LENGTH all all_count)
  list(LENGTH declarations read_count)
  if(NOT all_count EQUAL read_count AND NOT header MATCHES "/export\\.h$") # which defines it
    message(FATAL_ERROR "${header}: ${all_count} functions are declared, ${read_count} of them can be read here")
  endif()
  foreach(declaration ${declarations})
    string(REGEX REPLACE "^TSR_API ([^(]*[ *])tsr_[a-z0-9_]+\\(.*" "\\1" result "${declaration}")
    string(REGEX REPLACE "^TSR_API [^(]*[ *](tsr_[a-z0-9_]+)\\(.*" "\\1" name "${declaration}")
    string(REGEX REPLACE "^[^(]*\\((.*)\\)@$" "\\1" parameters "${declaration}")
    string(REPLACE "," ";" parameters "${parameters}")
    set(body "")
    set(arguments "")
    set(at 0)
    foreach(parameter ${parameters})
      string(STRIP "${parameter}" parameter)
      if(parameter STREQUAL "void")
        continue()
      endif()
      string(REGEX REPLACE "^(.*[ *])[A-Za-z0-9_]+$" "\\1" type "${parameter}")
      string(REGEX REPLACE "^.*[ *]([A-Za-z0-9_]+)$" "\\1" parameter_name "${parameter}")
      name_type(type_name "${type}")
      string(APPEND body "  ${type}a${at} = give_${type_name}(g, \"${parameter_name}\")@\n")
      list(APPEND arguments "a${at}")
      math(EXPR at "${at} + 1")
    endforeach()
    list(JOIN arguments ", " arguments)
    name_type(type_name "${result}")
    if(type_name STREQUAL "void")
      string(APPEND body "  (void)g@\n  ${name}(${arguments})@\n")
    else()
      string(APPEND body "  take_${type_name}(g, ${name}(${arguments}))@\n")
    endif()
    string(APPEND functions "static void call_${name}(garbage *g) {\n${body}}\n\n")
    string(APPEND rows "    {\"${name}\", call_${name}},\n")
    math(EXPR count "${count} + 1")
  endforeach()
endforeach()

set(text "// Made by cmake/list_calls.cmake from the public headers.
#include \"attack/garbage.h\"

${functions}const garbage_call garbage_calls[] = {\n${rows}}@

const int garbage_call_count = ${count}@
")
string(REPLACE "@" ";" text "${text}")
file(WRITE "${OUTPUT}" "${text}")
