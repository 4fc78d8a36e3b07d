#include "symbolizer/worker/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "store/ingest.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"
#include "tests/unit/symbolizer/symbol_fixture.h"

namespace plimsoll::symbolizer {
namespace {

using plimsoll::testing::add_sample;
using plimsoll::testing::make_profile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

wire::Binary binary(std::string_view identity, const std::string& path) {
  wire::Binary made;
  made.set_identity_kind(wire::GNU_BUILD_ID);
  made.set_identity(std::string(identity));
  made.set_path(path);
  return made;
}

class WorkerTest : public ::testing::Test {
 protected:
  void ingest(const wire::RawProfile& profile) {
    const std::string encoded = wire::encode(profile);
    ASSERT_TRUE(ingest_->accept(as_bytes(encoded), {}));
    ASSERT_TRUE(ingest_->build_pending());
  }

  struct Bound {
    size_t locations = 0;
    size_t named = 0;
    std::vector<LookedUpBinary> missing;  // those without symbols
  };

  Bound bind(const SymbolRoots& roots = {{PLIMSOLL_BIN}}) {
    Bound bound;
    const Status done = ingest_->write_catalogue([&](sqlite::Database& database) -> Status {
      const auto unbound = find_unbound(database);
      if (!unbound) {
        return propagate(unbound);
      }
      const auto looked_up = look_up(*unbound, roots);
      for (const LookedUpBinary& binary : looked_up) {
        bound.locations += binary.bindings.size();
        bound.named += static_cast<size_t>(std::ranges::count_if(
            binary.bindings, [](const store::Binding& binding) { return !binding.frames.empty(); }));
        if (!binary.missing_reason.empty()) {
          bound.missing.push_back(binary);
        }
      }
      return write_bindings(database, looked_up);
    });
    EXPECT_TRUE(done) << done.error().text();
    return bound;
  }

  // The function at every location, in the order of their IDs; "?" without a name, "unbound" where nobody looked.
  std::vector<std::string> names() {
    auto catalogue = *store::Catalogue::open(folder_ / "data/catalogue.db", sqlite::OpenMode::kRead);
    auto row = *catalogue.database().query(
        "SELECT CASE WHEN binding.location IS NULL THEN 'unbound' ELSE coalesce(function.name, '?') END "
        "FROM location LEFT JOIN binding ON binding.location = location.id "
        "LEFT JOIN frame ON frame.location = location.id LEFT JOIN function ON function.id = frame.function "
        "ORDER BY location.id, depth");
    std::vector<std::string> names;
    while (*row.step()) {
      names.emplace_back(row.text(0));
    }
    return names;
  }

