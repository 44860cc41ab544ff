// What a stranger may ask of the daemon: targets, and bodies, through its router.
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "base/clock.h"
#include "server/http/router.h"
#include "server/http/token_file.h"

namespace {

using namespace perjoule;

class Deaf final : public ServerExchange {
 public:
  void answer(ServerHead, std::string) override { ++answers; }
  void begin_stream(ServerHead) override {}
  std::size_t send(SharedText) override { return 0; }
  void end(bool) override {}
  int answers = 0;
};

Router& router() {
  static RealClock clock;
  static Router* const made = [] {
    auto* const one = new Router(
        std::make_shared<const Gate>(GateRules{.local = {.others = Role::kAdmin}}), clock, {});
    std::vector<Route> routes;
    routes.push_back({.pattern = "/{a}/b/{c}",
                      .summary = "read",
                      .parameters = {{"n", RouteParameter::Kind::kInteger},
                                     {"x", RouteParameter::Kind::kNumber},
                                     {"t"}},
                      .handle = [](const Call& call) -> Result<Reply> {
                        return Reply{.body = call.captured[0] + call.text("t").value_or("")};
                      }});
    routes.push_back(
        {.method = "POST",
         .pattern = "/x",
         .summary = "write",
         .body = "x",
         .handle = [](const Call& call) -> Result<Reply> { return Reply::json(call.body); }});
    one->add(std::move(routes));
    return one;
  }();
  return *made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(text.find('\n'), text.size());
  const ServerRequest request{.method = end % 2 == 0 ? "GET" : "POST",
                              .target = text.substr(0, end),
                              .body = text.substr(std::min(end + 1, text.size())),
                              .peer = {.process = HttpPeer::Process{1, 1, 1}}};
  const auto exchange = std::make_shared<Deaf>();
  router().handle(request, exchange);
  if (exchange->answers != 1) std::abort();
  (void)parse_tokens(text, "tokens");
  return 0;
}
