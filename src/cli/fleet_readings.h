// Readings of a real fleet's instances: from their own metrics pages, or from a Prometheus server
// that has read those.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/fleet_control_file.h"
#include "fleet/hands/instance_reading.h"
#include "net/promql.h"
#include "serving/engine/engine_watch.h"

namespace perjoule::cli {

struct FleetReadingOptions {
  HttpClientOptions http = {};
  std::string token_variable = {};  ///< of the engines' own pages
};

class FleetReadings {
 public:
  /// Asks nobody yet but the name servers; a page whose host is not known is tried again at every
  /// look. The file and the clock must outlive it. invalid_argument for certificates that cannot be
  /// read.
  static Result<std::unique_ptr<FleetReadings>> create(const FleetControlFile& file,
                                                       const FleetReadingOptions& options,
                                                       const Clock& clock);

  /// A look at all instances, by server and instance: what cannot be had says why. Waits some
  /// seconds for each page that does not come, for as many at once as there are processors.
  std::vector<std::vector<InstanceReading>> read();

 private:
  struct Source {
    std::size_t server = 0;
    std::size_t instance = 0;
    std::unique_ptr<EngineReader> reader;
    std::optional<EngineScrape> last;
  };
  FleetReadings(const FleetControlFile& file, FleetReadingOptions options, const Clock& clock)
      : file_(file), options_(std::move(options)), clock_(clock) {}
  Result<EngineScrape> look_at_page(Source& source) const;
  std::vector<Result<EngineScrape>> look_at_prometheus() const;

  const FleetControlFile& file_;
  FleetReadingOptions options_;
  const Clock& clock_;
  std::vector<Source> sources_;
  std::optional<Prometheus> prometheus_;
};

/// What lies between two looks; without the first only what holds now.
InstanceReading reading_of(const std::optional<EngineScrape>& before, const EngineScrape& after);

}  // namespace perjoule::cli
