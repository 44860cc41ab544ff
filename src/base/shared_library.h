// A library, opened at run time and never needed to build.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace perjoule {

class SharedLibrary {
 public:
  /// not_found when there is no such library; the loader's own words otherwise.
  static Result<SharedLibrary> open(const std::string& name);

  SharedLibrary(SharedLibrary&& other) noexcept;
  SharedLibrary& operator=(SharedLibrary&& other) noexcept;
  ~SharedLibrary();

  /// Sets the pointer to the symbol, or to null when the library does not have it: feature absent.
  template <typename Function>
  void load(Function*& pointer, const char* symbol) const {
    pointer = reinterpret_cast<Function*>(address(symbol));
  }

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  void* address(const char* symbol) const;
  void* handle_ = nullptr;
};

}  // namespace perjoule
