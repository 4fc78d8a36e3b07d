#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "base/sort_stably.h"
#include "tests/unit/traces/bursts/written_burst.h"
#include "traces/bursts/joined/application_rpcs.h"
#include "traces/bursts/joined/chrome_json.h"
#include "traces/bursts/joined/event_intervals.h"
#include "traces/bursts/joined/function_shares.h"
#include "traces/bursts/joined/layer_summary.h"
#include "traces/bursts/joined/request_layers.h"
#include "traces/bursts/joined/request_times.h"
#include "traces/bursts/joined/thread_states.h"

namespace plimsoll::traces {
namespace {

Burst burst_of(const std::string& text) {
  return written_burst(text, 100, 1000);
}

// "THREAD STATE BEGIN-END" of each interval by thread, with " for REQUEST" and " woken by THREAD".
std::string joined(const std::string& text) {
  JoinedBurst burst = join_burst(burst_of(text));
  sort_stably(burst.intervals, [](const StateInterval& one) { return one.thread; });
  std::string lines;
  for (const StateInterval& one : burst.intervals) {
    lines += fmt::format("{} {} {}-{}{}{}\n", one.thread, name_of(one.state), one.begin_ns, one.end_ns,
                         one.request == 0 ? "" : fmt::format(" for {}", one.request),
                         one.waker == kNoThread ? "" : fmt::format(" woken by {}", one.waker));
  }
  return lines;
}

// "REQUEST BEGIN-END running runnable blocked, threads", "cut" where it is not whole.
std::string requests(const std::string& text) {
  const Burst burst = burst_of(text);
  std::string lines;
  for (const RequestTimes& one : request_times(burst, join_burst(burst))) {
    lines += fmt::format("{} {}-{} {} {} {}, {}{}\n", one.request, one.begin_ns, one.end_ns,
                         one.in(ThreadState::kRunning), one.in(ThreadState::kRunnable),
                         one.in(ThreadState::kBlocked), one.threads, one.is_whole ? "" : " cut");
  }
  return lines;
}

TEST(JoinedBurst, SamplesBelongToTheRequestOfTheirThread) {
  const JoinedBurst burst =
      join_burst(burst_of("150 sample 1 1\n"
                          "200 mark 1 1 7\n"
                          "250 sample 1 2\n"
                          "300 wake 1 2\n"
                          "350 switch 0 Y 2\n"
                          "400 sample 2 3\n"
                          "500 mark 1 2 7\n"
                          "600 sample 1 1\n"
                          "1100 sample 1 1\n"));
  const std::vector<JoinedSample> expected{{150, 0, 1, 1}, {250, 7, 1, 2}, {400, 7, 2, 3}, {600, 0, 1, 1}};
  EXPECT_EQ(burst.samples, expected);
}

TEST(JoinedBurst, ASampledThreadRuns) {
  EXPECT_EQ(joined("200 wake 0 1\n"
                   "300 sample 1 0\n"),
            "1 blocked 100-200 woken by 0\n1 runnable 200-300\n1 running 300-1000\n");
}

// main calls work and itself; work is sampled three times.
TEST(FunctionShares, CountSamplesInFunctionsAndTheirCallees) {
  const BurstStacks stacks{.binaries = {{"/bin/job", ""}},
                           .frames = {{0x10, 0, BurstAddressKind::kElf, "main"},
                                      {0x20, 0, BurstAddressKind::kElf, "work"},
                                      {0x30, 0, BurstAddressKind::kElf, ""}},
                           .nodes = {{0, 0}, {0, 1}, {1, 2}, {2, 1}}};
  JoinedBurst burst;
  burst.samples = {{1, 7, 1, 3}, {2, 7, 1, 3}, {3, 8, 1, 3}, {4, 7, 1, 2},
                   {5, 7, 1, 4}, {6, 7, 1, 0}, {7, 0, 1, 3}};
  FunctionShares shares;
  shares.add(stacks, burst);
  EXPECT_EQ(shares.samples(), 6U);
  EXPECT_EQ(shares.without_stack(), 1U);
  const std::vector<FunctionSamples> expected{{"main", 1, 5}, {"work", 3, 3}, {"job+0x30", 1, 1}};
  EXPECT_EQ(shares.most(10), expected);
  EXPECT_EQ(shares.most(1).size(), 1U);
  FunctionShares of_one;
  of_one.add(stacks, burst, 8);
  EXPECT_EQ(of_one.most(10), (std::vector<FunctionSamples>{{"work", 1, 1}, {"main", 0, 1}}));
}

TEST(JoinedBurst, TellsStatesFromSwitchesAndWakes) {
  EXPECT_EQ(joined("200 switch 1 S 0\n"
                   "300 wake 0 1\n"
                   "350 switch 0 Y 1\n"
                   "400 switch 1 R 2\n"
                   "600 switch 2 X 1\n"),
            "1 running 100-200\n1 blocked 200-300 woken by 0\n1 runnable 300-350\n1 running 350-400\n"
            "1 runnable 400-600\n1 running 600-1000\n"
            "2 runnable 100-400\n2 running 400-600\n");
}

TEST(JoinedBurst, TellsWhatWasBeforeTheFirstEvent) {
  EXPECT_EQ(joined("200 switch 0 Y 1\n"), "1 runnable 100-200\n1 running 200-1000\n");
  EXPECT_EQ(joined("200 wake 0 1\n"), "1 blocked 100-200 woken by 0\n1 runnable 200-1000\n");
  EXPECT_EQ(joined("200 call 1\n"), "1 running 100-1000\n");
  EXPECT_EQ(joined("200 new 0 1\n"), "1 runnable 200-1000\n");
  EXPECT_EQ(joined(""), "");
}

// Before and after, some CPUs record already, or still: the switch to 1 at 90 is missing.
TEST(JoinedBurst, KeepsWithinTheBurst) {
  EXPECT_EQ(joined("50 wake 0 1\n200 switch 1 S 0\n1200 wake 0 1\n1300 wake 0 2\n"),
            "1 running 100-200\n1 blocked 200-1000\n");
  EXPECT_EQ(join_burst(burst_of("50 wake 0 1\n200 switch 1 S 0\n")).contradictions, 0U);
  // A mark counts nevertheless.
  EXPECT_EQ(joined("60 mark 1 1 7\n200 switch 1 S 0\n"),
            "1 running 100-200 for 7\n1 blocked 200-1000 for 7\n");
}

// The switch that may have followed is not among the events.
TEST(JoinedBurst, MarksOutsideTheBurstTellNoState) {
  EXPECT_EQ(joined("60 mark 1 1 7\n70 switch 1 S 0\n"), "");
  EXPECT_EQ(joined("60 mark 1 1 7\n70 switch 1 S 0\n400 wake 0 1\n500 switch 0 Y 1\n"),
            "1 blocked 100-400 for 7 woken by 0\n1 runnable 400-500 for 7\n1 running 500-1000 for 7\n");
  EXPECT_EQ(joined("1100 mark 1 1 7\n"), "");
}

// As an event loop does that has gone on to the next one.
TEST(JoinedBurst, KeepsTheRequestOfAThreadThatStopsAnother) {
  EXPECT_EQ(
      joined("200 mark 1 1 7\n300 mark 1 1 8\n400 mark 1 2 7\n"),
      "1 running 100-200\n1 running 200-300 for 7\n1 running 300-400 for 8\n1 running 400-1000 for 8\n");
}

TEST(JoinedBurst, WakesOfThreadsThatRunChangeNothing) {
  EXPECT_EQ(joined("200 switch 0 Y 1\n300 wake 0 1\n400 switch 1 R 0\n450 wake 0 1\n"),
            "1 runnable 100-200\n1 running 200-400\n1 runnable 400-1000\n");
}

TEST(JoinedBurst, AttributesToRequestsByMarks) {
  const std::string text =
      "150 switch 0 Y 1\n"
      "200 mark 1 1 7\n"
      "300 switch 1 S 0\n"
      "400 wake 0 1\n"
      "450 switch 0 Y 1\n"
      "500 mark 1 2 7\n"
      "600 mark 1 3 8\n"
      "700 mark 1 3 0\n";
  EXPECT_EQ(
      joined(text),
      "1 runnable 100-150\n1 running 150-200\n1 running 200-300 for 7\n1 blocked 300-400 for 7 woken by 0\n"
      "1 runnable 400-450 for 7\n1 running 450-500 for 7\n1 running 500-600\n1 running 600-700 for 8\n"
      "1 running 700-1000\n");
  EXPECT_EQ(requests(text), "8 100-1000 100 0 0, 1 cut\n7 200-500 150 50 100, 1\n");
}

TEST(JoinedBurst, KnowsRequestsThatBeganBeforeTheBurst) {
  EXPECT_EQ(requests("300 switch 1 S 0\n400 wake 0 1\n450 switch 0 Y 1\n500 mark 1 2 7\n"),
            "7 100-500 250 50 100, 1 cut\n");
  EXPECT_EQ(requests("500 mark 1 1 7\n"), "7 500-1000 500 0 0, 1 cut\n");
}

// Some CPUs record before all do, and some go on: a request's times would reach out of what its states count.
TEST(JoinedBurst, LeavesOutMarksOutsideOfTheBurstInTimesOfRequests) {
  EXPECT_EQ(requests("50 mark 1 2 7\n200 switch 1 S 0\n"), "") << "it was over";
  EXPECT_EQ(requests("200 switch 1 S 0\n1100 mark 1 1 7\n"), "") << "it had not begun";
  EXPECT_EQ(requests("60 mark 1 1 7\n500 mark 1 2 7\n"), "7 100-500 400 0 0, 1 cut\n");
  EXPECT_EQ(requests("500 mark 1 1 7\n1100 mark 1 2 7\n"), "7 500-1000 500 0 0, 1 cut\n");
  // Both ends belong to the burst.
  EXPECT_EQ(requests("100 mark 1 1 7\n1000 mark 1 2 7\n"), "7 100-1000 900 0 0, 1\n");
}

// Of two requests the first one's begin and the second one's end are missing: together they would end before they begin.
TEST(JoinedBurst, LeavesOutAnIdThatWasStoppedAndThenStarted) {
  EXPECT_EQ(requests("300 mark 1 2 7\n500 mark 1 1 7\n"), "");
  EXPECT_EQ(requests("300 mark 1 2 7\n400 mark 1 1 8\n450 mark 1 2 8\n500 mark 1 1 7\n"),
            "8 400-450 50 0 0, 1\n");
}

// As a goroutine does, or a task of an event loop.
TEST(JoinedBurst, KnowsRequestsThatMoveToAnotherThread) {
  EXPECT_EQ(joined("150 call 2\n200 mark 1 1 7\n300 switch 1 S 0\n400 mark 2 2 7\n500 mark 2 1 8\n"),
            "1 running 100-200\n1 running 200-300 for 7\n1 blocked 300-400 for 7\n1 blocked 400-1000\n"
            "2 running 100-400\n2 running 400-500\n2 running 500-1000 for 8\n");
}

TEST(JoinedBurst, PassesRequestsOnByWakes) {
  // 2 makes no marks: it works for the request of 1 from its wake until it blocks, and what it waits for is none's.
  EXPECT_EQ(
      joined("200 mark 1 1 7\n"
             "300 wake 1 2\n"
             "350 switch 0 Y 2\n"
             "400 switch 2 S 0\n"
             "500 interrupt 1 2\n"
             "550 switch 0 Y 2\n"),
      "1 running 100-200\n1 running 200-1000 for 7\n"
      "2 blocked 100-300 woken by 1\n2 runnable 300-350 for 7\n2 running 350-400 for 7\n2 blocked 400-500\n"
      "2 runnable 500-550\n2 running 550-1000\n");
}

TEST(JoinedBurst, ShowsWhoHeldTheLockThatARequestWaitedFor) {
  const Burst burst = burst_of(
      "200 mark 1 1 7\n210 mark 2 1 8\n300 mark 1 4 4096\n310 switch 1 S 0\n600 wake 2 1\n610 switch 0 Y "
      "1\n620 mark 1 5 4096\n");
  const JoinedBurst joined_burst = join_burst(burst);
  int found = 0;
  for (const StateInterval& one : joined_burst.intervals) {
    if (one.state == ThreadState::kBlocked && one.request == 7) {
      EXPECT_EQ(one.waker, 2U);
      ++found;
    }
  }
  EXPECT_EQ(found, 1);
  EXPECT_EQ(joined_burst.marks.size(), 4U);
}

// The switch from the idle thread to 1 is missing, which an idle CPU takes at once; and that to 2, which may have waited.
TEST(JoinedBurst, AThreadThatDoesSomethingRuns) {
  const std::string text =
      "200 switch 1 S 0\n"
      "300 wake 0 1\n"
      "320 call 1\n"
      "400 switch 1 S 2\n"
      "500 switch 2 R 3\n"
      "600 call 2\n";
  EXPECT_EQ(joined(text),
            "1 running 100-200\n1 blocked 200-300 woken by 0\n1 running 300-400\n1 blocked 400-1000\n"
            "2 runnable 100-400\n2 running 400-500\n2 runnable 500-600\n2 running 600-1000\n"
            "3 runnable 100-500\n3 running 500-1000\n");
  EXPECT_EQ(join_burst(burst_of(text)).missing_switches, 2U);
  EXPECT_EQ(join_burst(burst_of(text)).contradictions, 0U);
}

TEST(JoinedBurst, AThreadThatAnIdleCpuIsSwitchedFromRanSinceItWasWoken) {
  const std::string text =
      "200 switch 1 S 0\n"
      "300 wake 0 1\n"
      "400 switch 1 S 0\n";
  EXPECT_EQ(joined(text),
            "1 running 100-200\n1 blocked 200-300 woken by 0\n1 running 300-400\n1 blocked 400-1000\n");
  EXPECT_EQ(join_burst(burst_of(text)).missing_switches, 1U);
  // It was preempted before the CPU had nothing to do.
  EXPECT_EQ(joined("200 switch 1 R 2\n300 switch 2 S 0\n400 switch 1 S 0\n"),
            "1 running 100-200\n1 runnable 200-300\n1 running 300-400\n1 blocked 400-1000\n"
            "2 runnable 100-200\n2 running 200-300\n2 blocked 300-1000\n");
}

TEST(JoinedBurst, CountsWhatContradictsItself) {
  EXPECT_EQ(join_burst(burst_of("200 switch 1 S 0\n300 switch 1 S 0\n")).contradictions, 1U);
  EXPECT_EQ(join_burst(burst_of("200 switch 1 S 0\n250 switch 0 Y 1\n300 switch 1 S 0\n")).contradictions,
            0U);
}

// A simulated machine of two CPUs and five threads, whose times by request are kept on the side.
TEST(JoinedBurst, AddsUpToTheTruthOfASimulatedMachine) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    Burst burst;
    burst.on_ns = 0;
    std::array<uint32_t, 2> on_cpu{0, 0};
    std::array<ThreadState, 6> states{};
    states.fill(ThreadState::kBlocked);
    std::array<uint64_t, 6> request{};
    std::map<std::pair<uint64_t, ThreadState>, int64_t> truth;
    std::map<ThreadState, int64_t> all;
    int64_t now_ns = 0;
    const auto mark = [&](uint32_t thread, MarkKind kind, uint64_t value) {
      burst.events.push_back(
          {now_ns, kMarkHead, mark_head(kind, value), thread, 0, 0, BurstEventKind::kMarkCall});
      burst.events.push_back({now_ns, kMarkValue, value, thread, 0, 0, BurstEventKind::kMarkCall});
    };
    const auto switched = [&](size_t cpu, uint64_t state, uint32_t to) {
      burst.events.push_back(
          {now_ns, state, 0, on_cpu[cpu], to, static_cast<uint16_t>(cpu), BurstEventKind::kSwitch});
      on_cpu[cpu] = to;
    };
    for (int step = 0; step < 2000; ++step) {
      const auto passed_ns = static_cast<int64_t>(1 + random() % 1000);
      for (size_t thread = 1; thread < states.size(); ++thread) {
        truth[{request[thread], states[thread]}] += passed_ns;
        all[states[thread]] += passed_ns;
      }
      now_ns += passed_ns;
      const size_t cpu = random() % 2;
      const uint32_t running = on_cpu[cpu];
      const auto other = static_cast<uint32_t>(1 + random() % 5);
      if (running != 0 && random() % 2 == 0) {
        request[running] = request[running] == 0 ? 1 + random() % 30 : 0;
        mark(running, MarkKind::kSwitch, request[running]);
      } else if (states[other] == ThreadState::kBlocked) {
        burst.events.push_back({now_ns, 0, 0, running, other, 0, BurstEventKind::kWake});
        states[other] = ThreadState::kRunnable;
      } else if (states[other] == ThreadState::kRunnable) {
        const bool is_preempted = random() % 2 == 0;
        if (running != 0) {
          states[running] = is_preempted ? ThreadState::kRunnable : ThreadState::kBlocked;
        }
        switched(cpu, is_preempted ? 0x100 : 1, other);
        states[other] = ThreadState::kRunning;
      } else if (running != 0) {
        states[running] = ThreadState::kBlocked;
        switched(cpu, 2, 0);
      }
    }
    burst.off_ns = now_ns;
    std::map<std::pair<uint64_t, ThreadState>, int64_t> found;
    std::map<ThreadState, int64_t> found_all;
    const JoinedBurst joined_burst = join_burst(burst);
    for (const StateInterval& one : joined_burst.intervals) {
      found[{one.request, one.state}] += one.end_ns - one.begin_ns;
      found_all[one.state] += one.end_ns - one.begin_ns;
    }
    ASSERT_EQ(joined_burst.contradictions, 0U);
    ASSERT_EQ(found_all, all) << seed;
    ASSERT_EQ(found, truth) << seed;
  }
}

