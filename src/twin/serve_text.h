// The language of the simulated model: texts into tokens, and what it says.
//
//   tokens_of("How much energy?").size();          // the prompt's length
//   piece_of(answer_token(seed, 0));               // its answer's first token: " joule"
//
// There is no model: the answer is drawn from a short vocabulary by a hash of the prompt and the
// place, so that the same request always gets the same answer, whatever else the server does. Some
// of its words are not ASCII, for readers that cut between bytes. Tokens of a prompt are four
// characters at most, and never run over a space, which comes close to real tokenisers' counts of
// English text.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace perjoule::twin {

/// O(bytes). Equal pieces of text give equal tokens.
std::vector<std::uint32_t> tokens_of(std::string_view text);

/// The seed of a prompt's answer; `salt` tells apart several answers to one prompt.
std::uint64_t answer_seed(const std::vector<std::uint32_t>& prompt, std::uint64_t salt);
/// The token at that place of the answer, from 0.
std::uint32_t answer_token(std::uint64_t seed, int place);
/// How many tokens the answer has when nobody asks for another length, the one that ends it
/// included: 16 to 511.
int answer_length(std::uint64_t seed);

/// A token's text: UTF-8, beginning with a space. Never empty.
std::string_view piece_of(std::uint32_t token);

}  // namespace perjoule::twin
