// Recordings that are cut off, not finished or damaged: what is sound is taken, once, and the rest is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/formats/perf_data/imported.h"

namespace plimsoll::perf_data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr size_t kSamples = 40;
constexpr size_t kHeaderBytes = 104;  // of a file

std::string nth_sample(uint64_t n) {
  return sample({.ip = 0x10010 + n, .time_ns = 1000 + n});
}

// kSamples samples, a round's end behind each ten.
std::string many_records() {
  std::string records = process_of_samples();
  for (uint64_t n = 0; n < kSamples; ++n) {
    records += nth_sample(n) + (n % 10 == 9 ? finished_round() : "");
  }
  return records;
}

std::string whole_file() {
  return cycles_recording().records(many_records()).text_feature(3, "web1").file();
}

uint64_t samples_of(const Result<ImportedRecording>& imported) {
  return imported ? imported->events.at(0).samples : 0;
}

std::string damage_of(const Result<ImportedRecording>& imported) {
  return imported ? fmt::format("{}", fmt::join(imported->damage, "\n")) : imported.error().text();
}

TEST(DamagedRecordings, SoundOnesHaveNoDamage) {
  EXPECT_THAT(import_of(whole_file()).damage, IsEmpty());
  EXPECT_THAT(import_of(cycles_recording().records(many_records()).pipe()).damage, IsEmpty());
}

TEST(DamagedRecordings, FilesCutAnywhereGiveTheSamplesBeforeTheCut) {
  const std::string file = whole_file();
  const size_t records_at = file.find(process_of_samples());
  uint64_t before = 0;
  for (size_t size = 0; size < file.size(); ++size) {
    const auto imported = try_import(std::string_view(file).substr(0, size));
    uint64_t whole_samples = 0;
    for (uint64_t n = 0; n < kSamples; ++n) {
      const size_t at = file.find(nth_sample(n), records_at);
      whole_samples += at + nth_sample(n).size() <= size ? 1 : 0;
    }
    ASSERT_EQ(samples_of(imported), whole_samples) << "cut to " << size;
    ASSERT_THAT(damage_of(imported), Not(IsEmpty())) << "cut to " << size;
    EXPECT_GE(whole_samples, before);
    before = whole_samples;
  }
  EXPECT_EQ(before, kSamples) << "a cut behind the records loses none";
}

TEST(DamagedRecordings, PipesCutAnywhereGiveTheSamplesBeforeTheCut) {
  const std::string pipe = cycles_recording().records(many_records()).pipe();
  for (size_t size = pipe.find(nth_sample(0)); size < pipe.size(); ++size) {
    const auto imported = try_import(std::string_view(pipe).substr(0, size));
    uint64_t whole_samples = 0;
    for (uint64_t n = 0; n < kSamples; ++n) {
      whole_samples += pipe.find(nth_sample(n)) + nth_sample(n).size() <= size ? 1 : 0;
    }
    ASSERT_EQ(samples_of(imported), whole_samples) << "cut to " << size;
  }
}

TEST(DamagedRecordings, ACutSaysWhereAndWhatIsMissing) {
  const std::string file = whole_file();
  const size_t last_at = file.find(nth_sample(kSamples - 1));
  EXPECT_THAT(
      import_of(file.substr(0, last_at + 10)).damage,
      ElementsAre(AllOf(HasSubstr("damaged: the recording was cut off: its records take"),
                        HasSubstr(fmt::format(
                            "but the file ends at {}; build IDs, names of events and the machine's name",
                            last_at + 10))),
                  HasSubstr(fmt::format(
                      "damaged: 10 bytes at offset {} were left out: a record at offset {} has 48 bytes, but "
                      "the file ends at {}",
                      last_at, last_at, last_at + 10))));
  const auto behind_records = import_of(file.substr(0, file.size() - 4));
  EXPECT_THAT(behind_records.damage,
              ElementsAre(HasSubstr("what describes the recording cannot be read from there on")));
  EXPECT_EQ(samples_of(behind_records), kSamples);
}

// The header's size is written last.
TEST(DamagedRecordings, OfAKilledPerfAreReadToTheirEnd) {
  const std::string whole = whole_file();
  std::string file = whole.substr(0, whole.find(many_records()) + many_records().size() - 60);
  file.replace(48, 8, std::string(8, '\0'));
  const auto imported = import_of(file);
  EXPECT_EQ(samples_of(imported), kSamples - 2);
  EXPECT_THAT(damage_of(imported),
              HasSubstr("perf did not finish the recording (its header says that it holds no "
                        "records); build IDs, names of events"));
  EXPECT_EQ(imported.events[0].name, "cycles") << "by what it is";
  EXPECT_EQ(imported.profile.machine().id(), "import");
  EXPECT_THAT(imported.profile.notes(), ::testing::Contains(HasSubstr("did not finish")))
      << "answers from it say so as well";
}

