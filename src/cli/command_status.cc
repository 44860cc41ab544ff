#include "cli/command_status.h"

#include <string>

#include "cli/table.h"

namespace perjoule::cli {

Result<int> with_command_status(std::string_view verb, const Arguments& arguments,
                                const std::function<Result<int>(const Arguments&)>& run) {
  Result<int> status = run(arguments);
  if (status) return status;
  const Error& error = status.error();
  complain(std::string(verb) + ": " + error.text());
  if (error.message.starts_with("cannot run"))
    return error.code == ErrorCode::kNotFound ? kCommandNotFound : kCommandNotRun;
  const bool words =
      error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kOutOfRange;
  return words ? kUsage : kOwnFailure;
}

}  // namespace perjoule::cli
