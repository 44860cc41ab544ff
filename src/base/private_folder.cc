#include "base/private_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"

namespace perjoule {

Result<PrivateFolder> PrivateFolder::create(std::string_view what) {
  // What mkdtemp(3) replaces by letters of its choice.
  const std::string letters(6, 'X');
  std::string path = environment("TMPDIR", "/tmp") + "/" + std::string(what) + "-" + letters;
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
