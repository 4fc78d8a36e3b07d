// Samples that do not all stand for as much, and how a raw profile tells it: an event NAME^2 of the kind SQUARES beside the event NAME.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "proto/profile.pb.h"

namespace plimsoll::wire {

inline constexpr std::string_view kSquaresSuffix = "^2";

// "cycles" of "cycles^2"; empty: not the name of an event of squares.
std::string_view squared_event(std::string_view name);

struct SquaresOfRow {
  uint32_t thread = 0;
  uint32_t stack = 0;
  uint32_t label_set = 0;  // as SampleTable has it
  double squares =
      0;  // of what each sample of the row stands for, in hits of its event: finite, not negative
};

// Adds such an event beside entry `event` of the profile's, and a table of its rows. Its hits are rounded to 50 bits of their sum. Nothing
// where all rows are 0, or the profile has no room for another event or has one of that name: its samples are then taken for alike.
void add_squares(uint32_t event, std::span<const SquaresOfRow> rows, RawProfile& profile);

}  // namespace plimsoll::wire
