// A request's answers on the wire: from what the engine hands out to the bytes a client reads, with
// the faults that strike the request. Text only, no sockets.
//
//   ResponseWriter writer(request, "chatcmpl-1", created, faults);
//   send(writer.begin());
//   send(writer.add(choice, delta));       // ... for each delta of each choice
//   if (writer.ended()) close(writer.broken());
//
// Streamed, each delta is one event of Server-Sent Events; the role stands in a choice's first
// chunk, the reason in its last, and the counts, where asked for, in a chunk of their own without
// choices before "[DONE]". Not streamed, everything is one piece when the last choice has ended.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "twin/serve_api.h"
#include "twin/serve_fault.h"

namespace perjoule::twin {

/// Bytes that are sent together, some time after the piece before them.
struct WirePiece {
  std::string bytes;
  Seconds pause = {};
};

class ResponseWriter {
 public:
  /// `created` is Unix time in seconds.
  ResponseWriter(const ApiRequest& request, std::string id, std::int64_t created,
                 std::vector<ServeFault> faults);

  /// What is sent before there is a token: mostly nothing.
  std::vector<WirePiece> begin();
  /// `choice` is the index in the request's choices. Nothing once it has ended.
  std::vector<WirePiece> add(std::size_t choice, const TokenDelta& delta);

  bool streams() const { return stream_; }
  /// Nothing more comes, be it that some choices have not finished.
  bool ended() const { return ended_; }
  /// And the connection is to be closed without the end that HTTP has.
  bool broken() const { return broken_; }

 private:
  struct Choice {
    std::string text;       ///< all of it; or, streamed, what has not been sent
    std::string reasoning;  ///< likewise
    int tokens = 0;         ///< so far
    int unsent = 0;         ///< of them in no chunk yet
    bool began = false;
    std::optional<FinishReason> finish;
  };

  const ServeFault* fault(ServeFaultKind kind) const { return find_fault(faults_, kind); }
  bool is_chat() const { return endpoint_ == Endpoint::kChat; }
  void take(Choice& choice, const TokenDelta& delta) const;
  void send_chunk(std::size_t index, std::vector<WirePiece>& pieces);
  void send_event(std::string event, std::vector<WirePiece>& pieces);
  void end_stream(std::vector<WirePiece>& pieces);
  void send_whole(std::vector<WirePiece>& pieces);
  void put(std::string bytes, Seconds pause, std::vector<WirePiece>& pieces) const;
  Json frame(std::string_view object) const;
  Json usage() const;
  Json delta_of(Choice& choice) const;
  std::string chunk_text(std::size_t index);
  Json whole_choice(std::size_t index) const;
  bool all_finished() const;

  Endpoint endpoint_;
  std::string model_;
  std::string id_;
  std::int64_t created_;
  std::vector<ServeFault> faults_;
  bool stream_;
  bool include_usage_;
  bool continuous_usage_;
  int prompt_tokens_;
  std::vector<Choice> choices_;
  int chunks_ = 0;
  bool ended_ = false;
  bool broken_ = false;
};

}  // namespace perjoule::twin
