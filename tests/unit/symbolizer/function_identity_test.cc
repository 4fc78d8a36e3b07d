// What a bound location knows of its functions: the name that people read, and the one that they are linked by.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/durable_file.h"
#include "store/frames/binding_reader.h"
#include "tests/unit/store/format_3.h"
#include "tests/unit/store/format_6.h"
#include "tests/unit/symbolizer/binding_fixture.h"
#include "tests/unit/symbolizer/symbol_fixture.h"

namespace plimsoll::symbolizer {
namespace {

using plimsoll::testing::add_sample;
using plimsoll::testing::make_profile;
using ::testing::ElementsAre;

class FunctionIdentity : public BindingTest {
 protected:
  // "name = linkage_name" of each location's innermost frame, in the order of their IDs.
  std::vector<std::string> identities() const {
    auto catalogue = *store::Catalogue::open(catalogue_path_, sqlite::OpenMode::kRead);
    const auto bindings = *store::BindingReader::load(catalogue.database());
    std::vector<std::string> identities;
    for (uint32_t location = 1; location < bindings.locations(); ++location) {
      const auto& frame = bindings.of(location).front();
      identities.push_back(
          fmt::format("{} = {}", bindings.functions[frame.function], bindings.linkage_names[frame.function]));
    }
    return identities;
  }
};

TEST_F(FunctionIdentity, OfABinaryIsTheLinkageName) {
  const LoadedFixture loaded;
  const wire::Binary fixture = binary(kFixtureBuildId, kFixturePath);
  auto profile = make_profile({.stacks = "main 1\n"});
  add_sample(profile, fixture, wire::ELF, loaded.address_of("exported_c"), 1);
  add_sample(profile, fixture, wire::ELF, loaded.address_of("_ZN7fixture12exported_cppEi"), 1);
  ingest(profile);
  bind();
  EXPECT_THAT(
      identities(),
      ElementsAre("main = ",  // came with its name
                  "exported_c = exported_c", "fixture::exported_cpp(int) = _ZN7fixture12exported_cppEi"));
}

TEST_F(FunctionIdentity, OfTheKernelTellsClonesApartThatPeopleSeeAsOneAndDemanglesNothing) {
  auto profile = make_profile({.stacks = "main 1\n"});
  const wire::Binary kernel = binary("kernel", "[kernel]");
  for (const uint64_t offset : {0x1000, 0x1100, 0x1200}) {
    add_sample(profile, kernel, wire::KERNEL, offset, 1);
  }
  add_kernel_symbols(profile, {"schedule", "schedule.part.0", "_ZN4rust3runEv"});
  ingest(profile);
  bind();
  EXPECT_THAT(identities(), ElementsAre("main = ", "schedule = schedule", "schedule = schedule.part.0",
                                        "_ZN4rust3runEv = _ZN4rust3runEv"));
}

TEST_F(FunctionIdentity, OfADirectoryOfFormat3ComesWithTheNextSearch) {
  const LoadedFixture loaded;
  auto profile = make_profile({.stacks = "main 1\n"});
  add_sample(profile, binary(kFixtureBuildId, kFixturePath), wire::ELF,
             loaded.address_of("_ZN7fixture12exported_cppEi"), 1);
  add_sample(profile, binary("gone", "/nowhere/gone"), wire::ELF, 1, 1);
  ingest(profile);
  bind();
  ingest_.reset();
  plimsoll::testing::make_format_6(folder_ / "data");
  ASSERT_TRUE(sqlite::Database::open(folder_ / "data/catalogue.db", sqlite::OpenMode::kReadWrite)
                  ->run(store::kTablesOfFormat3));
  ASSERT_TRUE(write_file_durably(folder_ / "data/FORMAT", as_bytes("3\n")));

  ingest_ = *store::Ingest::open(folder_ / "data");
  EXPECT_THAT(identities(), ElementsAre("main = ", "fixture::exported_cpp(int) = "));
  bind();
  EXPECT_THAT(identities(),
              ElementsAre("main = ", "fixture::exported_cpp(int) = _ZN7fixture12exported_cppEi"));
}

}  // namespace
}  // namespace plimsoll::symbolizer
