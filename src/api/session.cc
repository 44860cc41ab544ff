#include "api/session.h"

#include "device/journal.h"

namespace perjoule {

Result<std::unique_ptr<Session>> Session::open(const Roots& roots, const Options& options) {
  std::unique_ptr<Session> session(new Session());
  DiscoveryOptions discovery;
  discovery.estimate_cpu = options.estimate_cpu;
  session->machine_ = discover(roots, session->clock_, discovery);
  // A program that measures itself has no place to tell of it; what stays is doctor's to say.
  (void)replay_dead(journal_folder(), session->machine_);
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
