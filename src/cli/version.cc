#include "cli/version.h"

namespace perjoule::cli {

std::string version() { return PERJOULE_VERSION; }

}  // namespace perjoule::cli
