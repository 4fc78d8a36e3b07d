// Events of a recording: what they are called, how often they were sampled, and how much they come to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/formats/perf_data/imported.h"

namespace plimsoll::perf_data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Written by `perf record -o FILE` and `perf record -o -`.
class BothModes : public ::testing::TestWithParam<std::string (Recording::*)() const> {
 protected:
  static std::string bytes(const Recording& recording) { return (recording.*GetParam())(); }
};

TEST_P(BothModes, SamplesAreCountedByTheIdsOfTheirEvents) {
  const auto imported =
      import_of(bytes(Recording()
                          .event(hardware_attr(PERF_COUNT_HW_CPU_CYCLES), {1, 2}, "cycles:u")
                          .event(hardware_attr(PERF_COUNT_HW_INSTRUCTIONS), {3, 4}, "instructions")
                          .records(process_of_samples())
                          .records(sample({.id = 1}))
                          .records(sample({.id = 4}))
                          .records(sample({.id = 2, .ip = 0x10020}))));
  EXPECT_THAT(event_lines(imported), ElementsAre("cycles:u: 2 samples, 0 lost, 2 hits, 2000 times",
                                                 "instructions: 1 samples, 0 lost, 1 hits, 1000 times"));
  EXPECT_THAT(sample_lines(imported.profile),
              ElementsAre("cycles:u 7/7 elf_file_offset:1010 1", "cycles:u 7/7 elf_file_offset:1020 1",
                          "instructions 7/7 elf_file_offset:1010 1"));
  EXPECT_THAT(imported.profile.notes(), IsEmpty());
}

TEST_P(BothModes, BuildIdsNameTheFilesThatWereMapped) {
  const auto imported = import_of(bytes(
      cycles_recording().build_id("/bin/job", "job's ID").records(process_of_samples()).records(sample({}))));
  EXPECT_THAT(binary_lines(imported.profile), ElementsAre("job's ID /bin/job"));
}

TEST_P(BothModes, EventsWithoutDescriptionAreNamedByWhatTheyAre) {
  perf_event_attr user = hardware_attr(PERF_COUNT_HW_CPU_CYCLES);
  user.exclude_kernel = 1;
  user.exclude_hv = 1;
  user.precise_ip = 2;
  perf_event_attr clock = hardware_attr(PERF_COUNT_SW_CPU_CLOCK);
  clock.type = PERF_TYPE_SOFTWARE;
  perf_event_attr cache = hardware_attr(0x10000 | PERF_COUNT_HW_CACHE_LL);
  cache.type = PERF_TYPE_HW_CACHE;
  perf_event_attr raw = hardware_attr(0x1c2);
  raw.type = PERF_TYPE_RAW;
  const auto imported = import_of(bytes(Recording()
                                            .event(user, {1}, "")
                                            .event(clock, {2}, "")
                                            .event(cache, {3}, "")
                                            .event(raw, {4}, "")
                                            .event(raw, {5}, "")
                                            .records(sample({.id = 2}))));
  EXPECT_THAT(event_lines(imported), ElementsAre("cycles:upp: 0 samples, 0 lost, 0 hits, 0 times",
                                                 "cpu-clock: 1 samples, 0 lost, 1 hits, 1000 ns",
                                                 "LLC-load-misses: 0 samples, 0 lost, 0 hits, 0 times",
                                                 "r1c2: 0 samples, 0 lost, 0 hits, 0 times",
                                                 "r1c2#2: 0 samples, 0 lost, 0 hits, 0 times"));
  EXPECT_EQ(imported.profile.events(0).note(), "only in user mode");
}

TEST_P(BothModes, GroupsAreNoted) {
  std::string groups = bytes_of(uint32_t{1}) + text_field("") + bytes_of(uint32_t{0}) + bytes_of(uint32_t{2});
  const auto imported =
      import_of(bytes(Recording()
                          .event(hardware_attr(PERF_COUNT_HW_CPU_CYCLES), {1}, "cycles")
                          .event(hardware_attr(PERF_COUNT_HW_INSTRUCTIONS), {2}, "instructions")
                          .feature(17, groups)
                          .records(sample({}))));
  EXPECT_THAT(imported.profile.notes(), ElementsAre("counted together: {cycles,instructions}"));
}

