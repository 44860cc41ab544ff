#include "fleet/hands/fleet_event.h"

namespace perjoule {

using Kind = FleetEvent::Kind;
using How = FleetEvent::Result;

std::string_view name_of(FleetEvent::Kind kind) {
  switch (kind) {
    case Kind::kClock:
      return "clock";
    case Kind::kStart:
      return "start";
    case Kind::kDrain:
      return "drain";
    case Kind::kStop:
      return "stop";
    case Kind::kReshard:
      return "reshard";
    case Kind::kSpill:
      return "spill";
    case Kind::kNote:
      return "note";
  }
  return "";
}

std::string_view name_of(FleetEvent::Result result) {
  switch (result) {
    case How::kDone:
      return "done";
    case How::kBegun:
      return "begun";
    case How::kWould:
      return "would";
    case How::kFailed:
      return "failed";
    case How::kNone:
      return "";
  }
  return "";
}

}  // namespace perjoule
