#include "api/session.h"

#include <algorithm>

#include "device/journal.h"

namespace perjoule {

Result<std::vector<std::string>> sources_named(const std::vector<std::string>& words,
                                               const std::vector<const SourceInfo*>& all) {
  const auto names = [](const std::string& word, const SourceInfo* info) {
    return info->id == word || info->device == word;
  };
  for (const std::string& word : words) {
    if (std::none_of(all.begin(), all.end(),
                     [&](const SourceInfo* info) { return names(word, info); })) {
      return Error::not_found("no such source or device: " + word,
                              "perjoule devices lists them, pj_source_at those of a session");
    }
  }
  std::vector<std::string> ids;
  for (const SourceInfo* info : all) {
    if (std::any_of(words.begin(), words.end(),
                    [&](const std::string& word) { return names(word, info); }))
      ids.push_back(info->id);
  }
  return ids;
}

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
  std::vector<Source*> sources = session->machine_.sources();
  if (!options.sources.empty()) {
    std::vector<const SourceInfo*> all;
    all.reserve(sources.size());
    for (const Source* source : sources) all.push_back(&source->info());
    PJ_TRY(const std::vector<std::string> ids, sources_named(options.sources, all));
    std::erase_if(sources, [&](const Source* source) {
      return std::find(ids.begin(), ids.end(), source->info().id) == ids.end();
    });
  }
  PJ_TRY(const std::vector<Calibration> calibrations, load_calibrations(calibration_path()));
  session->meter_ = std::make_unique<Meter>(sources, session->clock_, 0, calibrations);
  PJ_TRY(session->sampler_, Sampler::start(*session->meter_, options.sample_every));
  return session;
}

}  // namespace perjoule
