#include "base/xz.h"

#include <lzma.h>

#include <array>

#include "base/file.h"

namespace perjoule {
namespace {

constexpr std::string_view kMagic(
    "\xFD"
    "7zXZ\0",
    6);
constexpr std::uint64_t kMemory = 256U << 20U;  // as much as `xz -9` needs, and more
constexpr std::size_t kMostBytes = std::size_t{4} << 30U;

Result<std::string> decompress(const std::string& packed, const std::string& path) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kMemory, LZMA_CONCATENATED) != LZMA_OK)
    return Error::internal(path + ": the xz decoder cannot be set up");
  std::string text;
  std::array<char, 1U << 16U> piece{};
  stream.next_in = reinterpret_cast<const std::uint8_t*>(packed.data());
  stream.avail_in = packed.size();
  lzma_ret state = LZMA_OK;
  while (state == LZMA_OK && text.size() <= kMostBytes) {
    stream.next_out = reinterpret_cast<std::uint8_t*>(piece.data());
    stream.avail_out = piece.size();
    state = lzma_code(&stream, LZMA_FINISH);
    text.append(piece.data(), piece.size() - stream.avail_out);
  }
  lzma_end(&stream);
  if (text.size() > kMostBytes) return Error::out_of_range(path + ": holds more than 4 GiB");
  if (state != LZMA_STREAM_END)
    return Error::data_loss(path + ": damaged or cut off", "copy it again: xz --test tells");
  return text;
}

}  // namespace

Result<std::string> read_maybe_xz(const std::string& path) {
  PJ_TRY(std::string text, read_file(path));
  if (text.compare(0, kMagic.size(), kMagic) != 0) return text;
  return decompress(text, path);
}

}  // namespace perjoule