TEST(RecordedEvents, ThatAreOfTheCachesOrOfOneKindOfCoreHaveTheirUsualNames) {
  perf_event_attr prefetches = hardware_attr(PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_OP_PREFETCH << 8);
  prefetches.type = PERF_TYPE_HW_CACHE;
  perf_event_attr misses = prefetches;
  misses.config |= uint64_t{8} << 32U | PERF_COUNT_HW_CACHE_RESULT_MISS << 16;
  const auto imported =
      import_of(Recording()
                    .event(prefetches, {1}, "")
                    .event(misses, {2}, "")
                    .event(hardware_attr(uint64_t{4} << 32U | PERF_COUNT_HW_INSTRUCTIONS), {3}, "")
                    .records(sample({}))
                    .file());
  EXPECT_EQ(imported.events[0].name, "L1-dcache-prefetches");
  EXPECT_EQ(imported.events[1].name, "L1-dcache-prefetch-misses");
  EXPECT_EQ(imported.events[2].name, "instructions");
}

TEST(RecordedEvents, HaveNamesOfTheirOwn) {
  Recording recording;
  uint64_t id = 0;
  for (const char* name : {"cycles", "cycles#2", "cycles", "cycles", "branch-records"}) {
    recording.event(hardware_attr(PERF_COUNT_HW_CPU_CYCLES), {++id}, name);
  }
  std::vector<std::string> names;
  for (const auto& event : import_of(recording.records(sample({})).file()).events) {
    names.push_back(event.name);
  }
  EXPECT_THAT(names, ElementsAre("cycles", "cycles#2", "cycles#3", "cycles#4", "branch-records#2"));
}

TEST(RecordedEvents, AreAsManyAsAProfileHolds) {
  const auto import_events = [](uint64_t count) {
    Recording recording;
    for (uint64_t id = 1; id <= count; ++id) {
      recording.event(hardware_attr(PERF_COUNT_HW_CPU_CYCLES), {id}, "");
    }
    return try_import(recording.records(sample({})).pipe());
  };
  const auto most = import_events(997);
  ASSERT_TRUE(most) << most.error().text();
  EXPECT_TRUE(wire::validate(most->profile));
  EXPECT_EQ(most->events.back().name, "cycles#997");
  EXPECT_EQ(import_events(998).error().code, ErrorCode::kTooLarge);
}

// Groups of {leader, members} among as many events of that name.
std::vector<std::string> notes_of_groups(uint64_t events, const std::string& name,
                                         const std::vector<std::array<uint32_t, 2>>& groups) {
  Recording recording;
  for (uint64_t id = 1; id <= events; ++id) {
    recording.event(hardware_attr(PERF_COUNT_HW_CPU_CYCLES), {id}, name + std::to_string(id));
  }
  std::string content = bytes_of(static_cast<uint32_t>(groups.size()));
  for (const auto& group : groups) {
    content += text_field("") + bytes_of(group);
  }
  const auto imported = import_of(recording.feature(17, content).records(sample({})).file());
  return {imported.profile.notes().begin(), imported.profile.notes().end()};
}

TEST(RecordedEvents, AreNotedInOneSoundGroupEach) {
  EXPECT_THAT(notes_of_groups(4, "e", {{0, 2}, {1, 2}, {2, 1}, {3, 2}, {3, 0}, {UINT32_MAX, UINT32_MAX}}),
              ElementsAre("counted together: {e1,e2}", "counted together: {e3}",
                          "4 more groups of events are not shown"));
}

TEST(RecordedEvents, OfLargeGroupsAreNotedInPart) {
  const auto notes = notes_of_groups(100, std::string(97, 'e'), {{0, 90}});
  ASSERT_EQ(notes.size(), 1);
  EXPECT_LT(notes[0].size(), 1100);
  EXPECT_TRUE(notes[0].ends_with(std::string(97, 'e') + "10,…, and 80 more}")) << notes[0];
  std::vector<std::array<uint32_t, 2>> many;
  for (uint32_t leader = 0; leader < 100; ++leader) {
    many.push_back({leader, 1});
  }
  EXPECT_EQ(notes_of_groups(100, "e", many).size(), 32);
  EXPECT_EQ(notes_of_groups(100, "e", many).back(), "69 more groups of events are not shown");
}

