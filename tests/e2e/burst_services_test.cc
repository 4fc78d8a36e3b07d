// Bursts of three services that call each other, beside what their threads know of themselves.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/time.h"
#include "tests/e2e/program.h"
#include "tests/e2e/running_shop.h"
#include "tests/e2e/tracing_files.h"
#include "traces/bursts/joined/request_times.h"
#include "traces/bursts/recording/burst_file.h"

namespace plimsoll::testing {
namespace {

using traces::Burst;
using traces::BurstEvent;
using traces::BurstEventKind;
using traces::BurstRecording;
using traces::JoinedBurst;
using traces::RequestTimes;
using traces::StateInterval;
using traces::ThreadState;

// 512 ms of every 1,024.
constexpr const char* kConfig = "1,9";
constexpr uint64_t kConfigBits = 512;
constexpr double kTolerance = 0.01;

// All CPU time of the machine, and what the host took of it, in ticks: /proc/stat.
struct CpuTicks {
  double used = 0;
  double stolen = 0;
};

CpuTicks cpu_ticks() {
  constexpr int kIdle = 3;
  constexpr int kIoWait = 4;
  constexpr int kSteal = 7;
  std::ifstream stat("/proc/stat");
  std::string name;
  stat >> name;
  CpuTicks ticks;
  double value = 0;
  for (int field = 0; field <= kSteal && stat >> value; ++field) {
    ticks.used += field == kIdle || field == kIoWait ? 0 : value;
    ticks.stolen = value;
  }
  return ticks;
}

double stolen_share(const CpuTicks& before, const CpuTicks& after) {
  const double used = after.used - before.used;
  return used > 0 ? (after.stolen - before.stolen) / used : 0;
}

// A request as the threads that worked for it know it.
struct KnownRequest {
  int64_t starts_after_ns = INT64_MAX;
  int64_t stops_after_ns = 0;  // its stop mark lies between these
  int64_t stops_before_ns = 0;
  std::vector<const TruthSegment*> segments;
  std::set<std::string> threads;
};

struct Known {
  explicit Known(const ShopTruth& truth) {
    for (const KnownSegment& known : truth.segments) {
      const TruthSegment& segment = known.segment;
      by_thread[known.thread].push_back(&segment);
      KnownRequest& request = requests[segment.request];
      request.segments.push_back(&segment);
      request.threads.insert(known.thread);
      request.starts_after_ns = std::min(request.starts_after_ns, segment.before.time_ns);
      if (segment.after.time_ns > request.stops_before_ns) {
        request.stops_after_ns = segment.end.time_ns;
        request.stops_before_ns = segment.after.time_ns;
      }
    }
    for (auto& [thread, segments] : by_thread) {
      std::ranges::sort(segments, {}, [](const TruthSegment* segment) { return segment->before.time_ns; });
    }
  }

  // The last that begins by then; null: none.
  const TruthSegment* segment_at(const std::string& thread, int64_t time_ns) const {
    const auto found = by_thread.find(thread);
    if (found == by_thread.end()) {
      return nullptr;
    }
    const auto after = std::ranges::upper_bound(
        found->second, time_ns, {}, [](const TruthSegment* segment) { return segment->before.time_ns; });
    return after == found->second.begin() ? nullptr : *std::prev(after);
  }

  std::map<std::string, std::vector<const TruthSegment*>> by_thread;
  std::map<uint64_t, KnownRequest> requests;
};

// For which request a thread works when, as the recording says.
class Answers {
 public:
  explicit Answers(const JoinedBurst& joined) {
    for (const StateInterval& interval : joined.intervals) {
      by_thread_[interval.thread].push_back(&interval);
    }
  }
  uint64_t at(uint32_t thread, int64_t time_ns) const {
    const auto found = by_thread_.find(thread);
    if (found == by_thread_.end()) {
      return 0;
    }
    const auto after = std::ranges::upper_bound(found->second, time_ns, {}, &StateInterval::begin_ns);
    return after == found->second.begin() ? 0 : (*std::prev(after))->request;
  }

