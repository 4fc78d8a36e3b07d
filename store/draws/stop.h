// What is not measured for now, by whose order, and when it will be tried again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll::store {

enum class StopScope : uint8_t { kEverything = 1, kEventSet = 2, kDaemonVersion = 3, kPlatform = 4 };

// From one step to the next more is measured again.
enum class StopStep : uint8_t {
  kNothing = 0,
  kOneMachine = 1,  // of a draw
  kATenth = 2,      // of those drawn
  kAll = 3,         // kept for a while, so that what failed before is not counted again
};

struct Stop {
  StopScope scope = StopScope::kEverything;
  std::string value = {};  // which event set, version or platform; empty: everything
  std::string reason = {};
  bool by_hand = false;  // then nothing but a hand ends it
  StopStep step = StopStep::kNothing;
  int64_t since_ns = 0;  // of this step, wall clock
  int64_t next_ns = 0;   // when the next may come
  int64_t times = 1;     // that it was stopped, one after the other

  bool operator==(const Stop&) const = default;
};

std::string_view name_of(StopScope scope);  // "everything", "event set", ...
std::string_view name_of(StopStep step);    // what is measured: "nothing", "one machine", "a tenth", "all"
std::string name_of(const Stop& stop);      // "event set cycles instructions"

}  // namespace plimsoll::store
