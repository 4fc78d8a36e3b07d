#include "daemon/bursts/event_collector.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <bit>
#include <cstring>

#include "tests/unit/capture/identity/fake_proc.h"
#include "traces/bursts/marks/mark.h"

namespace plimsoll::bursts {
namespace {

using traces::BurstEventKind;

constexpr uint64_t kGetpid = 39;
constexpr uint32_t kSwitchId = 300;
constexpr uint32_t kWakeId = 301;
constexpr uint32_t kEnterId = 302;

template <typename T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string name16(std::string name) {
  name.resize(16, '\0');
  return name;
}

// A sample as the kernel writes it; perf's numbers of thread and process are those of another namespace.
std::string sample_record(int64_t time_ns, uint32_t cpu, uint32_t id, uint32_t tid,
                          const std::string& fields) {
  std::string raw;
  append(raw, static_cast<uint16_t>(id));
  append(raw, uint16_t{0});
  append(raw, tid);
  raw += fields;
  std::string bytes;
  append(bytes, perf_event_header{PERF_RECORD_SAMPLE, 0, static_cast<uint16_t>(8 + 28 + raw.size())});
  append(bytes, uint32_t{1000});
  append(bytes, tid);
  append(bytes, time_ns);
  append(bytes, cpu);
  append(bytes, uint32_t{0});
  append(bytes, static_cast<uint32_t>(raw.size()));
  return bytes + raw;
}

std::string switched(int64_t time_ns, uint32_t from, const std::string& from_name, uint64_t state,
                     uint32_t to, const std::string& to_name) {
  std::string fields = name16(from_name);
  append(fields, from);
  append(fields, uint32_t{120});
  append(fields, state);
  fields += name16(to_name);
  append(fields, to);
  append(fields, uint32_t{120});
  return sample_record(time_ns, 1, kSwitchId, from, fields);
}

std::string system_call(int64_t time_ns, uint32_t tid, uint64_t number, uint64_t first, uint64_t second) {
  std::string fields;
  for (const uint64_t value :
       {number, first, second, uint64_t{0x5EC2E7}, uint64_t{0}, uint64_t{0}, uint64_t{0}}) {
    append(fields, value);
  }
  return sample_record(time_ns, 0, kEnterId, tid, fields);
}

TracepointFormat format(uint32_t id, std::vector<TracepointField> fields) {
  fields.push_back({.name = "common_pid", .offset = 4, .size = 4});
  return {.id = id, .fields = std::move(fields)};
}

EventCollector collector_of(BurstEventKind calls) {
  return EventCollector(
      {*burst_tracepoint(
           BurstEventKind::kSwitch,
           format(kSwitchId,
                  {{"prev_comm", 8, 16}, {"prev_state", 32, 8}, {"next_comm", 40, 16}, {"next_pid", 56, 4}})),
       *burst_tracepoint(BurstEventKind::kWake, format(kWakeId, {{"comm", 8, 16}, {"pid", 24, 4}})),
       *burst_tracepoint(calls, format(kEnterId, {{"id", 8, 8}, {"args", 16, 48}}))},
      kGetpid);
}

TEST(EventCollector, DecodesSwitchesAndNamesThreads) {
  EventCollector collector = collector_of(BurstEventKind::kMarkCall);
  EXPECT_TRUE(collector.add(as_bytes(switched(200, 71, "worker", 1, 0, "swapper/1"))));
  EXPECT_TRUE(collector.add(as_bytes(switched(100, 0, "swapper/1", 0, 71, "worker"))));
  const auto events = collector.take_events();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0], (traces::BurstEvent{100, 0, 0, 0, 1, 1, BurstEventKind::kSwitch}));
  EXPECT_EQ(events[1], (traces::BurstEvent{200, 1, 0, 1, 0, 1, BurstEventKind::kSwitch}));
  const std::vector<traces::BurstThread> threads{{0, 0, "idle"}, {71, 1000, "worker"}};
  EXPECT_EQ(collector.threads(), threads);
  EXPECT_TRUE(collector.take_events().empty());
}