TEST(DamagedRecordings, WithoutAnySoundSampleAreRefused) {
  for (const std::string& file : {cycles_recording().file(), whole_file().substr(0, kHeaderBytes),
                                  whole_file().substr(0, 300), std::string("PERFILE2")}) {
    const auto imported = try_import(file);
    ASSERT_FALSE(imported);
    EXPECT_EQ(imported.error().code, ErrorCode::kCorrupt);
  }
  EXPECT_THAT(try_import(cycles_recording().file()).error().text(),
              AllOf(HasSubstr("nothing of the recording could be taken"), HasSubstr("did not finish"),
                    HasSubstr("end `perf record` by Ctrl-C")));
}

// The record before each of them is damaged in turn.
TEST(DamagedRecordings, ADamagedSizeCostsThatRecordAlone) {
  const std::string file = whole_file();
  for (uint64_t n = 1; n + 1 < kSamples; ++n) {
    for (const unsigned size : {0U, 7U, 24U, 40U, 56U, 96U, 480U, 65528U}) {
      std::string damaged = file;
      const size_t at = file.find(nth_sample(n));
      damaged[at + 6] = static_cast<char>(size & 0xffU);
      damaged[at + 7] = static_cast<char>(size >> 8U);
      const auto imported = import_of(damaged);
      EXPECT_EQ(samples_of(imported), kSamples - 1) << n << " with size " << size;
      EXPECT_THAT(imported.damage,
                  ElementsAre(HasSubstr(fmt::format("damaged: 48 bytes at offset {} were left out", at))));
    }
  }
}

TEST(DamagedRecordings, AStretchOfNoiseCostsTheRecordsThatItTouches) {
  const std::string file = whole_file();
  const size_t from = file.find(nth_sample(10)) + 20;
  const size_t to = file.find(nth_sample(14)) + 20;
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    std::string damaged = file;
    for (size_t at = from; at < to; ++at) {
      damaged[at] = static_cast<char>(random());
    }
    const auto imported = import_of(damaged);
    // Noise in a field that may be any number, as the first's address, leaves a sample.
    EXPECT_GE(samples_of(imported), kSamples - 5);
    EXPECT_LE(samples_of(imported), kSamples - 3);
    EXPECT_THAT(damage_of(imported), HasSubstr("were left out"));
  }
}

TEST(DamagedRecordings, ManyStretchesAreSummedUp) {
  std::string records = process_of_samples();
  for (uint64_t n = 0; n < 100; ++n) {
    std::string record = nth_sample(n);
    record[6] = n % 5 == 0 ? '\0' : record[6];
    records += record;
  }
  const auto imported = import_of(cycles_recording().records(records).file());
  EXPECT_EQ(samples_of(imported), 80);
  ASSERT_EQ(imported.damage.size(), 11);
  EXPECT_THAT(
      imported.damage.back(),
      HasSubstr(fmt::format("960 of {} bytes of records were left out, in 20 places", records.size())));
}

TEST(DamagedRecordings, SayWhatIsWrongWithARecord) {
  const auto damage = [](std::string_view record) {
    return damage_of(try_import(cycles_recording().records(many_records()).records(record).pipe()));
  };
  const size_t at = cycles_recording().records(many_records()).pipe().size();
  EXPECT_THAT(damage(std::string("\x09\0\0\0\0\0\0\0", 8)),
              HasSubstr(fmt::format("the record at offset {}, of type 9, says that it has 0 bytes", at)));
  EXPECT_THAT(damage(RecordBytes(1000, 0).u64(1).bytes()),
              HasSubstr("is of type 1000, which does not exist"));
  std::string short_sample = sample({}).substr(0, 24);
  short_sample[6] = 24;
  EXPECT_THAT(
      damage(short_sample),
      HasSubstr(fmt::format("the record at offset {}, of type 9 and 24 bytes: it ends before the fields of a "
                            "sample of cycles do",
                            at)));
  EXPECT_THAT(damage(sample({}, "too much")), HasSubstr("8 bytes follow the fields of a sample of cycles"));
  EXPECT_THAT(damage(sample({.time_ns = uint64_t{1} << 63U})), HasSubstr("it has an impossible time"));
  EXPECT_THAT(damage(RecordBytes(71, 0).u64(99).bytes()), HasSubstr("is followed by 99 bytes"));
}

TEST(DamagedRecordings, NothingFollowsDamageAmongCompressedRecords) {
  CompressedRecords stream;
  const std::string first = stream.record(many_records());
  std::string second = stream.record(many_records());
  const std::string third = stream.record(many_records());
  const auto recording = [&](const std::string& middle) {
    return cycles_recording().records(first + middle + third).file();
  };
  EXPECT_EQ(samples_of(try_import(recording(second))), 3 * kSamples);
  second.replace(8, 8, "no zstd!");
  const auto imported = import_of(recording(second));
  EXPECT_EQ(samples_of(imported), kSamples);
  EXPECT_THAT(
      imported.damage,
      ElementsAre(AllOf(HasSubstr(fmt::format("damaged: {} bytes at offset", second.size() + third.size())),
                        HasSubstr("its compressed content is damaged"))));
  CompressedRecords other;
  EXPECT_THAT(damage_of(try_import(cycles_recording().records(other.record(many_records() + "half")).pipe())),
              HasSubstr("ends within a record"));
}

}  // namespace
}  // namespace plimsoll::perf_data
