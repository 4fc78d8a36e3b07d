#include "proto/squares.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "proto/validation_checks.h"

namespace plimsoll::wire {
namespace {

constexpr int kMaxEvents = 1000;  // of a profile (profile_codec.cc)

}  // namespace

std::string_view squared_event(std::string_view name) {
  return name.ends_with(kSquaresSuffix) ? name.substr(0, name.size() - kSquaresSuffix.size())
                                        : std::string_view();
}

void add_squares(uint32_t event, std::span<const SquaresOfRow> rows, RawProfile& profile) {
  double sum = 0;
  for (const SquaresOfRow& row : rows) {
    sum += row.squares;
  }
  const std::string name = profile.events(static_cast<int>(event)).name() + std::string(kSquaresSuffix);
  const bool is_taken =
      std::ranges::any_of(profile.events(), [&](const Event& other) { return other.name() == name; });
  if (sum <= 0 || is_taken || name.size() > kMaxTextBytes || profile.events_size() >= kMaxEvents) {
    return;
  }
  // Hits are whole numbers, of which a profile holds 2^56.
  constexpr double kSteps = 0x1p50;
  const double step = sum / kSteps;
  const auto index = static_cast<uint32_t>(profile.events_size());
  SampleTable& table = *profile.add_samples();
  table.add_event(index);
  uint64_t hits = 0;
  const bool has_labels =
      std::ranges::any_of(rows, [](const SquaresOfRow& row) { return row.label_set != 0; });
  for (const SquaresOfRow& row : rows) {
    if (row.squares > 0) {
      const auto steps = std::max<uint64_t>(1, static_cast<uint64_t>(std::llround(row.squares / step)));
      table.add_thread(row.thread);
      table.add_stack(row.stack);
      if (has_labels) {
        table.add_label_set(row.label_set);
      }
      table.add_hits(steps);
      hits += steps;
    }
  }
  Event& squares = *profile.add_events();
  const Event& of = profile.events(static_cast<int>(event));
  squares.set_name(name);
  squares.set_unit(of.unit());
  squares.set_kind(SQUARES);
  squares.set_hits(hits);
  squares.set_counter_total(sum);
}

}  // namespace plimsoll::wire