TEST(EventCollector, ThreadsOfEarlierBurstsKeepTheirNames) {
  EventCollector collector = collector_of(BurstEventKind::kMarkCall);
  const auto burst = [&](int64_t time_ns, uint32_t tid, const std::string& name) {
    EXPECT_TRUE(collector.add(as_bytes(switched(time_ns, tid, name, 1, 0, "swapper/1"))));
    return collector.take_events().at(0).thread;
  };
  EXPECT_EQ(burst(100, 71, "worker"), 1U);
  EXPECT_EQ(burst(200, 72, "other"), 2U);
  EXPECT_EQ(burst(300, 71, "worker"), 1U) << "the same thread";
  EXPECT_EQ(burst(400, 71, "backup"), 3U) << "its ID was used again, or it changed its name";
  EXPECT_EQ(burst(500, 71, "worker"), 1U);
  const std::vector<traces::BurstThread> threads{
      {0, 0, "idle"}, {71, 1000, "worker"}, {72, 1000, "other"}, {71, 1000, "backup"}};
  EXPECT_EQ(collector.threads(), threads);
}

// Each recording of a long assignment has its own threads.
TEST(EventCollector, ForgetsThreadsThatAreTaken) {
  EventCollector collector = collector_of(BurstEventKind::kMarkCall);
  EXPECT_TRUE(collector.add(as_bytes(switched(100, 71, "worker", 1, 0, "swapper/1"))));
  EXPECT_TRUE(collector.add(as_bytes(switched(200, 72, "other", 1, 0, "swapper/1"))));
  EXPECT_EQ(collector.take_events().size(), 2U);
  const std::vector<traces::BurstThread> first{{0, 0, "idle"}, {71, 1000, "worker"}, {72, 1000, "other"}};
  EXPECT_EQ(collector.take_threads(), first);
  EXPECT_TRUE(collector.add(as_bytes(switched(300, 72, "other", 1, 0, "swapper/1"))));
  const auto events = collector.take_events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].thread, 1U);
  EXPECT_EQ(events[0].other, 0U);
  const std::vector<traces::BurstThread> second{{0, 0, "idle"}, {72, 1000, "other"}};
  EXPECT_EQ(collector.take_threads(), second);
}

TEST(EventCollector, AThreadWhoseProcessBecomesKnownIsTheSame) {
  EventCollector collector = collector_of(BurstEventKind::kMarkCall);
  EXPECT_TRUE(collector.add(as_bytes(switched(100, 0, "swapper/1", 0, 71, "worker"))));
  EXPECT_EQ(collector.take_events().at(0).other, 1U);
  EXPECT_EQ(collector.threads().at(1).pid, 0U);
  EXPECT_TRUE(collector.add(as_bytes(switched(200, 71, "worker", 1, 0, "swapper/1"))));
  EXPECT_EQ(collector.take_events().at(0).thread, 1U);
  EXPECT_EQ(collector.threads().at(1).pid, 1000U);
  // Of another process now.
  std::string record = switched(300, 71, "worker", 1, 0, "swapper/1");
  record[8] = 99;
  EXPECT_TRUE(collector.add(as_bytes(record)));
  EXPECT_EQ(collector.take_events().at(0).thread, 2U);
  EXPECT_EQ(collector.threads().size(), 3U);
}

// A thread that makes marks, and is neither switched nor woken meanwhile, has no name there.
TEST(EventCollector, AThreadWithoutANameIsTheOneOfItsProcess) {
  EventCollector collector = collector_of(BurstEventKind::kMarkCall);
  const auto marks = [&](int64_t time_ns, uint32_t tid) {
    return system_call(time_ns, tid, kGetpid, traces::kMarkValue, 7);
  };
  const auto thread_in = [&](const std::string& record) {
    EXPECT_TRUE(collector.add(as_bytes(record)));
    return collector.take_events().at(0).thread;
  };
  EXPECT_EQ(thread_in(switched(100, 71, "worker", 1, 0, "swapper/1")), 1U);
  EXPECT_EQ(thread_in(marks(200, 71)), 1U);
  EXPECT_EQ(thread_in(marks(300, 72)), 2U);
  EXPECT_EQ(thread_in(switched(400, 72, "later", 1, 0, "swapper/1")), 2U) << "its name is known now";
  EXPECT_EQ(thread_in(switched(500, 71, "backup", 1, 0, "swapper/1")), 3U);
  EXPECT_EQ(thread_in(marks(600, 71)), 3U) << "the name that it had last";
  std::string of_another = marks(700, 71);
  of_another[8] = 99;
  EXPECT_EQ(thread_in(of_another), 4U) << "its ID was used again";
  const std::vector<traces::BurstThread> threads{
      {0, 0, "idle"}, {71, 1000, "worker"}, {72, 1000, "later"}, {71, 1000, "backup"}, {71, 867, ""}};
  EXPECT_EQ(collector.threads(), threads);
}

