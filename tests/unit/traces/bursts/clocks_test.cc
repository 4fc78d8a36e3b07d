// Clocks of several machines, repaired by calls between them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "traces/bursts/clocks/clock_repair.h"
#include "traces/bursts/marks/mark.h"

namespace plimsoll::traces::clocks_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kBurstMs = 256;  // of "7,8"

// Machines that record one burst. What they say of their clocks is within 1 ms.
class Machines {
 public:
  explicit Machines(size_t count) {
    recordings_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      recordings_[i].machine = std::string(1, static_cast<char>('a' + i));
      recordings_[i].config_bits = 0x7F00;
      recordings_[i].clock = {.is_synchronized = true, .max_error_ns = kMs, .estimated_error_ns = 0};
      recordings_[i].threads = {{0, 0, "idle"}, {1, 1, "worker"}};
      Burst burst;
      burst.off_ns = kBurstMs * kMs;
      recordings_[i].bursts.push_back(burst);
    }
  }

  std::vector<SceneMachine> parts() const {
    std::vector<SceneMachine> parts;
    for (const BurstRecording& recording : recordings_) {
      parts.push_back({.recording = &recording, .burst = &recording.bursts.front(), .shift_ns = 0});
    }
    return parts;
  }

  RepairedClocks repaired(const std::vector<ClockPair>& pairs) const {
    return repair_clocks(parts(), pairs, *BurstConfig::of(7, 8));
  }

  // A request's start or stop on a machine.
  void mark(size_t machine, int64_t time_ns, MarkKind kind, uint64_t request) {
    std::vector<BurstEvent>& events = recordings_[machine].bursts.front().events;
    for (const auto& [first, second] :
         {std::pair(kMarkHead, mark_head(kind, request)), std::pair(kMarkValue, request)}) {
      BurstEvent event;
      event.time_ns = time_ns;
      event.thread = 1;
      event.kind = BurstEventKind::kMarkCall;
      event.first = first;
      event.second = second;
      events.push_back(event);
    }
  }
  ClockState& clock(size_t machine) { return recordings_[machine].clock; }

 private:
  std::vector<BurstRecording> recordings_;
};

// A call of 10 ms from a to b, whose clock is ahead by `ahead_ns`, with 1 ms on the network each way.
ClockPair call(int64_t begin_ns, int64_t ahead_ns, uint32_t caller = 0, uint32_t callee = 1) {
  return {.caller = caller,
          .callee = callee,
          .sent_ns = begin_ns,
          .received_ns = begin_ns + kMs + ahead_ns,
          .replied_ns = begin_ns + 9 * kMs + ahead_ns,
          .returned_ns = begin_ns + 10 * kMs,
          .has_reply = true,
          .is_assumed = false};
}

TEST(Clocks, AreLeftAloneWhereOrderIsRight) {
  const RepairedClocks clocks = Machines(2).repaired({call(20 * kMs, 0)});
  EXPECT_EQ(clocks.machines[0].proof, ClockProof::kReference);
  EXPECT_EQ(clocks.machines[1].proof, ClockProof::kRepaired);
  EXPECT_EQ(clocks.machines[1].shift_ns, 0);
  EXPECT_EQ(clocks.machines[1].min_shift_ns, -kMs);
  EXPECT_EQ(clocks.machines[1].max_shift_ns, kMs);
  EXPECT_FALSE(clocks.is_repaired());
}

TEST(Clocks, AreShiftedByAsLittleAsCallsPermit) {
  for (const int64_t ahead_ms : {5, -5, 50, -50}) {
    const RepairedClocks clocks =
        Machines(2).repaired({call(20 * kMs, ahead_ms * kMs), call(60 * kMs, ahead_ms * kMs)});
    const MachineClock& clock = clocks.machines[1];
    EXPECT_EQ(clock.proof, ClockProof::kRepaired);
    // The truth is within what calls permit, and the shift is the nearest to 0 of that.
    EXPECT_EQ(clock.min_shift_ns, -ahead_ms * kMs - kMs);
    EXPECT_EQ(clock.max_shift_ns, -ahead_ms * kMs + kMs);
    EXPECT_EQ(clock.shift_ns, ahead_ms > 0 ? -ahead_ms * kMs + kMs : -ahead_ms * kMs - kMs);
    // A tenth of a burst is 25.6 ms.
    EXPECT_EQ(clock.is_off, ahead_ms == 50 || ahead_ms == -50);
    EXPECT_TRUE(clock.is_beyond_error);
    EXPECT_EQ(clock.pairs, 2U);
  }
}

TEST(Clocks, WithoutAReplyAreBoundedOnOneSide) {
  ClockPair ahead = call(20 * kMs, 5 * kMs);
  ClockPair behind = call(20 * kMs, -5 * kMs);
  ahead.has_reply = false;
  behind.has_reply = false;
  EXPECT_EQ(Machines(2).repaired({ahead}).machines[1].shift_ns, 0);
  EXPECT_EQ(Machines(2).repaired({ahead}).machines[1].max_shift_ns, std::nullopt);
  EXPECT_EQ(Machines(2).repaired({behind}).machines[1].shift_ns, 4 * kMs);
}

