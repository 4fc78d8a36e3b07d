// A flipped bit of a sealed block's catalogue: the block is left out and named, or nothing changes and `store check` names it. All
// else answers as before.
//
// PLIMSOLL_TEST_FLIP_STEP   one byte in so many (59); 1: all
// PLIMSOLL_TEST_FLIP_BITS   how many bits of each of them, one at a time (1); 8: all
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/file.h"
#include "base/log.h"
#include "query/views/top.h"
#include "sqlite/page_checksums.h"
#include "store/care/check.h"
#include "store/ingest.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"

namespace plimsoll::store {
namespace {

using Answer = std::map<std::string, double>;

// Run beside each other, each with a directory of its own.
constexpr size_t kShares = 4;
// A writer opens the directory after one in so many flips.
constexpr size_t kFlipsOfOpening = 101;

// No divisor of the size of a page, so that every place of a page is met.
constexpr size_t kDefaultStep = 59;
constexpr size_t kBitsOfByte = 8;

// At least 1.
size_t setting(const char* name, size_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise
                         : static_cast<size_t>(std::max(1, std::atoi(text)));  // NOLINT(cert-err34-c)
}

class CatalogueFlips : public ::testing::TestWithParam<size_t> {
 protected:
  // A block for each profile.
  void SetUp() override {
    set_log_level(LogLevel::kError);
    {
      const auto ingest = *Ingest::open(path_, {.block_limits = {.max_profiles = 1}});
      for (uint64_t seed = 1; seed <= 3; ++seed) {
        const auto profile = plimsoll::testing::make_profile(
            {.seed = seed,
             .machine = fmt::format("m{}", seed),
             .labels = "color:red",
             .stacks = fmt::format("main;f{0}@f.cc:{0} {0}\nthread=io main;outer>inner 2\nmain 1\n", seed)});
        ASSERT_TRUE(ingest->accept(as_bytes(wire::encode(profile)), {}));
        ASSERT_TRUE(ingest->build_pending());
      }
    }
    ASSERT_TRUE(*sqlite::has_page_checksums(catalogue_));
  }

  static Answer answer_of(const query::Snapshot& snapshot) {
    Answer answer;
    for (const char* by : {"function", "machine", "label:color"}) {
      const auto table = query::top(*query::parse_top({{"by", by}, {"margins", "no"}}, 0), snapshot);
      EXPECT_TRUE(table) << table.error().text();
      for (size_t i = 0; table && i < table->rows.size(); ++i) {
        answer[std::get<std::string>(table->rows[i][0])] = std::get<double>(table->rows[i][1]);
      }
    }
    return answer;
  }

  void write_byte(size_t at, char byte) const {
    for (const char* const suffix : {"-wal", "-shm"}) {
      std::filesystem::remove(catalogue_ + suffix);
    }
    std::fstream file(catalogue_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
  }

  // Whether the block was left out.
  bool expect_named_or_unchanged() {
    const auto snapshot = query::Snapshot::load(path_);
    EXPECT_TRUE(snapshot) << snapshot.error().text();
    if (!snapshot) {
      return false;
    }
    const auto& damaged = (*snapshot)->damaged_blocks;
    const Answer answer = answer_of(**snapshot);
    EXPECT_TRUE((*snapshot)->rows->damage().empty());
    if (damaged.empty()) {
      EXPECT_EQ(answer, whole_) << "and nothing said";
      return false;
    }
    EXPECT_EQ(damaged.size(), 1);
    EXPECT_EQ(damaged.front().path, path_ + "/blocks/000002");
    EXPECT_THAT(damaged.front().why, ::testing::HasSubstr("000002/catalogue.db"));
    EXPECT_EQ(answer, without_block_);
    return true;
  }

  void expect_the_check_names_it() const {
    const auto report = check_store(path_);
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_TRUE(report->is_damaged);
    EXPECT_THAT(report->findings, ::testing::Contains(::testing::Field(
                                      &Finding::file, ::testing::HasSubstr("000002/catalogue.db"))));
  }

  void expect_a_writer_goes_on() const {
    const auto ingest = Ingest::open(path_);
    ASSERT_TRUE(ingest) << ingest.error().text();
    ASSERT_TRUE((*ingest)->build_pending());
  }

  // Of a catalogue that is sound before, and after.
  void flip(const std::string& sound, size_t byte, size_t bit) {
    SCOPED_TRACE(fmt::format("byte {} of {}, bit {}", byte, sound.size(), bit));
    write_byte(byte, static_cast<char>(sound[byte] ^ (1 << bit)));
    const bool is_left_out = expect_named_or_unchanged();
    found_ += is_left_out ? 1 : 0;
    // What no question reads, the check does.
    if (!is_left_out) {
      expect_the_check_names_it();
    }
    if (++flips_ % kFlipsOfOpening == 0) {
      expect_a_writer_goes_on();
    }
    write_byte(byte, sound[byte]);
  }

  plimsoll::testing::TemporaryDirectory folder_;
  const std::string path_ = folder_ / "data";
  const std::string catalogue_ = path_ + "/blocks/000002/catalogue.db";
  Answer whole_;
  Answer without_block_;
  size_t flips_ = 0;
  size_t found_ = 0;  // by leaving the block out
};

TEST_P(CatalogueFlips, AreNamedAndContained) {
  const std::string sound = *read_file(catalogue_, 1 << 20);
  whole_ = answer_of(**query::Snapshot::load(path_));
  ASSERT_EQ(whole_["f2"], 2);
  std::filesystem::rename(catalogue_, folder_ / "kept");
  without_block_ = answer_of(**query::Snapshot::load(path_));
  ASSERT_EQ(without_block_["main"], 2);
  std::filesystem::rename(folder_ / "kept", catalogue_);
  const size_t step = setting("PLIMSOLL_TEST_FLIP_STEP", kDefaultStep);
  const size_t bits = std::min(setting("PLIMSOLL_TEST_FLIP_BITS", 1), kBitsOfByte);
  for (size_t byte = GetParam() * step; byte < sound.size(); byte += kShares * step) {
    // Another bit first in each byte, so that all are met where one of each byte is.
    for (size_t i = 0; i < bits; ++i) {
      flip(sound, byte, (byte + i) % kBitsOfByte);
      ASSERT_FALSE(HasFailure());
    }
  }
  std::printf(
      "flips of a catalogue: %zu of %zu bits left the block out; the check named the others, which changed "
      "no answer\n",
      found_, flips_);
  EXPECT_GT(found_, flips_ / 3);
  EXPECT_EQ(*read_file(catalogue_, 1 << 20), sound) << "a sealed block that is damaged is not written to";
  EXPECT_EQ(answer_of(**query::Snapshot::load(path_)), whole_);
}

INSTANTIATE_TEST_SUITE_P(Bytes, CatalogueFlips, ::testing::Range(size_t{0}, kShares));

}  // namespace
}  // namespace plimsoll::store
