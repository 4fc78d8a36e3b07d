// Recordings of real machines: events, samples and lost records as a separate count of their records has them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "tests/unit/formats/perf_data/imported.h"
#include "tests/unit/formats/perf_data/record_walk.h"

namespace plimsoll::perf_data {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PerfDataCorpus : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::getenv("PLIMSOLL_CORPUS") == nullptr) {
      GTEST_SKIP() << "no corpus";
    }
    content_ = corpus_file(GetParam());
    ASSERT_FALSE(content_.empty());
  }

  std::string content_;
};

TEST_P(PerfDataCorpus, HasTheSamplesAndLossesOfItsRecords) {
  const ImportedRecording imported = import_of(content_);
  Counts ours;
  for (size_t i = 0; i < imported.events.size(); ++i) {
    const auto& summary = imported.events[i];
    const wire::Event& event = imported.profile.events(static_cast<int>(i));
    const double occurrences = static_cast<double>(event.hits()) * wire::scale_of(event);
    ours[summary.name] = {summary.samples, summary.lost, static_cast<uint64_t>(std::llround(occurrences))};
  }
  EXPECT_EQ(ours, Walk(content_).counts());
}

// By event; the recording without features, whose events have no names then.
std::vector<uint64_t> samples_by_event(const Result<ImportedRecording>& imported) {
  std::vector<uint64_t> samples;
  for (size_t i = 0; imported && i < imported->events.size(); ++i) {
    samples.push_back(imported->events[i].samples);
  }
  return samples;
}

// Also what `perf record` leaves behind when it is killed: a header that tells of no records, and no features.
TEST_P(PerfDataCorpus, CutOffHasAPartOfItsSamplesAndNeverMore) {
  const auto whole = samples_by_event(import_of(content_));
  const bool is_pipe = content_[8] == 16;
  std::vector<uint64_t> before(whole.size(), 0);
  for (size_t eighths = 1; eighths <= 7; ++eighths) {
    const std::string cut = content_.substr(0, content_.size() * eighths / 8 + 3);
    std::string killed = cut;
    if (!is_pipe) {
      killed.replace(48, 8, std::string(8, '\0'));
    }
    auto samples = samples_by_event(try_import(cut));
    if (samples.empty()) {
      continue;  // cut before the first sample
    }
    EXPECT_LE(samples.size(), whole.size());
    samples.resize(whole.size());
    for (size_t event = 0; event < whole.size(); ++event) {
      EXPECT_GE(samples[event], before[event]) << eighths;
      EXPECT_LE(samples[event], whole[event]) << eighths;
    }
    before = samples;
    const size_t records_end = is_pipe ? content_.size()
                                       : ByteReader(as_bytes(content_.substr(40, 8))).read<uint64_t>() +
                                             ByteReader(as_bytes(content_.substr(48, 8))).read<uint64_t>();
    if (cut.size() < records_end) {
      EXPECT_EQ(samples_by_event(try_import(killed)), samples_by_event(try_import(cut))) << eighths;
    }
  }
}

TEST_P(PerfDataCorpus, WithADamagedSizeInTheMiddleHasNearlyAllSamplesAndNeverMore) {
  const auto whole = samples_by_event(import_of(content_));
  const std::vector<size_t> records = Walk(content_).record_offsets();
  for (const size_t part : {1, 2, 3, 5, 7}) {
    for (const int flip : {0x08, 0x10, 0xff}) {
      std::string damaged = content_;
      char& size = damaged[records[records.size() * part / 8] + 6];
      size = static_cast<char>(size ^ flip);
      const auto imported = import_of(damaged);
      const auto samples = samples_by_event(imported);
      uint64_t lost = 0;
      for (size_t event = 0; event < whole.size(); ++event) {
        EXPECT_LE(samples[event], whole[event]);
        lost += whole[event] - samples[event];
      }
      EXPECT_LE(lost, 10) << part << "/8, " << flip;
    }
  }
}