// The whole document; `pieces` is how many it came in.
std::string chrome_json(const BurstRecording& recording, size_t* pieces = nullptr) {
  std::string json;
  const Status written = write_chrome_json(recording, [&](std::string_view piece) {
    json += piece;
    if (pieces != nullptr) {
      ++*pieces;
    }
    return Status();
  });
  EXPECT_TRUE(written);
  return json;
}

BurstRecording recording_of_many(int bursts) {
  BurstRecording recording;
  recording.threads = {{0, 0, "idle"}, {71, 70, "a"}, {72, 0, "c"}};
  for (int i = 0; i < bursts; ++i) {
    recording.bursts.push_back(burst_of("200 mark 1 1 7\n300 switch 1 S 0\n400 wake 2 1\n"));
  }
  return recording;
}

TEST(ChromeJson, ComesInPiecesThatAreOneDocument) {
  size_t pieces = 0;
  const std::string json = chrome_json(recording_of_many(1000), &pieces);
  EXPECT_GT(json.size(), size_t{400} << 10);
  EXPECT_GE(pieces, json.size() / (size_t{70} << 10));
  const auto document = nlohmann::json::parse(json);
  const auto of_one = nlohmann::json::parse(chrome_json(recording_of_many(1)));
  constexpr size_t kNames = 3;  // two threads, and the process of requests
  EXPECT_EQ(document["traceEvents"].size() - kNames, 1000 * (of_one["traceEvents"].size() - kNames));
  EXPECT_TRUE(nlohmann::json::parse(chrome_json({}))["traceEvents"].is_array());
}

