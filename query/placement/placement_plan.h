// A placement with names, beside today's placement.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "query/placement/certainty.h"
#include "query/placement/placement.h"
#include "query/placement/placement_input.h"

namespace plimsoll::query {

// Load that a job takes from one platform to another.
struct Move {
  uint32_t job = 0;
  uint32_t from = 0;
  uint32_t to = 0;
  double load = 0;
  // Of the two costs, an instruction; nothing: what it costs where it comes from is not known, or only a bound of it.
  std::optional<double> saving = {};
  std::optional<double> saving_margin = {};
  Choice choice = {.certainty = Certainty::kUnknown};  // of the new platform over the old
};

// A value and its margin at 95 %, that is unknown where a cost's is.
struct Estimated {
  double value = 0;
  std::optional<double> margin = 0.0;

  // Of independent errors the squares of the margins add up.
  void add(double factor, const Pair& pair);
};

struct PlacementPlan {
  PlacementInput input;
  Placement placement;
  std::vector<size_t> first_pairs;
  std::vector<TodaysLoad> today;
  bool has_today = false;

  std::span<const Pair> pairs_of(uint32_t job) const;
  const Pair* find(uint32_t job, uint32_t platform) const;  // nullptr: not known
  Estimated cost() const;
  // Against today's placement; errors of load that stays cancel. Nothing: there is none, or what it costs is not known.
  std::optional<Estimated> saving() const;
  // What today's placement puts on each platform, so far as it is known.
  std::vector<double> todays_use() const;
  std::vector<Move> moves() const;  // by job; none without today's placement
};

}  // namespace plimsoll::query
