// Makes the draws of a policy when their time has come, and follows what becomes of each drawn machine.
//
//   draw_if_due()   the next draw, from the machines that are live, stored before any machine receives it
//   draw_by_order() a draw of certain machines on demand
//   heard_from()    a heartbeat: what the machine says of its assignments, and what it should be running
//   answered()      a profile
//
// A restarted server finds its open draws in the store and goes on with them; the next ones are those that the
// one before would have made. docs/scheduling.md has the rules.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "proto/fleet.pb.h"
#include "scheduler/assignments/draw_policy.h"
#include "scheduler/assignments/made_draw.h"
#include "scheduler/assignments/order.h"
#include "scheduler/draws/population.h"
#include "scheduler/safety/collection_breaker.h"
#include "scheduler/safety/overhead_budget.h"
#include "store/draws/draw_store.h"
#include "store/live/live_machines.h"

namespace plimsoll::scheduler {

// Any thread may call. All times are wall clock of the server, and come from the caller.
class Drawer {
 public:
  // `now_ns`: when heartbeats can arrive first, as given to LiveMachines::note_server_start(). Owns the two
  // connections, of which draw_if_due() has the second for itself: reading an hour of draws must not make heartbeats
  // wait. Borrows the breaker, which must outlive it.
  static Result<std::unique_ptr<Drawer>> open(store::DrawStore store, store::DrawStore past,
                                              DrawPolicy policy, CollectionBreaker& breaker, int64_t now_ns);

  const DrawPolicy& policy() const { return policy_; }

  // When draw_if_due() has something to do again.
  int64_t next_due_ns() const;
  // Judges what became of earlier draws (CollectionBreaker), then makes the next. All that was heard by `now_ns` is to be written
  // by now. Reads `machines`, a connection of the caller's, and takes its time (seconds for a million): heartbeats are
  // answered meanwhile. One thread at a time. Where it fails, or no machine is live, it is due again a
  // heartbeat later.
  Status draw_if_due(int64_t now_ns, store::LiveMachines& machines);

  // Draws some of the matching machines, once, for the next time at which no other draw measures; the safety limits apply, so that not
  // all of them may be profiled. Returns the draw's ID. As draw_if_due() reads
  // `machines`, and takes its time. kInvalid for orders that make no sense, kNotFound where none that is meant is live
  // and can count these events, kUnavailable where everything is stopped or there is no time for it soon.
  Result<std::string> draw_by_order(const MeasuringOrder& order, int64_t now_ns,
                                    store::LiveMachines& machines);

  // A machine that is not drawn costs one look-up per open draw.
  Result<std::vector<wire::Assignment>> heard_from(std::string_view machine_id,
                                                   std::span<const wire::AssignmentReport> reports,
                                                   int64_t now_ns);

  // What a daemon says that it has cost since its start. Costs a look-up.
  void note_cost(std::string_view machine_id, int64_t cpu_time_ns, int64_t now_ns) {
    budget_.heard_from(machine_id, cpu_time_ns, now_ns);
  }

  // What draws cost, and may cost.
  const OverheadBudget& budget() const { return budget_; }

  // Whether what a profile says of its draw is what was drawn, and it was measured within the interval that the draw
  // speaks for; of no draw, always. kInvalid otherwise: clients cannot set their own weight or time.
  Status check(const wire::RawProfile& profile);
  // Whether the machine was told of that draw, so that it may have recorded bursts of it; kInvalid otherwise, as for a draw whose
  // machines are forgotten.
  Status check_bursts_of(std::string_view draw, std::string_view machine_id);

  // A profile of a draw is safe, with a window of this length. `is_known`: it came before, so that it counts only where
  // that was not noted. Draws and machines that are not known are ignored.
  Status answered(std::string_view draw, std::string_view machine_id, int64_t window_ns, bool is_known,
                  int64_t now_ns);

 private:
  struct OpenDraw {
    store::Draw draw;
    int64_t until_ns = 0;  // machines are told of their assignments until then
    int64_t wake_ns = 0;   // when there is something to do next: results are due, or it is over
    boost::unordered_flat_map<std::string, store::DrawnMachine> machines = {};  // by ID
  };

  Drawer(store::DrawStore store, store::DrawStore past, DrawPolicy policy, CollectionBreaker& breaker,
         int64_t now_ns);
  Status open_kept_draws(int64_t now_ns);
  void keep_open(store::DrawWithMachines draw);
  // Of an open draw or of one in the store.
  Result<std::optional<store::DrawnMachine>> drawn(std::string_view draw, std::string_view machine_id);
  Status keep(std::string_view draw, const store::DrawnMachine& machine);
  // Whether it can still be made: for an interval that no draw speaks for, in time for its machines to hear of it.
  bool is_possible(const ScheduledDraw& draw, int64_t now_ns) const;
  // Null: no machine is live.
  Result<std::unique_ptr<MadeDraw>> make(const ScheduledDraw& draw, int64_t now_ns,
                                         store::LiveMachines& machines) const;
  // When those of a draw may measure: in all of its turns, but for those of which they cannot hear in time and those
  // that are an order's.
  std::vector<int64_t> starts_of(const ScheduledDraw& draw, int64_t now_ns) const;
  // Of those that may measure, the places that the budget of CPU time leaves, by chance; says why at the others.
  std::vector<size_t> within_budget(const ScheduledDraw& draw, std::span<const Candidate> candidates,
                                    std::vector<size_t> places, MadeDraw& made) const;
  // When machines of open draws measure: from when to when, by their beginning. Of orders, or of all draws.
  std::vector<std::pair<int64_t, int64_t>> windows(bool of_orders_alone) const;
  // The next time from then on at which no draw profiles for so long.
  Result<int64_t> free_time_ns(int64_t from_ns, int64_t length_ns) const;
  // Of a draw of some of the fleet.
  Result<std::string> keep_order(MadeDraw made, std::span<const Candidate> fleet, int64_t now_ns);
  Status judge(int64_t now_ns);
  bool is_stopped(const OpenDraw& open, const store::DrawnMachine& machine) const;
  Status make_and_keep(const ScheduledDraw& draw, int64_t now_ns, store::LiveMachines& machines);
  Status note_kinds(const OpenDraw& open, const wire::AssignmentReport& report, store::DrawnMachine& machine);
  Status note_report(OpenDraw& open, const wire::AssignmentReport& report, store::DrawnMachine& machine,
                     int64_t now_ns);
  Status note_silence(OpenDraw& open, store::DrawnMachine& machine, int64_t now_ns);
  // Whether the machine should be running its assignment, or wait for it; notes that it was told.
  Result<bool> hand_out(OpenDraw& open, store::DrawnMachine& machine, int64_t now_ns);

  const DrawPolicy policy_;
  CollectionBreaker& breaker_;
  store::DrawStore past_;  // of the drawing thread
  OverheadBudget budget_;

  std::mutex making_mutex_;  // held from when a draw's windows are chosen until it is kept, before mutex_
  mutable std::mutex mutex_;
  store::DrawStore store_;            // protected by mutex_
  std::vector<OpenDraw> open_;        // likewise: those whose results are not all due yet
  int64_t drawn_until_ns_;            // likewise: no later draw speaks for an interval before this
  int64_t next_number_;               // likewise: of the next draw
  int64_t not_before_ns_;             // likewise: when it may be made
  int64_t not_judged_before_ns_ = 0;  // likewise: after it failed, when to try again
};

}  // namespace plimsoll::scheduler