TEST(ChromeJson, EndsWhereItCannotBeWritten) {
  int pieces = 0;
  const Status written = write_chrome_json(recording_of_many(1000), [&](std::string_view /*piece*/) {
    return ++pieces == 2 ? fail(ErrorCode::kUnavailable, "the disk is full") : Status();
  });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "the disk is full");
  EXPECT_EQ(pieces, 2);
}

TEST(ChromeJson, EscapesNamesAndNamesWakers) {
  BurstRecording recording;
  recording.threads = {{0, 0, "idle"}, {71, 70, "a\"b\n\xff"}, {72, 0, "c"}};
  recording.bursts = {burst_of("200 mark 1 1 7\n300 switch 1 S 0\n400 wake 2 1\n")};
  const std::string json = chrome_json(recording);
  EXPECT_NE(json.find(R"("pid": 70, "tid": 71, "args": {"name": "a\"b\u000a\u00ff"})"), std::string::npos)
      << json;
  EXPECT_NE(
      json.find(
          R"("name": "blocked", "cat": "thread", "ts": 0.300, "dur": 0.100, "pid": 70, "tid": 71, "args": )"
          R"({"request": "0000000000000007", "woken by": "c", "woken by tid": 72}})"),
      std::string::npos)
      << json;
  EXPECT_NE(json.find(R"("ph": "b", "name": "request 0000000000000007")"), std::string::npos);
}

