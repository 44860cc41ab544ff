#include "serving/board/result_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"

namespace perjoule {
namespace {

/// The results by one of their properties, which may have two names.
struct Property {
  std::string_view what;  ///< "GPU"
  std::string (*name)(const BenchResult&);
  std::string (*other_name)(const BenchResult&);
};

std::string benchmark_of(const BenchResult& r) { return r.benchmark; }
std::string task_of(const BenchResult& r) { return r.task; }
std::string gpu_of(const BenchResult& r) { return r.gpus.model; }
std::string gpu_name_of(const BenchResult& r) { return r.gpus.name; }
std::string model_of(const BenchResult& r) { return r.model.id; }
std::string nickname_of(const BenchResult& r) { return r.model.nickname; }
std::string precision_of(const BenchResult& r) { return r.model.precision; }
std::string architecture_of(const BenchResult& r) { return r.model.architecture; }
std::string count_of(const BenchResult& r) { return std::to_string(r.gpus.count); }

bool contains_ignoring_case(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(), [](char a, char b) {
           return equals_ignoring_case(std::string_view(&a, 1), std::string_view(&b, 1));
         }) != text.end();
}

/// "a, b, c and 12 more".
std::string listed(const std::set<std::string>& names) {
  constexpr std::size_t kMost = 12;
  std::string text;
  std::size_t shown = 0;
  for (const std::string& name : names) {
    if (name.empty()) continue;
    if (shown == kMost) return text + fmt::format(" and {} more", names.size() - kMost);
    text += (shown++ == 0 ? "" : ", ") + name;
  }
  return text.empty() ? "none that says so" : text;
}

/// Lets pass what one of the words names.
class Condition {
 public:
  static Result<Condition> make(const std::vector<BenchResult>& results, const Property& property,
                                const std::vector<std::string>& words, bool parts) {
    Condition condition(property);
    for (const std::string& word : words) {
      const bool exact = std::any_of(results.begin(), results.end(), [&](const BenchResult& r) {
        return equals_ignoring_case(property.name(r), word) ||
               equals_ignoring_case(property.other_name(r), word);
      });
      const bool part =
          parts && !exact && std::any_of(results.begin(), results.end(), [&](const BenchResult& r) {
            return contains_ignoring_case(property.name(r), word);
          });
      if (!exact && !part) {
        std::set<std::string> names;
        for (const BenchResult& r : results) names.insert(property.name(r));
        return Error::not_found(fmt::format("no result of the {} '{}'", property.what, word),
                                fmt::format("there are {}", listed(names)));
      }
      condition.words_.push_back({word, part});
    }
    return condition;
  }

  bool passes(const BenchResult& r) const {
    if (words_.empty()) return true;
    const std::string name = property_.name(r);
    const std::string other = property_.other_name(r);
    return std::any_of(words_.begin(), words_.end(), [&](const Word& word) {
      if (word.part) return contains_ignoring_case(name, word.text);
      return equals_ignoring_case(name, word.text) || equals_ignoring_case(other, word.text);
    });
  }

 private:
  struct Word {
    std::string text;
    bool part;
  };
  explicit Condition(const Property& property) : property_(property) {}
  Property property_;
  std::vector<Word> words_;
};

}  // namespace

Result<ResultSelection> filter_results(const std::vector<BenchResult>& results,
                                       const ResultFilter& filter) {
  std::vector<Condition> conditions;
  const auto add = [&](const Property& property, const std::vector<std::string>& words,
                       bool parts = false) -> Outcome {
    PJ_TRY(Condition condition, Condition::make(results, property, words, parts));
    conditions.push_back(std::move(condition));
    return {};
  };
  std::vector<std::string> counts;
  for (const std::int64_t count : filter.gpu_counts) counts.push_back(std::to_string(count));
  PJ_CHECK(add({"benchmark", benchmark_of, benchmark_of}, filter.benchmarks, true));
  PJ_CHECK(add({"task", task_of, task_of}, filter.tasks));
  PJ_CHECK(add({"GPU", gpu_of, gpu_name_of}, filter.gpus));
  PJ_CHECK(add({"number of GPUs", count_of, count_of}, counts));
  PJ_CHECK(add({"model", model_of, nickname_of}, filter.models, true));
  PJ_CHECK(add({"precision", precision_of, precision_of}, filter.precisions));
  PJ_CHECK(add({"architecture", architecture_of, architecture_of}, filter.architectures, true));
  ResultSelection selection;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool passes =
        std::all_of(conditions.begin(), conditions.end(),
                    [&](const Condition& condition) { return condition.passes(results[i]); });
    if (passes) (results[i].validity.empty() ? selection.rows : selection.invalid).push_back(i);
  }
  if (!selection.rows.empty()) return selection;
  if (selection.invalid.empty()) {
    return Error::not_found("no result fits all of what is asked for",
                            "leave out one of the filters");
  }
  const BenchResult& first = results[selection.invalid.front()];
  return Error::not_found(
      fmt::format("all {} are left out for what speaks against them",
                  counted(static_cast<double>(selection.invalid.size()), "result")),
      fmt::format("of {}: {}", text_of(first.origin), first.validity.front()));
}

}  // namespace perjoule