INSTANTIATE_TEST_SUITE_P(Recordings, BothModes, ::testing::Values(&Recording::file, &Recording::pipe),
                         [](const auto& tested) { return tested.index == 0 ? "InAFile" : "FromAPipe"; });

TEST(RecordedEvents, APipeNamesItsEventsByRecordsOfTheirOwn) {
  const std::string update = RecordBytes(78, 0).u64(2).u64(1).text("my-cycles").bytes();
  perf_event_attr trace = hardware_attr(77);
  trace.type = PERF_TYPE_TRACEPOINT;
  const std::string listed =
      RecordBytes(65, 0).u64(77).raw(std::string("sched:switch").append(52, '\0')).bytes();
  const auto imported = import_of(Recording()
                                      .event(hardware_attr(PERF_COUNT_HW_CPU_CYCLES), {1}, "")
                                      .event(trace, {2}, "")
                                      .records(update + listed + sample({}))
                                      .pipe());
  EXPECT_EQ(imported.events[0].name, "my-cycles");
  EXPECT_EQ(imported.events[1].name, "sched:switch");
}

TEST(RecordedEvents, SamplesThatStandForDifferentAmountsWeighSo) {
  const auto imported = import_of(cycles_recording()
                                      .records(process_of_samples())
                                      .records(sample({.ip = 0x10010, .period = 1}))
                                      .records(sample({.ip = 0x10010, .period = 300}))
                                      .records(sample({.ip = 0x10020, .period = 100}))
                                      .file());
  EXPECT_THAT(event_lines(imported), ElementsAre("cycles: 3 samples, 0 lost, 3 hits, 401 times"));
  EXPECT_THAT(
      sample_lines(imported.profile),
      ElementsAre("cycles 7/7 elf_file_offset:1010 301", "cycles 7/7 elf_file_offset:1020 100",
                  "cycles^2 7/7 elf_file_offset:1010 90001", "cycles^2 7/7 elf_file_offset:1020 10000"));
  EXPECT_EQ(wire::scale_of(imported.profile.events(0)), 1);
  EXPECT_EQ(imported.profile.events(0).hits(), 401);
  EXPECT_EQ(imported.profile.events(0).samples(), 3);
}

TEST(RecordedEvents, AConstantPeriodIsTheScaleOfHits) {
  const auto imported =
      import_of(cycles_recording().records(sample({.period = 5000}) + sample({.period = 5000})).file());
  EXPECT_EQ(imported.profile.events(0).hits(), 2);
  EXPECT_EQ(wire::scale_of(imported.profile.events(0)), 5000);
  EXPECT_EQ(imported.profile.events(0).samples(), 0) << "as many as hits";
}

TEST(RecordedEvents, WithoutAPeriodInTheSampleTheEventsCounts) {
  perf_event_attr attr = hardware_attr(PERF_COUNT_HW_CPU_CYCLES);
  attr.sample_type &= ~uint64_t{PERF_SAMPLE_PERIOD};
  attr.sample_period = 20003;
  std::string without_period = sample({});
  without_period.resize(without_period.size() - 8);
  without_period[6] = static_cast<char>(without_period.size());
  const auto of = [&] {
    return event_lines(import_of(Recording().event(attr, {1}, "cycles").records(without_period).file()));
  };
  EXPECT_THAT(of(), ElementsAre("cycles: 1 samples, 0 lost, 1 hits, 20003 times"));
  attr.freq = 1;
  EXPECT_THAT(of(), ElementsAre("cycles: 1 samples, 0 lost, 1 hits, 1 times")) << "20003 is a rate";
  attr.type = PERF_TYPE_SOFTWARE;
  attr.sample_freq = 1000;
  EXPECT_THAT(of(), ElementsAre("cycles: 1 samples, 0 lost, 1 hits, 1000000 ns"));
}

