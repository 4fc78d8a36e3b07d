#include "query/placement/certainty.h"

#include <algorithm>

namespace plimsoll::query {
namespace {

// Leads below that part of the cost are none: what platforms that share a job differ by.
constexpr double kMinLead = 1e-7;

// How much dearer than said the chosen cost may be.
std::optional<double> above(const Pair& chosen) {
  return chosen.is_bound ? std::optional(0.0) : chosen.margin;
}

// How much cheaper than said the other cost may be.
std::optional<double> below(const Pair& other) {
  return other.is_bound ? std::optional(other.cost) : other.margin;
}

double at_least(const Pair& pair, std::span<const double> prices) {
  return (pair.cost - below(pair).value_or(0)) * (1 + prices[pair.platform]);
}

Certainty worse_of(Certainty one, Certainty other) {
  return std::min(one, other);
}

}  // namespace

std::string_view name_of(Certainty certainty) {
  switch (certainty) {
    case Certainty::kNo:
      return "no";
    case Certainty::kUnknown:
      return "unknown";
    case Certainty::kYes:
      return "yes";
  }
  return {};
}

Choice choice_over(const Pair& chosen, const Pair& other, std::span<const double> prices) {
  const double cost = cost_at_prices(chosen, prices);
  const std::optional<double> up = above(chosen);
  const std::optional<double> down = below(other);
  const double known_margin =
      up.value_or(0) * (1 + prices[chosen.platform]) + down.value_or(0) * (1 + prices[other.platform]);
  Choice choice{.lead = cost_at_prices(other, prices) - cost};
  const bool is_known = up.has_value() && down.has_value();
  choice.margin = is_known ? std::optional(known_margin) : std::nullopt;
  if (choice.lead > known_margin + kMinLead * cost) {
    choice.certainty = is_known ? Certainty::kYes : Certainty::kUnknown;
  }
  return choice;
}

PlacementChoice choice_over_all(const Pair& chosen, std::span<const Pair> of_job,
                                std::span<const double> prices) {
  PlacementChoice over_all;
  const Pair* nearest = nullptr;
  Certainty worst = Certainty::kYes;
  for (const Pair& other : of_job) {
    if (other.platform == chosen.platform) {
      continue;
    }
    worst = worse_of(worst, choice_over(chosen, other, prices).certainty);
    if (nearest == nullptr || at_least(other, prices) < at_least(*nearest, prices)) {
      nearest = &other;
    }
  }
  if (nearest != nullptr) {
    over_all.alternative = nearest->platform;
    over_all.choice = choice_over(chosen, *nearest, prices);
    over_all.choice.certainty = worst;
  }
  return over_all;
}

}  // namespace plimsoll::query