TEST_P(PerfDataCorpus, FindsTheCodeOfNearlyEverySample) {
  const ImportedRecording imported = import_of(content_);
  std::map<std::string, uint64_t> leaves;
  uint64_t all = 0;
  const wire::RawProfile& profile = imported.profile;
  for (const wire::SampleTable& table : profile.samples()) {
    for (int row = 0; row < table.thread_size(); ++row) {
      const uint32_t node = table.stack(row);
      const std::string leaf =
          node == 0 ? "none" : location_text(profile, profile.stacks().location(static_cast<int>(node) - 1));
      leaves[leaf.substr(0, leaf.find(':'))] += table.hits(row);
      all += table.hits(row);
    }
  }
  const uint64_t lost = leaves["unresolved"] + leaves["unfinished"] + leaves["none"];
  EXPECT_LT(static_cast<double>(lost), 0.02 * static_cast<double>(all));
}

INSTANTIATE_TEST_SUITE_P(
    Recordings, PerfDataCorpus,
    ::testing::Values("perf_data/perf.data.branch_stack_hw_index", "perf_data/perf.data.callgraph-3.8",
                      "perf_data/perf.data.callgraph_and_branch-3.8",
                      "perf_data/perf.data.ctx_switch_namespaces-4.14", "perf_data/perf.data.group_desc-4.14",
                      "perf_data/perf.data.hw_and_sw-3.4", "perf_data/perf.data.lost_samples-4.4",
                      "perf_data/perf.data.piped.target-3.8", "perf_data/perf.data.systemwide.0-3.8",
                      "perf_data/perf.data.throttle-3.8", "perf_data/single-event-multi-process.perf.data",
                      "autofdo/test.lbr"),
    [](const auto& tested) {
      std::string name = tested.param;
      std::ranges::replace_if(
          name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
      return name;
    });

class CorpusFile : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("PLIMSOLL_CORPUS") == nullptr) {
      GTEST_SKIP() << "no corpus";
    }
  }
};

TEST_F(CorpusFile, ThatIsCorruptedSaysWhereAndGivesTheRest) {
  const auto imported = import_of(corpus_file("perf_data/perf.data.piped.corrupted.zero_size_sample-3.2"));
  EXPECT_GT(imported.events.at(0).samples, 0);
  ASSERT_FALSE(imported.damage.empty());
  EXPECT_THAT(imported.damage[0],
              HasSubstr("the record at offset 49104, of type 9, says that it has 0 bytes"));
}

TEST_F(CorpusFile, WithBranchesHasEachRecordOfThem) {
  // 9,232 samples of up to 16 branches, of which perf shows as many (perf script -F brstack | wc -w).
  const auto imported = import_of(corpus_file("autofdo/test.lbr"));
  const wire::Event& event = imported.profile.events(1);
  EXPECT_EQ(event.name(), "branch-records");
  EXPECT_EQ(event.hits(), 147'712);
  // Between 16 branches lie 15 ranges.
  const wire::Event& ranges = imported.profile.events(3);
  EXPECT_EQ(ranges.name(), "branch-ranges");
  EXPECT_EQ(ranges.hits(), 147'712 - 9'232);
  std::map<uint32_t, uint64_t> hits;
  for (const wire::BranchTable& table : imported.profile.branches()) {
    for (const uint64_t of_row : table.hits()) {
      hits[table.event()] += of_row;
    }
  }
  EXPECT_THAT(hits, ::testing::ElementsAre(std::pair(1, event.hits()), std::pair(3, ranges.hits())));
}

TEST_F(CorpusFile, ThatWasThrottledSaysSo) {
  const auto imported = import_of(corpus_file("perf_data/perf.data.throttle-3.8"));
  EXPECT_EQ(imported.profile.events(0).throttles() + imported.profile.events(1).throttles(), 68);
}

TEST_F(CorpusFile, OfAGroupNotesIt) {
  const auto imported = import_of(corpus_file("perf_data/perf.data.lost_samples-4.4"));
  EXPECT_THAT(imported.profile.notes(),
              ::testing::ElementsAre("counted together: {cycles:pp,instructions:pp,branch-instructions:pp}"));
}

}  // namespace
}  // namespace plimsoll::perf_data
