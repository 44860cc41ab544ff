// What the routes of Zeus's daemon have in common: lists of devices in queries, and answers and
// errors by device.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "server/http/route.h"

namespace perjoule {

/// Those of the parameter "0,1", all that there are where it is not given. invalid_argument for
/// what is no list of numbers.
Result<std::set<int>> device_ids(const Call& call, std::string_view parameter,
                                 const std::set<int>& known);

/// The parameter, which the router has found to be there and a boolean.
bool is_true(const Call& call, std::string_view parameter);

/// 400 for what was asked wrongly or cannot be had, 403 without the right to, 409 where another
/// holds it, 500 for everything else.
int zeusd_status(ErrorCode code);

/// Errors by device as {"errors": {"0": text}}, with the worst of their statuses.
Reply errors_reply(const std::map<int, Error>& errors);

/// An object of what `read` gives for each device; the errors instead where there is one.
Reply read_each(const std::set<int>& ids, const std::function<Result<Json>(int)>& read);
/// The same within {"timestamp_ms", "power_mw"}.
Reply power_of_each(const std::set<int>& ids, std::int64_t unix_ms,
                    const std::function<Result<Json>(int)>& read);

/// The error for a device that there is not.
Error no_such_device(std::string_view kind, int id, const std::set<int>& known);

template <typename Value>
std::set<int> ids_of(const std::map<int, Value>& devices) {
  std::set<int> ids;
  for (const auto& [id, device] : devices) ids.insert(id);
  return ids;
}

}  // namespace perjoule
