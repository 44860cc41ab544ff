#include "twin/serve_text.h"

#include <array>

namespace perjoule::twin {
namespace {

constexpr int kLongestPiece = 4;  // characters
constexpr int kShortestAnswer = 16;
constexpr int kAnswerSpread = 496;

constexpr std::array<std::string_view, 32> kPieces = {
    " a",     " joule",  " is",      " the",  " work",   " of",   " one",   " watt",
    " in",    " second", " and",     " heat", " leaves", " by",   " way",   " air",
    " wärme", " größe",  " énergie", " 电",   " 能量",   " ☀",    " ⚡",     " 🔋",
    " each",  " token",  " costs",   " some", " power",  " less", " batch", " more"};

constexpr std::uint32_t kHashStart = 2166136261U;  // FNV-1a
constexpr std::uint32_t kHashFactor = 16777619U;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

/// Every bit of the result depends on every bit of the value (the finaliser of SplitMix64).
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15ULL;
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31U);
}

}  // namespace

std::vector<std::uint32_t> tokens_of(std::string_view text) {
  std::vector<std::uint32_t> tokens;
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint32_t hash = kHashStart;
    const auto take = [&] {
      hash = (hash ^ static_cast<unsigned char>(text[at])) * kHashFactor;
      ++at;
    };
    if (is_space(text[at])) take();  // the space belongs to what follows
    for (int characters = 0; characters < kLongestPiece && at < text.size() && !is_space(text[at]);
         ++characters) {
      take();
      while (at < text.size() && continues_character(text[at])) take();
    }
    tokens.push_back(hash);
  }
  return tokens;
}

std::uint64_t answer_seed(const std::vector<std::uint32_t>& prompt, std::uint64_t salt) {
  std::uint64_t seed = mixed(salt);
  for (const std::uint32_t token : prompt) seed = mixed(seed ^ token);
  return seed;
}

std::uint32_t answer_token(std::uint64_t seed, int place) {
  return static_cast<std::uint32_t>(mixed(seed + static_cast<std::uint64_t>(place)) %
                                    kPieces.size());
}

int answer_length(std::uint64_t seed) {
  return kShortestAnswer + static_cast<int>(mixed(~seed) % kAnswerSpread);
}

std::string_view piece_of(std::uint32_t token) { return kPieces[token % kPieces.size()]; }

}  // namespace perjoule::twin
