// Files that may be compressed by xz. A target of its own (perjoule_xz), so that the library does
// not need liblzma.
#pragma once

#include <string>

#include "base/result.h"

namespace perjoule {

/// The file's text, decompressed when the file is an xz stream (by its first bytes, not its name).
/// data_loss for a damaged or truncated stream; out_of_range above 4 GiB of text.
Result<std::string> read_maybe_xz(const std::string& path);

}  // namespace perjoule
