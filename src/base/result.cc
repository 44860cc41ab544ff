#include "base/result.h"

#include <cerrno>
#include <cstring>

namespace perjoule {

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kOk:
      return "ok";
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kNotSupported:
      return "not_supported";
    case ErrorCode::kPermissionDenied:
      return "permission_denied";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kTimeout:
      return "timeout";
    case ErrorCode::kOutOfRange:
      return "out_of_range";
    case ErrorCode::kDataLoss:
      return "data_loss";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

namespace {
tl::unexpected<Error> make(ErrorCode code, std::string message, std::string remedy) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(remedy)});
}
}  // namespace

tl::unexpected<Error> Error::invalid_argument(std::string message, std::string remedy) {
  return make(ErrorCode::kInvalidArgument, std::move(message), std::move(remedy));
}
tl::unexpected<Error> Error::not_found(std::string message, std::string remedy) {
  return make(ErrorCode::kNotFound, std::move(message), std::move(remedy));
}
tl::unexpected<Error> Error::not_supported(std::string message, std::string remedy) {
  return make(ErrorCode::kNotSupported, std::move(message), std::move(remedy));
}
tl::unexpected<Error> Error::permission_denied(std::string message, std::string remedy) {
  return make(ErrorCode::kPermissionDenied, std::move(message), std::move(remedy));
}
tl::unexpected<Error> Error::unavailable(std::string message, std::string remedy) {
  return make(ErrorCode::kUnavailable, std::move(message), std::move(remedy));
}
tl::unexpected<Error> Error::timeout(std::string message, std::string remedy) {
  return make(ErrorCode::kTimeout, std::move(message), std::move(remedy));
}
tl::unexpected<Error> Error::out_of_range(std::string message, std::string remedy) {
  return make(ErrorCode::kOutOfRange, std::move(message), std::move(remedy));
}
tl::unexpected<Error> Error::data_loss(std::string message, std::string remedy) {
  return make(ErrorCode::kDataLoss, std::move(message), std::move(remedy));
}
tl::unexpected<Error> Error::conflict(std::string message, std::string remedy) {
  return make(ErrorCode::kConflict, std::move(message), std::move(remedy));
}
tl::unexpected<Error> Error::internal(std::string message, std::string remedy) {
  return make(ErrorCode::kInternal, std::move(message), std::move(remedy));
}

ErrorCode code_of_errno(int number) {
  switch (number) {
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::kPermissionDenied;
    case ENOENT:
    case ENODEV:
    case ENXIO:
      return ErrorCode::kNotFound;
    case EINVAL:
    case ERANGE:
      return ErrorCode::kInvalidArgument;
    case EOPNOTSUPP:
    case ENOSYS:
      return ErrorCode::kNotSupported;
    case ETIMEDOUT:
      return ErrorCode::kTimeout;
    case EBUSY:
    case EEXIST:
      return ErrorCode::kConflict;
    case ENOSPC:
    case EDQUOT:
    case EIO:
    case ENODATA:
      return ErrorCode::kDataLoss;
    default:
      return ErrorCode::kUnavailable;
  }
}

tl::unexpected<Error> Error::from_errno(int number, std::string what, std::string remedy) {
  char buffer[128];
  // The GNU form of strerror_r: thread-safe, returns the text wherever it lies.
  const char* text = strerror_r(number, buffer, sizeof(buffer));
  return make(code_of_errno(number), std::move(what) + ": " + text, std::move(remedy));
}

std::string Error::text() const { return remedy.empty() ? message : message + "; " + remedy; }

}  // namespace perjoule
