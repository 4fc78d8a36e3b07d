// Whether a choice of the plan stays right where costs are off by as much as their margins.
//
// A job chooses platform a over b where its cost at prices is less there. It does so for certain where that holds with both costs at the
// unfavourable ends of their margins m:
//
//   (cost_a + m_a)(1 + p_a)  <  (cost_b - m_b)(1 + p_b)
//
// that is, where the lead, cost_b (1 + p_b) - cost_a (1 + p_a), which is b's reduced cost, is more than m_a (1 + p_a) + m_b (1 + p_b). Prices are
// the plan's own: they come from all jobs together. A cost that is a bound may be anything from 0 to it: none is certainly dearer, and a choice of
// it holds as it is.
//
// Pure: no I/O; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "query/placement/placement.h"

namespace plimsoll::query {

enum class Certainty : uint8_t {
  kNo,
  kUnknown,  // it would be certain, were it not for costs without margins
  kYes,
};
std::string_view name_of(Certainty certainty);

struct Choice {
  double lead =
      0;  // of cost at prices, an instruction; about 0 between the platforms that a job is parted among
  std::optional<double> margin = {};  // the sum above; nothing: unknown
  Certainty certainty = Certainty::kNo;
};

// The choice of one pair of a job over another.
Choice choice_over(const Pair& chosen, const Pair& other, std::span<const double> prices);

struct PlacementChoice {
  std::optional<uint32_t> alternative =
      {};  // the platform that may come nearest or ahead, within margins; nothing: no other is known
  Choice choice = {.certainty = Certainty::kYes};
};

// The choice of one of a job's pairs over all its others.
PlacementChoice choice_over_all(const Pair& chosen, std::span<const Pair> of_job,
                                std::span<const double> prices);

}  // namespace plimsoll::query
