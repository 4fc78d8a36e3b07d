// Blocks: when they are sealed, what goes where, what a crash leaves, and how older directories get theirs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "proto/profile_codec.h"
#include "store/blocks/block_folder.h"
#include "store/catalogue/block_table.h"
#include "store/catalogue/segment_table.h"
#include "store/compaction/compactor.h"
#include "store/ingest.h"
#include "store/store_account.h"
#include "store/store_health.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/format_6.h"

namespace plimsoll::store {
namespace {

using plimsoll::testing::make_profile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kSecondNs = 1'000'000'000;

class BlocksTest : public ::testing::Test {
 protected:
  void open(const BlockLimits& limits) {
    ingest_.reset();
    auto ingest = Ingest::open(path_, {.block_limits = limits});
    ASSERT_TRUE(ingest) << ingest.error().text();
    ingest_ = std::move(*ingest);
  }

  void accept(uint64_t first, uint64_t last) {
    for (uint64_t seed = first; seed <= last; ++seed) {
      const auto profile = make_profile(
          {.seed = seed, .from_ns = static_cast<int64_t>(seed) * 10 * kSecondNs, .stacks = "main 1\n"});
      ASSERT_TRUE(ingest_->accept(as_bytes(wire::encode(profile)), {}));
    }
  }

  uint64_t build_all() {
    uint64_t profiles = 0;
    while (true) {
      const auto report = ingest_->build_pending();
      EXPECT_TRUE(report) << report.error().text();
      if (!report || report->profiles == 0) {
        return profiles;
      }
      profiles += report->profiles;
    }
  }

  // "NUMBER: its profiles' sequence numbers, s: sealed", by block.
  std::vector<std::string> blocks() const {
    std::vector<std::string> lines;
    const auto folders = list_blocks(path_ + "/blocks");
    EXPECT_TRUE(folders) << folders.error().text();
    for (const BlockFolder& folder : *folders) {
      auto catalogue = *Catalogue::open(folder.catalogue_path(), sqlite::OpenMode::kRead);
      std::string line = fmt::format("{}:", folder.number);
      const Status listed = sqlite::for_each_row(
          catalogue.database().query("SELECT archive_sequence FROM origin ORDER BY id"),
          [&](const sqlite::Statement& row) { line += fmt::format(" {}", row.integer(0)); });
      EXPECT_TRUE(listed);
      lines.push_back(line + (read_block_state(catalogue.database())->is_sealed ? " s" : ""));
    }
    return lines;
  }

