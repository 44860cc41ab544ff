#include "base/private_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"

namespace perjoule {

Result<PrivateFolder> PrivateFolder::create(std::string_view what) {
  std::string path = environment("TMPDIR", "/tmp") + "/" + std::string(what) + "-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr)
    return Error::from_errno(errno, "cannot make " + path,
                             "set TMPDIR to a folder that can be "
                             "written to");
  return PrivateFolder(std::move(path));
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace perjoule
