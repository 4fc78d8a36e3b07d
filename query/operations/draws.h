// `draws`: when machines were drawn, who, with which probability, and what became of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/selection/parameters.h"
#include "query/table/table.h"
#include "store/fleet.h"

namespace plimsoll::query {

struct DrawsRequest {
  std::string id;  // of the draw to explain; empty: a list of them
  bool by_stratum = false;
  bool verify = false;  // with an ID: whether it comes out the same when it is made again
  size_t limit = 20;
  int64_t now_ns = 0;  // wall clock: what is still to come
};

// Parameters: id, by (machine or stratum; with id), verify (yes or no; with id), limit.
Result<DrawsRequest> parse_draws(const Parameters& parameters, int64_t now_ns);

// What was drawn: of one draw, or the newest.
struct KnownDraws {
  std::vector<store::DrawWithMachines> draws;  // the newest first
  int64_t count = 0;                           // that there are
  std::vector<store::Stop> stops = {};         // what is not measured for now
  bool is_verified = false;                    // the one that was asked for

  // Makes a draw again; fails where it does not come out the same (scheduler::draw_again, which this folder must not know).
  using DrawAgain =
      std::function<Status(const store::DrawWithMachines& draw, const store::FleetAt& fleet_at)>;

  // Those that the request is about. kNotFound: there is
  // no draw of that ID; the hint names the nearest. Fails as `again` does where the draw is to be verified; kUnsupported
  // without it.
  static Result<KnownDraws> load(const DrawsRequest& request, const store::Fleet& fleet,
                                 const DrawAgain& again = {});
};

// Without an ID a row for each draw, the newest first, and a note for whatever is stopped:
//   draw, made, window_start, window, events ("default": the daemon's choice)
//   machines: that there were; expected, drawn: how many of them on average, and this time
//   answered: profiles came of so many of them; partial, late: of these, with less than the whole window, or after they were due
//   pending: not due yet. withheld, unreached, refused, failed, vanished, lost: why nothing came (store/draws/draw_outcome.h)
// With an ID by machine: machine, stratum, inclusion_probability, window_start, outcome, detail, assigned_at, answered_at, observed
//   or by stratum: stratum, machines, expected, drawn, and the outcomes as above
// Notes tell the draw's policy, seed, interval and window, and how many endpoints of applications answered by kind, where kinds were asked
// for; the coverage has the intervals and how many machines were drawn from.
Table draws(const DrawsRequest& request, const KnownDraws& known);

}  // namespace plimsoll::query
