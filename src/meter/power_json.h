// Who draws what in JSON, as `perjoule top --json` and the daemon's live stream say it.
#pragma once

#include "base/json.h"
#include "meter/power_view.h"

namespace perjoule {

/// The picture's members (docs/formats.md, "Live power"); what is not known is null.
void add_picture(Json& json, const PowerPicture& picture);

}  // namespace perjoule