TEST(ChromeJson, HasSamplesWithTheirStacks) {
  BurstRecording recording;
  recording.threads = {{0, 0, "idle"}, {71, 70, "a"}};
  recording.stacks = {
      .binaries = {{"/bin/job", ""}},
      .frames = {{0x10, 0, BurstAddressKind::kElf, ""}, {0x20, 0, BurstAddressKind::kElf, "f\""}},
      .nodes = {{0, 0}, {1, 1}}};
  recording.bursts = {burst_of("200 sample 1 2\n300 sample 1 0\n")};
  const auto document = nlohmann::json::parse(chrome_json(recording));
  EXPECT_EQ(document["stackFrames"].size(), 2U);
  EXPECT_EQ(document["stackFrames"]["1"]["name"], "job+0x10");
  EXPECT_EQ(document["stackFrames"]["2"]["name"], "f\"");
  EXPECT_EQ(document["stackFrames"]["2"]["parent"], "1");
  std::vector<std::string> samples;
  for (const auto& event : document["traceEvents"]) {
    if (event["ph"] == "P") {
      samples.push_back(fmt::format("{} {} {}", event["tid"].get<int>(), event["ts"].get<double>(),
                                    event["sf"].get<std::string>()));
    }
  }
  EXPECT_EQ(samples, std::vector<std::string>{"71 0.2 2"});
}

