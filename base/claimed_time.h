// When something from a file ended: what the file tells, checked against this machine's clock, and what takes its place.
#pragma once

#include <cstdint>
#include <string>

namespace plimsoll {

// Wall-clock times in ns; 0: not known.
struct ClaimedTimes {
  int64_t given_ns = 0;     // by the user, who is believed
  int64_t told_ns = 0;      // by the content
  int64_t modified_ns = 0;  // when the file was last written
  int64_t now_ns = 0;       // of this machine's clock; 0: nothing is checked, nor noted
};

struct ChosenTime {
  int64_t end_ns = 0;  // 0: nothing is known
  // Empty where the content tells a time that can be; else begins with kWrongTime or kNoTime, and says what is used.
  std::string note = {};
};

inline constexpr const char* kWrongTime = "wrong time: ";
inline constexpr const char* kNoTime = "no time: ";

// A time can be if it is between the year 2000 and a day from now. The first of `claimed` that is known and can be, or now.
ChosenTime choose_end_time(const ClaimedTimes& claimed);

}  // namespace plimsoll
