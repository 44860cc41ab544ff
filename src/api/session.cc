#include "api/session.h"

namespace perjoule {

Result<std::unique_ptr<Session>> Session::open(const Roots& roots, const Options& options) {
  std::unique_ptr<Session> session(new Session());
  DiscoveryOptions discovery;
  discovery.estimate_cpu = options.estimate_cpu;
  session->machine_ = discover(roots, session->clock_, discovery);
  if (session->machine_.sources().empty()) {
    return Error::unavailable("nothing here can be measured", "perjoule doctor says why");
  }
  PJ_TRY(const std::vector<Calibration> calibrations, load_calibrations(calibration_path()));
  session->meter_ =
      std::make_unique<Meter>(session->machine_.sources(), session->clock_, 0, calibrations);
  PJ_TRY(session->sampler_, Sampler::start(*session->meter_, options.sample_every));
  return session;
}

}  // namespace perjoule