// Two processes with calls of the same number; one ends on another thread, one in no burst.
BurstRecording told_recording() {
  BurstRecording recording;
  recording.threads = {{0, 0, "idle"}, {71, 70, "a"}, {72, 70, "b"}, {81, 80, "c"}};
  recording.texts = {"", "Read", "store", "rows \"x\""};
  recording.details = {{.request = 7, .call = 1, .text = 1, .peer = 2},
                       {.request = 0, .call = 1, .text = 0, .peer = 0},
                       {.request = 0, .call = 0, .text = 3, .peer = 0}};
  Burst burst = burst_of("");
  const auto add = [&](int64_t time_ns, uint32_t thread, BurstEventKind kind, uint64_t detail) {
    burst.events.push_back({.time_ns = time_ns,
                            .first = static_cast<uint64_t>(time_ns),
                            .second = detail,
                            .thread = thread,
                            .kind = kind});
  };
  add(150, 3, BurstEventKind::kRpcEnd, 1);
  add(200, 1, BurstEventKind::kRpcOut, 0);
  add(300, 3, BurstEventKind::kRpcIn, 0);
  add(400, 2, BurstEventKind::kRpcEnd, 1);
  add(500, 1, BurstEventKind::kAnnotation, 2);
  recording.bursts = {burst};
  return recording;
}

TEST(ApplicationRpcs, HaveBeginAndEndOfOneProcess) {
  const BurstRecording recording = told_recording();
  const auto rpcs = application_rpcs(recording, recording.bursts.front());
  ASSERT_EQ(rpcs.size(), 2U);
  EXPECT_EQ(rpcs[0], (ApplicationRpc{.begin_ns = 200,
                                     .end_ns = 400,
                                     .request_bytes = 200,
                                     .answer_bytes = 400,
                                     .thread = 1,
                                     .detail = 0,
                                     .is_in = false,
                                     .is_whole = true}));
  EXPECT_EQ(rpcs[1].end_ns, 1000) << "of the burst";
  EXPECT_TRUE(rpcs[1].is_in);
  EXPECT_FALSE(rpcs[1].is_whole);
}

// "REQUEST BEGIN-END", "cut" where it is not whole, and a line per layer that did anything: its measures.
std::string layers_of(const RequestLayers& one) {
  std::string lines = fmt::format("{} {}-{}{}\n", one.times.request, one.times.begin_ns, one.times.end_ns,
                                  one.times.is_whole ? "" : " cut");
  for (size_t i = 0; i < kRequestLayers; ++i) {
    const auto layer = static_cast<RequestLayer>(i);
    const LayerAmount& amount = one.of(layer);
    if (!amount.is_known || (amount.count == 0 && amount.ns == 0)) {
      continue;
    }
    lines += name_of(layer);
    for (size_t j = 0; j < kLayerMeasures; ++j) {
      const auto measure = static_cast<LayerMeasure>(j);
      lines += has_measure(layer, measure) ? fmt::format(" {}", amount.value(measure)) : std::string();
    }
    lines += "\n";
  }
  return lines;
}

std::string unknown_layers(const RequestLayers& one) {
  std::string names;
  for (size_t i = 0; i < kRequestLayers; ++i) {
    const auto layer = static_cast<RequestLayer>(i);
    names += one.of(layer).is_known ? std::string() : fmt::format("{} ", name_of(layer));
  }
  return names;
}

// Of one machine that records everything.
std::vector<LayeredRequest> layered(const BurstRecording& recording) {
  RecordedKinds all{};
  all.fill(true);
  RequestLayering layering;
  const Burst& burst = recording.bursts.front();
  layering.add(recording, burst, join_burst(burst), all, 0);
  return layering.finish();
}

std::vector<LayeredRequest> layered(const std::string& text) {
  BurstRecording recording;
  recording.bursts = {burst_of(text)};
  return layered(recording);
}

