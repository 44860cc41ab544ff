// How a function that can fail answers: Result<T> holds a value or an Error.
//
//   Result<Watts> limit = knob.get();
//   if (!limit) return fail(limit);                    // pass the error up
//   PJ_TRY(Watts limit, knob.get());                   // the same in one line
//   return Error::invalid_argument("power limit above the device's maximum: 900 W > 700 W", "ask
//   for at most 700 W");
//
// "Not supported" and "permission denied" are ordinary answers of a meter, so no exception is
// thrown for them, and none crosses a module's face. Messages: lower case, fixed words first,
// values last, naming the file and line, device or option; `remedy` says what the user can do.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace perjoule {

enum class ErrorCode {
  kOk = 0,  ///< only in places that carry a bare code, such as the sampling path
  kInvalidArgument,
  kNotFound,
  kNotSupported,
  kPermissionDenied,
  kUnavailable,
  kTimeout,
  kOutOfRange,
  kDataLoss,
  kConflict,
  kInternal,
};

/// The code's name as users see it in JSON, e.g. "permission_denied".
std::string_view name_of(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string remedy;  ///< what to do about it; empty when there is nothing

  static tl::unexpected<Error> invalid_argument(std::string message, std::string remedy = {});
  static tl::unexpected<Error> not_found(std::string message, std::string remedy = {});
  static tl::unexpected<Error> not_supported(std::string message, std::string remedy = {});
  static tl::unexpected<Error> permission_denied(std::string message, std::string remedy = {});
  static tl::unexpected<Error> unavailable(std::string message, std::string remedy = {});
  static tl::unexpected<Error> timeout(std::string message, std::string remedy = {});
  static tl::unexpected<Error> out_of_range(std::string message, std::string remedy = {});
  static tl::unexpected<Error> data_loss(std::string message, std::string remedy = {});
  static tl::unexpected<Error> conflict(std::string message, std::string remedy = {});
  static tl::unexpected<Error> internal(std::string message, std::string remedy = {});
  /// From errno: EACCES and EPERM become permission_denied, ENOENT not_found, and so on.
  static tl::unexpected<Error> from_errno(int number, std::string what, std::string remedy = {});

  /// "message; remedy" on one line.
  std::string text() const;
};

/// The code that errno stands for.
ErrorCode code_of_errno(int number);

template <typename T>
using Result = tl::expected<T, Error>;
/// A function that only succeeds or fails.
using Outcome = Result<void>;

/// Passes the error of one result on as another's.
template <typename T>
tl::unexpected<Error> fail(const Result<T>& result) {
  return tl::unexpected<Error>(result.error());
}
/// The same, with words put before the message: "reading runs.csv: line 3: ...".
template <typename T>
tl::unexpected<Error> fail(const Result<T>& result, std::string_view context) {
  Error error = result.error();
  error.message = std::string(context) + ": " + error.message;
  return tl::unexpected<Error>(std::move(error));
}

#define PJ_CONCAT_INNER(a, b) a##b
#define PJ_CONCAT(a, b) PJ_CONCAT_INNER(a, b)
/// PJ_TRY(auto rows, read_csv(path)): declares `rows`, or returns the error.
#define PJ_TRY(declaration, expression)                       \
  auto PJ_CONCAT(pj_result_, __LINE__) = (expression);        \
  if (!PJ_CONCAT(pj_result_, __LINE__)) {                     \
    return ::perjoule::fail(PJ_CONCAT(pj_result_, __LINE__)); \
  }                                                           \
  declaration = std::move(*PJ_CONCAT(pj_result_, __LINE__))
/// PJ_CHECK(journal.write(entry)): returns the error of an Outcome, if it is one.
#define PJ_CHECK(expression)                                                                   \
  if (auto PJ_CONCAT(pj_outcome_, __LINE__) = (expression); !PJ_CONCAT(pj_outcome_, __LINE__)) \
  return ::perjoule::fail(PJ_CONCAT(pj_outcome_, __LINE__))

}  // namespace perjoule
