// Copies of machines and draws: of one moment, kept while they are used.
#include "store/replica/directory_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "store/identity/directory_identity.h"
#include "store/replica/copied_directory.h"
#include "tests/conformance/copied_fleet.h"
#include "tests/unit/server/replica/primary_fixture.h"

namespace plimsoll::server::replica_test {
namespace {

using plimsoll::testing::put_copy;
using store::DirectoryCopies;
using ::testing::HasSubstr;
using Wanted = DirectoryCopies::Wanted;

class DirectoryCopiesTest : public PrimaryTest {
 protected:
  std::shared_ptr<store::CopiedDirectory> put(const store::DirectoryCopy& copy) {
    auto made = put_copy(copy, folder_ / "copies/" + copy.id);
    EXPECT_TRUE(made) << made.error().text();
    return made ? *made : nullptr;
  }

  std::atomic<int64_t> now_ns_ = kNsPerSecond;
  DirectoryCopies timed_{directory_.path(), [this] { return now_ns_.load(); }};
};

// Each machine is registered before it is drawn, and drawn before the next one is registered: at any moment there are as many machines as
// draws, or one more. Of two moments there would be more draws, or many more machines.
TEST_F(DirectoryCopiesTest, AreOfOneMoment) {
  std::atomic<int> written = 0;
  const std::jthread writer([&](const std::stop_token& stop) {
    auto draws = *directory_.open_draws();
    auto machines = *directory_.open_machines();
    for (int i = 0; !stop.stop_requested(); ++i) {
      const std::string id = fmt::format("{:06}", i);
      EXPECT_TRUE(machines.register_machine(store::machine(id, "boot"), kDrawTimeNs + i, 5'000'000'000));
      EXPECT_TRUE(draws.add(draw_of("draw-" + id, id)));
      ++written;
    }
  });
  int64_t draws_before = 0;
  for (int i = 0; i < 25; ++i) {
    // Something is written between two copies.
    for (const int before = written; written == before;) {
      std::this_thread::yield();
    }
    const auto found = copies_.get(Wanted::kNewest);
    ASSERT_TRUE(found) << found.error().text();
    const auto copy = put(*found->copy);
    ASSERT_NE(copy, nullptr);
    const auto machines = copy->fleet().count_machines();
    const auto draws = copy->fleet().count_draws();
    ASSERT_TRUE(machines && draws);
    EXPECT_GE(*machines, *draws);
    EXPECT_LE(*machines, *draws + 1);
    EXPECT_GE(*draws, draws_before);
    draws_before = *draws;
    copy->remove_when_unused();
  }
}

TEST_F(DirectoryCopiesTest, SayWhereRowsAreAndHowManyReplicasMustHaveThem) {
  auto identity = store::read_identity(directory_.path());
  ASSERT_TRUE(identity) << identity.error().text();
  identity->rows = {.address = "clickhouse://a,b/p", .insert_quorum = 3, .shards = {"clickhouse://c,d/p"}};
  ASSERT_TRUE(store::write_identity(directory_.path(), *identity));
  const auto found = copies_.get(Wanted::kNewest);
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(found->copy->rows_address, "clickhouse://a,b/p");
  const auto copy = put(*found->copy);
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->facts().rows_insert_quorum(), 3U);
  EXPECT_EQ(store::read_identity(copy->folder())->rows, identity->rows);
}

// A query server that knows no shards would take a part of the rows for all: it refuses the version.
TEST_F(DirectoryCopiesTest, OfShardsHaveAVersionOfTheirOwn) {
  const auto copy = put(*copies_.get(Wanted::kNewest)->copy);
  ASSERT_NE(copy, nullptr);
  wire::DirectoryCopy facts = copy->facts();
  EXPECT_EQ(facts.format_version(), 1U);
  facts.add_rows_shards("clickhouse://c/p");
  EXPECT_EQ(store::copy_version_of(facts), 2U);
  const Status refused = store::check_copy(facts);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  facts.set_format_version(2);
  EXPECT_TRUE(store::check_copy(facts));
  facts.add_rows_shards("clickhouse://d/p\nrows clickhouse://e/p");
  EXPECT_EQ(store::check_copy(facts).error().code, ErrorCode::kCorrupt);
}

TEST_F(DirectoryCopiesTest, HaveNoSeedOfFutureDraws) {
  ASSERT_TRUE(draws_.seed());
  add_draw("d1", "m1");
  const auto copy = put(*copies_.get(Wanted::kNewest)->copy);
  ASSERT_NE(copy, nullptr);
  auto copied = *sqlite::Database::open(copy->folder() + "/draws.db", sqlite::OpenMode::kRead);
  EXPECT_EQ(*copied.integer("SELECT count(*) FROM seed", -1), 0);
  EXPECT_EQ(*copied.integer("SELECT count(*) FROM draw", -1), 1);
  auto own = *sqlite::Database::open(directory_.draws_path(), sqlite::OpenMode::kRead);
  EXPECT_EQ(*own.integer("SELECT count(*) FROM seed", -1), 1);
}

TEST_F(DirectoryCopiesTest, LeaveNothingInTheDirectory) {
  std::set<std::string> before;
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
    before.insert(entry.path().filename().string());
  }
  // Of a process that was killed while it made one.
  std::ofstream(directory_.path() + "/copied.fleet.live.db") << "a part";
  ASSERT_TRUE(copies_.get(Wanted::kNewest));
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(before.contains(name) || name.ends_with("-wal") || name.ends_with("-shm")) << name;
  }
}

TEST_F(DirectoryCopiesTest, TheSameIsGivenUntilSomethingChanges) {
  const auto first = timed_.get(Wanted::kRecent);
  ASSERT_TRUE(first);
  now_ns_ += kNsPerHour;
  const auto same = timed_.get(Wanted::kNewest);
  EXPECT_EQ(same->copy->id, first->copy->id);
  EXPECT_EQ(same->age_ns, 0) << "it has all that there is";

  register_machine("m1");
  const auto newer = timed_.get(Wanted::kRecent);
  EXPECT_NE(newer->copy->id, first->copy->id);
  EXPECT_EQ(newer->age_ns, 0);

  add_draw("d1", "m1");
  now_ns_ += 2 * kNsPerSecond;
  const auto recent = timed_.get(Wanted::kRecent);
  EXPECT_EQ(recent->copy->id, newer->copy->id);
  EXPECT_EQ(recent->age_ns, 2 * kNsPerSecond);
  const auto newest = timed_.get(Wanted::kNewest);
  EXPECT_NE(newest->copy->id, newer->copy->id);
  EXPECT_EQ(newest->age_ns, 0);

  EXPECT_EQ(timed_.find(newest->copy->id), newest->copy);
  EXPECT_EQ(timed_.find(newer->copy->id), newer->copy) << "it may be on its way";
  EXPECT_EQ(timed_.find(first->copy->id), nullptr);
}

TEST_F(DirectoryCopiesTest, AFailureIsNoCopy) {
  const auto first = copies_.get(Wanted::kNewest);
  ASSERT_TRUE(first);
  register_machine("m1");
  const auto refused = copies_.get(Wanted::kNewest, [](uint64_t bytes) -> Status {
    EXPECT_GT(bytes, 0U);
    return fail(ErrorCode::kUnavailable, "the disk is full");
  });
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("the disk is full"));
  // What has changed meanwhile is not taken for copied.
  const auto next = copies_.get(Wanted::kNewest);
  ASSERT_TRUE(next);
  EXPECT_NE(next->copy->id, first->copy->id);
  EXPECT_EQ(*put(*next->copy)->fleet().count_machines(), 1);
}

TEST_F(DirectoryCopiesTest, OneThatWasDamagedIsRefused) {
  add_draw("d1", "m1");
  auto copy = *copies_.get(Wanted::kNewest)->copy;
  copy.files[1].content_hash[3] = static_cast<char>(copy.files[1].content_hash[3] ^ 1);
  const auto damaged = put_copy(copy, folder_ / "damaged");
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, ErrorCode::kCorrupt);
  copy = *copies_.get(Wanted::kNewest)->copy;
  copy.directory_id[0] = static_cast<char>(copy.directory_id[0] ^ 1);
  const auto foreign = put_copy(copy, folder_ / "foreign");
  ASSERT_FALSE(foreign);
  EXPECT_THAT(foreign.error().text(), HasSubstr("live.db"));
}

}  // namespace
}  // namespace plimsoll::server::replica_test