TEST(Clocks, SayWhereNoShiftIsRight) {
  const RepairedClocks clocks = Machines(3).repaired({call(20 * kMs, 5 * kMs), call(60 * kMs, -5 * kMs)});
  EXPECT_EQ(clocks.machines[0].proof, ClockProof::kContradictory);
  EXPECT_EQ(clocks.machines[1].proof, ClockProof::kContradictory);
  EXPECT_EQ(clocks.machines[2].proof, ClockProof::kNone);
  EXPECT_FALSE(clocks.is_repaired());
  EXPECT_THAT(clocks.contradictions, ElementsAre(HasSubstr("at least 4.000 ms and of at most -4.000 ms")));
  const RepairedClocks far = Machines(2).repaired({call(20 * kMs, 3'600'000 * kMs)});
  EXPECT_THAT(far.contradictions,
              ElementsAre("calls between a and b are over half an hour apart by their clocks"));
  // In a circle: b is ahead of a, c of b, a of c.
  const RepairedClocks circle = Machines(3).repaired(
      {call(20 * kMs, 5 * kMs, 0, 1), call(20 * kMs, 5 * kMs, 1, 2), call(20 * kMs, 5 * kMs, 2, 0)});
  EXPECT_THAT(circle.contradictions, ElementsAre(HasSubstr("calls among a, b, c contradict")));
}

TEST(Clocks, AreRepairedToTheBestSynchronizedMachine) {
  Machines machines(3);
  machines.clock(0).is_synchronized = false;
  machines.clock(1).max_error_ns = 5 * kMs;
  const RepairedClocks clocks =
      machines.repaired({call(20 * kMs, 50 * kMs, 2, 0), call(20 * kMs, 0, 2, 1), call(90 * kMs, 0, 1, 2)});
  EXPECT_EQ(clocks.machines[2].proof, ClockProof::kReference);
  EXPECT_EQ(clocks.machines[0].shift_ns, -49 * kMs);
  EXPECT_TRUE(clocks.machines[0].may_be_off);
  EXPECT_FALSE(clocks.machines[0].is_beyond_error);
  EXPECT_EQ(clocks.machines[1].shift_ns, 0);
}

// Whatever clocks are, all calls are in order afterwards.
TEST(Clocks, PutAllCallsInOrder) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](int64_t end) {
      return static_cast<int64_t>(random() % static_cast<uint64_t>(end));
    };
    const auto count = static_cast<uint32_t>(2 + below(5));
    std::vector<int64_t> ahead_ns;
    for (uint32_t i = 0; i < count; ++i) {
      ahead_ns.push_back(below(100 * kMs) - 50 * kMs);
    }
    std::vector<ClockPair> pairs;
    for (int64_t i = below(30); i > 0; --i) {
      const auto caller = static_cast<uint32_t>(below(count));
      const auto callee = static_cast<uint32_t>(below(count));
      if (caller == callee) {
        continue;
      }
      const int64_t sent_ns = below(200 * kMs);
      const int64_t received_ns = sent_ns + below(3 * kMs);
      const int64_t replied_ns = received_ns + below(20 * kMs);
      pairs.push_back({.caller = caller,
                       .callee = callee,
                       .sent_ns = sent_ns + ahead_ns[caller],
                       .received_ns = received_ns + ahead_ns[callee],
                       .replied_ns = replied_ns + ahead_ns[callee],
                       .returned_ns = replied_ns + below(3 * kMs) + ahead_ns[caller],
                       .has_reply = below(4) != 0,
                       .is_assumed = false});
    }
    const RepairedClocks clocks = Machines(count).repaired(pairs);
    ASSERT_TRUE(clocks.contradictions.empty());
    for (const ClockPair& pair : pairs) {
      const int64_t caller_ns = clocks.machines[pair.caller].shift_ns;
      const int64_t callee_ns = clocks.machines[pair.callee].shift_ns;
      ASSERT_LE(pair.sent_ns + caller_ns, pair.received_ns + callee_ns) << seed;
      ASSERT_TRUE(!pair.has_reply || pair.replied_ns + callee_ns <= pair.returned_ns + caller_ns) << seed;
    }
  }
}

TEST(Clocks, ArePairedByMarksOfOneRequest) {
  Machines machines(2);
  machines.mark(0, 10 * kMs, MarkKind::kStart, 7);
  machines.mark(0, 40 * kMs, MarkKind::kStop, 7);
  // Truly from 12 to 38 ms: the clock is ahead by 50 ms.
  machines.mark(1, 62 * kMs, MarkKind::kStart, 7);
  machines.mark(1, 88 * kMs, MarkKind::kStop, 7);
  machines.mark(1, 90 * kMs, MarkKind::kStart, 8);
  const auto pairs = pairs_of_marks(machines.parts());
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0].caller, 0U);
  EXPECT_TRUE(pairs[0].is_assumed);
  const RepairedClocks clocks = machines.repaired(pairs);
  EXPECT_EQ(clocks.machines[1].shift_ns, -48 * kMs);
  EXPECT_EQ(clocks.machines[1].assumed, 1U);
  // What calls prove counts instead.
  const RepairedClocks proved = machines.repaired({pairs[0], call(20 * kMs, 0)});
  EXPECT_EQ(proved.machines[1].shift_ns, 0);
  EXPECT_EQ(proved.machines[1].assumed, 0U);
}

