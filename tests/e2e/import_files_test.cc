// Files as users have them: compressed, in archives, damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "query/table/values.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/program.h"
#include "tests/unit/formats/compressed.h"
#include "tests/unit/formats/perf_data/recording_bytes.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string heap(int bytes) {
  return fmt::format("heap profile: 1: {0} [1: {0}] @ heapprofile\n1: {0} [1: {0}] @ 0x11\n", bytes);
}

// 20 samples of one process.
std::string recording() {
  std::string records = perf_data::process_of_samples();
  for (uint64_t i = 0; i < 20; ++i) {
    records += perf_data::sample({.time_ns = 1000 + i});
  }
  return perf_data::Recording()
      .event(perf_data::hardware_attr(PERF_COUNT_HW_CPU_CYCLES), {1}, "cycles")
      .records(records)
      .file();
}

class ImportFiles : public ::testing::Test {
 protected:
  std::string write(const std::string& name, std::string_view content) const {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  Finished import(std::vector<std::string> files) const {
    std::vector<std::string> argv{"plimsoll", "import", "--data", folder_ / "data", "--json"};
    argv.insert(argv.end(), files.begin(), files.end());
    return run(argv);
  }

  // Rows of the document that --json prints.
  static std::vector<Row> rows(const Finished& imported) {
    const auto table = query::from_json(imported.out);
    EXPECT_TRUE(table) << imported.out;
    return table ? rows_of(*table) : std::vector<Row>();
  }
  // "FILE EVENT SAMPLES LOST HITS" of each row without an error; the file's name without its folder.
  static std::vector<std::string> events(const Finished& imported) {
    std::vector<std::string> lines;
    for (const Row& row : rows(imported)) {
      if (query::text_in(row.at("error")).empty()) {
        const std::string file = text(row.at("file"));
        lines.push_back(fmt::format("{} {} {} {} {}", file.substr(file.find_last_of('/', file.find(':')) + 1),
                                    text(row.at("event")), number(row.at("samples")), number(row.at("lost")),
                                    number(row.at("hits"))));
      }
    }
    return lines;
  }

  TemporaryFolder folder_;
};

TEST_F(ImportFiles, ThatAreCompressedCountLikeTheirContent) {
  for (const auto& compress : {gzipped, xz_compressed, zstd_compressed, bzip2_compressed}) {
    const Finished imported = import({write("any.name", compress(recording()))});
    EXPECT_EQ(imported.status, 0) << imported.err;
    EXPECT_THAT(events(imported), ElementsAre("any.name cycles 20 0 20"));
  }
  const Finished coverage =
      run({"plimsoll", "top", "--data", folder_ / "data", "--event", "cycles", "--csv"});
  EXPECT_THAT(coverage.out, HasSubstr("20000"))
      << "the same content is one profile, however it was compressed";
}

TEST_F(ImportFiles, OfArchivesAreNamedAfterBoth) {
  const std::string archive =
      write("all.tar.xz", xz_compressed(tar_member("perf.data", recording()) +
                                        tar_member("heaps/a.gz", gzipped(heap(7))) + tar_end()));
  const Finished imported = import({archive});
  EXPECT_EQ(imported.status, 0) << imported.err;
  EXPECT_THAT(events(imported), AllOf(Contains("all.tar.xz:perf.data cycles 20 0 20"),
                                      Contains(StartsWith("all.tar.xz:heaps/a.gz heap-inuse-bytes "))));
}

TEST_F(ImportFiles, OfArchivesThatAreNoProfilesAreNamedAndTheOthersTaken) {
  const std::string archive =
      write("all.tar", tar_member("README", "words") + tar_member("a", heap(7)) +
                           tar_member("inner.tar", tar_member("b", heap(8))) + tar_end());
  const Finished imported = import({archive});
  EXPECT_EQ(imported.status, 1);
  EXPECT_THAT(events(imported), Contains(StartsWith("all.tar:a heap-inuse-bytes ")));
  std::vector<std::string> failures;
  for (const Row& row : rows(imported)) {
    if (!query::text_in(row.at("error")).empty()) {
      failures.push_back(text(row.at("file")).substr(folder_.path().size() + 1) + ": " +
                         text(row.at("error")));
    }
  }
  EXPECT_THAT(failures,
              ElementsAre(AllOf(StartsWith("all.tar:README: "), HasSubstr("unknown profile format")),
                          AllOf(StartsWith("all.tar:inner.tar: "), HasSubstr("archive within an archive"))));
  EXPECT_THAT(imported.err, AllOf(HasSubstr("all.tar:README: unknown profile format"),
                                  HasSubstr("all.tar:inner.tar: it is an archive within an archive"),
                                  HasSubstr("2 of 3 files were not imported")));
}

TEST_F(ImportFiles, OfTracesThatCannotBeReadSayWhy) {
  const Finished torn =
      import({write("torn.csv", "TraceID,SpanID,OperationName,StartTimeUnixNano,EndTimeUnixNano\n1,2\n")});
  EXPECT_EQ(torn.status, 1);
  EXPECT_THAT(torn.err, AllOf(HasSubstr("unknown profile format"),
                              HasSubstr("read as request traces: line 2: 2 fields, the header has 5")));
  const Finished without_ids =
      import({write("ids.json", R"({"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "a"}]}]}]})")});
  EXPECT_EQ(without_ids.status, 1);
  EXPECT_THAT(without_ids.err, HasSubstr("none of its 1 spans can be stored"));
}

