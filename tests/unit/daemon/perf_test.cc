#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <ctime>
#include <map>
#include <numeric>
#include <random>

#include "base/unique_fd.h"
#include "daemon/perf/cpu_list.h"
#include "daemon/perf/event_config.h"
#include "daemon/perf/event_rate.h"
#include "daemon/perf/records.h"
#include "daemon/perf/ring_buffer.h"
#include "daemon/perf/ring_size.h"
#include "daemon/perf/turns.h"
#include "tests/fuzz/mutate.h"
#include "tests/unit/daemon/fake_ring.h"
#include "tests/unit/daemon/perf_records.h"

namespace plimsoll::perf {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(CpuList, IsRead) {
  EXPECT_THAT(*parse_cpu_list("0\n"), ElementsAre(0));
  EXPECT_THAT(*parse_cpu_list("0-3,8"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(*parse_cpu_list("1,3-4,65535"), ElementsAre(1, 3, 4, 65535));
}

TEST(CpuList, RefusesOtherText) {
  for (const char* text :
       {"", "\n", "a", "-1", "3-1", "1-", "0-65536", "1 2", "0;1", ",", "1,,2", "9999999999"}) {
    const auto cpus = parse_cpu_list(text);
    ASSERT_FALSE(cpus.has_value()) << text;
    EXPECT_THAT(cpus.error().message, HasSubstr(text));
  }
}

TEST(CpuList, OfThisMachineIsNotEmpty) {
  EXPECT_FALSE(online_cpus()->empty());
}

TEST(EventConfig, EveryKnownEventIsFoundByItsName) {
  for (const EventType& event : known_events()) {
    EXPECT_EQ(find_event(event.name)->codes, event.codes) << event.name;
    EXPECT_GT(event.nominal_per_second, 0) << event.name;
  }
  EXPECT_EQ(find_event("cpu-clock")->unit, EventUnit::kNanoseconds);
  EXPECT_TRUE(find_event("cpu-clock")->is_clock);
  EXPECT_FALSE(find_event("page-faults")->is_clock);
}

TEST(EventNames, AreTheSameInAnyCaseAndInPerfsSpelling) {
  EXPECT_EQ(canonical_name("CPU-Clock"), "cpu-clock");
  EXPECT_EQ(canonical_name("cs"), "context-switches");
  EXPECT_EQ(canonical_name("cache-misses"), "llc-misses");
  EXPECT_EQ(canonical_name("llc-load-misses"), "LLC-load-misses");
  EXPECT_EQ(canonical_name("l1-DCACHE-loads"), "L1-dcache-loads");
  EXPECT_EQ(canonical_name("cpu/event=0x3C/"), "cpu/event=0x3C/") << "a name of another kind";
}

TEST(EventNames, OfCacheEventsAreTheKernelsNumbers) {
  const auto config = [](std::string_view name) { return find_event(name)->codes.front().config; };
  EXPECT_EQ(config("L1-dcache-loads"), PERF_COUNT_HW_CACHE_L1D);
  EXPECT_EQ(config("LLC-store-misses"), PERF_COUNT_HW_CACHE_LL | PERF_COUNT_HW_CACHE_OP_WRITE << 8 |
                                            PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
  EXPECT_EQ(config("iTLB-load-misses"), PERF_COUNT_HW_CACHE_ITLB | PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
  EXPECT_EQ(find_event("node-prefetches")->codes.front().type, PERF_TYPE_HW_CACHE);
}

TEST(EventNames, HavePeriodsBehindTheLastColon) {
  const auto split = [](std::string_view text) {
    const auto parts = split_period(text);
    return parts ? fmt::format("{} every {}", parts->name, parts->period) : parts.error().message;
  };
  EXPECT_EQ(split("cycles"), "cycles every 0");
  EXPECT_EQ(split("page-faults:1"), "page-faults every 1");
  EXPECT_EQ(split("sched:sched_switch"), "sched:sched_switch every 0");
  EXPECT_EQ(split("sched:sched_switch:7"), "sched:sched_switch every 7");
  EXPECT_EQ(split("cpu/event=1,name=a:2/"), "cpu/event=1,name=a:2/ every 0");
  EXPECT_EQ(split("cpu/event=1/:1000"), "cpu/event=1/ every 1000");
  for (const char* text : {"cycles:", "cycles:0", "a:b:c", "cycles:99999999999999999999"}) {
    EXPECT_THAT(split(text), HasSubstr("is not NAME or NAME:PERIOD")) << text;
  }
}

TEST(EventNames, OfASetAreSeparatedByCommasOutsideTerms) {
  EXPECT_THAT(split_names("cycles,cpu/event=1,umask=2/,r1a:5"),
              ElementsAre("cycles", "cpu/event=1,umask=2/", "r1a:5"));
  EXPECT_THAT(split_names(",,"), IsEmpty());
}

TEST(EventNames, TellWhatIsKnownOfAnEventBeforeAMachineIs) {
  EXPECT_FALSE(describe_event("cycles")->has_unknown_rate);
  for (const char* name : {"cpu/event=1/", "r1c2", "sched:sched_switch", "uops-retired", "LLC-loads"}) {
    const auto traits = describe_event(name);
    ASSERT_TRUE(traits.has_value()) << name;
    EXPECT_TRUE(traits->has_unknown_rate) << name;
    EXPECT_GT(traits->nominal_per_second, 0) << name;
  }
  EXPECT_THAT(describe_event("cycles:u").error().hint, HasSubstr("modifiers are not supported"));
  for (const char* name : {"", "weather", ":x", "a:", "a:..", "rxyz", "r11112222333344445"}) {
    EXPECT_FALSE(describe_event(name).has_value()) << name;
  }
}

TEST(Turns, AreTakenInRoundsByEachSetOnce) {
  std::mt19937_64 random(1);
  Turns turns({4, 0, 9});
  std::map<uint32_t, int> first;
  for (int round = 0; round < 300; ++round) {
    std::vector<uint32_t> sets{turns.next(random), turns.next(random), turns.next(random)};
    EXPECT_EQ(turns.current(), sets.back());
    ++first[sets.front()];
    EXPECT_THAT(sets, ::testing::UnorderedElementsAre(0, 4, 9));
  }
  for (const auto& [set, rounds] : first) {
    EXPECT_GT(rounds, 60) << "set " << set << " begins a third of the rounds";
  }
}

TEST(FollowedPeriod, KeepsTheRateWithoutGoingFarAtOnce) {
  EXPECT_EQ(followed_period(1000, 10, 50, 1), 100);
  EXPECT_EQ(followed_period(1e9, 10, 50, 1), 400) << "eight times as long at most";
  EXPECT_EQ(followed_period(1, 10, 800, 1), 100) << "an eighth at least";
  EXPECT_EQ(followed_period(1, 10, 800, 200), 200);
  EXPECT_EQ(followed_period(1, 10, 1, 1), 1);
}

TEST(EventConfig, SuggestsTheNearestNameOrListsAll) {
  const auto misspelt = find_event("cpu-clok");
  EXPECT_EQ(misspelt.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(misspelt.error().hint, "did you mean cpu-clock?");
  EXPECT_THAT(find_event("weather").error().hint, HasSubstr("cycles, instructions"));
}

TEST(EventConfig, MeanPeriodGivesTheRateOnABusyCpu) {
  const EventType clock = *find_event("cpu-clock");
  EXPECT_EQ(mean_period(clock, 1), 1'000'000'000);
  EXPECT_EQ(mean_period(clock, 99), 10'101'010);
  EXPECT_EQ(mean_period(clock, 0), 1'000'000'000) << "at least one a second";
  EXPECT_EQ(mean_period(*find_event("major-faults"), 1'000'000), 1) << "every one at most";
}

TEST(EventConfig, SamplingAsksForStacksAndExactLosses) {
  const perf_event_attr attr = sampling_attr(*find_event("page-faults"), 7, 4096, 16384);
  EXPECT_EQ(attr.type, PERF_TYPE_SOFTWARE);
  EXPECT_EQ(attr.config, PERF_COUNT_SW_PAGE_FAULTS);
  EXPECT_EQ(counting_attr(*find_event("page-faults")).sample_period, 0);
  EXPECT_EQ(attr.sample_period, 7);
  EXPECT_EQ(attr.freq, 0);
  EXPECT_EQ(attr.size, sizeof attr);
  EXPECT_EQ(attr.sample_type, kSampleType);
  EXPECT_EQ(attr.read_format, kReadFormat);
  EXPECT_TRUE(attr.read_format & PERF_FORMAT_LOST);
  EXPECT_EQ(attr.disabled, 1);
  EXPECT_EQ(attr.sample_id_all, 1);
  EXPECT_EQ(attr.use_clockid, 1);
  EXPECT_EQ(attr.clockid, CLOCK_MONOTONIC);
  EXPECT_EQ(attr.watermark, 1);
  EXPECT_EQ(attr.wakeup_watermark, 4096);
  EXPECT_EQ(attr.mmap, 0);
  EXPECT_EQ(attr.sample_stack_user, 16384);
  EXPECT_EQ(std::popcount(attr.sample_regs_user), kUserRegisters);
  EXPECT_EQ(attr.exclude_idle, 0);
  EXPECT_EQ(sampling_attr(*find_event("cpu-clock"), 1, 0, 0).exclude_idle, 1);
}

TEST(EventConfig, BareSamplingAsksForTheSameEventWithoutStacks) {
  const EventType clock = *find_event("cpu-clock");
  perf_event_attr attr = bare_sampling_attr(clock, 7, 4096);
  EXPECT_EQ(attr.sample_type, kBareSampleType);
  EXPECT_EQ(attr.sample_stack_user, 0);
  EXPECT_EQ(attr.sample_regs_user, 0);
  attr.sample_type = kSampleType;
  attr.sample_stack_user = 16384;
  attr.sample_regs_user = kUserRegisterMask;
  const perf_event_attr with_stacks = sampling_attr(clock, 7, 4096, 16384);
  EXPECT_EQ(std::memcmp(&attr, &with_stacks, sizeof attr), 0);
}

TEST(EventConfig, SideBandAsksForProcessesButNoSamples) {
  const perf_event_attr attr = side_band_attr(512);
  EXPECT_EQ(attr.config, PERF_COUNT_SW_DUMMY);
  EXPECT_EQ(attr.sample_period, 0);
  EXPECT_EQ(attr.sample_type, kSampleType) << "one layout for the trailers of all records";
  EXPECT_TRUE(attr.mmap && attr.mmap2 && attr.comm && attr.comm_exec && attr.task && attr.cgroup);
  EXPECT_FALSE(attr.build_id) << "Linux would mark the records that other recorders get";
}

template <typename T>
T decoded(const std::string& bytes) {
  const auto record = decode_record(as_bytes(bytes));
  EXPECT_TRUE(record.has_value()) << record.error().text();
  EXPECT_TRUE(std::holds_alternative<T>(record->body));
  return std::get<T>(record->body);
}

std::string mmap_bytes(uint16_t misc, std::string_view identity, std::string_view path) {
  return RecordBytes(PERF_RECORD_MMAP2, misc)
      .u32(7)
      .u32(8)
      .u64(0x401000)
      .u64(0x2000)
      .u64(0x1000)
      .raw(identity)
      .u32(5)
      .u32(2)
      .text(path)
      .sample_id(7, 8, 123)
      .bytes();
}

const std::string kDeviceAndInode(24, '\x01');
const std::string kBuildIdOf8 = std::string("\x08\0\0\0", 4) + "12345678" + std::string(12, '\0');
constexpr uint16_t kBuildIdMisc = 1U << 14U;

std::string comm_bytes(uint16_t misc) {
  return RecordBytes(PERF_RECORD_COMM, misc).u32(7).u32(8).text("worker").sample_id(7, 8, 123).bytes();
}

std::string task_bytes(uint32_t type) {
  return RecordBytes(type, 0).u32(7).u32(6).u32(8).u32(5).u64(999).sample_id(7, 8, 123).bytes();
}

std::string throttle_bytes() {
  return RecordBytes(PERF_RECORD_THROTTLE, 0).u64(999).u64(42).u64(1).sample_id(7, 8, 123).bytes();
}

TEST(Records, SampleHasItsCallChain) {
  const std::string bytes = sample_bytes(42, 0xabc, 123, {PERF_CONTEXT_USER, 0xabc, 0xdef});
  const auto sample = decoded<SampleRecord>(bytes);
  EXPECT_EQ(sample.event_id, 42);
  EXPECT_EQ(sample.ip, 0xabc);
  EXPECT_EQ(sample.pid, 7);
  EXPECT_EQ(sample.tid, 8);
  EXPECT_THAT(sample.callchain, ElementsAre(PERF_CONTEXT_USER, 0xabc, 0xdef));
  EXPECT_EQ(decode_record(as_bytes(bytes))->time_ns, 123);
}

TEST(Records, MmapHasTheBuildIdThatTheKernelFound) {
  const auto mmap = decoded<MmapRecord>(mmap_bytes(kBuildIdMisc, kBuildIdOf8, "/bin/a b"));
  EXPECT_EQ(mmap.pid, 7);
  EXPECT_EQ(mmap.start, 0x401000);
  EXPECT_EQ(mmap.size_bytes, 0x2000);
  EXPECT_EQ(mmap.file_offset, 0x1000);
  EXPECT_EQ(mmap.build_id, "12345678");
  EXPECT_EQ(mmap.path, "/bin/a b");
}

TEST(Records, MmapMayHaveDeviceAndInodeInstead) {
  const auto mmap = decoded<MmapRecord>(mmap_bytes(0, kDeviceAndInode, "//anon"));
  EXPECT_THAT(mmap.build_id, IsEmpty());
  EXPECT_EQ(mmap.path, "//anon");
}

TEST(Records, MmapBuildIdIsAtMostTheTwentyBytesThereAre) {
  const auto mmap = decoded<MmapRecord>(mmap_bytes(kBuildIdMisc, std::string(24, '\xff'), "/bin/a"));
  EXPECT_EQ(mmap.build_id, std::string(20, '\xff'));
}

TEST(Records, CommTellsExecFromRenaming) {
  const auto renamed = decoded<CommRecord>(comm_bytes(0));
  EXPECT_EQ(renamed.pid, 7);
  EXPECT_EQ(renamed.tid, 8);
  EXPECT_EQ(renamed.name, "worker");
  EXPECT_FALSE(renamed.is_exec);
  EXPECT_TRUE(decoded<CommRecord>(comm_bytes(PERF_RECORD_MISC_COMM_EXEC)).is_exec);
}

TEST(Records, ForkAndExitTellProcessesAndThreads) {
  const auto fork = decoded<ForkRecord>(task_bytes(PERF_RECORD_FORK));
  EXPECT_EQ(fork.pid, 7);
  EXPECT_EQ(fork.parent_pid, 6);
  EXPECT_EQ(fork.tid, 8);
  EXPECT_EQ(fork.parent_tid, 5);
  const auto exit = decoded<ExitRecord>(task_bytes(PERF_RECORD_EXIT));
  EXPECT_EQ(exit.pid, 7);
  EXPECT_EQ(exit.tid, 8);
}

TEST(Records, ThrottleNamesItsEvent) {
  EXPECT_EQ(decoded<ThrottleRecord>(throttle_bytes()).event_id, 42);
}

TEST(Records, UnknownTypesAreOthers) {
  decoded<OtherRecord>(RecordBytes(PERF_RECORD_LOST, 0).u64(1).u64(2).sample_id(7, 8, 123).bytes());
  decoded<OtherRecord>(RecordBytes(9999, 0).sample_id(7, 8, 123).bytes());
}

TEST(Records, ASampleBringsUserRegistersAndItsPartOfTheStack) {
  std::vector<uint64_t> registers(kUserRegisters);
  std::iota(registers.begin(), registers.end(), 100);
  const UserState user{PERF_SAMPLE_REGS_ABI_64, registers, "0123456789abcdef", 12};
  const std::string bytes = sample_bytes(42, 0xabc, 123, {}, user);
  const auto sample = decoded<SampleRecord>(bytes);
  EXPECT_EQ(sample.user_abi, PERF_SAMPLE_REGS_ABI_64);
  EXPECT_THAT(sample.user_registers, ElementsAreArray(registers));
  EXPECT_EQ(as_text(sample.user_stack), "0123456789ab");
}

TEST(Records, ABareSampleSaysWhereTheProgramWas) {
  const auto sample = decoded<SampleRecord>(bare_sample_bytes(42, 0xabc, 123));
  EXPECT_TRUE(sample.is_bare);
  EXPECT_EQ(sample.event_id, 42);
  EXPECT_EQ(sample.ip, 0xabc);
  EXPECT_EQ(sample.pid, 7);
  EXPECT_EQ(sample.tid, 8);
  EXPECT_TRUE(sample.callchain.empty());
  EXPECT_EQ(bare_sample_bytes(1, 2, 3).size(), kBareSampleBytes);
  EXPECT_FALSE(decoded<SampleRecord>(sample_bytes(42, 0xabc, 123, {})).is_bare) << "it has an empty chain";
}

TEST(Records, ASampleTellsTheControlGroupWhereTheKernelDoes) {
  const UserState user{PERF_SAMPLE_REGS_ABI_64, std::vector<uint64_t>(kUserRegisters), "01234567", 8};
  for (const uint64_t group : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40U}) {
    const auto bare = decoded<SampleRecord>(bare_sample_bytes(42, 0xabc, 123, group));
    EXPECT_EQ(bare.cgroup, group);
    EXPECT_TRUE(bare.is_bare);
    const auto short_one = decoded<SampleRecord>(sample_bytes(42, 0xabc, 123, {}, {}, group));
    EXPECT_EQ(short_one.cgroup, group);
    EXPECT_FALSE(short_one.is_bare);
    EXPECT_EQ(decoded<SampleRecord>(sample_bytes(42, 0xabc, 123, {1, 2}, user, group)).cgroup, group);
  }
}

TEST(Records, ANewControlGroupHasAPath) {
  const auto group = decoded<CgroupRecord>(
      RecordBytes(PERF_RECORD_CGROUP, 0).u64(77).text("/a/b").sample_id(7, 8, 123).bytes());
  EXPECT_EQ(group.id, 77);
  EXPECT_EQ(group.path, "/a/b");
}

TEST(Records, ACapturedSizeBeyondWhatIsThereIsCut) {
  const std::string bytes = sample_bytes(1, 2, 3, {}, {.stack = "01234567", .captured_bytes = 1 << 20});
  EXPECT_EQ(as_text(decoded<SampleRecord>(bytes).user_stack), "01234567");
}

std::map<std::string, std::string> every_record() {
  return {{"bare sample", bare_sample_bytes(42, 0xabc, 123)},
          {"sample", sample_bytes(42, 0xabc, 123, {PERF_CONTEXT_USER, 0xabc, 0xdef})},
          {"sample with a stack",
           sample_bytes(42, 0xabc, 123, {1},
                        {PERF_SAMPLE_REGS_ABI_64, std::vector<uint64_t>(kUserRegisters), "01234567", 8})},
          {"mmap", mmap_bytes(kBuildIdMisc, kBuildIdOf8, "/bin/job")},
          {"mmap by inode", mmap_bytes(0, kDeviceAndInode, "/bin/job")},
          {"comm", comm_bytes(0)},
          {"cgroup", RecordBytes(PERF_RECORD_CGROUP, 0).u64(77).text("/a/b").sample_id(7, 8, 123).bytes()},
          {"fork", task_bytes(PERF_RECORD_FORK)},
          {"exit", task_bytes(PERF_RECORD_EXIT)},
          {"throttle", throttle_bytes()},
          {"other", RecordBytes(9999, 0).sample_id(7, 8, 123).bytes()}};
}

TEST(Records, TellTheirTimeWithoutDecoding) {
  for (const auto& [name, bytes] : every_record()) {
    EXPECT_EQ(record_time_ns(as_bytes(bytes)), 123) << name;
    EXPECT_EQ(decode_record(as_bytes(bytes))->time_ns, 123) << name;
  }
  EXPECT_EQ(record_time_ns({}), 0);
}

TEST(Records, AreRefusedWhereTheyEndTooSoon) {
  for (const auto& [name, bytes] : every_record()) {
    // Padding of a text and unused fields may be missing; the trailer, at the end, may not.
    const bool has_slack = name.starts_with("mmap") || name == "comm" || name == "cgroup" ||
                           name == "throttle" || name == "fork" || name == "exit";
    const size_t slack = has_slack ? 8 : 0;
    for (size_t size = 0; size + slack < bytes.size(); ++size) {
      const auto record = decode_record(as_bytes(bytes).first(size));
      ASSERT_FALSE(record.has_value()) << name << " of " << size << " bytes";
      EXPECT_EQ(record.error().code, ErrorCode::kCorrupt);
    }
  }
}

TEST(Records, SampleWithADepthBeyondItsEndIsRefused) {
  std::string bytes = sample_bytes(42, 0xabc, 123, {1, 2, 3});
  const size_t depth_at =
      bytes.size() - 7 * sizeof(uint64_t);  // before the chain, what is said of user mode, and the group
  for (const uint64_t depth : {uint64_t{7}, uint64_t{1} << 40, UINT64_MAX}) {
    std::memcpy(bytes.data() + depth_at, &depth, sizeof depth);
    EXPECT_FALSE(decode_record(as_bytes(bytes)).has_value()) << depth;
  }
}

TEST(Records, MutationsNeverReadOutside) {
  std::mt19937_64 random(1);
  std::vector<std::string> originals;
  for (const auto& [name, bytes] : every_record()) {
    originals.push_back(bytes);
  }
  for (int i = 0; i < 5000; ++i) {
    const std::string bytes = fuzz::mutated(originals[random() % originals.size()], random);
    const std::vector<char> exact(bytes.begin(), bytes.end());
    const auto record = decode_record(std::as_bytes(std::span(exact)));
    if (!record) {
      EXPECT_FALSE(record.error().message.empty());
    } else if (const auto* sample = std::get_if<SampleRecord>(&record->body)) {
      EXPECT_LE(sample->callchain.size() * sizeof(uint64_t), bytes.size());
    }
  }
}

// A ring into which a test writes as the kernel does, at ever growing positions.
class Ring {
 public:
  Ring(size_t size, uint64_t start) : data_(size), head_(start), tail_(start) {}

  size_t room() const { return data_.size() - (head_ - tail_); }
  void write(std::string_view bytes) {
    for (const char byte : bytes) {
      data_[head_++ % data_.size()] = static_cast<std::byte>(byte);
    }
  }
  std::vector<std::string> read() {
    std::vector<std::string> records;
    std::vector<std::byte> wrapped;
    const RingRead read = read_ring(data_, tail_, head_, wrapped,
                                    [&](Bytes record, uint64_t) { records.emplace_back(as_text(record)); });
    tail_ = read.tail;
    dropped_bytes_ += read.dropped_bytes;
    return records;
  }
  uint64_t head() const { return head_; }
  uint64_t tail() const { return tail_; }
  uint64_t dropped_bytes() const { return dropped_bytes_; }

 private:
  std::vector<std::byte> data_;
  uint64_t head_;
  uint64_t tail_;
  uint64_t dropped_bytes_ = 0;
};

std::string record_of(size_t body_bytes, char fill) {
  return RecordBytes(9999, 0).raw(std::string(body_bytes, fill)).bytes();
}

SampledEvent sampled(std::string_view name, uint64_t period, double stack_share = 1) {
  return {.type = *find_event(name), .mean_period = period, .stack_share = stack_share};
}

struct RingCase {
  const char* what;
  std::vector<SampledEvent> events;
  uint32_t stack_bytes;
  size_t cpus;
  uint32_t pages;
};

TEST(RingPages, HoldHalfASecondOfSamples) {
  constexpr uint32_t k15Kib = 15 << 10;  // and 1 KiB of other things: 4 pages a sample
  for (const RingCase& c : std::initializer_list<RingCase>{
           {"at least 64 pages", {sampled("cpu-clock", 1'000'000'000)}, k15Kib, 2, 64},
           {"no event", {}, k15Kib, 2, 64},
           {"128 a second", {sampled("cpu-clock", 1'000'000'000 / 128)}, k15Kib, 2, 256},
           {"a power of two", {sampled("cpu-clock", 1'000'000'000 / 120)}, k15Kib, 2, 256},
           {"no more than 8 MiB", {sampled("cpu-clock", 1'000)}, k15Kib, 2, 2048},
           {"every occurrence, 10,000 a second", {sampled("page-faults", 1)}, k15Kib, 2, 2048},
           {"each event's own",
            {sampled("cpu-clock", 1'000'000'000 / 128), sampled("page-faults", 10'000 / 125)},
            k15Kib,
            2,
            512},
           {"a quarter with stacks", {sampled("cpu-clock", 1'000'000'000 / 128, 0.25)}, k15Kib, 2, 128},
           {"none with stacks to speak of", {sampled("cpu-clock", 125'000, 0.0001)}, k15Kib, 2, 64},
           {"8 CPUs with 8 MiB each", {sampled("cpu-clock", 1'000)}, k15Kib, 8, 2048},
           {"9 CPUs with 4 MiB each", {sampled("cpu-clock", 1'000)}, k15Kib, 9, 1024},
           {"128 CPUs with 64 MiB together", {sampled("cpu-clock", 1'000)}, k15Kib, 128, 128},
           {"1,024 CPUs with 64 pages each", {sampled("cpu-clock", 1'000)}, k15Kib, 1024, 64},
       }) {
    EXPECT_EQ(ring_pages(c.events, c.stack_bytes, c.cpus), c.pages) << c.what;
  }
}

TEST(ReadRing, JoinsRecordsThatWrapAroundAtAnyOffset) {
  for (uint64_t start = 0; start < 128; ++start) {
    Ring ring(64, start);
    ring.write(record_of(24, 'a'));
    ring.write(record_of(16, 'b'));
    EXPECT_THAT(ring.read(), ElementsAre(record_of(24, 'a'), record_of(16, 'b'))) << start;
    EXPECT_EQ(ring.tail(), ring.head());
    EXPECT_THAT(ring.read(), IsEmpty());
  }
}

TEST(ReadRing, GivesBackWhatWasWritten) {
  std::mt19937_64 random(1);
  Ring ring(256, random() % 4096 * 8);
  std::vector<std::string> written;
  for (int step = 0; step < 20'000; ++step) {
    const std::string record = record_of(random() % 12 * 8, static_cast<char>(random()));
    if (random() % 4 == 0 || record.size() > ring.room()) {
      ASSERT_EQ(ring.read(), written) << "step " << step;
      written.clear();
    }
    ring.write(record);
    written.push_back(record);
  }
}

TEST(ReadRing, LeavesAPartOfAHeaderForLater) {
  Ring ring(64, 0);
  ring.write(record_of(8, 'a'));
  ring.write("\x01\x02\x03");
  EXPECT_THAT(ring.read(), ElementsAre(record_of(8, 'a')));
  EXPECT_EQ(ring.tail(), 16);
}

TEST(ReadRing, LeavesOutWhatWasOverwritten) {
  const std::vector<std::byte> data(64);
  std::vector<std::byte> wrapped;
  const RingRead read = read_ring(data, 8, 80, wrapped, [](Bytes, uint64_t) { FAIL() << "a record"; });
  EXPECT_EQ(read.tail, 80);
  EXPECT_EQ(read.dropped_bytes, 72);
}

TEST(ReadRing, EndsAtARecordWhoseSizeCannotBeRight) {
  for (const uint16_t size : std::initializer_list<uint16_t>{0, 7, 33, 64, 0xffff}) {
    Ring ring(64, 40);
    ring.write(record_of(8, 'a'));
    const perf_event_header header{9999, 0, size};
    ring.write({reinterpret_cast<const char*>(&header), sizeof header});
    ring.write(std::string(24, 'b'));
    EXPECT_THAT(ring.read(), ElementsAre(record_of(8, 'a'))) << size;
    EXPECT_EQ(ring.tail(), ring.head()) << size;
    EXPECT_EQ(ring.dropped_bytes(), sizeof header + 24) << size;
  }
}

// How many records there are; their room is given back.
int drained(RingBuffer& ring) {
  int records = 0;
  uint64_t last_end = 0;
  ring.peek([&](Bytes, uint64_t end) {
    ++records;
    last_end = end;
  });
  if (records > 0) {
    ring.release(last_end);
  }
  return records;
}

TEST(RingBuffer, SaysOnceWhatItCouldNotRead) {
  FakeRing event;
  auto ring = RingBuffer::map(event.fd(), 1);
  ASSERT_TRUE(ring.has_value()) << ring.error().text();
  event.write(record_of(8, 'a'));
  EXPECT_EQ(drained(*ring), 1);
  EXPECT_EQ(ring->dropped_bytes(), 0);

  event.write(record_of(8, 'b') + std::string(24, '\0'));
  EXPECT_EQ(drained(*ring), 1);
  EXPECT_EQ(ring->dropped_bytes(), 24);
  event.write(record_of(8, 'c'));  // behind them
  EXPECT_EQ(drained(*ring), 0);
  EXPECT_EQ(ring->dropped_bytes(), 24 + 16);
  EXPECT_EQ(event.tail(), 16 + 16 + 24 + 16);

  event.write(record_of(8, 'd'));
  EXPECT_EQ(drained(*ring), 1);
  EXPECT_EQ(ring->dropped_bytes(), 24 + 16);
}

}  // namespace
}  // namespace plimsoll::perf
