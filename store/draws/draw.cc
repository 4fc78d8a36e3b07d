#include "store/draws/draw.h"

namespace plimsoll::store {

int64_t Draw::machines() const {
  int64_t machines = 0;
  for (const DrawStratum& stratum : strata) {
    machines += stratum.machines;
  }
  return machines;
}

std::string event_set_of(const wire::Assignment& collects) {
  std::string names;
  for (const wire::EventRequest& event : collects.events()) {
    names += (names.empty() ? "" : " ") + event.name();
  }
  return names.empty() ? "default" : names;
}

int64_t window_end_ns(const Draw& draw, const DrawnMachine& machine) {
  return machine.window_start_ns + draw.window_ns;
}

wire::Draw wire_draw(const Draw& draw, const DrawnMachine& machine) {
  wire::Draw wire;
  wire.set_id(draw.id);
  wire.set_stratum(draw.strata[machine.stratum].name);
  wire.set_inclusion_probability(machine.inclusion_probability);
  wire.set_interval_start_ns(draw.interval_start_ns);
  wire.set_interval_ns(draw.interval_ns);
  return wire;
}

}  // namespace plimsoll::store