 private:
  std::unordered_map<uint32_t, std::vector<const StateInterval*>> by_thread_;
};

struct EventCounts {
  uint64_t right = 0;
  uint64_t wrong = 0;
  uint64_t at_marks = 0;  // while a mark is made: either request is right
  // Of requests that the burst's begin or end cuts off.
  uint64_t cut_right = 0;
  uint64_t cut_unknown = 0;
  uint64_t cut_wrong = 0;
};

struct Times {
  double running_ns = 0;
  double runnable_ns = 0;
  double blocked_ns = 0;

  void add(const ClockReadings& from, const ClockReadings& to) {
    const auto cpu_ns = static_cast<double>(to.cpu_ns - from.cpu_ns);
    const auto waited_ns = static_cast<double>(to.runnable_ns - from.runnable_ns);
    running_ns += cpu_ns;
    runnable_ns += waited_ns;
    blocked_ns += static_cast<double>(to.time_ns - from.time_ns) - cpu_ns - waited_ns;
  }
};

// Threads mark until the planned end, by their own look at the clock; the recorder goes on until it has a
// CPU.
int64_t marked_until_ns(const Burst& burst) {
  constexpr int64_t kSlackNs = 100'000;
  const int64_t wall_offset_ns = std::max(burst.wall_offset_on_ns, burst.wall_offset_off_ns);
  return std::min(burst.off_ns, burst.planned.end_ms * kNsPerMs - wall_offset_ns) - kSlackNs;
}

// When threads began to run on a CPU that was idle.
using ThreadTimes = std::set<std::pair<uint32_t, int64_t>>;

ThreadTimes switches_from_idle(const Burst& burst) {
  constexpr uint32_t kIdleThread = 0;
  ThreadTimes switches;
  for (const BurstEvent& event : burst.events) {
    if (event.kind == BurstEventKind::kSwitch && event.thread == kIdleThread) {
      switches.emplace(event.other, event.time_ns);
    }
  }
  return switches;
}

// What all bursts of a recording say of the shop, beside what its threads know.
class Comparison {
 public:
  Comparison(const BurstRecording& recording, const ShopTruth& truth)
      : recording_(recording), truth_(truth), known_(truth) {}

  void add(const Burst& burst) {
    const JoinedBurst joined = join_burst(burst);
    lost += burst.all_lost();
    contradictions += joined.contradictions;
    const std::set<uint64_t> whole = compare_requests(burst, joined);
    compare_events(burst, joined, whole);
    compare_times(burst, joined, whole);
  }

  uint64_t lost = 0;
  uint64_t contradictions = 0;
  uint64_t whole_requests = 0;
  uint64_t cut_requests = 0;
  EventCounts events;
  Times found;
  double runnable_at_idle_cpus_ns = 0;  // of `found`
  Times at_least;
  Times at_most;
  std::map<uint64_t, std::array<int64_t, traces::kThreadStates>> found_of_request;
  std::map<uint64_t, size_t> threads_of_request;  // as known

 private:
  bool is_of_shop(uint32_t thread) const { return truth_.threads.contains(recording_.threads[thread].name); }

  // Those that are whole. Also that they are, and that no other is.
  std::set<uint64_t> compare_requests(const Burst& burst, const JoinedBurst& joined) {
    const int64_t planned_off_ns = marked_until_ns(burst);
    std::set<uint64_t> whole;
    std::set<uint64_t> cut;
    for (const RequestTimes& times : request_times(burst, joined)) {
      if (known_.requests.contains(times.request)) {
        (times.is_whole ? whole : cut).insert(times.request);
      }
    }
    for (const auto& [id, request] : known_.requests) {
      const bool is_within =
          request.starts_after_ns >= burst.on_ns && request.stops_before_ns <= planned_off_ns;
      EXPECT_TRUE(!is_within || whole.contains(id)) << fmt::format("request {:x} lies within a burst", id);
    }
    for (const uint64_t id : whole) {
      const KnownRequest& request = known_.requests.at(id);
      EXPECT_LE(request.stops_after_ns, burst.off_ns + kNsPerMs) << fmt::format("request {:x}", id);
      threads_of_request[id] = request.threads.size();
    }
    for (const uint64_t id : cut) {
      const KnownRequest& request = known_.requests.at(id);
      EXPECT_TRUE(request.starts_after_ns < burst.on_ns || request.stops_before_ns > planned_off_ns)
          << fmt::format("request {:x} lies within a burst", id);
    }
    whole_requests += whole.size();
    cut_requests += cut.size();
    return whole;
  }

