#include "serving/stream/request_record.h"

namespace perjoule {

std::string_view name_of(CountSource source) {
  switch (source) {
    case CountSource::kUsage:
      return "usage";
    case CountSource::kTokenizer:
      return "tokenizer";
    case CountSource::kChunks:
      return "chunks";
    case CountSource::kNone:
      break;
  }
  return "none";
}

std::string_view name_of(Failure failure) {
  switch (failure) {
    case Failure::kNone:
      break;
    case Failure::kConnect:
      return "connect";
    case Failure::kRefused:
      return "refused";
    case Failure::kErrorInStream:
      return "error_in_stream";
    case Failure::kTruncated:
      return "truncated";
    case Failure::kMalformed:
      return "malformed";
    case Failure::kConnectTimeout:
      return "connect_timeout";
    case Failure::kFirstTokenTimeout:
      return "first_token_timeout";
    case Failure::kInterTokenTimeout:
      return "inter_token_timeout";
    case Failure::kTotalTimeout:
      return "total_timeout";
    case Failure::kCancelledAtEnd:
      return "cancelled_at_end";
  }
  return "none";
}

}  // namespace perjoule
