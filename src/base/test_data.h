// Where tests find the recorded data sets, which are not part of the repository: the folder in
// PERJOULE_DATA, or ../shared/data beside the repository.
//
//   PJ_TEST_DATA(path, "zeus_profiles/README.md");   // skips the test when there is no data folder
//   const auto text = read_file(path);
//
// A file that is missing although PERJOULE_DATA is set fails the test: whoever sets it wants the
// data to be there. Include in tests only.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/file.h"

namespace perjoule {

/// The folder of the data sets; empty when there is none.
inline std::string test_data_folder() {
  if (std::string chosen = environment("PERJOULE_DATA"); !chosen.empty()) return chosen;
  std::string beside = PERJOULE_SOURCE_DIR "/../shared/data";
  return path_exists(beside) ? beside : std::string();
}

}  // namespace perjoule

/// Declares `variable`, the path of a file in the data sets; skips or fails as said above.
#define PJ_TEST_DATA(variable, relative)                                                     \
  const std::string variable = ::perjoule::test_data_folder() + "/" + (relative);            \
  if (::perjoule::test_data_folder().empty()) {                                              \
    GTEST_SKIP() << "no data sets: set PERJOULE_DATA or put them in ../shared/data; wanted " \
                 << (relative);                                                              \
  }                                                                                          \
  if (!::perjoule::path_exists(variable)) FAIL() << "data set is missing its file: " << variable