TEST(Clocks, OfCallsAreRepairedWhereMarksContradict) {
  ClockPair ahead = call(20 * kMs, 5 * kMs, 1, 2);
  ClockPair behind = call(60 * kMs, -5 * kMs, 1, 2);
  ahead.is_assumed = true;
  behind.is_assumed = true;
  const RepairedClocks clocks = Machines(3).repaired({call(20 * kMs, 5 * kMs), ahead, behind});
  EXPECT_TRUE(clocks.contradictions.empty());
  EXPECT_EQ(clocks.machines[1].shift_ns, -4 * kMs);
  EXPECT_EQ(clocks.machines[2].proof, ClockProof::kNone);
  // Without a call, that is what is known of them.
  EXPECT_EQ(Machines(3).repaired({ahead, behind}).machines[2].proof, ClockProof::kContradictory);
}

// It may record a burst twice, where its clock was set back.
TEST(Clocks, OfOneRecordingAreNotPaired) {
  Machines machines(2);
  machines.mark(0, 10 * kMs, MarkKind::kStart, 7);
  machines.mark(0, 40 * kMs, MarkKind::kStop, 7);
  machines.mark(1, 62 * kMs, MarkKind::kStart, 7);
  machines.mark(1, 88 * kMs, MarkKind::kStop, 7);
  std::vector<SceneMachine> parts = machines.parts();
  ASSERT_EQ(pairs_of_marks(parts).size(), 1U);
  parts[1].recording = parts[0].recording;
  EXPECT_TRUE(pairs_of_marks(parts).empty());
}

// Spans that name no machine are of none, also where a recording has no name.
TEST(Clocks, BelongToTheMachinesThatSpansName) {
  const BurstRecording unnamed;
  BurstRecording named;
  named.machine = "b";
  const std::vector<SceneMachine> parts{{.recording = &unnamed, .burst = nullptr, .shift_ns = 0},
                                        {.recording = &named, .burst = nullptr, .shift_ns = 0}};
  NameTable names("machine", 10);
  ASSERT_TRUE(names.id_of("b"));
  ASSERT_TRUE(names.id_of("z"));
  EXPECT_THAT(recorded_machines(parts, names), ElementsAre(kNoMachine, 1U, kNoMachine));
}

TEST(Clocks, ArePairedBySpansOfOneCall) {
  SpanSet set;
  const auto add = [&](SpanId id, SpanId parent, SpanKind kind, std::string_view machine, int64_t start_ns,
                       int64_t end_ns, SpanStatus status = SpanStatus::kUnset) {
    ASSERT_TRUE(set.add({.trace = {.high = 1, .low = 7},
                         .id = id,
                         .parent = parent,
                         .start_ns = start_ns,
                         .end_ns = end_ns,
                         .service = machine,
                         .operation = "Get",
                         .machine = machine,
                         .kind = kind,
                         .status = status}));
  };
  add(1, 0, SpanKind::kClient, "a", 10 * kMs, 20 * kMs);
  add(2, 1, SpanKind::kServer, "b", 16 * kMs, 24 * kMs);
  // It timed out: its server went on.
  add(3, 0, SpanKind::kClient, "a", 30 * kMs, 31 * kMs, SpanStatus::kError);
  add(4, 3, SpanKind::kServer, "b", 36 * kMs, 60 * kMs);
  // It did not wait: no clock makes 2 ms of 43.
  add(11, 0, SpanKind::kClient, "a", 50 * kMs, 52 * kMs);
  add(12, 11, SpanKind::kServer, "b", 56 * kMs, 99 * kMs);
  // Outside of the burst, on one machine, on one that did not record.
  add(5, 0, SpanKind::kClient, "a", 900 * kMs, 910 * kMs);
  add(6, 5, SpanKind::kServer, "b", 901 * kMs, 909 * kMs);
  add(7, 0, SpanKind::kClient, "a", 40 * kMs, 41 * kMs);
  add(8, 7, SpanKind::kServer, "a", 40 * kMs, 41 * kMs);
  add(9, 0, SpanKind::kClient, "a", 40 * kMs, 41 * kMs);
  add(10, 9, SpanKind::kServer, "z", 40 * kMs, 41 * kMs);
  const SearchSpans spans(set);
  const Machines machines(2);
  const auto pairs = pairs_of_spans(machines.parts(), spans);
  ASSERT_EQ(pairs.size(), 3U);
  EXPECT_TRUE(pairs[0].has_reply);
  EXPECT_FALSE(pairs[1].has_reply);
  EXPECT_FALSE(pairs[2].has_reply);
  EXPECT_EQ(machines.repaired(pairs).machines[1].shift_ns, -4 * kMs);
}

}  // namespace
}  // namespace plimsoll::traces::clocks_test
