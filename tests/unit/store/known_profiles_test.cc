// An archive that is older than the rows of its directory, which are elsewhere.
#include "store/known_profiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "store/identity/directory_identity.h"
#include "tests/temporary_directory.h"

namespace plimsoll::store::known_profiles_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kNow = 1'700'000'000'000'000'000;

std::string id_of(int64_t number) {
  return fmt::format("profile {:08}", number);
}

class CommittedSink : public Sink {
 public:
  explicit CommittedSink(int64_t up_to) : up_to_(up_to) {}
  int64_t committed_up_to() const override { return up_to_; }
  Result<Place> begin(bool /*is_profile_waiting*/) override { std::abort(); }
  Result<Dictionaries> dictionaries() override { std::abort(); }
  Status commit(Batch /*batch*/) override { std::abort(); }

 private:
  const int64_t up_to_;
};

// Rows of all profiles up to a number but those that were set aside, handed over one by one.
class KnownRows : public RowStore {
 public:
  explicit KnownRows(int64_t up_to) : up_to_(up_to), sink_(up_to) {}

  std::string address() const override { return "clickhouse://db/p"; }
  Sink& sink() override { return sink_; }
  std::unique_ptr<Symbols> symbols() override { return nullptr; }
  Result<DroppedRows> drop_old(const RowStoreLimits& /*limits*/) override { std::abort(); }
  Status for_each_profile(int64_t first, int64_t last, const UseProfiles& use) override {
    for (int64_t number = first; number <= std::min(last, up_to_); ++number) {
      if (number == fails_at) {
        return fail(ErrorCode::kUnavailable, "no answer");
      }
      if (number == set_aside) {
        continue;
      }
      const std::vector<KnownProfile> one{
          {.id = renamed.contains(number) ? renamed.at(number) : id_of(number),
           .sequence = number,
           .to_ns = kNow}};
      asked.push_back(number);
      if (const Status used = use(one); !used) {
        return used;
      }
    }
    return {};
  }

  int64_t set_aside = 0;
  int64_t fails_at = 0;
  std::map<int64_t, std::string> renamed = {};
  std::vector<int64_t> asked = {};

 private:
  const int64_t up_to_;
  CommittedSink sink_;
};

class KnownProfilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    identity_.rows.address = "clickhouse://db/p";
    identity_.is_restored = true;
    ASSERT_TRUE(write_identity(folder_.path(), identity_));
    auto archive = Archive::open(folder_ / "archive.db", sqlite::OpenMode::kReadWriteShrinking);
    ASSERT_TRUE(archive) << archive.error().text();
    archive_ = std::move(*archive);
  }

  Result<Acceptance> accept(int64_t number) {
    return archive_->accept(id_of(number), as_bytes("content"), kNow, Arrival::kUploaded);
  }
  void accept_up_to(int64_t number) {
    for (int64_t one = 1; one <= number; ++one) {
      ASSERT_TRUE(accept(one));
    }
  }
  Status settle(KnownRows& rows) { return settle_known_profiles(folder_.path(), *archive_, rows); }
  bool is_restored() const { return read_identity(folder_.path())->is_restored; }

  plimsoll::testing::TemporaryDirectory folder_;
  DirectoryIdentity identity_ = make_identity();
  std::unique_ptr<Archive> archive_;
};

TEST_F(KnownProfilesTest, NumbersGoOnBehindTheRowsAndTheirProfilesAreKnown) {
  accept_up_to(4);
  KnownRows rows(7);
  rows.set_aside = 7;
  const Status settled = settle(rows);
  ASSERT_TRUE(settled) << settled.error().text();
  EXPECT_FALSE(is_restored());
  EXPECT_THAT(rows.asked, ElementsAre(5, 6));
  for (int64_t number = 1; number <= 6; ++number) {
    EXPECT_EQ(accept(number), Acceptance::kKnown) << number;
  }
  EXPECT_EQ(accept(8), Acceptance::kNew);
  EXPECT_EQ(archive_->last_sequence(), 8);
  ASSERT_TRUE(settle(rows)) << "it is a directory like any other";
  EXPECT_THAT(rows.asked, ElementsAre(5, 6)) << "and is not asked about again";
}

// The profiles of the first loss are in the rows alone, those before and behind it in the archive.
TEST_F(KnownProfilesTest, ASecondLossFindsTheProfilesOfTheFirst) {
  accept_up_to(2);
  ASSERT_TRUE(archive_->go_on_after(5));
  ASSERT_TRUE(accept(6));
  KnownRows rows(8);
  ASSERT_TRUE(settle(rows));
  EXPECT_THAT(rows.asked, ElementsAre(3, 4, 5, 7, 8));
  EXPECT_EQ(accept(4), Acceptance::kKnown);
}

TEST_F(KnownProfilesTest, AFailureLeavesItToTheNextStart) {
  accept_up_to(1);
  KnownRows rows(5);
  rows.fails_at = 4;
  EXPECT_EQ(settle(rows).error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(is_restored());
  rows.fails_at = 0;
  ASSERT_TRUE(settle(rows));
  EXPECT_FALSE(is_restored());
  EXPECT_EQ(accept(5), Acceptance::kKnown);
  EXPECT_EQ(accept(6), Acceptance::kNew);
  EXPECT_EQ(archive_->last_sequence(), 6);
}

TEST_F(KnownProfilesTest, AnOlderArchiveIsRefusedWhereNothingWasRestored) {
  identity_.is_restored = false;
  ASSERT_TRUE(write_identity(folder_.path(), identity_));
  accept_up_to(4);
  KnownRows newer(5);
  const Status refused = settle(newer);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(refused.error().field, "archive.db");
  EXPECT_THAT(refused.error().text(), HasSubstr("older than the rows in clickhouse://db/p"));
  EXPECT_EQ(archive_->last_sequence(), 4);
  KnownRows same(4);
  EXPECT_TRUE(settle(same));
}

// The database was restored from an older backup: rows are built again.
TEST_F(KnownProfilesTest, OlderRowsChangeNothing) {
  accept_up_to(4);
  KnownRows rows(2);
  ASSERT_TRUE(settle(rows));
  EXPECT_THAT(rows.asked, IsEmpty());
  EXPECT_FALSE(is_restored());
  EXPECT_EQ(archive_->last_sequence(), 4);
}

// The rows have a profile twice, of two servers that wrote one after the other: one of them is known under another number.
TEST_F(KnownProfilesTest, AProfileThatIsKnownByAnotherNumberStaysSo) {
  accept_up_to(2);
  KnownRows rows(3);
  rows.renamed[3] = id_of(1);
  ASSERT_TRUE(settle(rows));
  EXPECT_EQ(archive_->count(), 2);
  EXPECT_EQ(archive_->last_sequence(), 3);
}

}  // namespace
}  // namespace plimsoll::store::known_profiles_test