TEST(EventCollector, KeepsArgumentsOfMarksAlone) {
  EventCollector collector = collector_of(BurstEventKind::kSyscallEnter);
  EXPECT_TRUE(collector.add(as_bytes(system_call(1, 71, kGetpid, traces::kMarkHead, 7))));
  EXPECT_TRUE(collector.add(as_bytes(system_call(2, 71, kGetpid, 0x5EC2E7, 0x5EC2E7))));
  EXPECT_TRUE(collector.add(as_bytes(system_call(3, 71, 1, traces::kMarkHead, 0x5EC2E7))));
  const std::vector<traces::BurstEvent> expected{
      {1, traces::kMarkHead, 7, 1, 0, 0, BurstEventKind::kMarkCall},
      {2, kGetpid, 0, 1, 0, 0, BurstEventKind::kSyscallEnter},
      {3, 1, 0, 1, 0, 0, BurstEventKind::kSyscallEnter},
  };
  EXPECT_EQ(collector.take_events(), expected);
}

TEST(EventCollector, DecodesRequestsOfDisksAndPackets) {
  constexpr uint32_t kIssueId = 310;
  constexpr uint32_t kDoneId = 311;
  constexpr uint32_t kSentId = 312;
  const std::vector<TracepointField> disk{{"dev", 8, 4}, {"sector", 16, 8}, {"nr_sector", 24, 4}};
  EventCollector collector(
      {*burst_tracepoint(BurstEventKind::kDiskIssue, format(kIssueId, disk)),
       *burst_tracepoint(BurstEventKind::kDiskDone, format(kDoneId, disk)),
       *burst_tracepoint(BurstEventKind::kPacketSent, format(kSentId, {{"len", 16, 4}}))},
      kGetpid);
  EXPECT_FALSE(burst_tracepoint(BurstEventKind::kDiskIssue, format(kIssueId, {{"dev", 8, 4}})));
  EXPECT_FALSE(burst_tracepoint(BurstEventKind::kPacketReceived, format(kSentId, {})));
  std::string fields;
  append(fields, uint32_t{0x800010});
  append(fields, uint32_t{0});
  append(fields, uint64_t{123'456});
  append(fields, uint32_t{8});
  EXPECT_TRUE(collector.add(as_bytes(sample_record(100, 1, kIssueId, 71, fields))));
  EXPECT_TRUE(collector.add(as_bytes(sample_record(200, 0, kDoneId, 72, fields))));
  std::string packet;
  append(packet, uint64_t{0x5EC2E7});
  append(packet, uint32_t{1500});
  EXPECT_TRUE(collector.add(as_bytes(sample_record(300, 1, kSentId, 71, packet))));
  const uint64_t place = std::rotl(uint64_t{0x800010}, 44) ^ 123'456;
  const std::vector<traces::BurstEvent> expected{
      {100, 4096, place, 1, 0, 1, BurstEventKind::kDiskIssue},
      {200, 4096, place, 2, 0, 0, BurstEventKind::kDiskDone},
      {300, 1500, 0, 1, 0, 1, BurstEventKind::kPacketSent},
  };
  EXPECT_EQ(collector.take_events(), expected);
}

// Between the header and the rest.
std::string with_id(std::string record, uint64_t id) {
  std::string bytes;
  append(bytes, id);
  return record.insert(sizeof(perf_event_header), bytes);
}

std::string stack_record(int64_t time_ns, uint32_t tid, const std::vector<uint64_t>& chain) {
  std::string bytes;
  append(bytes, perf_event_header{PERF_RECORD_SAMPLE, 0, static_cast<uint16_t>(8 + 32 + 8 * chain.size())});
  append(bytes, uint32_t{1000});
  append(bytes, tid);
  append(bytes, time_ns);
  append(bytes, uint32_t{1});
  append(bytes, uint32_t{0});
  append(bytes, uint64_t{chain.size()});
  for (const uint64_t entry : chain) {
    append(bytes, entry);
  }
  return bytes;
}

TEST(EventCollector, TellsSamplesFromTracepointsInOneRing) {
  constexpr uint64_t kClock = 5;
  constexpr uint64_t kTracepoint = 6;
  const identity::FakeProc proc;
  const identity::ProcFs files(proc.root(), identity::standing_clocks());
  const identity::LiveImages images(files);
  StackCollector stacks(files, images, nullptr, 100);
  EventCollector collector(
      {*burst_tracepoint(BurstEventKind::kWake, format(kWakeId, {{"comm", 8, 16}, {"pid", 24, 4}}))}, kGetpid,
      &stacks);
  collector.add_sample_event(kClock);
  std::string woken = name16("worker");
  append(woken, uint32_t{72});
  EXPECT_TRUE(collector.add(as_bytes(with_id(sample_record(200, 1, kWakeId, 71, woken), kTracepoint))));
  const std::vector<uint64_t> chain{PERF_CONTEXT_KERNEL, UINT64_MAX - 10'000, PERF_CONTEXT_USER, 0x1100};
  const std::string sample = with_id(stack_record(100, 71, chain), kClock);
  EXPECT_TRUE(collector.add(as_bytes(sample)));
  EXPECT_TRUE(collector.add(as_bytes(with_id(stack_record(300, 0, chain), kClock)))) << "the idle thread";
  EXPECT_TRUE(collector.add(as_bytes(with_id(stack_record(400, UINT32_MAX, chain), kClock))))
      << "an ended one";
  const std::vector<traces::BurstEvent> expected{{100, 2, 0, 1, 0, 1, BurstEventKind::kSample},
                                                 {200, 0, 0, 1, 2, 1, BurstEventKind::kWake}};
  EXPECT_EQ(collector.take_events(), expected);
  EXPECT_EQ(collector.threads().at(1), (traces::BurstThread{71, 1000, ""}));
  EXPECT_EQ(stacks.take().nodes.size(), 2U);
  for (size_t size = 0; size < sample.size(); ++size) {
    EXPECT_FALSE(collector.add(as_bytes(sample).subspan(0, size))) << size;
  }
}

TEST(EventCollector, LeavesOutNaturalCallsWhereMarksAreRecorded) {
  EventCollector collector = collector_of(BurstEventKind::kMarkCall);
  EXPECT_TRUE(collector.add(as_bytes(system_call(1, 71, kGetpid, 0x5EC2E7, 0))));
  EXPECT_TRUE(collector.add(as_bytes(system_call(2, 71, kGetpid, traces::kMarkValue, 7))));
  const auto events = collector.take_events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].second, 7U);
}

TEST(EventCollector, PassesOverWhatItDoesNotKnow) {
  EventCollector collector = collector_of(BurstEventKind::kMarkCall);
  const std::string sound = switched(100, 0, "swapper/1", 0, 71, "worker");
  for (size_t size = 0; size < sound.size(); ++size) {
    EXPECT_FALSE(collector.add(as_bytes(sound).subspan(0, size))) << size;
  }
  EXPECT_EQ(collector.take_unread_bytes(), sound.size() * (sound.size() - 1) / 2);
  EXPECT_EQ(collector.take_unread_bytes(), 0U);
  const std::string unknown = sample_record(1, 0, 999, 71, "x");
  EXPECT_FALSE(collector.add(as_bytes(unknown)));
  EXPECT_EQ(collector.take_unread_bytes(), unknown.size());
  std::string other = sound;
  other[0] = PERF_RECORD_LOST;
  EXPECT_FALSE(collector.add(as_bytes(other)));
  EXPECT_FALSE(collector.add(as_bytes(other).subspan(0, 24))) << "shorter than a sample";
  EXPECT_EQ(collector.take_unread_bytes(), 0U) << "the kernel counts what it says there";
  EXPECT_EQ(collector.size(), 0U);
  EXPECT_FALSE(burst_tracepoint(BurstEventKind::kSwitch, format(kSwitchId, {{"prev_comm", 8, 16}})));
}

}  // namespace
}  // namespace plimsoll::bursts
