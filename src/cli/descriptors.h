// Thousands of clients are a descriptor each, and many shells allow 1,024.
#pragma once

namespace perjoule::cli {

/// As many as this process may have.
void allow_many_descriptors();

}  // namespace perjoule::cli
