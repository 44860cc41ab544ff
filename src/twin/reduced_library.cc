#include "twin/reduced_library.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/file.h"

namespace perjoule::twin {
namespace {

/// The dynamic symbol table of a library held in memory, as offsets into it.
struct DynamicSymbols {
  std::size_t strings = 0;
  std::size_t strings_size = 0;
  std::size_t symbols = 0;
  std::size_t count = 0;
};

template <typename T>
std::optional<T> read_at(std::string_view bytes, std::size_t offset) {
  T value;
  if (offset > bytes.size() || bytes.size() - offset < sizeof value) return std::nullopt;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

Result<DynamicSymbols> find_symbols(std::string_view bytes, const std::string& path) {
  const auto no_library = [&] { return Error::data_loss("not a 64-bit ELF library: " + path); };
  const auto header = read_at<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64) {
    return no_library();
  }
  const auto section = [&](std::size_t index) {
    return read_at<Elf64_Shdr>(bytes, header->e_shoff + index * sizeof(Elf64_Shdr));
  };
  for (std::size_t i = 0; i < header->e_shnum; ++i) {
    const auto table = section(i);
    if (!table || table->sh_type != SHT_DYNSYM) continue;
    const auto strings = section(table->sh_link);
    if (!strings || strings->sh_offset > bytes.size() ||
        bytes.size() - strings->sh_offset < strings->sh_size) {
      break;
    }
    return DynamicSymbols{strings->sh_offset, strings->sh_size, table->sh_offset,
                          table->sh_size / sizeof(Elf64_Sym)};
  }
  return no_library();
}

/// Calls `see(offset of the name, name)` for each exported function.
template <typename See>
void each_export(std::string_view bytes, const DynamicSymbols& table, See see) {
  for (std::size_t i = 0; i < table.count; ++i) {
    const auto symbol = read_at<Elf64_Sym>(bytes, table.symbols + i * sizeof(Elf64_Sym));
    if (!symbol || symbol->st_shndx == SHN_UNDEF || symbol->st_name >= table.strings_size ||
        ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) {
      continue;
    }
    const std::size_t offset = table.strings + symbol->st_name;
    see(offset, std::string_view(bytes.data() + offset));
  }
}

}  // namespace

Result<std::vector<std::string>> exported_symbols(const std::string& path) {
  PJ_TRY(const std::string bytes, read_file(path));
  PJ_TRY(const DynamicSymbols table, find_symbols(bytes, path));
  std::vector<std::string> names;
  each_export(bytes, table, [&](std::size_t, std::string_view name) { names.emplace_back(name); });
  std::sort(names.begin(), names.end());
  return names;
}

Outcome make_reduced_library(const std::string& source, const std::string& target,
                             const std::vector<std::string>& missing) {
  PJ_TRY(std::string bytes, read_file(source));
  PJ_TRY(const DynamicSymbols table, find_symbols(bytes, source));
  std::vector<std::size_t> offsets;
  for (const std::string& name : missing) {
    const std::size_t before = offsets.size();
    each_export(bytes, table, [&](std::size_t offset, std::string_view found) {
      if (found == name) offsets.push_back(offset);
    });
    if (offsets.size() == before) {
      return Error::not_found("the stand-in library has no symbol " + name);
    }
  }
  // A look-up hashes the wanted name, finds the entry, compares the text, and gives up.
  for (const std::size_t offset : offsets) bytes[offset] = '~';
  return write_file_atomically(target, bytes);
}

}  // namespace perjoule::twin
