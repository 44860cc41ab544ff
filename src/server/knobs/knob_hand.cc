#include "server/knobs/knob_hand.h"

#include <algorithm>

namespace perjoule {

Result<std::string> JournalHand::turn(const std::string& knob, const std::string& value) {
  const std::vector<Knob*> knobs = machine_.knobs();
  const auto found = std::find_if(knobs.begin(), knobs.end(),
                                  [&](const Knob* one) { return one->info().id == knob; });
  if (found == knobs.end()) {
    return Error::not_found("there is no knob " + knob, "perjoule devices lists those there are");
  }
  PJ_CHECK(check_knob_value((*found)->info(), value));
  auto journal = journals_.find(knob);
  const bool is_new = journal == journals_.end();
  if (is_new) {
    PJ_TRY(KnobJournal opened, KnobJournal::open(folder_, machine_));
    journal = journals_.emplace(knob, std::move(opened)).first;
  }
  auto turned = journal->second.turn(**found, value);
  // What was turned and then failed is put back; what does not go back is kept, to be tried again.
  if (!turned && is_new && journal->second.restore()) journals_.erase(journal);
  return turned;
}

Outcome JournalHand::put_back(const std::string& knob) {
  const auto journal = journals_.find(knob);
  if (journal == journals_.end()) return {};
  PJ_CHECK(journal->second.restore());
  journals_.erase(journal);
  return {};
}

}  // namespace perjoule
