#include "store/archive/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/temporary_directory.h"

namespace plimsoll::store {
namespace {

constexpr int64_t kNow = 1'700'000'000'000'000'000;

class ArchiveTest : public ::testing::Test {
 protected:
  std::unique_ptr<Archive> open() {
    auto archive = Archive::open(folder_ / "archive.db", sqlite::OpenMode::kReadWriteShrinking);
    EXPECT_TRUE(archive) << archive.error().text();
    return std::move(*archive);
  }

  plimsoll::testing::TemporaryDirectory folder_;
};

Result<Acceptance> accept(Archive& archive, const std::string& id, const std::string& content) {
  return archive.accept(id, as_bytes(content), kNow, Arrival::kImported);
}

// "ID=content" of everything in the archive, in order.
std::vector<std::string> contents(Archive& archive) {
  std::vector<std::string> found;
  int64_t sequence = 0;
  while (true) {
    const auto next = archive.next_after(sequence);
    EXPECT_TRUE(next) << next.error().text();
    const std::optional<ArchivedProfile> profile = next.value_or(std::nullopt);
    if (!profile) {
      return found;
    }
    EXPECT_GT(profile->sequence, sequence);
    sequence = profile->sequence;
    found.push_back(profile->id + "=" + profile->encoded);
  }
}

TEST_F(ArchiveTest, GivesProfilesBackInTheOrderOfTheirAcceptance) {
  const auto archive = open();
  EXPECT_EQ(accept(*archive, "zzzzzzzzzzzzzzzz", "first"), Acceptance::kNew);
  EXPECT_EQ(accept(*archive, "aaaaaaaaaaaaaaaa", std::string("sec\0nd", 6)), Acceptance::kNew);
  EXPECT_EQ(accept(*archive, "mmmmmmmmmmmmmmmm", ""), Acceptance::kNew);
  EXPECT_THAT(contents(*archive),
              ::testing::ElementsAre("zzzzzzzzzzzzzzzz=first", std::string("aaaaaaaaaaaaaaaa=sec\0nd", 23),
                                     "mmmmmmmmmmmmmmmm="));
  EXPECT_EQ(archive->count(), 3);
}

TEST_F(ArchiveTest, NextAfterTheLastIsNothing) {
  const auto archive = open();
  EXPECT_EQ(*archive->next_after(0), std::nullopt);
  ASSERT_TRUE(accept(*archive, "aaaaaaaaaaaaaaaa", "a"));
  EXPECT_TRUE(archive->next_after(0)->has_value());
  EXPECT_EQ(*archive->next_after(1), std::nullopt);
}

TEST_F(ArchiveTest, TheSameProfileAgainIsKnownAndStoredOnce) {
  const auto archive = open();
  EXPECT_EQ(accept(*archive, "aaaaaaaaaaaaaaaa", "content"), Acceptance::kNew);
  EXPECT_EQ(accept(*archive, "aaaaaaaaaaaaaaaa", "content"), Acceptance::kKnown);
  EXPECT_THAT(contents(*archive), ::testing::ElementsAre("aaaaaaaaaaaaaaaa=content"));
}

TEST_F(ArchiveTest, TheSameIdWithOtherContentIsAConflictThatChangesNothing) {
  const auto archive = open();
  ASSERT_TRUE(accept(*archive, "aaaaaaaaaaaaaaaa", "content"));
  const auto conflict = accept(*archive, "aaaaaaaaaaaaaaaa", "forged!");
  ASSERT_FALSE(conflict);
  EXPECT_EQ(conflict.error().code, ErrorCode::kConflict);
  EXPECT_EQ(conflict.error().field, "profile_id");
  EXPECT_THAT(contents(*archive), ::testing::ElementsAre("aaaaaaaaaaaaaaaa=content"));
  // No transaction was left open.
  EXPECT_EQ(accept(*archive, "bbbbbbbbbbbbbbbb", "b"), Acceptance::kNew);
}

TEST_F(ArchiveTest, WhatWasAcceptedSurvivesReopening) {
  ASSERT_TRUE(accept(*open(), "aaaaaaaaaaaaaaaa", "a"));
  const auto archive = open();
  EXPECT_EQ(accept(*archive, "aaaaaaaaaaaaaaaa", "a"), Acceptance::kKnown);
  EXPECT_EQ(accept(*archive, "bbbbbbbbbbbbbbbb", "b"), Acceptance::kNew);
  EXPECT_THAT(contents(*archive), ::testing::ElementsAre("aaaaaaaaaaaaaaaa=a", "bbbbbbbbbbbbbbbb=b"));
}

// Of a copy of the archive: profiles that were accepted after it was made, and whose content is lost.
TEST_F(ArchiveTest, KnowsProfilesOfWhichItHasTheIdAlone) {
  const auto archive = open();
  ASSERT_TRUE(accept(*archive, "aaaaaaaaaaaaaaaa", "a"));
  const std::vector<ArchivedProfile> lost{
      {.sequence = 3, .id = "cccccccccccccccc", .encoded = {}, .received_ns = kNow}};
  for (int time = 1; time <= 2; ++time) {
    const Status added = archive->add_known(lost);
    ASSERT_TRUE(added) << added.error().text();
  }
  EXPECT_EQ(accept(*archive, "cccccccccccccccc", "whatever it was"), Acceptance::kKnown);
  EXPECT_THAT(contents(*archive), ::testing::ElementsAre("aaaaaaaaaaaaaaaa=a"));
  ASSERT_TRUE(archive->go_on_after(7));
  ASSERT_TRUE(archive->go_on_after(2)) << "which changes nothing";
  EXPECT_EQ(archive->last_sequence(), 7);
  EXPECT_EQ(accept(*archive, "bbbbbbbbbbbbbbbb", "b"), Acceptance::kNew);
  EXPECT_EQ(archive->last_sequence(), 8);
}

TEST_F(ArchiveTest, ANumberIsOneProfiles) {
  const auto archive = open();
  ASSERT_TRUE(accept(*archive, "aaaaaaaaaaaaaaaa", "a"));
  const std::vector<ArchivedProfile> other{
      {.sequence = 2, .id = "bbbbbbbbbbbbbbbb", .encoded = {}, .received_ns = kNow},
      {.sequence = 1, .id = "cccccccccccccccc", .encoded = {}, .received_ns = kNow}};
  const Status refused = archive->add_known(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_EQ(archive->count(), 1) << "all or nothing";
}

TEST_F(ArchiveTest, SaysWhichNumbersItDoesNotKnow) {
  const auto archive = open();
  EXPECT_THAT(*archive->unknown_up_to(0), ::testing::IsEmpty());
  EXPECT_THAT(*archive->unknown_up_to(4), ::testing::ElementsAre(SequenceRange{1, 4}));
  ASSERT_TRUE(archive->go_on_after(4));
  EXPECT_THAT(*archive->unknown_up_to(4), ::testing::IsEmpty());
  EXPECT_THAT(*archive->unknown_up_to(5), ::testing::ElementsAre(SequenceRange{5, 5}));
  ASSERT_TRUE(accept(*archive, "eeeeeeeeeeeeeeee", "5"));
  ASSERT_TRUE(accept(*archive, "ffffffffffffffff", "6"));
  ASSERT_TRUE(archive->go_on_after(8));
  ASSERT_TRUE(accept(*archive, "iiiiiiiiiiiiiiii", "9"));
  EXPECT_THAT(*archive->unknown_up_to(9), ::testing::ElementsAre(SequenceRange{7, 8}))
      << "none of those before the oldest that is there";
  EXPECT_THAT(*archive->unknown_up_to(11),
              ::testing::ElementsAre(SequenceRange{7, 8}, SequenceRange{10, 11}));
  EXPECT_THAT(*archive->unknown_up_to(7), ::testing::ElementsAre(SequenceRange{7, 7}));
  EXPECT_THAT(*archive->unknown_up_to(6), ::testing::IsEmpty());
}

}  // namespace
}  // namespace plimsoll::store
