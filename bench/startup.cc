// How long `perjoule --version` takes: what every call of the command pays before it does anything.
#include <fmt/format.h>

#include "figure.h"
#include "process_start.h"

namespace pb = perjoule::bench;

int main() {
  const pb::Start ours = pb::best_median({PERJOULE_COMMAND, "--version"}, 20, 7);
  const pb::Start nothing = pb::best_median({"/bin/true"}, 20, 7);
  pb::print({.figure = "startup",
             .value = ours.wall * 1e3,
             .unit = "ms",
             .bar = "<= 10",
             .pass = ours.wall <= 10e-3,
             .detail = fmt::format(
                 "least of 7 medians of 20 starts, wall; user {:.1f} ms, system {:.1f} ms; "
                 "/bin/true here: {:.1f} ms",
                 ours.user * 1e3, ours.system * 1e3, nothing.wall * 1e3)});
}