  int64_t quality_of(const std::string& path) {
    auto catalogue = *store::Catalogue::open(folder_ / "data/catalogue.db", sqlite::OpenMode::kRead);
    return *catalogue.database().integer("SELECT quality FROM binary WHERE path = ?", -1, path);
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::unique_ptr<store::Ingest> ingest_ = *store::Ingest::open(folder_ / "data");
  LoadedFixture loaded_;
  wire::Binary fixture_ = binary(kFixtureBuildId, kFixturePath);
};

TEST_F(WorkerTest, LocationsOfABinaryGetItsFunctionsNames) {
  auto profile = make_profile({.stacks = "main 1\n"});
  add_sample(profile, fixture_, wire::ELF, loaded_.address_of("exported_c") + 1, 1);
  add_sample(profile, fixture_, wire::ELF, loaded_.address_of("_ZN7fixture12exported_cppEi") + 2, 1);
  add_sample(profile, fixture_, wire::ELF, loaded_.address_of_local(), 1);
  add_sample(profile, fixture_, wire::ELF_FILE_OFFSET, loaded_.file_offset_of("exported_c"), 1);
  add_sample(profile, fixture_, wire::ELF, 0x7fff'0000'0000, 1);
  ingest(profile);
  EXPECT_THAT(names(), ElementsAre("main", "unbound", "unbound", "unbound", "unbound", "unbound"));

  const Bound report = bind();
  EXPECT_EQ(report.locations, 5);
  EXPECT_EQ(report.named, 4);
  EXPECT_THAT(report.missing, IsEmpty());
  EXPECT_THAT(names(), ElementsAre("main", "exported_c", "fixture::exported_cpp(int)",
                                   "(anonymous namespace)::local_function(int)", "exported_c", "?"));
  EXPECT_EQ(quality_of(kFixturePath), static_cast<int>(store::SymbolQuality::kSymtab));
}

TEST_F(WorkerTest, NothingIsLookedUpTwice) {
  auto profile = make_profile({.seed = 1, .stacks = "main 1\n"});
  add_sample(profile, fixture_, wire::ELF, loaded_.address_of("exported_c"), 1);
  add_sample(profile, binary("gone", "/nowhere/gone"), wire::ELF, 1, 1);
  ingest(profile);
  EXPECT_EQ(bind().locations, 2);
  EXPECT_EQ(bind().locations, 0);

  // The same location in a later profile is bound; only what is new is looked up.
  profile.set_profile_id(plimsoll::testing::profile_id(2));
  add_sample(profile, fixture_, wire::ELF, loaded_.address_of_local(), 1);
  ingest(profile);
  const Bound report = bind();
  EXPECT_EQ(report.locations, 1);
  EXPECT_EQ(report.named, 1);
  EXPECT_THAT(report.missing, IsEmpty());
}

TEST_F(WorkerTest, MissingBinariesAreReportedWithTheReasonAndHinderNoOther) {
  std::filesystem::create_directory(folder_ / "roots");
  const std::string outside = folder_ / "outside.so";
  const std::string gone = folder_ / "roots/gone.so";
  std::filesystem::copy_file(kFixturePath, outside);
  auto profile = make_profile({.stacks = "main 1\n"});
  add_sample(profile, binary("gone", gone), wire::ELF, 1, 1);
  add_sample(profile, binary(kFixtureBuildId, outside), wire::ELF, 1, 1);
  add_sample(profile, binary("replaced", kFixturePath), wire::ELF, 1, 1);
  add_sample(profile, fixture_, wire::ELF, loaded_.address_of("exported_c"), 1);
  ingest(profile);

  const Bound report = bind({{PLIMSOLL_BIN, folder_ / "roots"}});
  EXPECT_EQ(report.locations, 4);
  EXPECT_EQ(report.named, 1);
  ASSERT_THAT(report.missing, SizeIs(3));
  EXPECT_EQ(report.missing[0].path, gone);
  EXPECT_THAT(report.missing[0].missing_reason, HasSubstr("No such file"));
  EXPECT_EQ(report.missing[1].path, outside);
  EXPECT_THAT(report.missing[1].missing_reason, HasSubstr("outside the folders"));
  EXPECT_EQ(report.missing[2].path, kFixturePath);
  EXPECT_THAT(report.missing[2].missing_reason, HasSubstr("another build ID"));
  EXPECT_THAT(names(), ElementsAre("main", "?", "?", "?", "exported_c"));
  EXPECT_EQ(quality_of(gone), static_cast<int>(store::SymbolQuality::kNone));
}

TEST_F(WorkerTest, KernelLocationsAreNamedByTheSymbolsAProfileBrought) {
  auto profile = make_profile({.stacks = "main 1\n"});
  const wire::Binary kernel = binary("kernel", "[kernel]");
  const wire::Binary module = binary("module", "ext4");
  add_sample(profile, kernel, wire::KERNEL, 0x1000, 1);
  add_sample(profile, kernel, wire::KERNEL, 0x10ff, 1);
  add_sample(profile, kernel, wire::KERNEL, 0x1100, 1);
  add_sample(profile, kernel, wire::KERNEL, 0xfff, 1);
  add_sample(profile, module, wire::MODULE, 0x10, 1);
  wire::KernelImage& image = *profile.mutable_kernel_symbols()->add_images();
  image.set_binary(0);
  image.add_offset_delta(0x1000);
  image.add_offset_delta(0x100);
  image.set_names(std::string("schedule\0do_exit\0", 17));
  ingest(profile);

  const Bound report = bind();
  EXPECT_EQ(report.named, 3);
  EXPECT_THAT(names(), ElementsAre("main", "schedule", "schedule", "do_exit", "?", "?"));
  ASSERT_THAT(report.missing, SizeIs(1));
  EXPECT_EQ(report.missing[0].path, "ext4");
  EXPECT_THAT(report.missing[0].missing_reason, HasSubstr("no profile brought its symbols"));
}

TEST_F(WorkerTest, AProfileMayNameAnyPathButReadsNoneOutsideTheRoots) {
  auto profile = make_profile({.stacks = "main 1\n"});
  add_sample(profile, binary("x", "/etc/shadow"), wire::ELF, 1, 1);
  add_sample(profile, binary("x", "/proc/self/mem"), wire::ELF, 1, 1);
  add_sample(profile, binary("x", ""), wire::ELF, 1, 1);
  add_sample(profile, binary("x", "relative/path"), wire::ELF, 1, 1);
  ingest(profile);
  const Bound report = bind();
  EXPECT_EQ(report.named, 0);
  EXPECT_THAT(report.missing, SizeIs(4));
}

}  // namespace
}  // namespace plimsoll::symbolizer
