// The verb `runs merge`, in a file of its own because it reads documents and not records.
#pragma once

#include "cli/verb.h"

namespace perjoule::cli {

Verb runs_merge_verb();

}  // namespace perjoule::cli
