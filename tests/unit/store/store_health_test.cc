#include "store/store_health.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/byte_reader.h"
#include "base/durable_file.h"
#include "proto/profile_codec.h"
#include "store/ingest.h"
#include "store/model/bindings.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"

namespace plimsoll::store::store_health_test {
namespace {

wire::Binary binary(const std::string& path) {
  wire::Binary made;
  made.set_identity_kind(wire::GNU_BUILD_ID);
  made.set_identity(path);
  made.set_path(path);
  return made;
}

class StoreHealthTest : public ::testing::Test {
 protected:
  // A profile with two addresses in /bin/a and one in /bin/b, besides a named one.
  void accept(uint64_t seed) {
    wire::RawProfile profile = plimsoll::testing::make_profile({.seed = seed});
    plimsoll::testing::add_sample(profile, binary("/bin/a"), wire::ELF, 0x1000, 1);
    plimsoll::testing::add_sample(profile, binary("/bin/a"), wire::ELF, 0x2000, 1);
    plimsoll::testing::add_sample(profile, binary("/bin/b"), wire::ELF, 0x1000, 1);
    ASSERT_TRUE(ingest_->accept(as_bytes(wire::encode(profile)), {}));
  }
  void build() { ASSERT_TRUE(ingest_->build_pending()); }
  void change(const std::string& sql) {
    ASSERT_TRUE(ingest_->write_catalogue(ingest_->blocks()->back(),
                                         [&](sqlite::Database& catalogue) { return catalogue.run(sql); }));
  }
  StoreHealth measured() {
    const auto health = meter_.measure();
    EXPECT_TRUE(health) << health.error().text();
    return health.value_or(StoreHealth());
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::unique_ptr<Ingest> ingest_ = *Ingest::open(folder_ / "data");
  StoreHealthMeter meter_ = *StoreHealthMeter::open(folder_ / "data");
};

TEST_F(StoreHealthTest, CountsProfilesFromAcceptanceToRows) {
  EXPECT_EQ(measured().profiles_accepted, 0);
  accept(1);
  accept(2);
  EXPECT_EQ(measured().profiles_accepted, 2);
  EXPECT_EQ(measured().profiles_pending, 2);
  build();
  EXPECT_EQ(measured().profiles_pending, 0);
  accept(3);
  // As Ingest sets a profile aside.
  change("INSERT INTO unbuildable VALUES (3, 'no rows')");
  EXPECT_EQ(measured().profiles_pending, 0);
  EXPECT_EQ(measured().profiles_set_aside, 1);
}

TEST_F(StoreHealthTest, CountsAddressesAndBinariesByTheirSymbols) {
  EXPECT_EQ(measured().locations, 0);
  accept(1);
  build();
  EXPECT_EQ(measured().locations, 3) << "those that came with their names need no symbols";
  EXPECT_EQ(measured().locations_without_symbols, 3);
  EXPECT_EQ(measured().binaries_pending, 2);
  // As the symbolizer does: one of both was found, the other one was not.
  change(
      "INSERT INTO frame (location, depth, function, file, line) "
      "SELECT location.id, 0, 1, 0, 0 FROM location JOIN binary ON owner = binary.id "
      "WHERE kind = 1 AND path = '/bin/a' AND address = 4096");
  change("UPDATE binary SET generation = 1, quality = path = '/bin/a'");
  EXPECT_EQ(measured().locations_without_symbols, 2);
  EXPECT_EQ(measured().binaries_found, 1);
  EXPECT_EQ(measured().binaries_pending, 0);
  EXPECT_EQ(measured().binaries_missing, 1);
}

TEST_F(StoreHealthTest, MeasuresTheDisk) {
  const StoreHealth before = measured();
  EXPECT_GT(before.disk_bytes, 0);
  EXPECT_GT(before.disk_free_bytes, 0);
  ASSERT_TRUE(
      write_file_durably(folder_ / "data/blocks/000001/segments/more", as_bytes(std::string(1 << 20, 'x'))));
  EXPECT_GE(measured().disk_bytes, before.disk_bytes + (1 << 20));
}

}  // namespace
}  // namespace plimsoll::store::store_health_test
