// A device's counter against its own power gauge: two answers to one question.
//
// Cards were reported whose counter said 187 J where their gauge integrated to 327 J over the same
// five idle seconds (zeus#181). Neither can be called right from here, so the counter's figure
// stands; but it is said, since an uncertainty that both keep to does not explain it.
#pragma once

#include <vector>

#include "meter/measurement.h"

namespace perjoule {

/// Adds a note to each counter whose gauge of the same scope, measured over the same window,
/// disagrees by more than their expanded uncertainties together and a tenth of the greater one.
/// Where only one of the two was corrected by a calibration, both are taken as they were read.
/// Windows below ten ticks, or below ten of the gauge's averaging times, tell nothing.
void cross_check(std::vector<SourceMeasurement>& sources, Seconds duration);

}  // namespace perjoule
