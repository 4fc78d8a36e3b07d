// Recordings as files: how they are told, taken apart and put in order, and what is said of damaged ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/perf_data/file_header.h"
#include "formats/perf_data/time_order.h"
#include "tests/unit/formats/perf_data/imported.h"

namespace plimsoll::perf_data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of(std::string_view content, const Limits& limits = {}) {
  const auto imported = try_import(content, {}, limits);
  return imported ? "none" : imported.error().text();
}

std::string plain_file() {
  return cycles_recording().records(process_of_samples() + sample({})).file();
}

TEST(ReadingRecordings, TellsThemByTheirFirstBytes) {
  for (const char* magic : {"PERFILE2", "PERFFILE", "2ELIFREP", "ELIFFREP"}) {
    EXPECT_TRUE(looks_like_recording(as_bytes(magic)));
  }
  EXPECT_FALSE(looks_like_recording(as_bytes("PLIMPROF")));
  EXPECT_FALSE(looks_like_recording({}));
}

TEST(ReadingRecordings, RefusesTheOtherByteOrder) {
  std::string file = plain_file();
  file.replace(0, 8, "2ELIFREP");
  EXPECT_THAT(error_of(file), HasSubstr("made on a big-endian machine; only little-endian ones are read"));
}

TEST(ReadingRecordings, RefusesSamplesOfFieldsThatAreNotKnown) {
  EXPECT_THAT(error_of(cycles_recording(uint64_t{1} << 40U).records(sample({})).file()),
              HasSubstr("of a newer perf"));
}

TEST(ReadingRecordings, PassesOverWhatFollowsRecords) {
  // A payload that looks like a record of no size.
  const std::string trace =
      RecordBytes(71, 0).u64(24).u64(0).u64(0).u64(0).u64(0).bytes() + std::string(24, '\0');
  const std::string tracing = RecordBytes(66, 0).u32(5).u32(0).bytes() + std::string(8, '\0');
  const auto imported = import_of(cycles_recording().records(trace + tracing + sample({})).pipe());
  EXPECT_EQ(imported.events[0].samples, 1);
  EXPECT_THAT(imported.profile.notes(),
              ElementsAre("24 bytes of processor trace are not imported: convert them to samples "
                          "with perf inject --itrace"));
}

TEST(ReadingRecordings, InflatesOneStreamFromRecordToRecord) {
  for (const bool is_padded : {false, true}) {
    CompressedRecords stream;
    const auto compressed = [&](std::string_view records) {
      return is_padded ? stream.padded_record(records) : stream.record(records);
    };
    std::string records = process_of_samples();
    for (int i = 0; i < 5000; ++i) {
      records += sample({.ip = 0x10010 + i % 16U, .time_ns = 1000 + uint64_t(i)});
    }
    // Cut within a record: the rest comes with the next one.
    const size_t cut = records.size() / 2 + 3;
    Recording recording = cycles_recording();
    recording.records(compressed(records.substr(0, cut)) + finished_round());
    recording.records(compressed(records.substr(cut)));
    const auto imported = import_of(recording.file());
    EXPECT_THAT(event_lines(imported), ElementsAre("cycles: 5000 samples, 0 lost, 5000 hits, 5000000 times"));
  }
}

TEST(ReadingRecordings, BoundsWhatACompressedRecordHolds) {
  CompressedRecords stream;
  std::string many;
  for (int i = 0; i < 10'000; ++i) {
    many += sample({});
  }
  const std::string file = cycles_recording().records(stream.record(many)).file();
  Limits limits;
  limits.max_decompressed_bytes = 100'000;
  EXPECT_THAT(error_of(file, limits), HasSubstr("it has more than 100000 bytes"));
  EXPECT_EQ(error_of(file), "none");
}

TEST(ReadingRecordings, BoundsWhatAllCompressedRecordsHold) {
  CompressedRecords stream;
  std::string many;
  for (int i = 0; i < 1000; ++i) {
    many += sample({});
  }
  Recording recording = cycles_recording();
  for (int i = 0; i < 10; ++i) {
    recording.records(stream.record(many));
  }
  Limits limits;
  limits.min_inflated_bytes = 5 * many.size();
  limits.max_inflation = 1;
  EXPECT_THAT(error_of(recording.file(), limits),
              HasSubstr(fmt::format("with those before it, it has more than {} bytes", 5 * many.size())));
  limits.max_inflation = 1000;
  EXPECT_EQ(error_of(recording.file(), limits), "none") << "a large file may hold more";
}