  void compare_events(const Burst& burst, const JoinedBurst& joined, const std::set<uint64_t>& whole) {
    const Answers answers(joined);
    const int64_t end_ns = marked_until_ns(burst);
    for (const BurstEvent& event : burst.events) {
      const bool is_by_interrupt = event.kind == BurstEventKind::kWake && event.first != 0;
      if (event.time_ns >= burst.on_ns && event.time_ns <= end_ns && !is_by_interrupt &&
          event.kind != BurstEventKind::kMarkCall && is_of_shop(event.thread)) {
        count(event, answers.at(event.thread, event.time_ns), whole);
      }
    }
  }

  void count(const BurstEvent& event, uint64_t answer, const std::set<uint64_t>& whole) {
    const TruthSegment* segment = known_.segment_at(recording_.threads[event.thread].name, event.time_ns);
    const bool is_within = segment != nullptr && event.time_ns <= segment->after.time_ns;
    const uint64_t request = is_within ? segment->request : 0;
    if (is_within && (event.time_ns <= segment->begin.time_ns || event.time_ns >= segment->end.time_ns)) {
      ++events.at_marks;
    } else if (whole.contains(request) || whole.contains(answer)) {
      ++(answer == request ? events.right : events.wrong);
    } else if (request != 0) {
      ++(answer == request ? events.cut_right : answer == 0 ? events.cut_unknown : events.cut_wrong);
    }
  }

  void compare_times(const Burst& burst, const JoinedBurst& joined, const std::set<uint64_t>& whole) {
    const ThreadTimes from_idle = switches_from_idle(burst);
    for (const StateInterval& interval : joined.intervals) {
      if (whole.contains(interval.request) && is_of_shop(interval.thread)) {
        const int64_t ns = interval.end_ns - interval.begin_ns;
        found_of_request[interval.request][static_cast<size_t>(interval.state)] += ns;
        double& sum = interval.state == ThreadState::kRunning    ? found.running_ns
                      : interval.state == ThreadState::kRunnable ? found.runnable_ns
                                                                 : found.blocked_ns;
        sum += static_cast<double>(ns);
        const bool was_cpu_idle = interval.state == ThreadState::kRunnable &&
                                  from_idle.contains({interval.thread, interval.end_ns});
        runnable_at_idle_cpus_ns += was_cpu_idle ? static_cast<double>(ns) : 0;
      }
    }
    for (const uint64_t id : whole) {
      for (const TruthSegment* segment : known_.requests.at(id).segments) {
        at_least.add(segment->begin, segment->end);
        at_most.add(segment->before, segment->after);
      }
    }
  }

  const BurstRecording& recording_;
  const ShopTruth& truth_;
  Known known_;
};

void expect_near(const char* what, double found_ns, double min_ns, double max_ns, double stolen_ns) {
  fmt::print("{}: {:.3f} ms, known to be {:.3f} to {:.3f} ms\n", what, found_ns / 1e6, min_ns / 1e6,
             max_ns / 1e6);
  EXPECT_GE(found_ns, min_ns * (1 - kTolerance) - stolen_ns) << what;
  EXPECT_LE(found_ns, max_ns * (1 + kTolerance) + stolen_ns) << what;
}

BurstRecording read_recording(const std::string& path) {
  const auto content = read_file(path, 1 << 30);
  auto recording = content ? traces::decode_bursts(as_bytes(*content)) : propagate(content);
  EXPECT_TRUE(recording) << recording.error().text();
  return recording.value_or(BurstRecording());
}

class BurstServices : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user may not sample the machine";
    }
    if (const std::string why = why_no_tracepoints(); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }
  std::string file() const { return folder_ / "machine.bursts"; }

