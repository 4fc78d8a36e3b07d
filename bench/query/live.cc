#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/harness/scratch_folder.h"
#include "bench/harness/statistics.h"
#include "bench/query/names.h"
#include "bench/query/parts.h"
#include "bench/store/clock.h"
#include "bench/store/generator.h"
#include "bench/store/raw_profiles.h"
#include "query/selection/sides.h"
#include "query/views/flame.h"
#include "query/views/top.h"
#include "store/compaction/compactor.h"
#include "store/ingest.h"

namespace plimsoll::bench {
namespace {

constexpr uint32_t kSamples = 100;  // of a profile
constexpr uint32_t kMachinesOfHistory = 400;
constexpr uint32_t kProfilesOfLastHour = 2000;
constexpr uint32_t kProfilesPerS = 100;
constexpr int64_t kHourNs = 3'600'000'000'000;
constexpr uint32_t kDays = 30;
constexpr int64_t kHistoryNs = int64_t{kDays} * 24 * kHourNs;
constexpr int64_t kWindowNs = 1'000'000'000;
constexpr int64_t kNowNs = 1'790'000'000'000'000'000;

constexpr int kRounds = 3;  // of 15 s with profiles coming in and 15 s at rest, for each history
constexpr std::chrono::seconds kUncounted(2);

constexpr double kGoalOfLoad = 2;
constexpr double kGoalOfHistory = 1.2;
constexpr double kGoalRefreshMs = 20;

// A directory that profiles are added to, and questions asked of.
class Directory {
 public:
  // `tree` must outlive it.
  static Result<std::unique_ptr<Directory>> create(const StackTree& tree) {
    auto folder = ScratchFolder::create();
    if (!folder) {
      return propagate(folder);
    }
    auto clock = std::make_unique<int64_t>(0);
    auto ingest = store::Ingest::open(*folder / "data", {.now_ns = [&now_ns = *clock] { return now_ns; }});
    return ingest ? Result<std::unique_ptr<Directory>>(std::unique_ptr<Directory>(
                        new Directory(std::move(*folder), std::move(clock), std::move(*ingest), tree)))
                  : propagate(ingest);
  }

  // So many windows that end in a range of time, spread over it, of machines that take turns. Its end is the time at which they come.
  Status add(uint32_t profiles, uint32_t first_machine, uint32_t machines, int64_t from_ns, int64_t to_ns) {
    *now_ns_ = to_ns;
    for (uint32_t i = 0; i < profiles; ++i) {
      const int64_t end_ns = from_ns + (to_ns - from_ns) / profiles * i;
      if (const Status accepted = accept(first_machine + i % machines, end_ns); !accepted) {
        return accepted;
      }
    }
    while (true) {
      const auto built = ingest_->build_pending();
      if (!built || built->profiles == 0) {
        return built ? Status() : propagate(built);
      }
    }
  }

  Status bind_new() { return namer_.bind_new(); }

  Status merge() {
    auto compactor = store::Compactor::open(*ingest_, store::CompactionLimits::thorough(uint64_t{64} << 20));
    const auto merged = compactor ? (*compactor)->merge_all() : propagate(compactor);
    return merged ? Status() : propagate(merged);
  }

  query::SnapshotCache& snapshots() { return snapshots_; }

 private:
  Directory(ScratchFolder folder, std::unique_ptr<int64_t> clock, std::unique_ptr<store::Ingest> ingest,
            const StackTree& tree)
      : folder_(std::move(folder)),
        now_ns_(std::move(clock)),
        ingest_(std::move(ingest)),
        profiles_(tree),
        namer_(tree, *ingest_) {}

  Status accept(uint32_t machine, int64_t end_ns) {
    while (samples_.size() <= machine) {
      samples_.push_back(profiles_.generate(static_cast<uint32_t>(samples_.size()), 0, kSamples));
    }
    wire::RawProfile& profile = samples_[machine];
    profile.set_profile_id(fmt::format("{:016x}", ++sent_));
    profile.mutable_window()->mutable_start()->set_wall_ns(end_ns - kWindowNs);
    profile.mutable_window()->mutable_end()->set_wall_ns(end_ns);
    const auto accepted = ingest_->accept(as_bytes(wire::encode(profile)), {});
    return accepted ? Status() : propagate(accepted);
  }

