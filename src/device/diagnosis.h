// What hinders measuring and setting on this machine, each with its remedy: what `perjoule doctor`
// says. It looks and changes nothing.
#pragma once

#include <string>
#include <vector>

#include "device/discovery.h"

namespace perjoule {

struct Finding {
  enum class Weight {
    kFine,       ///< looked at, nothing to do
    kNote,       ///< worth knowing: measuring works
    kHindrance,  ///< something cannot be measured, or its figures cannot be trusted or kept
  };
  Weight weight = Weight::kFine;
  std::string subject;
  std::string text;
  std::string remedy;
};

std::string_view name_of(Finding::Weight weight);  ///< "fine", "note", "hindrance"

struct DiagnosisOptions {
  std::string journal_folder;
  bool root = false;  ///< whether this process may set what needs root
};

std::vector<Finding> diagnose(const Inventory& machine, const Roots& roots,
                              const DiagnosisOptions& options);

/// Whether any finding hinders measuring.
bool is_hindered(const std::vector<Finding>& findings);

}  // namespace perjoule