  // As the command line answers: of the same requests and times.
  void compare_with_command(const Comparison& comparison) const {
    const Finished shown =
        run({"plimsoll", "bursts", "requests", file(), "--whole", "--json", "--limit", "100000"});
    ASSERT_EQ(shown.status, 0) << shown.err;
    const auto document = nlohmann::json::parse(shown.out);
    size_t known = 0;
    size_t same = 0;
    for (const auto& request : document["requests"]) {
      const uint64_t id = std::stoull(request["request"].get<std::string>(), nullptr, 16);
      const auto found = comparison.found_of_request.find(id);
      known += found == comparison.found_of_request.end() ? 0 : 1;
      // The kernel's own threads may have helped.
      if (found != comparison.found_of_request.end() &&
          request["threads"] == comparison.threads_of_request.at(id)) {
        ++same;
        EXPECT_EQ(request["running_ns"], found->second[0]) << request;
        EXPECT_EQ(request["runnable_ns"], found->second[1]) << request;
        EXPECT_EQ(request["blocked_ns"], found->second[2]) << request;
      }
    }
    EXPECT_EQ(known, comparison.whole_requests);
    EXPECT_GT(same, 0U);
  }

  const TemporaryFolder folder_;
};

// The truth of events: each thread notes when it began and ceased to work for a request. Of times: its CPU
// time by its own clock, what it waited for a CPU by /proc/thread-self/schedstat, and blocked is the rest.
// What a program cannot know is what the host took while it ran, which its CPU time lacks; and the kernel's
// count of waits begins when the thread is in a CPU's queue: some us after the wake-up, but at an idle CPU only
// when that has woken up, too. So there the whole wait may be known as blocked.
TEST_F(BurstServices, KnowEventsAndTimesOfRequests) {
  const bool is_busy = machine_is_busy();
  RunningShop shop({.config_bits = kConfigBits});
  ASSERT_TRUE(shop.is_serving());
  const CpuTicks before = cpu_ticks();
  const Finished recorded = run({"plimsolld", "bursts", "record", "--config", kConfig, "--system-calls",
                                 "--output", file(), "--bursts", "4"});
  const CpuTicks after = cpu_ticks();
  const ShopTruth truth = shop.end();
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  if (recorded.out.find("not recorded: ") != std::string::npos) {
    GTEST_SKIP() << recorded.out;
  }
  const BurstRecording recording = read_recording(file());
  Comparison comparison(recording, truth);
  for (const Burst& burst : recording.bursts) {
    comparison.add(burst);
  }
  const EventCounts& events = comparison.events;
  fmt::print(
      "{} whole requests, {} cut off; events: {} right, {} wrong, {} at marks; of cut requests {} right, {} "
      "of none, {} wrong; {} lost, {} contradictions\n",
      comparison.whole_requests, comparison.cut_requests, events.right, events.wrong, events.at_marks,
      events.cut_right, events.cut_unknown, events.cut_wrong, comparison.lost, comparison.contradictions);
  if (comparison.lost > 0 && is_busy) {
    GTEST_SKIP() << comparison.lost << " events were lost, since others take the CPUs";
  }
  ASSERT_EQ(comparison.lost, 0U);
  ASSERT_GT(comparison.whole_requests, 20U);
  EXPECT_GT(comparison.cut_requests, 0U) << "clients always have a request under way";
  EXPECT_LE(1000 * events.wrong, events.right + events.wrong);
  EXPECT_LE(1000 * events.cut_wrong, events.cut_right + events.cut_unknown + events.cut_wrong);
  compare_with_command(comparison);

  const double stolen = stolen_share(before, after);
  constexpr double kMaxStolen = 0.01;
  if (stolen > kMaxStolen) {
    GTEST_SKIP() << fmt::format("the host took {:.1f} % of the CPU time, which threads do not know",
                                100 * stolen);
  }
  const Times& low = comparison.at_least;
  const Times& high = comparison.at_most;
  const double stolen_ns = stolen * high.running_ns;
  expect_near("running", comparison.found.running_ns, low.running_ns, high.running_ns, stolen_ns);
  if (high.runnable_ns == 0) {
    GTEST_SKIP() << "this kernel does not say how long threads wait for a CPU, nor so how long they block";
  }
  const double at_idle_ns = comparison.runnable_at_idle_cpus_ns;
  expect_near("blocked", comparison.found.blocked_ns, low.blocked_ns - at_idle_ns, high.blocked_ns,
              stolen_ns);
  expect_near("runnable", comparison.found.runnable_ns, low.runnable_ns, high.runnable_ns + at_idle_ns,
              stolen_ns);
}