  ScratchFolder folder_;
  std::unique_ptr<int64_t> now_ns_;  // the clock of ingest_
  std::unique_ptr<store::Ingest> ingest_;
  query::SnapshotCache snapshots_{folder_ / "data"};
  RawProfiles profiles_;
  std::vector<wire::RawProfile> samples_;  // by machine
  Namer namer_;
  uint64_t sent_ = 0;
};

// Of many questions, in ms.
struct Times {
  std::vector<double> top;
  std::vector<double> flame;
  std::vector<double> refresh;  // until a snapshot is at hand; of those that had something to read
};

struct TimedView {
  const char* name;
  std::vector<double> Times::* times;
};
constexpr std::array kTimedViews{TimedView{"top", &Times::top}, TimedView{"flame", &Times::flame}};

// A directory with so many profiles of history, and what questions to it took.
struct History {
  uint32_t profiles = 0;
  std::unique_ptr<Directory> directory;
  uint32_t seconds_fed = 0;
  Times live;
  Times rest;
};

template <typename Value>
Status without_value(const Result<Value>& result) {
  return result ? Status() : propagate(result);
}

// Asks one question after the other, each with what is new by then.
Status ask(Directory& directory, std::chrono::seconds time, Times& times) {
  const query::Parameters last_hour{{"since", "1h"}, {"limit", "20"}};
  const auto top = query::parse_top(last_hour, kNowNs);
  const auto flame = query::parse_flame({{"since", "1h"}}, kNowNs);
  if (!top || !flame) {
    return !top ? propagate(top) : propagate(flame);
  }
  std::shared_ptr<const query::Snapshot> before;
  const double end_s = now_s() + static_cast<double>(time.count());
  while (now_s() < end_s) {
    for (std::vector<double>* const took : {&times.top, &times.flame}) {
      const double start_s = now_s();
      const auto snapshot = directory.snapshots().newest(query::times_of(last_hour, kNowNs));
      if (!snapshot) {
        return propagate(snapshot);
      }
      if (before != nullptr && before != *snapshot) {
        times.refresh.push_back((now_s() - start_s) * 1e3);
      }
      before = *snapshot;
      const Status answered = took == &times.top ? without_value(query::top(*top, **snapshot))
                                                 : without_value(query::flame(*flame, **snapshot));
      if (!answered) {
        return answered;
      }
      took->push_back((now_s() - start_s) * 1e3);
    }
  }
  return {};
}

// The same while profiles come in, committed and named once a second: each second a new machine is among those
// that they are of.
Status ask_while_profiles_come(History& history, std::chrono::seconds time, Times& times) {
  std::atomic<bool> stops = false;
  Status fed;
  std::thread feeder([&] {
    auto next = std::chrono::steady_clock::now();
    while (!stops && fed) {
      const uint32_t first_machine = kMachinesOfHistory - kProfilesPerS + ++history.seconds_fed;
      fed = history.directory->add(kProfilesPerS, first_machine, kProfilesPerS, kNowNs - kHourNs / 2,
                                   kNowNs - kWindowNs);
      fed = fed ? history.directory->bind_new() : fed;
      next += std::chrono::seconds(1);
      std::this_thread::sleep_until(next);
    }
  });
  const Status asked = ask(*history.directory, time, times);
  stops = true;
  feeder.join();
  return asked ? fed : asked;
}

// A block a day, of which the last holds the last hour too.
Status fill_history(Directory& directory, uint32_t profiles) {
  const int64_t day_ns = (kHistoryNs - 2 * kHourNs) / kDays;
  for (int64_t day = 0; day < kDays; ++day) {
    const int64_t from_ns = kNowNs - kHistoryNs + day * day_ns;
    Status filled = directory.add(profiles / kDays, 0, kMachinesOfHistory, from_ns, from_ns + day_ns);
    filled = filled ? directory.bind_new() : filled;
    if (!filled) {
      return filled;
    }
  }
  const int64_t last_hour_ns = kNowNs - kHourNs + 2 * kWindowNs;
  const Status filled = directory.add(kProfilesOfLastHour, 0, kMachinesOfHistory, last_hour_ns, kNowNs);
  return filled ? directory.bind_new() : filled;
}

Result<std::vector<History>> make_histories(const Flags& flags, const StackTree& tree) {
  std::vector<uint32_t> sizes{1000, 10'000};
  if (!flags.quick) {
    sizes.push_back(100'000);
  }
  if (flags.full) {
    sizes.push_back(1'000'000);
  }
  std::vector<History> histories;
  for (const uint32_t profiles : sizes) {
    auto directory = Directory::create(tree);
    const Status filled = directory ? fill_history(**directory, profiles) : propagate(directory);
    if (!filled) {
      return propagate(filled);
    }
    histories.push_back({.profiles = profiles, .directory = std::move(*directory), .live = {}, .rest = {}});
  }
  return histories;
}

// Segments of the turn before are merged first, as a server does all the time; the first questions after that are
// not counted.
Status take_turn(History& history, std::chrono::seconds time, Times& live, Times& rest) {
  Times uncounted;
  Status done = history.directory->merge();
  done = done ? ask(*history.directory, kUncounted, uncounted) : done;
  done = done ? ask_while_profiles_come(history, time, live) : done;
  return done ? ask(*history.directory, time, rest) : done;
}

// By turns, so that other work on the machine delays all histories alike. A first round is not counted: it touches
// the memory and the files that all later ones use.
Status take_turns(const Flags& flags, std::vector<History>& histories) {
  const std::chrono::seconds time(flags.quick ? 3 : 15);
  const int rounds = flags.quick ? 1 : kRounds;
  for (int round = 0; round <= rounds; ++round) {
    for (History& history : histories) {
      Times uncounted;
      const bool is_counted = round > 0;
      const Status turn =
          take_turn(history, is_counted ? time : kUncounted, is_counted ? history.live : uncounted,
                    is_counted ? history.rest : uncounted);
      if (!turn) {
        return turn;
      }
    }
  }
  return {};
}

void report_history(const History& history, Report& report) {
  for (const TimedView& view : kTimedViews) {
    const std::vector<double>& live = history.live.*view.times;
    const std::vector<double>& rest = history.rest.*view.times;
    const double rest_ms = quantile(rest, 0.99);
    report.add({.name = fmt::format("{}_live_p99_{}", view.name, history.profiles),
                .value = quantile(live, 0.99),
                .unit = "ms",
                .peer = "at rest",
                .peer_value = rest_ms,
                .goal = kGoalOfLoad * rest_ms,
                .note = fmt::format("of the last hour, {} profiles of history, {} a second coming in; of {} "
                                    "questions, {} at rest; medians {:.1f} and {:.1f} ms",
                                    history.profiles, kProfilesPerS, live.size(), rest.size(),
                                    quantile(live, 0.5), quantile(rest, 0.5))});
  }
  const std::vector<double>& refresh = history.live.refresh;
  report.add({.name = fmt::format("refresh_p99_{}", history.profiles),
              .value = quantile(refresh, 0.99),
              .unit = "ms",
              .goal = kGoalRefreshMs,
              .note = fmt::format("{} refreshes, median {:.1f} ms", refresh.size(), quantile(refresh, 0.5))});
}

// The slowest history's quantile to the fastest one's.
double ratio_of(const std::vector<History>& histories, Times History::* when,
                std::vector<double> Times::* times, double share) {
  double slowest_ms = 0;
  double fastest_ms = std::numeric_limits<double>::infinity();
  for (const History& history : histories) {
    const double ms = quantile(history.*when.*times, share);
    slowest_ms = std::max(slowest_ms, ms);
    fastest_ms = std::min(fastest_ms, ms);
  }
  return slowest_ms / fastest_ms;
}

void report_ratios(const std::vector<History>& histories, Report& report) {
  for (const TimedView& view : kTimedViews) {
    report.add({.name = fmt::format("{}_of_history", view.name),
                .value = ratio_of(histories, &History::live, view.times, 0.99),
                .unit = "x",
                .goal = kGoalOfHistory,
                .note = fmt::format("{}_live_p99_N of the slowest of {} histories to that of the fastest; of "
                                    "medians {:.2f}, at rest {:.2f}",
                                    view.name, histories.size(),
                                    ratio_of(histories, &History::live, view.times, 0.5),
                                    ratio_of(histories, &History::rest, view.times, 0.5))});
  }
}

}  // namespace

Status measure_live(const Flags& flags, Report& report) {
  const StackTree tree = generate_stacks(kJobs, kStacksOfJob);
  auto histories = make_histories(flags, tree);
  if (!histories) {
    return propagate(histories);
  }
  if (const Status taken = take_turns(flags, *histories); !taken) {
    return taken;
  }
  for (const History& history : *histories) {
    report_history(history, report);
  }
  report_ratios(*histories, report);
  return {};
}

}  // namespace plimsoll::bench