// Thread 1 waits in a system call for two reads at a time, then for a lock that 2 holds. One exit has no enter.
TEST(RequestLayers, CountWhatThreadsDidForARequest) {
  const auto requests_found = layered(
      "200 mark 1 1 7\n"
      "220 call 1 5\n"
      "230 issue 1 4096 55\n"
      "240 issue 1 512 56\n"
      "250 switch 1 S 2\n"
      "300 done 2 4096 55\n"
      "350 done 2 512 56\n"
      "400 interrupt 2 1\n"
      "420 switch 2 R 1\n"
      "430 exit 1 5\n"
      "440 exit 1 9\n"
      "450 fault 1\n"
      "460 sent 1 1500\n"
      "465 received 1 60\n"
      "470 mark 1 4 77\n"
      "480 switch 1 S 2\n"
      "500 wake 2 1\n"
      "510 switch 2 R 1\n"
      "520 mark 1 5 77\n"
      "600 mark 1 2 7\n"
      "700 fault 1\n");
  ASSERT_EQ(requests_found.size(), 1U);
  const RequestLayers& sum = requests_found[0].sum;
  EXPECT_EQ(layers_of(sum),
            "7 200-600\n"
            "running 3 200\n"
            "runnable 2 30\n"
            "lock_wait 1 50\n"
            "blocked_lock 1 20\n"
            "blocked_disk 1 100\n"
            "blocked_other 1 50\n"
            "syscall 1 210\n"
            "disk 2 180 4608\n"
            "packet_sent 1 1500\n"
            "fault 1\n");
  ASSERT_EQ(sum.system_calls.size(), 1U);
  EXPECT_EQ(sum.system_calls.at(5).ns, 210);
  EXPECT_EQ(unknown_layers(sum), "running_user running_kernel packet_received ");
}

// Thread 2 makes no marks: it waits for work in a call, and works for the request from when 1 wakes it.
TEST(RequestLayers, CountTheTimeInCallsThatIsTheRequests) {
  const auto requests_found = layered(
      "150 call 2 202\n"
      "160 switch 2 S 0\n"
      "200 mark 1 1 7\n"
      "300 wake 1 2\n"
      "350 switch 0 Y 2\n"
      "360 exit 2 202\n"
      "500 switch 2 S 0\n"
      "600 mark 1 2 7\n");
  ASSERT_EQ(requests_found.size(), 1U);
  EXPECT_EQ(layers_of(requests_found[0].sum), "7 200-600\nrunning 2 550\nrunnable 1 50\nsyscall 1 60\n");
}

TEST(RequestLayers, EndWithTheBurst) {
  // The phase is "ab"; the call and the read are not over.
  const auto requests_found =
      layered("500 mark 1 1 7\n600 mark 1 6 25185\n700 call 1 3\n800 issue 1 512 9\n");
  ASSERT_EQ(requests_found.size(), 1U);
  const RequestLayers& sum = requests_found[0].sum;
  EXPECT_EQ(layers_of(sum), "7 500-1000 cut\nrunning 1 500\n");
  ASSERT_EQ(sum.phases.size(), 1U);
  EXPECT_EQ(sum.phases.at("ab").ns, 400);
  EXPECT_EQ(sum.phases.at("ab").count, 1U);
}

// Request 7 begins an RPC that it never ends; the thread goes on with 8, which waits for something else.
TEST(RequestLayers, AnRpcWithoutAnEndEndsWithItsRequest) {
  BurstRecording recording;
  recording.threads = {{0, 0, "idle"}, {71, 70, "a"}};
  recording.texts = {"", "Read"};
  recording.details = {{.request = 7, .call = 1, .text = 1, .peer = 0}};
  recording.bursts = {
      burst_of("200 mark 1 1 7\n300 mark 1 2 7\n400 mark 1 1 8\n500 switch 1 S 0\n600 wake 0 1\n"
               "610 switch 0 Y 1\n700 mark 1 2 8\n")};
  recording.bursts[0].events.push_back(
      {.time_ns = 250, .first = 100, .second = 0, .thread = 1, .kind = BurstEventKind::kRpcOut});
  sort_stably(recording.bursts[0].events, [](const BurstEvent& event) { return event.time_ns; });
  const auto requests_found = layered(recording);
  ASSERT_EQ(requests_found.size(), 2U);
  EXPECT_EQ(layers_of(requests_found[0].sum), "7 200-300\nrpc_out 1 50 100 0\nrunning 1 100\n");
  const LayerAmount& rpcs = requests_found[0].sum.of(RequestLayer::kRpcOut);
  EXPECT_TRUE(rpcs.knows(LayerMeasure::kBytes));
  EXPECT_FALSE(rpcs.knows(LayerMeasure::kAnswerBytes)) << "the answer has not come: not an empty one";
  LayerSummary summary;
  summary.add(requests_found[0].sum);
  EXPECT_TRUE(summary.of(RequestLayer::kRpcOut, LayerMeasure::kBytes).has_value());
  EXPECT_FALSE(summary.of(RequestLayer::kRpcOut, LayerMeasure::kAnswerBytes).has_value());
  EXPECT_EQ(layers_of(requests_found[1].sum),
            "8 400-700\nrunning 2 190\nrunnable 1 10\nblocked_other 1 100\n");
}

