# Compiles a data file into the program: perjoule_embed(target data/table.csv kTableCsv) defines
# `extern const std::string_view kTableCsv` in namespace perjoule. The library then needs no file at run time.
function(perjoule_embed target file symbol)
  set(input ${CMAKE_SOURCE_DIR}/${file})
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded/${symbol}.cc)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${input})
  file(READ ${input} text)
  # Compilers limit the length of one literal: pieces of lines are joined by the compiler.
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n\"" text "${text}")
  set(generated "// Generated from ${file}.\n#include <string_view>\nnamespace perjoule {\n")
  string(APPEND generated "extern const std::string_view ${symbol};\nconst std::string_view ${symbol} =\n\"${text}\";\n}\n")
  file(GENERATE OUTPUT ${output} CONTENT "${generated}")
  target_sources(${target} PRIVATE ${output})
endfunction()
