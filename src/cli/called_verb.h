// For tests: a verb called as from the command line, and what it printed.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/parser.h"

namespace perjoule::cli {

struct Called {
  int status = -1;
  std::string output;
  std::string complaint;
};

/// `words` without the command's own name.
inline Called call_verb(const std::vector<Verb>& verbs, std::vector<std::string> words) {
  words.insert(words.begin(), "perjoule");
  std::vector<const char*> argv;
  argv.reserve(words.size());
  for (const std::string& word : words) argv.push_back(word.c_str());
  Called called;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  called.status = dispatch(verbs, static_cast<int>(argv.size()), argv.data());
  called.output = ::testing::internal::GetCapturedStdout();
  called.complaint = ::testing::internal::GetCapturedStderr();
  return called;
}

}  // namespace perjoule::cli
