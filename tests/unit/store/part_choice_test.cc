// Which parts a question reads, and what is said of those that it does not.
#include "store/joined/part_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll::store {
namespace {

using ::testing::ElementsAre;

class NamedPart : public PartReader {
 public:
  NamedPart(std::string name, std::optional<DamagedPart> damage)
      : name_(std::move(name)), damage_(std::move(damage)) {}

  std::string name() const override { return name_; }
  std::optional<DamagedPart> damage() const override { return damage_; }
  Result<int64_t> version() override { return int64_t{1}; }
  Result<PartContents> read(const EntriesMark& /*known*/) override { return PartContents(); }

 private:
  const std::string name_;
  const std::optional<DamagedPart> damage_;
};

TimedPart timed_part(const std::string& name, PartTimes times, bool is_rolled_up = false) {
  return {std::make_shared<NamedPart>(name, std::nullopt), times, [=] { return is_rolled_up; }};
}

// What must not be asked for of a damaged part: that may be in a file which cannot be read.
TimedPart damaged_part(const std::string& name) {
  return {std::make_shared<NamedPart>(name, DamagedPart{.path = name, .why = "for a test"}), {}, [] {
            ADD_FAILURE() << "it was not chosen";
            return false;
          }};
}

std::vector<std::string> names_of(const PartChoice& choice) {
  std::vector<std::string> names;
  for (const auto& reader : choice.parts) {
    names.push_back(reader->name());
  }
  return names;
}

TEST(PartChoice, IsOfThePartsThatTheTimesTouch) {
  const std::vector<TimedPart> parts{timed_part("a", {0, 99}, true), timed_part("b", {100, 199}, true),
                                     timed_part("c", {200, 299}), timed_part("d", {300, 399})};
  const PartChoice choice = choose_parts(parts, {{150, 160}, {290, 300}});
  EXPECT_THAT(names_of(choice), ElementsAre("b", "c"));
  EXPECT_EQ(choice.facts.history_from_ns, 0);
  EXPECT_EQ(choice.facts.history_to_ns, 399);
  EXPECT_EQ(choice.facts.rolled_up_from_ns, 100) << "of those that were chosen";
  EXPECT_EQ(choice.facts.rolled_up_to_ns, 199);
  EXPECT_THAT(names_of(choose_parts(parts, all_times())), ElementsAre("a", "b", "c", "d"));
}

TEST(PartChoice, HasWhatIsOfTheSameDrawsAround) {
  constexpr int64_t kIntervalNs = int64_t{600} * 1'000'000'000;
  const std::vector<TimedPart> parts{timed_part("a", {0, 99, kIntervalNs}), timed_part("b", {100, 199})};
  EXPECT_THAT(names_of(choose_parts(parts, {{kIntervalNs, kIntervalNs + 1}})), ElementsAre("a"));
}

TEST(PartChoice, IsTheNewestThatCanBeReadWhereNoneIsTouched) {
  std::vector<TimedPart> parts{timed_part("a", {0, 99}), timed_part("b", {100, 199}), damaged_part("c")};
  PartChoice choice = choose_parts(parts, {{1000, 2000}});
  EXPECT_THAT(names_of(choice), ElementsAre("b"));
  ASSERT_EQ(choice.facts.damaged_blocks.size(), 1);
  EXPECT_EQ(choice.facts.damaged_blocks[0].path, "c");
  // Without a profile it has no times.
  parts.push_back(timed_part("d", {}));
  EXPECT_THAT(names_of(choose_parts(parts, all_times())), ElementsAre("a", "b"));
  EXPECT_THAT(names_of(choose_parts(parts, {{1000, 2000}})), ElementsAre("d"));
}

TEST(PartChoice, IsEmptyWhereNoneCanBeRead) {
  const std::vector<TimedPart> parts{damaged_part("a"), damaged_part("b")};
  const PartChoice choice = choose_parts(parts, all_times());
  EXPECT_THAT(names_of(choice), ::testing::IsEmpty());
  EXPECT_EQ(choice.facts.damaged_blocks.size(), 2);
  EXPECT_GT(choice.facts.history_from_ns, choice.facts.history_to_ns);
}

}  // namespace
}  // namespace plimsoll::store
