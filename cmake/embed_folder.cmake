# Compiles the files of a folder into the program: perjoule_embed_folder(target web/dist kPageFiles) defines
# `extern const std::span<const EmbeddedFile> kPageFiles` (base/embedded_file.h), by names below the folder. The assembler takes
# their bytes as they are, so that no compiler reads a megabyte as a literal.
function(perjoule_embed_folder target folder symbol)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/${folder} ${CMAKE_SOURCE_DIR}/${folder}/*)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded/${symbol}.cc)
  set(code "// Generated from ${folder}.\n#include \"base/embedded_file.h\"\n")
  set(table "")
  set(inputs "")
  set(index 0)
  foreach(file ${files})
    set(path ${CMAKE_SOURCE_DIR}/${folder}/${file})
    set(name ${symbol}_${index})
    string(APPEND code "asm(\".section .rodata\\n.global ${name}\\n.global ${name}_end\\n${name}:\\n.incbin \\\"${path}\\\"\\n\"\n"
                       "    \"${name}_end:\\n.byte 0\\n.previous\\n\");\n"
                       "extern \"C\" __attribute__((visibility(\"hidden\"))) const char ${name}[], ${name}_end[];\n")
    string(APPEND table "    {\"${file}\", ${name}, ${name}_end},\n")
    list(APPEND inputs ${path})
    math(EXPR index "${index} + 1")
  endforeach()
  string(APPEND code "namespace perjoule {\nnamespace {\nconst EmbeddedFile kFiles[] = {\n${table}};\n}  // namespace\n"
                     "extern const std::span<const EmbeddedFile> ${symbol};\n"
                     "const std::span<const EmbeddedFile> ${symbol} = kFiles;\n}\n")
  file(GENERATE OUTPUT ${output} CONTENT "${code}")
  set_property(SOURCE ${output} APPEND PROPERTY OBJECT_DEPENDS "${inputs}")
  target_sources(${target} PRIVATE ${output})
endfunction()
