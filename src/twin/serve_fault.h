// Ways in which inference servers, and what stands between them and a client, misbehave: to be
// injected into the simulated one, so that whoever measures it is seen to notice.
//
// As text, for the command line: a kind, and name=value pairs separated by commas.
//
//   multi-token:value=4                   four tokens in a chunk, from the first chunk on
//   empty-first                           a first chunk without text, before there is a token
//   reasoning:value=20,field=reasoning    a chat's first 20 tokens stand in that field instead of
//                                         `content`; reasoning_content unless told
//   keep-alive:value=3                    a comment line before every third chunk
//   error:after=5                         after five chunks an error object, status 200 all the
//   same truncate:after=5                      the connection is closed within the sixth event
//   busy:every=3,retry-after=2s           every third request is answered 429
//   stall:after=5,length=2s               nothing for 2 s, then what has gathered
//   no-usage                              no token counts, asked for or not
//   split-utf8                            chunks end between the bytes of a character
//
// With every=N a fault strikes each N-th request alone, counted over all from 1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace perjoule::twin {

enum class ServeFaultKind {
  kMultiToken,
  kEmptyFirst,
  kReasoning,
  kKeepAlive,
  kError,
  kTruncate,
  kBusy,
  kStall,
  kNoUsage,
  kSplitUtf8,
};

struct ServeFault {
  ServeFaultKind kind = ServeFaultKind::kNoUsage;
  int every = 1;        ///< strikes each N-th request
  int value = 1;        ///< tokens or chunks, by the kind
  int after = 0;        ///< chunks
  Seconds length = {};  ///< of a stall
  int retry_after_s = 1;
  std::string field = "reasoning_content";
};

/// invalid_argument for an unknown kind or word, a number out of range, a word that is missing or
/// that the kind does not know.
Result<ServeFault> parse_serve_fault(std::string_view text);

/// Those that strike that request, counted from 1. O(faults).
std::vector<ServeFault> faults_of(const std::vector<ServeFault>& faults, std::uint64_t request);
/// The last of that kind, or null.
const ServeFault* find_fault(const std::vector<ServeFault>& faults, ServeFaultKind kind);

}  // namespace perjoule::twin
