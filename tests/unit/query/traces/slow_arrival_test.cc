// A trace whose spans come from many senders, in any order and over minutes, by a clock of the test.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "query/traces/stored_requests.h"
#include "store/identity/directory_identity.h"
#include "store/ingest.h"
#include "store/spans/local_span_sink.h"
#include "tests/temporary_directory.h"
#include "tests/traces/span_fixture.h"

namespace plimsoll::query::slow_arrival_test {
namespace {

using plimsoll::testing::PlainSpan;
using plimsoll::testing::span_set_of;
using plimsoll::testing::TemporaryDirectory;

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kBeginNs = int64_t{1'700'000'000} * kSecondNs;
constexpr int64_t kArrivalNs = 300 * kSecondNs;
constexpr uint64_t kSenders = 50;
constexpr uint64_t kSpansOfSender = 20;
constexpr uint64_t kSpansOfBatch = 4;
constexpr traces::TraceId kTrace{.high = 3, .low = 9};

// Span N is called by span N / 2, and each service has its own sender.
PlainSpan numbered_span(uint64_t number) {
  const int64_t depth = std::bit_width(number);
  return {.trace = kTrace,
          .id = number,
          .start_ns = kBeginNs + depth,
          .end_ns = kBeginNs + kSecondNs - depth,
          .service = fmt::format("service-{}", number % kSenders),
          .parent = number / 2};
}

struct Arrival {
  int64_t at_ns = 0;
  std::vector<PlainSpan> spans;
};

// In the order of time; one batch in ten comes twice, as where its answer was lost.
std::vector<Arrival> arrivals(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Arrival> all;
  for (uint64_t sender = 0; sender < kSenders; ++sender) {
    std::vector<PlainSpan> spans;
    for (uint64_t i = 0; i < kSpansOfSender; ++i) {
      spans.push_back(numbered_span(1 + sender + i * kSenders));
    }
    std::ranges::shuffle(spans, random);
    for (auto begin = spans.begin(); begin != spans.end(); begin += kSpansOfBatch) {
      const std::vector<PlainSpan> batch(begin, begin + kSpansOfBatch);
      for (int copies = random() % 10 == 0 ? 2 : 1; copies > 0; --copies) {
        all.push_back({kBeginNs + static_cast<int64_t>(random() % kArrivalNs), batch});
      }
    }
  }
  std::ranges::sort(all, {}, &Arrival::at_ns);
  return all;
}

struct SlowArrivalCase {
  std::string name;
  store::SpanBlockLimits limits;
  size_t min_blocks = 1;
  size_t min_files = 1;
};

void PrintTo(const SlowArrivalCase& tested, std::ostream* out) {
  *out << tested.name;
}

class SlowArrival : public ::testing::TestWithParam<SlowArrivalCase> {
 protected:
  void SetUp() override {
    const auto ingest = store::Ingest::open(data_dir_);
    ASSERT_TRUE(ingest) << ingest.error().text();
    spans_path_ = (*ingest)->directory().spans_path();
    const auto identity = store::read_identity(data_dir_);
    ASSERT_TRUE(identity) << identity.error().text();
    auto sink =
        store::LocalSpanSink::open(spans_path_, identity->id, GetParam().limits, [this] { return now_ns_; });
    ASSERT_TRUE(sink) << sink.error().text();
    sink_ = std::move(*sink);
  }

  // As the server does every ten seconds.
  void pass_time_until(int64_t ns) {
    for (; now_ns_ + 10 * kSecondNs <= ns; now_ns_ += 10 * kSecondNs) {
      ASSERT_TRUE(sink_->settle());
      ASSERT_TRUE(sink_->merge_once({}));
    }
  }

  void receive(const Arrival& arrival) {
    ASSERT_NO_FATAL_FAILURE(pass_time_until(arrival.at_ns));
    const auto kept = sink_->add(span_set_of(arrival.spans), 1);
    ASSERT_TRUE(kept) << kept.error().text();
  }

  size_t entries_of(const std::string& extension) const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(spans_path_)) {
      count += entry.path().extension() == extension ? 1 : 0;
    }
    return count;
  }

  TemporaryDirectory folder_;
  const std::string data_dir_ = folder_ / "data";
  std::string spans_path_;
  int64_t now_ns_ = kBeginNs;
  std::unique_ptr<store::LocalSpanSink> sink_;
};

TEST_P(SlowArrival, AThousandSpansOfFiftySendersAreOneTrace) {
  const std::vector<Arrival> all = arrivals(39);
  for (size_t i = 0; i < all.size(); ++i) {
    ASSERT_NO_FATAL_FAILURE(receive(all[i]));
    if (i == all.size() / 2) {
      const auto half = read_stored_request(data_dir_, kTrace);
      ASSERT_TRUE(half) << half.error().text();
      ASSERT_EQ(half->assembly.traces.size(), 1);
      EXPECT_TRUE(half->assembly.traces.front().is_partial);
    }
  }
  ASSERT_NO_FATAL_FAILURE(pass_time_until(kBeginNs + 2 * kArrivalNs));
  EXPECT_GE(entries_of(".db"), GetParam().min_blocks);
  EXPECT_GE(entries_of(".spans"), GetParam().min_files);
  const auto read = read_stored_request(data_dir_, kTrace);
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->assembly.traces.size(), 1);
  const traces::Trace& trace = read->assembly.traces.front();
  EXPECT_FALSE(trace.is_partial);
  const auto nodes = read->assembly.nodes_of(trace);
  ASSERT_EQ(nodes.size(), kSenders * kSpansOfSender);
  for (size_t i = 1; i < nodes.size(); ++i) {
    const traces::SpanId id = read->spans->spans()[nodes[i].span].id;
    ASSERT_NE(nodes[i].parent, traces::kNoNode) << id;
    EXPECT_EQ(read->spans->spans()[nodes[nodes[i].parent].span].id, id / 2);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Stores, SlowArrival,
    ::testing::Values(SlowArrivalCase{.name = "InOneBlock", .limits = {}, .min_files = 3},
                      SlowArrivalCase{.name = "InBlocksOfTwoMinutes",
                                      .limits = {.max_age_ns = 120 * kSecondNs},
                                      .min_blocks = 3,
                                      .min_files = 3}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace plimsoll::query::slow_arrival_test