// `perf record -e '{cycles,instructions}:S'`: only the leader is sampled, and each sample reads all counters of the group.
TEST(RecordedEvents, AGroupsCountersGiveValuesToEveryMember) {
  const auto with_read = [](uint64_t config) {
    perf_event_attr attr = hardware_attr(config, PERF_SAMPLE_READ);
    attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED;
    return attr;
  };
  const auto reading = [](uint64_t cycles, uint64_t instructions) {
    return bytes_of(std::array<uint64_t, 6>{2, 999, cycles, 1, instructions, 2});
  };
  const auto imported = import_of(Recording()
                                      .event(with_read(PERF_COUNT_HW_CPU_CYCLES), {1}, "cycles")
                                      .event(with_read(PERF_COUNT_HW_INSTRUCTIONS), {2}, "instructions")
                                      .records(process_of_samples())
                                      .records(sample({.ip = 0x10010}, reading(100, 50)))
                                      .records(sample({.ip = 0x10020}, reading(200, 450)))
                                      .records(sample({.ip = 0x10010}, reading(300, 480)))
                                      .file());
  EXPECT_THAT(event_lines(imported), ElementsAre("cycles: 3 samples, 0 lost, 3 hits, 300 times",
                                                 "instructions: 0 samples, 0 lost, 3 hits, 480 times"));
  EXPECT_THAT(
      sample_lines(imported.profile),
      ElementsAre("cycles 7/7 elf_file_offset:1010 2", "cycles 7/7 elf_file_offset:1020 1",
                  "instructions 7/7 elf_file_offset:1010 80", "instructions 7/7 elf_file_offset:1020 400",
                  "instructions^2 7/7 elf_file_offset:1010 3400",  // 50^2 + 30^2
                  "instructions^2 7/7 elf_file_offset:1020 160000"));
}

TEST(RecordedEvents, WhoseReadingsCannotBeToldApartAreRefused) {
  const auto error_of = [](uint64_t read_format) {
    perf_event_attr attr = hardware_attr(PERF_COUNT_HW_CPU_CYCLES, PERF_SAMPLE_READ);
    attr.read_format = read_format;
    const auto imported =
        try_import(Recording().event(attr, {1}, "cycles").records(sample({}, bytes_of(uint64_t{0}))).file());
    return imported ? "none" : std::string(imported.error().message);
  };
  EXPECT_THAT(error_of(PERF_FORMAT_GROUP), HasSubstr("samples of cycles have counter values"));
  EXPECT_THAT(error_of(PERF_FORMAT_ID | 1U << 20U), HasSubstr("samples of cycles have counter values"));
  EXPECT_EQ(error_of(PERF_FORMAT_GROUP | PERF_FORMAT_ID), "none");
}

TEST(RecordedEvents, LossesAreAddedUpWithoutOverflow) {
  const auto lost = [](uint64_t id) {
    return ended(RecordBytes(PERF_RECORD_LOST, 0).u64(id).u64(UINT64_MAX - 1));
  };
  const auto imported = import_of(Recording()
                                      .event(hardware_attr(PERF_COUNT_HW_CPU_CYCLES), {1}, "cycles")
                                      .event(hardware_attr(PERF_COUNT_HW_INSTRUCTIONS), {2}, "instructions")
                                      .records(sample({}) + lost(1) + lost(1) + lost(99) + lost(99))
                                      .file());
  EXPECT_EQ(imported.events[0].lost, UINT64_MAX);
  EXPECT_EQ(imported.profile.lost_side_band(), UINT64_MAX);
  EXPECT_THAT(imported.profile.notes(), ElementsAre(HasSubstr("records of unknown events were lost")));
}

TEST(RecordedEvents, LostRecordsCountForTheirEvent) {
  const auto lost = [](uint64_t id, uint64_t records) {
    return ended(RecordBytes(PERF_RECORD_LOST, 0).u64(id).u64(records));
  };
  const auto lost_samples = [](uint64_t id, uint64_t records, uint16_t misc = 0) {
    return ended(RecordBytes(PERF_RECORD_LOST_SAMPLES, misc).u64(records), 0, id);
  };
  const auto recording = [&](uint64_t read_format) {
    perf_event_attr attr = hardware_attr(PERF_COUNT_HW_CPU_CYCLES);
    attr.read_format = read_format;
    return import_of(Recording()
                         .event(attr, {1}, "cycles")
                         .event(hardware_attr(PERF_COUNT_HW_INSTRUCTIONS), {2}, "instructions")
                         .records(sample({}) + lost(1, 10) + lost(2, 3) + lost_samples(1, 30) + lost(99, 4))
                         .records(lost_samples(1, 1000, 1U << 15U))  // left out by a filter
                         .file());
  };
  EXPECT_THAT(event_lines(recording(0)), ElementsAre("cycles: 1 samples, 40 lost, 1 hits, 1000 times",
                                                     "instructions: 0 samples, 3 lost, 0 hits, 0 times"));
  EXPECT_EQ(recording(0).profile.lost_side_band(), 4);
  EXPECT_EQ(recording(PERF_FORMAT_LOST).events[0].lost, 30)
      << "the 10 are among the 30 that the kernel counted";
}

