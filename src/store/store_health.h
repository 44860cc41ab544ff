// Whether runs can be kept and read: what `perjoule doctor` says of the store. It looks and changes
// nothing.
#pragma once

#include <string>

namespace perjoule {

struct StoreHealth {
  bool reads = false;  ///< the runs there are can be read (also when there are none yet)
  bool keeps = false;  ///< a new run can be kept
  std::string text;    ///< what there is, or what is wrong, naming the file or folder
  std::string remedy;  ///< empty when nothing is wrong
};

/// Looks at the folder's permissions, the file, its version and its pages (SQLite's quick_check: it
/// reads the whole file). `path` is the store's file, which need not exist.
StoreHealth examine_store(const std::string& path);

}  // namespace perjoule