// As a recording may have it that was made to do harm: its events lie within 36 years of the burst.
TEST(RequestLayers, TimeOfHostileDisksDoesNotOverflow) {
  constexpr int kDisks = 9;
  std::string text = "200 mark 1 1 7\n";
  for (int disk = 0; disk < kDisks; ++disk) {
    text += fmt::format("300 issue 1 512 {}\n", disk);
  }
  text += "500 mark 1 2 7\n";
  for (int disk = 0; disk < kDisks; ++disk) {
    text += fmt::format("{} done 0 512 {}\n", int64_t{1} << 60, disk);
  }
  const auto requests_found = layered(text);
  ASSERT_EQ(requests_found.size(), 1U);
  EXPECT_EQ(requests_found[0].sum.of(RequestLayer::kDisk).ns, INT64_MAX);
  EXPECT_EQ(requests_found[0].sum.of(RequestLayer::kDisk).count, 9U);
}

TEST(RequestLayers, DivideRunningTimeBySamples) {
  BurstRecording recording;
  recording.stacks = {
      .binaries = {{"/bin/job", ""}},
      .frames = {{0x10, 0, BurstAddressKind::kElf, "main"}, {0x20, 0, BurstAddressKind::kKernel, "read"}},
      .nodes = {{0, 0}, {1, 1}}};
  recording.bursts = {
      burst_of("100 mark 1 1 7\n150 sample 1 1\n200 sample 1 1\n250 sample 1 1\n300 sample 1 2\n"
               "350 sample 1 0\n500 mark 1 2 7\n")};
  const auto requests_found = layered(recording);
  ASSERT_EQ(requests_found.size(), 1U);
  EXPECT_EQ(layers_of(requests_found[0].sum),
            "7 100-500\nrunning 1 400\nrunning_user 3 300\nrunning_kernel 1 100\n");
}

// On a it calls b, and waits. Only a's application tells of it, and only b records disks.
TEST(RequestLayers, AreThoseOfAllMachines) {
  BurstRecording a;
  a.machine = "a";
  a.threads = {{0, 0, "idle"}, {71, 70, "a"}};
  a.texts = {"", "Read"};
  a.details = {{.request = 7, .call = 1, .text = 1, .peer = 0},
               {.request = 0, .call = 0, .text = 1, .peer = 0}};
  a.bursts = {burst_of("200 mark 1 1 7\n320 switch 1 S 0\n680 wake 0 1\n690 switch 0 Y 1\n800 mark 1 2 7\n")};
  const auto add = [&](int64_t time_ns, BurstEventKind kind, uint64_t bytes, uint64_t detail) {
    a.bursts[0].events.push_back(
        {.time_ns = time_ns, .first = bytes, .second = detail, .thread = 1, .kind = kind});
  };
  add(300, BurstEventKind::kRpcOut, 100, 0);
  add(700, BurstEventKind::kRpcEnd, 900, 0);
  add(710, BurstEventKind::kAnnotation, 3, 1);
  sort_stably(a.bursts[0].events, [](const BurstEvent& event) { return event.time_ns; });
  BurstRecording b;
  b.machine = "b";
  b.bursts = {burst_of("300 mark 1 1 7\n350 issue 1 512 9\n400 done 0 512 9\n500 mark 1 2 7\n")};
  RequestLayering layering;
  layering.add(a, a.bursts[0], join_burst(a.bursts[0]), recorded_kinds(a), 5000);
  layering.add(b, b.bursts[0], join_burst(b.bursts[0]), recorded_kinds(b), 5100);
  const auto requests_found = layering.finish();
  ASSERT_EQ(requests_found.size(), 1U);
  const LayeredRequest& both = requests_found[0];
  EXPECT_EQ(layers_of(both.sum), "7 5200-5800\nrunning 3 430\nrunnable 1 10\n");
  EXPECT_EQ(both.sum.times.threads, 2U);
  ASSERT_EQ(both.machines.size(), 2U);
  EXPECT_EQ(both.machines[0].machine, "a");
  EXPECT_EQ(layers_of(both.machines[0].layers),
            "7 200-800\nrpc_out 1 400 100 900\nannotation 1\nrunning 2 230\nrunnable 1 10\n"
            "blocked_rpc 1 360\n");
  EXPECT_EQ(unknown_layers(both.machines[0].layers),
            "running_user running_kernel blocked_disk syscall disk packet_sent packet_received fault ");
  EXPECT_EQ(layers_of(both.machines[1].layers), "7 300-500\nrunning 1 200\ndisk 1 50 512\n");
  EXPECT_EQ(unknown_layers(both.machines[1].layers),
            "rpc_in rpc_out annotation running_user running_kernel blocked_rpc syscall packet_sent "
            "packet_received fault ");
  EXPECT_TRUE(layering.finish().empty());
}

// By hand and by assignment at once. Of what comes after the machine's clock was set back, no part is another's.
TEST(RequestLayers, OfAMachineThatWasRecordedTwiceCountOnce) {
  BurstRecording recording;
  recording.machine = "a";
  recording.bursts = {burst_of("200 mark 1 1 7\n250 fault 1\n"),
                      burst_of("201 mark 1 1 7\n251 fault 1\n301 mark 1 2 7\n"),
                      written_burst("2200 mark 1 1 7\n2250 fault 1\n2300 mark 1 2 7\n", 2100, 3000)};
  RequestLayering layering;
  const auto add = [&](const Burst& burst) {
    layering.add(recording, burst, join_burst(burst), recorded_kinds(recording), 0);
  };
  add(recording.bursts[0]);
  add(recording.bursts[1]);
  const auto twice = layering.finish();
  ASSERT_EQ(twice.size(), 1U);
  EXPECT_EQ(twice[0].machines.size(), 1U);
  EXPECT_EQ(layers_of(twice[0].sum), "7 201-301\nrunning 1 100\nfault 1\n") << "the whole one";
  add(recording.bursts[1]);
  add(recording.bursts[2]);
  const auto later = layering.finish();
  ASSERT_EQ(later.size(), 1U);
  EXPECT_EQ(later[0].machines.size(), 2U);
  EXPECT_EQ(layers_of(later[0].sum), "7 201-2300\nrunning 2 200\nfault 2\n");
}

