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

}  // namespace
}  // namespace plimsoll::store
