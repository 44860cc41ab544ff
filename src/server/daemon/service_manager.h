// What a daemon tells the service manager that started it (sd_notify): nothing, where none did.
#pragma once

#include <string>

namespace perjoule {

class ServiceManager {
 public:
  /// From $NOTIFY_SOCKET, which is taken out of the environment: children are not to speak for us.
  static ServiceManager find();

  void ready() const { tell("READY=1"); }
  void reloading() const;
  void stopping() const { tell("STOPPING=1"); }

 private:
  void tell(const std::string& state) const;
  std::string socket_;
};

}  // namespace perjoule