TEST(ReadingRecordings, AppliesRecordsInTheOrderOfTime) {
  // Buffers of two CPUs: the sample lies in the first, the program that it ran was started on the second.
  const auto imported =
      import_of(cycles_recording()
                    .records(process_of_samples())
                    .records(sample({.time_ns = 500}))
                    .records(comm(7, "next", 400, true) + mmap(7, 0x10000, 0x1000, 0, "/bin/next", 410))
                    .records(finished_round())
                    .records(sample({.time_ns = 450}) + finished_round())
                    .file());
  EXPECT_THAT(process_lines(imported.profile), ElementsAre("7 next /bin/next"));
}

TEST(ReadingRecordings, TellsOfItsMachineAndTime) {
  const std::string cpus = bytes_of(uint32_t{16}) + bytes_of(uint32_t{8});
  const auto imported = import_of(cycles_recording()
                                      .text_feature(3, "web1")
                                      .text_feature(4, "6.1.0-18-amd64")
                                      .text_feature(6, "x86_64")
                                      .feature(7, cpus)
                                      .text_feature(8, "Some CPU")
                                      .text_feature(9, "GenuineIntel,6,42,7")
                                      .feature(10, bytes_of(uint64_t{1024}))
                                      .records(sample({.time_ns = 1000}) + sample({.time_ns = 5000}))
                                      .file());
  const wire::Machine& machine = imported.profile.machine();
  EXPECT_EQ(machine.id(), "web1");
  EXPECT_EQ(machine.kernel_release(), "6.1.0-18-amd64");
  EXPECT_EQ(machine.platform(), "Intel Sandy Bridge");
  EXPECT_EQ(machine.cpu_model(), "Some CPU (GenuineIntel 6/42)");
  EXPECT_EQ(machine.cores(), 8);
  EXPECT_EQ(machine.memory_bytes(), 1 << 20);
  const wire::Window& window = imported.profile.window();
  EXPECT_EQ(window.start().monotonic_ns(), 1000);
  EXPECT_EQ(window.end().monotonic_ns(), 5000);
  EXPECT_EQ(window.end().wall_ns(), kModifiedNs);
  EXPECT_EQ(window.start().wall_ns(), kModifiedNs - 4000);
}

TEST(ReadingRecordings, PrefersTheirOwnPairOfClocks) {
  const uint64_t wall = 1'600'000'000'000'000'000;
  const std::string clocks =
      bytes_of(uint32_t{1}) + bytes_of(uint32_t{1}) + bytes_of(wall) + bytes_of(uint64_t{100});
  const auto imported =
      import_of(cycles_recording().feature(29, clocks).records(sample({.time_ns = 1100})).file());
  EXPECT_EQ(imported.profile.window().start().wall_ns(), wall + 1000);
}

TEST(ReadingRecordings, WithoutAHostNameTheMachineIsTheOneThatWasNamed) {
  EXPECT_EQ(import_of(plain_file(), {.machine = "lab"}).profile.machine().id(), "lab");
}

// Times in the order in which records are handed on.
class Ordered : public ::testing::Test {
 protected:
  Status add(uint64_t time_ns) { return order_.add(time_ns, 0, as_bytes("12345678")); }

  std::vector<uint64_t> times_;
  TimeOrder order_{1000, [this](const TimeOrder::Record& record) -> Status {
                     times_.push_back(record.time_ns);
                     return {};
                   }};
};

TEST_F(Ordered, ARoundHandsOnWhatTheRoundBeforeItHeld) {
  for (const uint64_t time : {30, 10, 20}) {
    ASSERT_TRUE(add(time));
  }
  ASSERT_TRUE(order_.finish_round());
  EXPECT_THAT(times_, ElementsAre());
  ASSERT_TRUE(add(25));
  ASSERT_TRUE(add(40));
  ASSERT_TRUE(order_.finish_round());
  EXPECT_THAT(times_, ElementsAre(10, 20, 25, 30));
  ASSERT_TRUE(order_.finish());
  EXPECT_THAT(times_, ElementsAre(10, 20, 25, 30, 40));
  EXPECT_EQ(order_.late(), 0);
}

TEST_F(Ordered, ABoundOnMemoryCostsOrderOnlyBeyondIt) {
  for (uint64_t time = 100; time > 0; --time) {
    ASSERT_TRUE(add(time));
  }
  ASSERT_TRUE(order_.finish());
  EXPECT_EQ(times_.size(), 100);
  EXPECT_GT(order_.late(), 0);
  EXPECT_LT(order_.late(), 100);
}

}  // namespace
}  // namespace plimsoll::perf_data