// `perf record -e cpu-clock -e sched:sched_switch`: a tracepoint has the CPU and raw data too. Its ID is where others have it.
TEST(RecordedEvents, MayHaveDifferentFieldsWhereTheirIdsLieAtOnePlace) {
  perf_event_attr trace = hardware_attr(300, PERF_SAMPLE_CPU | PERF_SAMPLE_RAW);
  trace.type = PERF_TYPE_TRACEPOINT;
  // In a sample the CPU lies before the period; in other records before the ID.
  const std::string period_and_raw = bytes_of(uint64_t{1000}) + bytes_of(uint32_t{4}) + std::string(4, 'r');
  const std::string next = RecordBytes(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC)
                               .u32(7)
                               .u32(7)
                               .text("next")
                               .u32(7)
                               .u32(7)
                               .u64(1500)
                               .u64(3)
                               .u64(2)
                               .bytes();
  const auto imported =
      import_of(Recording()
                    .event(hardware_attr(PERF_COUNT_HW_CPU_CYCLES), {1}, "cycles")
                    .event(trace, {2}, "sched:sched_switch")
                    .records(process_of_samples() + next)
                    .records(sample({.id = 2, .time_ns = 1000, .period = 3}, period_and_raw))
                    .records(sample({.id = 1, .time_ns = 2000}))
                    .file());
  EXPECT_THAT(event_lines(imported),
              ElementsAre("cycles: 1 samples, 0 lost, 1 hits, 1000 times",
                          "sched:sched_switch: 1 samples, 0 lost, 1 hits, 1000 times"));
  EXPECT_EQ(imported.profile.processes_size(), 2) << "it ran another program at 1500 ns, between the samples";
}

TEST(RecordedEvents, AreRefusedWhereTheirIdsLieApart) {
  perf_event_attr plain = hardware_attr(PERF_COUNT_HW_CPU_CYCLES);
  plain.sample_type &= ~uint64_t{PERF_SAMPLE_IDENTIFIER};
  const auto imported = try_import(Recording()
                                       .event(plain, {1}, "cycles")
                                       .event(hardware_attr(PERF_COUNT_HW_INSTRUCTIONS), {2}, "instructions")
                                       .records(sample({}))
                                       .file());
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().code, ErrorCode::kUnsupported);
}

TEST(RecordedEvents, ThrottlingIsCounted) {
  const std::string throttle = ended(RecordBytes(PERF_RECORD_THROTTLE, 0).u64(1).u64(1).u64(1));
  const std::string unthrottle = ended(RecordBytes(PERF_RECORD_UNTHROTTLE, 0).u64(1).u64(1).u64(1));
  const auto imported =
      import_of(cycles_recording().records(throttle + unthrottle + throttle + sample({})).file());
  EXPECT_EQ(imported.profile.events(0).throttles(), 2);
}

TEST(RecordedEvents, SamplesOfNoEventAreLeftOutAndNoted) {
  const auto imported = import_of(Recording()
                                      .event(hardware_attr(PERF_COUNT_HW_CPU_CYCLES), {1}, "cycles")
                                      .event(hardware_attr(PERF_COUNT_HW_INSTRUCTIONS), {2}, "instructions")
                                      .records(sample({.id = 5}) + sample({.id = 1}))
                                      .file());
  EXPECT_EQ(imported.profile.events(0).hits(), 1);
  EXPECT_THAT(imported.profile.notes(),
              ElementsAre("1 samples belong to no event of the recording and are not imported"));
}

}  // namespace
}  // namespace plimsoll::perf_data
