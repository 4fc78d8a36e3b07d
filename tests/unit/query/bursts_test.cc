// `bursts` of a store that has more recordings than are shown.
#include "query/operations/bursts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tests/conformance/memory_bursts.h"

namespace plimsoll::query::bursts_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kMinuteNs = int64_t{60} * 1'000'000'000;

// Refuses to list all where there are over two, as a store does beyond 100,000.
class SmallSource : public store::BurstSource {
 public:
  Result<std::vector<store::StoredBursts>> list(const store::BurstQuestion& question) override {
    store::BurstQuestion bounded = question;
    bounded.max_recordings = 2;
    return kept_.list(bounded);
  }
  Result<std::string> read(std::string_view id) override { return kept_.read(id); }

  void add(char id, const std::string& machine, int64_t minute) {
    ASSERT_TRUE(kept_.add(std::string(store::kBurstIdBytes, id),
                          {.machine = machine,
                           .config_bits = 0x7f00,
                           .begin_ns = minute * kMinuteNs,
                           .end_ns = (minute + 5) * kMinuteNs},
                          as_bytes("content")));
  }

 private:
  plimsoll::testing::MemoryBursts kept_{[] { return 1000 * kMinuteNs; }};
};

Result<Table> ask(const Parameters& parameters, store::BurstSource& source) {
  const auto request = parse_bursts(parameters, 1000 * kMinuteNs);
  return request ? bursts(*request, source) : Result<Table>(propagate(request));
}

// "MACHINE BEGIN" of each row.
std::vector<std::string> rows(const Result<Table>& table) {
  std::vector<std::string> lines;
  if (!table) {
    lines.push_back(table.error().text());
    return lines;
  }
  for (const std::vector<Value>& row : table->rows) {
    lines.push_back(std::get<std::string>(row[2]) + " " + std::get<std::string>(row[0]));
  }
  return lines;
}

TEST(Bursts, ShowTheNewestOfMoreThanASourceListsTogether) {
  SmallSource source;
  source.add('a', "m1", 10);
  source.add('b', "m2", 30);
  source.add('c', "m1", 20);
  const auto two = ask({{"limit", "2"}}, source);
  EXPECT_THAT(rows(two), ElementsAre("m2 1970-01-01T00:30:00Z", "m1 1970-01-01T00:20:00Z"));
  ASSERT_TRUE(two);
  EXPECT_THAT(two->notes, ElementsAre("showing the newest 2 recordings: --limit shows more"));
  const auto of_one = ask({{"limit", "1"}, {"machine", "m1"}}, source);
  EXPECT_THAT(rows(of_one), ElementsAre("m1 1970-01-01T00:20:00Z"));
  // As many as the limit are all.
  const auto all = ask({{"limit", "3"}}, source);
  EXPECT_THAT(rows(all),
              ElementsAre("m2 1970-01-01T00:30:00Z", "m1 1970-01-01T00:20:00Z", "m1 1970-01-01T00:10:00Z"));
  ASSERT_TRUE(all);
  EXPECT_THAT(all->notes, IsEmpty());
}

}  // namespace
}  // namespace plimsoll::query::bursts_test
