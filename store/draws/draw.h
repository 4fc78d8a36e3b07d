// A draw as it is kept: the drawn machines, their strata and probabilities, and the outcomes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/draws.pb.h"
#include "proto/fleet.pb.h"
#include "proto/profile.pb.h"
#include "store/model/time_spans.h"

namespace plimsoll::store {

// All times are wall clock of the server.

// A part of the fleet that was drawn from separately.
struct DrawStratum {
  std::string name = {};  // "platform=AMD Zen 3"; empty: the only one
  int64_t machines = 0;   // that there were
  double expected = 0;    // machines in a draw: the sum of all their inclusion probabilities
  int64_t drawn = 0;
  double drawn_weight = 0;  // of those drawn, the sum of 1 / inclusion probability
};

struct DrawnMachine {
  std::string machine_id = {};
  uint32_t stratum = 0;  // an index into the draw's strata
  double inclusion_probability = 1;
  std::string platform = {};  // as it was then
  std::string daemon_version = {};
  int64_t window_start_ns = 0;  // when it is to measure; 0: not at all (withheld; `detail` says why)

  int64_t told_ns = 0;      // when the assignment was first handed out; 0: not yet
  int64_t reported_ns = 0;  // when the machine last said how far it is; 0: never
  wire::AssignmentState state = wire::ASSIGNMENT_UNSPECIFIED;  // as it said then
  std::string detail = {};                                     // likewise, why
  int64_t answered_ns = 0;                                     // when its first profile came; 0: none has
  int64_t observed_ns = 0;                                     // the windows of all its profiles
  // What it had of each kind of application profiles, by kind; empty: it was asked for none, or has not said.
  std::vector<wire::ApplicationKindReport> kinds = {};
};

struct Draw {
  std::string id = {};
  int64_t made_ns = 0;
  int64_t interval_start_ns = 0;
  int64_t interval_ns = 0;
  int64_t window_start_ns = 0;  // in which drawn machines measure, but for those that have another turn
  int64_t window_ns = 0;
  int64_t due_ns = 0;       // results that come later are late
  uint64_t seed = 0;        // from which it follows, with the fleet of then
  std::string policy = {};  // by which it was made, in words
  // By which it can be made again; nothing: an older version made it.
  std::optional<wire::DrawMethod> method = {};
  wire::Assignment collects = {};  // what drawn machines are told to collect; without ID, start and draw
  std::vector<DrawStratum> strata = {};  // by name

  int64_t machines() const;  // that it was drawn from
};

// Draws by order have IDs of their own, "order-...": they speak for the machines that were meant while these measured, and for nothing else.
inline constexpr std::string_view kOrderPrefix = "order-";
inline bool is_by_order(std::string_view draw_id) {
  return draw_id.starts_with(kOrderPrefix);
}

// "cycles instructions"; "default", where each daemon has the choice.
std::string event_set_of(const wire::Assignment& collects);

// When the machine's window ends.
int64_t window_end_ns(const Draw& draw, const DrawnMachine& machine);

// What a drawn machine's assignment, and then its profiles, say of the draw.
wire::Draw wire_draw(const Draw& draw, const DrawnMachine& machine);

// The drawn machines of a stratum, represented by those that answered.
struct DrawnWeight {
  std::string stratum;
  size_t machines = 0;
  double weight = 0;  // the sum of 1 / inclusion probability
};

// One with its machines.
struct DrawWithMachines {
  Draw draw;
  std::vector<DrawnMachine> machines;  // by ID
};

}  // namespace plimsoll::store
