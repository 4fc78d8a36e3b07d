// The kernel's records of switches, wake-ups and locks, decoded.
#include "daemon/waits/thread_stream.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstring>
#include <random>

#include "tests/unit/capture/perf/perf_records.h"

namespace plimsoll::waits {
namespace {

using perf::RecordBytes;

constexpr uint16_t kOut = PERF_RECORD_MISC_SWITCH_OUT;
constexpr uint16_t kPreempted = PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
constexpr uint32_t kWakeup = 300;
constexpr uint32_t kLockBegin = 301;

const std::vector<ThreadTracepoint>& tracepoints() {
  static const std::vector<ThreadTracepoint> all{
      {.event = ThreadEvent::kWake, .id = kWakeup, .woken_tid = {.name = "pid", .offset = 24, .size = 4}},
      {.event = ThreadEvent::kLockBegin, .id = kLockBegin}};
  return all;
}

std::optional<ThreadRecord> decoded(const std::string& bytes) {
  return decode_thread_record(as_bytes(bytes), 3, tracepoints());
}

// What ends each record: {pid, tid, time}.
std::string switch_bytes(uint16_t misc, ThreadId other = {70, 71}) {
  return RecordBytes(PERF_RECORD_SWITCH_CPU_WIDE, misc)
      .u32(other.pid)
      .u32(other.tid)
      .u32(60)
      .u32(61)
      .u64(999)
      .bytes();
}

std::string tracepoint_bytes(uint32_t id) {
  std::string raw(28, '\0');
  std::memcpy(raw.data(), &id, 2);
  const uint32_t woken = 42;
  std::memcpy(raw.data() + 24, &woken, sizeof woken);
  return RecordBytes(PERF_RECORD_SAMPLE, 0).u32(60).u32(61).u64(999).u32(28).raw(raw).bytes();
}

TEST(ThreadStream, DecodesTheThreadThatLeavesAndTheOneThatEnters) {
  const auto record = decoded(switch_bytes(kOut));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->event, ThreadEvent::kSwitch);
  EXPECT_EQ(record->time_ns, 999);
  EXPECT_EQ(record->cpu, 3);
  EXPECT_EQ(record->thread, (ThreadId{60, 61}));
  EXPECT_EQ(record->other, (ThreadId{70, 71}));
  EXPECT_FALSE(record->is_preempted);
  EXPECT_TRUE(decoded(switch_bytes(kOut | kPreempted))->is_preempted);
}

TEST(ThreadStream, PassesOverTheSecondRecordOfASwitch) {
  EXPECT_FALSE(decoded(switch_bytes(0)));
}

// The kernel may have no record of the idle thread, which leaves the CPU to it.
TEST(ThreadStream, DecodesAThreadThatEntersAnIdleCpu) {
  const auto record = decoded(switch_bytes(0, {0, 0}));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->event, ThreadEvent::kSwitch);
  EXPECT_EQ(record->thread, (ThreadId{0, 0}));
  EXPECT_EQ(record->other, (ThreadId{60, 61}));
}

TEST(ThreadStream, DecodesWakeUpsAndLocks) {
  const auto wake = decoded(tracepoint_bytes(kWakeup));
  ASSERT_TRUE(wake);
  EXPECT_EQ(wake->event, ThreadEvent::kWake);
  EXPECT_EQ(wake->other.tid, 42);
  const auto lock = decoded(tracepoint_bytes(kLockBegin));
  ASSERT_TRUE(lock);
  EXPECT_EQ(lock->event, ThreadEvent::kLockBegin);
  EXPECT_EQ(lock->thread, (ThreadId{60, 61}));
  EXPECT_FALSE(decoded(tracepoint_bytes(999))) << "a tracepoint that was not asked for";
}

TEST(ThreadStream, DecodesHowManyRecordsWereLost) {
  const auto lost = decoded(RecordBytes(PERF_RECORD_LOST, 0).u64(5).u64(17).u32(60).u32(61).u64(999).bytes());
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->event, ThreadEvent::kLost);
  EXPECT_EQ(lost->lost, 17);
  EXPECT_EQ(lost->time_ns, 999);
}

TEST(ThreadStream, TakesNoFieldForATime) {
  EXPECT_FALSE(decoded(RecordBytes(PERF_RECORD_LOST, 0).u64(5).u64(17).bytes())) << "17 is no time";
  EXPECT_FALSE(decoded(RecordBytes(PERF_RECORD_SWITCH_CPU_WIDE, kOut).u32(70).u32(71).u64(999).bytes()));
}

TEST(ThreadStream, RefusesWhatIsCutOrDamaged) {
  std::mt19937_64 random(11);
  for (const std::string& whole : {switch_bytes(kOut), tracepoint_bytes(kWakeup)}) {
    for (size_t size = 0; size < 24; ++size) {
      EXPECT_FALSE(decoded(whole.substr(0, size))) << size;
    }
    for (int i = 0; i < 10'000; ++i) {
      std::string damaged = whole;
      damaged[random() % damaged.size()] = static_cast<char>(random());
      damaged.resize(random() % (damaged.size() + 1));
      const auto record = decoded(damaged);
      EXPECT_TRUE(!record || record->cpu == 3);
    }
  }
}

}  // namespace
}  // namespace plimsoll::waits
