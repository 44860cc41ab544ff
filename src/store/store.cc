#include "store/store.h"

#include <algorithm>

#include "base/file.h"

namespace perjoule {

std::string make_run_id(std::int64_t unix_ns, std::uint32_t random) {
  constexpr std::string_view kDigits = "0123456789abcdefghjkmnpqrstvwxyz";
  constexpr std::int64_t kYear2020Ms = 1'577'836'800'000;
  constexpr std::size_t kTimeDigits = 8;
  constexpr std::size_t kDigitsInAll = 11;
  const std::int64_t ms = std::max<std::int64_t>(0, unix_ns / 1'000'000 - kYear2020Ms);
  std::uint64_t bits = (static_cast<std::uint64_t>(ms) << 15U) | (random & 0x7FFFU);
  std::string id(kDigitsInAll, '0');
  static_assert(kTimeDigits * 5 + 15 == kDigitsInAll * 5);
  for (auto digit = id.rbegin(); digit != id.rend(); ++digit) {
    *digit = kDigits[bits & 31U];
    bits >>= 5U;
  }
  return id;
}

std::string default_store_path() { return state_folder() + "/runs.db"; }

}  // namespace perjoule