// The back ends and one of two recorders have another wall clock than the front end and the other recorder.
class BurstClocks : public BurstServices, public ::testing::WithParamInterface<int64_t> {
 protected:
  // 256 ms of every 512: 50 ms are over a tenth of a burst, 5 ms are not.
  static std::vector<std::string> recorder(const char* machine, const std::string& output, int64_t shift_ms) {
    return with_shifted_clock(shift_ms, {"plimsolld", "--machine-id", machine, "bursts", "record", "--config",
                                         "1,8", "--output", output, "--bursts", "6"});
  }

  // The first and the last burst may be one recorder's alone, whose clock is compared with no other.
  static void keep_common_bursts(const std::string& one, const std::string& other) {
    const std::array<std::string, 2> paths{one, other};
    std::array<BurstRecording, 2> recordings{read_recording(one), read_recording(other)};
    std::map<traces::BurstTimes, int> recorders;
    for (const BurstRecording& recording : recordings) {
      for (const Burst& burst : recording.bursts) {
        ++recorders[burst.planned];
      }
    }
    for (size_t i = 0; i < paths.size(); ++i) {
      std::erase_if(recordings[i].bursts, [&](const Burst& burst) { return recorders[burst.planned] < 2; });
      std::ofstream(paths[i], std::ios::binary) << traces::encode_bursts(recordings[i]);
    }
  }
};

TEST_P(BurstClocks, AreRepairedWithinWhatCallsProve) {
  const int64_t shift_ms = GetParam();
  RunningShop shop({.back_end_shift_ms = shift_ms});
  ASSERT_TRUE(shop.is_serving());
  const std::string front = folder_ / "front.bursts";
  const std::string back = folder_ / "back.bursts";
  Background front_recorder(recorder(RunningShop::kFrontMachine, front, 0));
  Background back_recorder(recorder(RunningShop::kBackMachine, back, shift_ms));
  for (Background* one : {&front_recorder, &back_recorder}) {
    const Finished recorded = one->wait();
    ASSERT_EQ(recorded.status, 0) << recorded.err;
  }
  const std::string spans = folder_ / "spans.csv";
  std::ofstream(spans) << shop.end().spans;
  keep_common_bursts(front, back);

  const Finished shown = run({"plimsoll", "bursts", "clocks", front, back, "--traces", spans, "--json"});
  ASSERT_EQ(shown.status, 0) << shown.err;
  const auto document = nlohmann::json::parse(shown.out);
  size_t repaired = 0;
  for (const auto& burst : document["bursts"]) {
    EXPECT_TRUE(burst["contradictions"].empty()) << burst;
    for (const auto& machine : burst["machines"]) {
      if (machine["result"] != "repaired") {
        continue;
      }
      ++repaired;
      // Either may be the reference: the one whose clock the kernel says to be off by less.
      const int64_t truth_ns =
          (machine["machine"] == RunningShop::kBackMachine ? -1 : 1) * shift_ms * kNsPerMs;
      EXPECT_LE(machine["min_shift_ns"].get<int64_t>(), truth_ns) << burst;
      EXPECT_GE(machine["max_shift_ns"].get<int64_t>(), truth_ns) << burst;
      EXPECT_EQ(machine["is_off"], shift_ms == 50) << burst;
      EXPECT_EQ(machine["calls_by_marks"], 0) << burst;
    }
  }
  ASSERT_GT(repaired, 0U) << shown.out;
  // In order: what the store does for a request lies within the front end's call. Only calls that begin while
  // the front end is recorded prove anything: not the first 50 ms, which may be of the other recorder alone,
  // nor what requests do after the burst.
  const auto found_by = [&](const std::string& query) {
    const Finished found =
        run({"plimsoll", "bursts", "search", query, front, back, "--traces", spans, "--json"});
    EXPECT_EQ(found.status, 0) << found.err;
    return nlohmann::json::parse(found.out)["found"].get<uint64_t>();
  };
  const std::string served = "span{service = store, offset > 100ms, offset < 200ms}";
  const uint64_t all = found_by(served);
  EXPECT_GT(all, 0U);
  EXPECT_EQ(found_by(served + " during own rpc{service = store}"), all);
}

INSTANTIATE_TEST_SUITE_P(Shifted, BurstClocks, ::testing::Values(5, 50));

}  // namespace
}  // namespace plimsoll::testing
