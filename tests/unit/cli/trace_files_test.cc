#include "cli/trace_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "store/ingest.h"
#include "store/store.h"
#include "tests/temporary_directory.h"
#include "tests/traces/span_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kBegin = int64_t{1'700'000'000} * 1'000'000'000;

// A request of one span, stored with a weight.
void store_request(const std::string& data_dir, uint64_t number, double weight) {
  const auto ingest = store::Ingest::open(data_dir);
  ASSERT_TRUE(ingest) << ingest.error().text();
  const auto sink = store::open_span_sink((*ingest)->directory());
  ASSERT_TRUE(sink) << sink.error().text();
  const PlainSpan span{
      .trace = {.high = 0, .low = number}, .id = number, .start_ns = kBegin, .end_ns = kBegin + 5};
  ASSERT_TRUE((*sink)->add(span_set_of({span}), weight));
}

TEST(StoredTraces, SayThatSamplingRatesDiffer) {
  const TemporaryDirectory folder;
  const std::string data_dir = folder / "data";
  store_request(data_dir, 1, 20);
  store_request(data_dir, 2, 20);
  const auto alike = cli::read_stored_traces(data_dir, {});
  ASSERT_TRUE(alike) << alike.error().text();
  EXPECT_EQ(alike->assembly.traces.size(), 2);
  EXPECT_THAT(alike->notes, IsEmpty());
  store_request(data_dir, 3, 1);
  const auto mixed = cli::read_stored_traces(data_dir, {});
  ASSERT_TRUE(mixed) << mixed.error().text();
  EXPECT_THAT(mixed->notes, ElementsAre(HasSubstr("each stands for 1 to 20 requests")));
}

}  // namespace
}  // namespace plimsoll::testing
