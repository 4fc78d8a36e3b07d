// What a bound location knows of its functions: the name that people read, and the one that they are linked by.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/durable_file.h"
#include "store/ingest.h"
#include "symbolizer/worker/worker.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/format_3.h"
#include "tests/unit/symbolizer/symbol_fixture.h"
#include "tests/unit/symbolizer/table_worker.h"

namespace plimsoll::symbolizer {
namespace {

using plimsoll::testing::add_sample;
using plimsoll::testing::make_profile;
using ::testing::ElementsAre;

wire::Binary binary(std::string_view identity, const std::string& path) {
  wire::Binary made;
  made.set_identity_kind(wire::GNU_BUILD_ID);
  made.set_identity(std::string(identity));
  made.set_path(path);
  return made;
}

class FunctionIdentity : public ::testing::Test {
 protected:
  void ingest(const wire::RawProfile& profile) {
    EXPECT_TRUE(ingest_->accept(as_bytes(wire::encode(profile)), {}));
    EXPECT_TRUE(ingest_->build_pending());
  }

  void bind() {
    EXPECT_TRUE(Symbolizer(loader_in(folder_ / "data", {{PLIMSOLL_BIN}}))
                    .run([&](const CatalogueWork& work) { return ingest_->write_catalogue(work); }, true));
  }

  // "name = linkage_name" of each location's innermost frame, in the order of their IDs.
  std::vector<std::string> identities() const {
    auto catalogue = *store::Catalogue::open(catalogue_path_, sqlite::OpenMode::kRead);
    const auto bindings = *store::Bindings::load(catalogue.database());
    std::vector<std::string> identities;
    for (uint32_t location = 1; location + 1 < bindings.first_frame.size(); ++location) {
      const auto& frame = bindings.of(location).front();
      identities.push_back(
          fmt::format("{} = {}", bindings.functions[frame.function], bindings.linkage_names[frame.function]));
    }
    return identities;
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string catalogue_path_ = folder_ / "data/catalogue.db";
  std::unique_ptr<store::Ingest> ingest_ = *store::Ingest::open(folder_ / "data");
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
  wire::KernelImage& image = *profile.mutable_kernel_symbols()->add_images();
  image.set_binary(0);
  std::string names;
  for (const std::string_view name : {"schedule", "schedule.part.0", "_ZN4rust3runEv"}) {
    image.add_offset_delta(image.offset_delta_size() == 0 ? 0x1000 : 0x100);
    names += std::string(name) + '\0';
  }
  image.set_names(names);
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
  ASSERT_TRUE(
      sqlite::Database::open(catalogue_path_, sqlite::OpenMode::kReadWrite)->run(store::kTablesOfFormat3));
  ASSERT_TRUE(write_file_durably(folder_ / "data/FORMAT", as_bytes("3\n")));

  ingest_ = *store::Ingest::open(folder_ / "data");
  EXPECT_THAT(identities(), ElementsAre("main = ", "fixture::exported_cpp(int) = "));
  bind();
  EXPECT_THAT(identities(),
              ElementsAre("main = ", "fixture::exported_cpp(int) = _ZN7fixture12exported_cppEi"));
}

}  // namespace
}  // namespace plimsoll::symbolizer
