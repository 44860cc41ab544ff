#include "base/shared_library.h"

#include <dlfcn.h>

#include <string_view>
#include <utility>

namespace perjoule {

Result<SharedLibrary> SharedLibrary::open(const std::string& name) {
  void* handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle != nullptr) return SharedLibrary(handle);
  const std::string why = ::dlerror();
  if (why.find("cannot open shared object file: No such file") != std::string::npos) {
    return Error::not_found(name + ": not installed");
  }
  return Error::unavailable(why);
}

SharedLibrary::SharedLibrary(SharedLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)) {}

SharedLibrary& SharedLibrary::operator=(SharedLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

SharedLibrary::~SharedLibrary() {
  if (handle_ != nullptr) ::dlclose(handle_);
}

void* SharedLibrary::address(const char* symbol) const { return ::dlsym(handle_, symbol); }

}  // namespace perjoule