TEST_F(ImportFiles, AreOfThePlatformThatIsGivenWhereTheyNameNone) {
  const Finished imported =
      run({"plimsoll", "import", "--data", folder_ / "data", "--machine", "m1", "--platform", "AMD Zen 4",
           write("heap", heap(7)), write("perf.data", recording())});
  EXPECT_EQ(imported.status, 0) << imported.err;
  for (const char* event : {"heap-inuse-bytes", "cycles"}) {
    const auto platforms = rows_of(top({"--data", folder_ / "data", "--event", event, "--by", "platform"}));
    ASSERT_EQ(platforms.size(), 1);
    EXPECT_EQ(text(platforms[0].at("platform")), "AMD Zen 4");
  }
  const Finished refused = import({"--platform", "two\nlines", folder_ / "heap"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("--platform"));
}

TEST_F(ImportFiles, ThatWouldFillTheDiskAreRefusedWithTheLimit) {
  const Finished imported = import({write("bomb", bzip2_compressed(std::string(20'000'000, '\0')))});
  EXPECT_EQ(imported.status, 1);
  EXPECT_THAT(imported.err, HasSubstr("larger than the 1048576 bytes permitted"));
}

TEST_F(ImportFiles, CutOffGiveWhatIsThereAndSayWhatIsNot) {
  const std::string whole = recording();
  const size_t cut_at = whole.find(perf_data::sample({.time_ns = 1015}));
  ASSERT_NE(cut_at, std::string::npos);
  const Finished imported = import({write("cut", whole.substr(0, cut_at + 3))});
  EXPECT_EQ(imported.status, 0);
  EXPECT_THAT(events(imported), ElementsAre("cut cycles 15 0 15"));
  EXPECT_THAT(query::from_json(imported.out)->notes,
              Contains(HasSubstr("cut: damaged: the recording was cut off")))
      << "remarks are in the document too";
  EXPECT_THAT(imported.err,
              AllOf(HasSubstr("damaged: the recording was cut off"),
                    HasSubstr(fmt::format("damaged: 3 bytes at offset {} were left out", cut_at))));
  const Finished nothing = import({write("short", whole.substr(0, whole.find(perf_data::sample({}))))});
  EXPECT_EQ(nothing.status, 1);
  EXPECT_THAT(nothing.err, HasSubstr("nothing of the recording could be taken"));
}

// Of samples at 1000 ns of the recording's clock, when it was wall-clock time `wall_ns`.
std::string timed_recording(int64_t wall_ns) {
  const std::string clock = perf_data::bytes_of(uint32_t{1}) + perf_data::bytes_of(uint32_t{1}) +
                            perf_data::bytes_of(wall_ns) + perf_data::bytes_of(uint64_t{1000});
  return perf_data::Recording()
      .event(perf_data::hardware_attr(PERF_COUNT_HW_CPU_CYCLES), {1}, "cycles")
      .records(perf_data::process_of_samples() + perf_data::sample({}))
      .feature(29, clock)
      .file();
}

TEST_F(ImportFiles, WhoseTimesCannotBeSaySoAndWhatIsUsed) {
  constexpr int64_t kFutureNs = 3'900'000'000LL * 1'000'000'000LL;
  const auto samples_of_day = [&](const std::string& day) {
    return run({"plimsoll", "top", "--data", folder_ / "data", "--event", "cycles", "--csv", "--since",
                day + "T00:00:00Z", "--until", day + "T23:59:59Z"})
        .out;
  };
  // A member's time is 2023-11-14.
  const Finished imported =
      import({write("a.tar", tar_member("perf.data", timed_recording(kFutureNs)) + tar_end())});
  EXPECT_EQ(imported.status, 0) << imported.err;
  EXPECT_THAT(imported.err, AllOf(HasSubstr("its time, 2093-08-01T21:20:00.000000001Z, is in the future"),
                                  HasSubstr("ended 2023-11-14T22:13:20Z, when the file was last written")));
  EXPECT_THAT(samples_of_day("2023-11-14"), HasSubstr("1000"));
  const Finished right = import({write("b", timed_recording(1'600'000'000'000'000'000))});
  EXPECT_EQ(right.err, "");
  EXPECT_THAT(samples_of_day("2020-09-13"), HasSubstr("1000"));
  const Finished given = run({"plimsoll", "import", "--data", folder_ / "data", "--time",
                              "2021-05-06T07:08:09Z", write("c", timed_recording(2))});
  EXPECT_EQ(given.err, "");
  EXPECT_THAT(samples_of_day("2021-05-06"), HasSubstr("1000"));
  const Finished untold = run({"plimsoll", "import", "--data", folder_ / "data", write("d", recording())});
  EXPECT_EQ(untold.err, "");
  EXPECT_THAT(untold.out, HasSubstr("no time: it has no time of its own; it counts as having ended"));
  EXPECT_EQ(run({"plimsoll", "import", "--data", folder_ / "data", "--time", "soon", "x"}).status, 2);
}

}  // namespace
}  // namespace plimsoll::testing
