// What ranks and the plan server send one another: the first byte says in how large pieces the
// others come. Lines must be the same however they are cut; what a reader accepts lies within its
// range and is read again as it is written; and a server answers every line, of two clients in
// turn, with a line of JSON.
#include <cstdlib>
#include <string>
#include <vector>

#include "net/line_buffer.h"
#include "pipeline/runtime/plan_messages.h"
#include "pipeline/runtime/plan_questions.h"

namespace {

using namespace perjoule;

constexpr std::size_t kLongest = 2048;

/// The lines of a text up to one that is too long, found the simple way.
std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos;) {
    if (end > kLongest) return lines;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

template <typename T>
void must_be_read_again(const Result<T>& read, Result<T> (*reader)(const Json&)) {
  if (!read) return;
  const std::string written = to_json(*read).dump();
  const auto parsed = parse_json(written);
  if (!parsed) std::abort();
  const Result<T> again = reader(*parsed);
  if (!again || to_json(*again).dump() != written) std::abort();
}

void read_as_any(const Json& json) {
  must_be_read_again(rank_place_of(json), rank_place_of);
  must_be_read_again(iteration_report_of(json), iteration_report_of);
  const auto welcome = rank_welcome_of(json);
  must_be_read_again(welcome, rank_welcome_of);
  if (welcome) {
    for (const PipelineStep& step : welcome->order) {
      if (step.instruction >= welcome->instructions.size()) std::abort();
    }
  }
  const auto orders = rank_orders_of(json);
  must_be_read_again(orders, rank_orders_of);
  if (orders) {
    for (const std::uint32_t knob : orders->knob) {
      if (knob >= orders->knobs.size()) std::abort();
    }
  }
  if (const auto error = error_of(json)) {
    const auto again = error_of(error_json(*error));
    if (!again || again->code != error->code) std::abort();
  }
}

std::unique_ptr<PlanService> make_service() {
  PipelineJob job;
  job.shape = {.stages = 2, .microbatches = 2};
  RuntimeRequest request{
      .warm_up = 0, .rounds = 1, .highest = 1, .plans = {.points = 2}, .patience = 1};
  for (const char* clock : {"1410 MHz", "1000 MHz"})
    request.settings.emplace_back().set("clock", clock);
  auto service = PlanService::make(std::move(job), std::move(request));
  if (!service) std::abort();
  return std::move(*service);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::vector<std::string> expected = lines_of(text);
  const std::size_t piece = 1 + data[0];

  const auto service = make_service();
  PlanQuestions questions(*service);
  LineBuffer buffer(kLongest);
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    buffer.add(text.substr(at, piece));
    while (const auto line = buffer.next()) {
      if (number >= expected.size() || *line != expected[number]) std::abort();
      if (const auto json = parse_json(*line)) read_as_any(*json);
      const std::string answer = questions.answer(static_cast<int>(number % 2), *line);
      if (answer.find('\n') != std::string::npos || !parse_json(answer)) std::abort();
      service->settle();
      ++number;
    }
  }
  if (number != expected.size()) std::abort();
  for (const int client : {0, 1, 2}) questions.left(client);
  (void)status_json(*service).dump();
  return 0;
}
