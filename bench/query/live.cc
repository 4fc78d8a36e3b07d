#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "bench/harness/scratch_folder.h"
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

constexpr double kGoalOfLoad = 2;
constexpr double kGoalOfHistory = 1.2;
constexpr double kGoalRefreshMs = 20;

// A directory that profiles are added to, and questions asked of.
class Directory {
 public:
  static Result<std::unique_ptr<Directory>> create() {
    auto folder = ScratchFolder::create();
    if (!folder) {
      return propagate(folder);
    }
    auto clock = std::make_unique<int64_t>(0);
    auto ingest = store::Ingest::open(*folder / "data", {.now_ns = [&now_ns = *clock] { return now_ns; }});
    return ingest ? Result<std::unique_ptr<Directory>>(std::unique_ptr<Directory>(
                        new Directory(std::move(*folder), std::move(clock), std::move(*ingest))))
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
  Directory(ScratchFolder folder, std::unique_ptr<int64_t> clock, std::unique_ptr<store::Ingest> ingest)
      : folder_(std::move(folder)), now_ns_(std::move(clock)), ingest_(std::move(ingest)) {}

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
  StackTree tree_ = generate_stacks(kJobs, kStacksOfJob);
  RawProfiles profiles_{tree_};
  std::vector<wire::RawProfile> samples_;  // by machine
  Namer namer_{tree_, *ingest_};
  uint64_t sent_ = 0;
};

// Of many questions, in ms.
struct Times {
  std::vector<double> top;
  std::vector<double> flame;
  std::vector<double> refresh;  // until a snapshot is at hand; of those that had something to read

  static double quantile(std::vector<double> values, double share) {
    std::ranges::sort(values);
    return values.empty() ? 0 : values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
  }
};

template <typename Value>
Status without_value(const Result<Value>& result) {
  return result ? Status() : propagate(result);
}

// Asks one question after the other, each with what is new by then.
Result<Times> ask(Directory& directory, std::chrono::seconds time) {
  const query::Parameters last_hour{{"since", "1h"}, {"limit", "20"}};
  const auto top = query::parse_top(last_hour, kNowNs);
  const auto flame = query::parse_flame({{"since", "1h"}}, kNowNs);
  if (!top || !flame) {
    return !top ? propagate(top) : propagate(flame);
  }
  Times times;
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
        return propagate(answered);
      }
      took->push_back((now_s() - start_s) * 1e3);
    }
  }
  return times;
}

// The same while profiles come in, some of them of machines that are new: committed and named once a second.
Result<Times> ask_while_profiles_come(Directory& directory, std::chrono::seconds time) {
  std::atomic<bool> stops = false;
  Status fed;
  std::thread feeder([&] {
    auto next = std::chrono::steady_clock::now();
    for (uint32_t second = 0; !stops && fed; ++second) {
      fed =
          directory.add(kProfilesPerS, second, kMachinesOfHistory, kNowNs - kHourNs / 2, kNowNs - kWindowNs);
      fed = fed ? directory.bind_new() : fed;
      next += std::chrono::seconds(1);
      std::this_thread::sleep_until(next);
    }
  });
  auto times = ask(directory, time);
  stops = true;
  feeder.join();
  return fed ? std::move(times) : propagate(fed);
}

Status measure_with(uint32_t history, const Flags& flags, Report& report, std::vector<double>& medians) {
  const std::chrono::seconds time(flags.quick ? 3 : 15);
  auto created = Directory::create();
  if (!created) {
    return propagate(created);
  }
  Directory& directory = **created;
  const int64_t last_hour_ns = kNowNs - kHourNs + 2 * kWindowNs;
  Status filled;
  // A block a day, of which the last holds the last hour too.
  const int64_t day_ns = (kHistoryNs - 2 * kHourNs) / kDays;
  for (int64_t day = 0; day < kDays && filled; ++day) {
    const int64_t from_ns = kNowNs - kHistoryNs + day * day_ns;
    filled = directory.add(history / kDays, 0, kMachinesOfHistory, from_ns, from_ns + day_ns);
    filled = filled ? directory.bind_new() : filled;
  }
  filled = filled ? directory.add(kProfilesOfLastHour, 0, kMachinesOfHistory, last_hour_ns, kNowNs) : filled;
  filled = filled ? directory.bind_new() : filled;
  filled = filled ? directory.merge() : filled;
  if (!filled) {
    return filled;
  }
  const auto live = ask_while_profiles_come(directory, time);
  const auto rest = live ? ask(directory, time) : propagate(live);
  if (!rest) {
    return propagate(rest);
  }
  for (const auto& [name, values] : {std::pair("top", &Times::top), std::pair("flame", &Times::flame)}) {
    const double p99_ms = Times::quantile((*live).*values, 0.99);
    const double rest_ms = Times::quantile((*rest).*values, 0.99);
    report.add(
        {.name = fmt::format("{}_live_p99_{}", name, history),
         .value = p99_ms,
         .unit = "ms",
         .peer = "at rest",
         .peer_value = rest_ms,
         .goal = kGoalOfLoad * rest_ms,
         .note = fmt::format(
             "of the last hour, {} profiles of history, {} a second coming in; medians {:.1f} and {:.1f} ms",
             history, kProfilesPerS, Times::quantile((*live).*values, 0.5),
             Times::quantile((*rest).*values, 0.5))});
  }
  report.add({.name = fmt::format("refresh_p99_{}", history),
              .value = Times::quantile(live->refresh, 0.99),
              .unit = "ms",
              .goal = kGoalRefreshMs,
              .note = fmt::format("{} refreshes, median {:.1f} ms", live->refresh.size(),
                                  Times::quantile(live->refresh, 0.5))});
  medians.push_back(Times::quantile(rest->top, 0.5));
  return {};
}

}  // namespace

Status measure_live(const Flags& flags, Report& report) {
  std::vector<uint32_t> histories{1000, 10'000};
  if (!flags.quick) {
    histories.push_back(100'000);
  }
  if (flags.full) {
    histories.push_back(1'000'000);
  }
  std::vector<double> medians;
  for (const uint32_t history : histories) {
    if (const Status measured = measure_with(history, flags, report, medians); !measured) {
      return measured;
    }
  }
  report.add({.name = "top_of_history",
              .value = *std::ranges::max_element(medians) / *std::ranges::min_element(medians),
              .unit = "x",
              .goal = kGoalOfHistory,
              .note = "top of the last hour at rest: the slowest history to the fastest"});
  return {};
}

}  // namespace plimsoll::bench
