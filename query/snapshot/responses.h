// How many of the machines that were drawn have sent something, and what that makes of the weights of those that did.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/snapshot/origin_index.h"
#include "statistics/response.h"
#include "store/draws/draw.h"
#include "store/model/dictionaries.h"

namespace plimsoll::query {

// Whether an origin is of applications that a draw observed beside their machine.
bool is_of_drawn_applications(const store::OriginEntry& origin);

// What a draw asked a machine for.
enum class Asked { kMachine, kApplications };

// A machine has answered a draw with any profile of its own; for its applications with any profile at all: where it has none to ask, or may
// not ask them, it sends its own and they count as zero. Strata of a draw without profiles are handed to their neighbours by name. What was
// not drawn, or in a draw that is not known, has answered for itself: all that is there, and nothing else. One thread.
class ResponseIndex {
 public:
  explicit ResponseIndex(Asked asked) : asked_(asked) {}

  // The strata of a draw, in their order; none: it is not known.
  using StrataOfDraw = std::function<Result<std::vector<store::DrawnWeight>>(std::string_view draw)>;

  // Counts the origins that it has not seen. `strata_of` is asked about each draw once, when its first profile has come: every draw is
  // kept before that. After an error it is of no use.
  Status extend(const OriginIndex& origins, const store::Dictionaries& dictionaries,
                const StrataOfDraw& strata_of);

  // By stratum, as the index numbers them; of zeros where none has answered.
  const std::vector<statistics::StratumResponse>& by_stratum() const { return by_stratum_; }

 private:
  struct Draw {
    std::vector<store::DrawnWeight> drawn;
    std::map<std::string, uint32_t> numbers;  // of the strata that have answered, by name
  };

  void count(uint32_t stratum, const store::OriginEntry& first_of_unit);
  void weigh(const Draw& draw);

  Asked asked_;
  size_t origins_seen_ = 1;
  std::vector<bool> is_counted_;                         // by sampling unit
  std::vector<statistics::StratumResponse> answered_;    // by stratum, as if nothing else had been drawn
  std::vector<statistics::StratumResponse> by_stratum_;  // what silent machines make of that
  std::map<std::string, Draw> draws_;
};

}  // namespace plimsoll::query