TEST(RequestLayers, OfLostEventsAreNotNone) {
  BurstRecording recording;
  recording.bursts = {burst_of("200 mark 1 1 7\n250 fault 1\n300 mark 1 2 7\n")};
  recording.bursts[0].lost[static_cast<size_t>(BurstEventKind::kSyscallExit)] = 3;
  recording.bursts[0].lost[static_cast<size_t>(BurstEventKind::kPageFault)] = 3;
  const auto requests_found = layered(recording);
  ASSERT_EQ(requests_found.size(), 1U);
  const RequestLayers& sum = requests_found[0].sum;
  EXPECT_FALSE(sum.of(RequestLayer::kSystemCall).is_known);
  EXPECT_TRUE(sum.of(RequestLayer::kPageFault).is_known) << "at least one";
  EXPECT_TRUE(sum.of(RequestLayer::kDisk).is_known);
}

// A call is seen by its enter and its exit, a request of a disk by its issue and its end.
TEST(RequestLayers, OfLostPartsOfEventsAreNotNone) {
  const auto is_known = [](const auto& change, RequestLayer layer) {
    BurstRecording recording;
    recording.bursts = {burst_of("200 mark 1 1 7\n250 fault 1\n300 mark 1 2 7\n")};
    change(recording.bursts[0]);
    return layered(recording).at(0).sum.of(layer).is_known;
  };
  const auto loses = [](BurstEventKind kind) {
    return [kind](Burst& burst) { burst.lost[static_cast<size_t>(kind)] = 1; };
  };
  EXPECT_FALSE(is_known(loses(BurstEventKind::kSyscallEnter), RequestLayer::kSystemCall));
  EXPECT_FALSE(is_known(loses(BurstEventKind::kDiskDone), RequestLayer::kDisk));
  EXPECT_TRUE(is_known(loses(BurstEventKind::kDiskDone), RequestLayer::kSystemCall));
  const auto leaves_unread = [](Burst& burst) { burst.unread_bytes = 100; };
  EXPECT_FALSE(is_known(leaves_unread, RequestLayer::kDisk)) << "of whatever kind";
  EXPECT_TRUE(is_known(leaves_unread, RequestLayer::kPageFault)) << "at least one";
  EXPECT_TRUE(is_known(leaves_unread, RequestLayer::kRpcIn)) << "the kernel does not tell of it";
}

TEST(EventIntervals, AnExitWithoutItsEnterEndsWhatIsOpen) {
  EXPECT_TRUE(system_calls(burst_of("200 call 1 5\n300 exit 1 9\n400 exit 1 5\n")).empty());
  const auto calls = system_calls(burst_of("200 call 1 5\n250 call 2 5\n300 exit 1 5\n"));
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0], (EventInterval{.begin_ns = 200, .end_ns = 300, .value = 5, .thread = 1, .cpu = 0}));
}

TEST(LayerSummary, HasMeanAndPercentilesOfWhatIsKnown) {
  LayerSummary summary;
  EXPECT_FALSE(summary.duration_ns().has_value());
  for (const int64_t ns : {40, 10, 30, 20}) {
    RequestLayers one;
    one.times.end_ns = ns;
    one.of(RequestLayer::kDisk) = {.is_known = ns != 40, .count = 1, .ns = 2 * ns, .bytes = 4096};
    one.of(RequestLayer::kPageFault).is_known = false;
    summary.add(one);
  }
  EXPECT_EQ(summary.requests(), 4U);
  EXPECT_EQ(summary.duration_ns(), (LayerDistribution{.requests = 4, .mean = 25, .p50 = 20, .p95 = 40}));
  EXPECT_EQ(summary.of(RequestLayer::kDisk, LayerMeasure::kNs),
            (LayerDistribution{.requests = 3, .mean = 40, .p50 = 40, .p95 = 60}));
  EXPECT_FALSE(summary.of(RequestLayer::kPageFault, LayerMeasure::kCount).has_value());
}

TEST(ChromeJson, HasWhatApplicationsTell) {
  const std::string json = chrome_json(told_recording());
  const auto events = nlohmann::json::parse(json)["traceEvents"];
  EXPECT_NE(
      json.find(R"("ph": "b", "name": "out Read", "cat": "rpc", "id": "rpc 0", "ts": 0.200, "pid": 70)"),
      std::string::npos)
      << json;
  EXPECT_NE(json.find(R"("request bytes": 200, "answer bytes": 400)"), std::string::npos);
  EXPECT_NE(json.find(R"("request bytes": 300, "answer bytes": null)"), std::string::npos)
      << "it did not end";
  EXPECT_EQ(events.back()["ph"], "i");
  EXPECT_EQ(events.back()["name"], "rows \"x\"");
  EXPECT_EQ(events.back()["args"]["number"], 500);
}

}  // namespace
}  // namespace plimsoll::traces
