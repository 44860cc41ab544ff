// Azure's LLM inference traces of 2023 and 2024: when requests came and how many tokens they had.
//
//   PJ_TRY(AzureTrace trace, AzureTrace::open("AzureLLMInferenceTrace_conv.csv"));
//   for (;;) {
//     PJ_TRY(const std::optional<TokenLengths> request, trace.next());
//     if (!request) break;
//   }
//
// Columns TIMESTAMP, ContextTokens and GeneratedTokens, in any order, others beside them. A stamp
// without a zone is taken as UTC: only differences count. Source: Azure/AzurePublicDataset.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "base/units.h"

namespace perjoule {

/// How many tokens a request has.
struct TokenLengths {
  std::int64_t prompt = 0;
  std::int64_t output = 0;
  std::optional<Seconds> arrival = {};  ///< of a trace, from its first request on
};

/// A trace read as it is used: memory is of one buffer, whatever the file's size.
class AzureTrace {
 public:
  /// Opens the file ("-": standard input) and reads the head. As of open_for_reading(); data_loss
  /// for a head without the three columns, naming those there are.
  static Result<AzureTrace> open(const std::string& path);
  /// The same over a text, which must outlive it; `name` is for messages.
  static Result<AzureTrace> of_text(std::string_view text, std::string_view name);

  /// The next request in the file's order; none at its end. data_loss, naming the line, for a stamp
  /// or a count that is none. O(bytes of the line).
  Result<std::optional<TokenLengths>> next();
  const std::string& name() const { return name_; }
  /// Of the first request, unix nanoseconds; none before next() gave one.
  std::optional<std::int64_t> first_ns() const { return first_ns_; }
  /// Of the request that next() gave last, 1-based.
  std::size_t line() const { return line_; }

 private:
  AzureTrace() = default;
  Outcome read_head();
  /// The next line without its end; none at the end of all.
  Result<std::optional<std::string_view>> next_line();

  std::string name_;
  FileDescriptor file_;       ///< not valid where a text is read
  std::vector<char> buffer_;  ///< of the file; moving it leaves what `rest_` looks at in its place
  std::string_view rest_;     ///< what was not taken yet, of the buffer or of the text
  bool at_end_ = true;        ///< of the file
  std::size_t line_ = 0;
  std::array<std::size_t, 3> columns_ = {};
  std::optional<std::int64_t> first_ns_;
};

/// All of it. Errors as of AzureTrace.
Result<std::vector<TokenLengths>> lengths_of_azure_trace(std::string_view text,
                                                         std::string_view name);

}  // namespace perjoule