  BlockState state_of(int64_t number) const {
    auto catalogue =
        *Catalogue::open(fmt::format("{}/blocks/{:06}/catalogue.db", path_, number), sqlite::OpenMode::kRead);
    return *read_block_state(catalogue.database());
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "data";
  std::unique_ptr<Ingest> ingest_;
};

TEST_F(BlocksTest, TakeProfilesUntilTheyAreFull) {
  open({.max_profiles = 3});
  EXPECT_THAT(blocks(), ElementsAre("1:"));
  accept(1, 7);
  EXPECT_EQ(build_all(), 7);
  EXPECT_THAT(blocks(), ElementsAre("1: 1 2 3 s", "2: 4 5 6 s", "3: 7"));
}

TEST_F(BlocksTest, AreSealedWhenTheyAreLarge) {
  open({.max_bytes = 1});
  accept(1, 1);
  build_all();
  accept(2, 2);
  build_all();
  EXPECT_THAT(blocks(), ElementsAre("1: 1 s", "2: 2 s", "3:")) << "the next one is there for what comes";
}

TEST_F(BlocksTest, AreSealedWhenTheyHaveManyEntries) {
  open({.max_entries = 40});
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const auto profile = make_profile({.seed = seed, .stacks = "main;a;b;c;d;e 1\n"});
    ASSERT_TRUE(ingest_->accept(as_bytes(wire::encode(profile)), {}));
    build_all();
  }
  EXPECT_THAT(blocks(), ElementsAre("1: 1 2 3")) << "the same stacks again";
  std::string stacks;
  for (int i = 0; i < 20; ++i) {
    stacks += fmt::format("main;f{} 1\n", i);
  }
  ASSERT_TRUE(ingest_->accept(as_bytes(wire::encode(make_profile({.seed = 4, .stacks = stacks}))), {}));
  build_all();
  EXPECT_THAT(blocks(), ElementsAre("1: 1 2 3 4 s", "2:"));
}

TEST_F(BlocksTest, AreSealedWhenTheyAreOldAndSomethingComes) {
  open({.max_age_ns = 0});
  accept(1, 2);
  build_all();
  EXPECT_THAT(blocks(), ElementsAre("1: 1 2")) << "there is nothing for another one";
  accept(3, 3);
  build_all();
  EXPECT_THAT(blocks(), ElementsAre("1: 1 2 s", "2: 3"));
}

TEST_F(BlocksTest, SayWhatTimesTheyCover) {
  open({.max_profiles = 2});
  auto drawn =
      make_profile({.seed = 9, .from_ns = 500 * kSecondNs, .length_ns = 7 * kSecondNs, .stacks = "main 1\n"});
  drawn.mutable_assignment()->mutable_draw()->set_id("d");
  drawn.mutable_assignment()->mutable_draw()->set_inclusion_probability(1);
  drawn.mutable_assignment()->mutable_draw()->set_interval_ns(60 * kSecondNs);
  ASSERT_TRUE(ingest_->accept(as_bytes(wire::encode(drawn)), {}));
  accept(3, 3);
  const int64_t before_ns = wall_now_ns();
  build_all();
  const BlockState state = state_of(1);
  EXPECT_EQ(state.from_ns, 30 * kSecondNs);
  EXPECT_EQ(state.to_ns, 507 * kSecondNs);
  EXPECT_EQ(state.max_interval_ns, 60 * kSecondNs);
  EXPECT_GE(state.first_built_ns, before_ns);
  EXPECT_TRUE(state.is_sealed);
  open({.max_profiles = 2});
  EXPECT_EQ(state_of(1), state);
}

TEST_F(BlocksTest, BeginWithTheEventsThatAreKnown) {
  open({.max_profiles = 1});
  accept(1, 2);
  build_all();
  auto catalogue = *Catalogue::open(path_ + "/blocks/000002/catalogue.db", sqlite::OpenMode::kRead);
  EXPECT_EQ(*catalogue.database().integer("SELECT count(*) FROM event", 0), 1);
  // An event that comes with another meaning is refused as in one block.
  auto profile = make_profile({.seed = 3, .stacks = "main 1\n"});
  profile.mutable_events(0)->set_unit(wire::BYTES);
  ASSERT_TRUE(ingest_->accept(as_bytes(wire::encode(profile)), {}));
  EXPECT_EQ(ingest_->build_pending()->unbuildable, 1);
}

// Daemons send them once.
TEST_F(BlocksTest, GoOnWithTheSymbolsOfKernelsThatAreInUse) {
  open({.max_profiles = 1});
  const auto with_kernel = [](uint64_t seed, bool has_symbols) {
    auto profile = make_profile({.seed = seed, .stacks = "main 1\n"});
    wire::Binary kernel;
    kernel.set_identity_kind(wire::GNU_BUILD_ID);
    kernel.set_identity("kernel");
    kernel.set_path("[kernel]");
    plimsoll::testing::add_sample(profile, kernel, wire::KERNEL, 0xffff'0000'0000, 1);
    if (has_symbols) {
      profile.mutable_kernel_symbols()->add_images()->set_binary(0);
    }
    return profile;
  };
  const auto send = [&](const wire::RawProfile& profile) {
    const auto accepted = ingest_->accept(as_bytes(wire::encode(profile)), {});
    ASSERT_TRUE(accepted) << accepted.error().text();
    ASSERT_EQ(ingest_->build_pending()->profiles, 1);
  };
  const auto kernels = [&](int64_t number) {
    auto catalogue =
        *Catalogue::open(fmt::format("{}/blocks/{:06}/catalogue.db", path_, number), sqlite::OpenMode::kRead);
    return *catalogue.database().integer(
        "SELECT count(*) FROM kernel_symbols JOIN binary ON binary.id = kernel_symbols.binary "
        "WHERE identity = CAST('kernel' AS BLOB)",
        -1);
  };
  send(with_kernel(1, true));
  send(with_kernel(2, false));
  EXPECT_EQ(kernels(2), 1);
  send(make_profile({.seed = 3, .stacks = "main 1\n"}));
  EXPECT_EQ(kernels(3), 1) << "block 2 has samples of it";
  send(make_profile({.seed = 4, .stacks = "main 1\n"}));
  EXPECT_EQ(kernels(4), 0) << "block 3 has none";
}

TEST_F(BlocksTest, AProfileThatIsSetAsideIsNotTriedAgainInTheNextOne) {
  open({.max_profiles = 1});
  accept(1, 1);
  build_all();
  auto profile = make_profile({.seed = 2, .stacks = "main 1\n"});
  profile.mutable_events(0)->set_unit(wire::BYTES);
  ASSERT_TRUE(ingest_->accept(as_bytes(wire::encode(profile)), {}));
  EXPECT_EQ(ingest_->build_pending()->unbuildable, 1);
  open({.max_profiles = 1});
  EXPECT_EQ(ingest_->build_pending()->unbuildable, 0);
  EXPECT_EQ(StoreHealthMeter::open(path_)->measure()->profiles_set_aside, 1);
}

TEST_F(BlocksTest, OneThatACrashLeftHalfMadeIsMadeAgain) {
  open({.max_profiles = 2});
  accept(1, 3);
  ASSERT_EQ(ingest_->build_pending()->profiles, 2);
  ingest_.reset();
  std::filesystem::create_directories(path_ + "/blocks/000002.tmp/segments");
  ASSERT_TRUE(write_file_durably(path_ + "/blocks/000002.tmp/catalogue.db", as_bytes(std::string(100, 'x'))));
  open({.max_profiles = 2});
  EXPECT_EQ(build_all(), 1);
  EXPECT_THAT(blocks(), ElementsAre("1: 1 2 s", "2: 3"));
}

TEST_F(BlocksTest, OneThatWasMadeAndNotUsedIsGoneOnWith) {
  open({.max_profiles = 2});
  accept(1, 2);
  ASSERT_EQ(ingest_->build_pending()->profiles, 2);
  ingest_.reset();
  {
    auto before = *Catalogue::open(path_ + "/blocks/000001/catalogue.db", sqlite::OpenMode::kRead);
    ASSERT_TRUE(make_block(path_ + "/blocks", 2, before.database()));
  }
  open({.max_profiles = 2});
  accept(3, 3);
  EXPECT_EQ(build_all(), 1);
  EXPECT_THAT(blocks(), ElementsAre("1: 1 2 s", "2: 3"));
}

TEST_F(BlocksTest, WhereTheNextOneCannotBeMadeProfilesWait) {
  open({.max_profiles = 1});
  accept(1, 2);
  ASSERT_EQ(ingest_->build_pending()->profiles, 1);
  // A file where the folder would be.
  ASSERT_TRUE(write_file_durably(path_ + "/blocks/000002", as_bytes("in the way")));
  EXPECT_FALSE(ingest_->build_pending());
  EXPECT_FALSE(ingest_->build_pending());
  std::filesystem::remove(path_ + "/blocks/000002");
  EXPECT_EQ(build_all(), 1);
  EXPECT_THAT(blocks(), ElementsAre("1: 1 s", "2: 2 s", "3:"));
}

TEST_F(BlocksTest, AreMergedEachForItself) {
  open({.max_profiles = 4});
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    accept(seed, seed);
    build_all();
  }
  const auto compactor = *Compactor::open(*ingest_, CompactionLimits::thorough(1'000'000));
  ASSERT_TRUE(compactor->merge_all());
  for (int64_t number = 1; number <= 2; ++number) {
    auto catalogue =
        *Catalogue::open(fmt::format("{}/blocks/{:06}/catalogue.db", path_, number), sqlite::OpenMode::kRead);
    EXPECT_EQ(visible_segments(catalogue.database())->size(), 1) << number;
  }
  EXPECT_THAT(*compactor->pending(), IsEmpty());
}

TEST_F(BlocksTest, AreCountedTogether) {
  open({.max_profiles = 2});
  accept(1, 6);
  ASSERT_EQ(ingest_->build_pending()->profiles, 2);
  ASSERT_EQ(ingest_->build_pending()->profiles, 2);
  auto meter = *StoreHealthMeter::open(path_);
  EXPECT_EQ(meter.measure()->profiles_accepted, 6);
  EXPECT_EQ(meter.measure()->profiles_pending, 2);
  build_all();
  EXPECT_EQ(meter.measure()->profiles_pending, 0);
}

TEST_F(BlocksTest, AreAccountedFor) {
  open({.max_profiles = 2});
  accept(1, 3);
  build_all();
  const auto account = *account_store(path_, wall_now_ns() + 24 * 3600 * kSecondNs);
  ASSERT_EQ(account.blocks.size(), 2);
  EXPECT_EQ(account.blocks[0].profiles, 2);
  EXPECT_EQ(account.blocks[0].rows, 2);
  EXPECT_EQ(account.blocks[0].segments, 1);
  EXPECT_TRUE(account.blocks[0].state.is_sealed);
  EXPECT_EQ(account.blocks[1].profiles, 1);
  EXPECT_EQ(account.raw_profiles, 3);
  EXPECT_EQ(account.block_bytes, account.blocks[0].bytes + account.blocks[1].bytes);
  const auto expect_near = [](int64_t bytes, int64_t expected) {
    EXPECT_NEAR(static_cast<double>(bytes), static_cast<double>(expected),
                0.01 * static_cast<double>(expected));
  };
  // All three came a day ago.
  expect_near(account.block_bytes_a_day, account.block_bytes);
  expect_near(account.archive_bytes_a_day, account.archive_bytes);
  EXPECT_EQ(account_store(path_, wall_now_ns())->block_bytes_a_day, 0);
}

TEST_F(BlocksTest, ADirectoryOfFormat6IsItsFirst) {
  open({});
  accept(1, 3);
  build_all();
  const BlockState before = state_of(1);
  ingest_.reset();
  plimsoll::testing::make_format_6(path_);
  EXPECT_FALSE(std::filesystem::exists(path_ + "/blocks"));
  open({.max_profiles = 3});
  EXPECT_THAT(blocks(), ElementsAre("1: 1 2 3"));
  EXPECT_EQ(state_of(1).from_ns, before.from_ns);
  EXPECT_EQ(state_of(1).to_ns, before.to_ns);
  EXPECT_FALSE(std::filesystem::exists(path_ + "/catalogue.db"));
  accept(4, 4);
  build_all();
  EXPECT_THAT(blocks(), ElementsAre("1: 1 2 3 4 s", "2:"));
}

// Each state that a crash may leave: the upgrade goes on from there.
TEST_F(BlocksTest, AnUpgradeThatWasInterruptedGoesOn) {
  open({});
  accept(1, 3);
  build_all();
  ingest_.reset();
  plimsoll::testing::make_format_6(path_);
  const std::string old = folder_ / "old";
  std::filesystem::rename(path_, old);
  const std::string moving = path_ + "/blocks/000001.moving";
  for (int step = 0; step <= 5; ++step) {
    std::filesystem::remove_all(path_);
    std::filesystem::copy(old, path_, std::filesystem::copy_options::recursive);
    if (step >= 1) {
      std::filesystem::create_directories(moving);
    }
    if (step >= 2) {
      std::filesystem::rename(path_ + "/catalogue.db", moving + "/catalogue.db");
    }
    if (step >= 3) {
      std::filesystem::rename(path_ + "/segments", moving + "/segments");
    }
    if (step >= 4) {
      ASSERT_TRUE(Catalogue::open(moving + "/catalogue.db", sqlite::OpenMode::kReadWrite));
    }
    if (step >= 5) {
      std::filesystem::rename(moving, path_ + "/blocks/000001");
    }
    SCOPED_TRACE(step);
    open({});
    EXPECT_THAT(blocks(), ElementsAre("1: 1 2 3"));
    EXPECT_EQ(*read_file(path_ + "/FORMAT", 10), "10\n");
    auto catalogue = *Catalogue::open(path_ + "/blocks/000001/catalogue.db", sqlite::OpenMode::kRead);
    EXPECT_EQ(visible_segments(catalogue.database())->size(), 1);
    ingest_.reset();
  }
}

TEST_F(BlocksTest, AnUpgradeWaitsForReaders) {
  open({});
  accept(1, 1);
  build_all();
  ingest_.reset();
  plimsoll::testing::make_format_6(path_);
  auto reader = *sqlite::Database::open(path_ + "/catalogue.db", sqlite::OpenMode::kRead);
  {
    auto transaction = *sqlite::Transaction::begin_read(reader);
    ASSERT_EQ(*reader.integer("SELECT count(*) FROM origin", 0), 1);
    const auto refused = Ingest::open(path_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(refused.error().text(), HasSubstr("is being read"));
  }
  open({});
  EXPECT_THAT(blocks(), ElementsAre("1: 1"));
}

}  // namespace
}  // namespace plimsoll::store
