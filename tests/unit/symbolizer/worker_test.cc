#include "symbolizer/worker/worker.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string_view>

#include "base/file.h"
#include "base/hex.h"
#include "elf/elf_file.h"
#include "tests/places.h"
#include "tests/unit/symbolizer/binding_fixture.h"
#include "tests/unit/symbolizer/symbol_fixture.h"

namespace plimsoll::symbolizer {
namespace {

using plimsoll::testing::add_sample;
using plimsoll::testing::make_profile;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

// Workers that take every build, of which the file of one comes only after a pass has offered what it knew of.
class LateOffer : public RemoteTables {
 public:
  bool has_workers() const override { return true; }
  bool is_coming(std::string_view) const override { return false; }
  bool may_offer(const WantedBinary&) override { return ++questions_ > 1 && !is_offered_; }
  void offer(const WantedBinary&) override { is_offered_ = true; }
  bool has(std::string_view) const override { return false; }
  bool begin_here(std::string_view) override { return !is_offered_; }
  std::optional<MappedTable> take(std::string_view) override { return std::nullopt; }
  void end_here(std::string_view) override {}

 private:
  int questions_ = 0;
  bool is_offered_ = false;
};

// Workers that take every build, of which the file of one is on disk some time before it can be offered.
class OfferOfAComingFile : public RemoteTables {
 public:
  bool has_workers() const override { return true; }
  bool is_coming(std::string_view) const override { return is_coming_; }
  bool may_offer(const WantedBinary&) override { return !is_coming_ && !is_offered_; }
  void offer(const WantedBinary&) override { is_offered_ = true; }
  bool has(std::string_view) const override { return false; }
  bool begin_here(std::string_view) override { return !is_offered_; }
  std::optional<MappedTable> take(std::string_view) override { return std::nullopt; }
  void end_here(std::string_view) override {}

  void come() { is_coming_ = false; }
  bool is_offered() const { return is_offered_; }

 private:
  bool is_coming_ = true;
  bool is_offered_ = false;
};

class WorkerTest : public BindingTest {
 protected:
  // The functions at every location, in the order of their IDs, "inlined < caller"; "?" without a name, "unbound" where nobody looked.
  std::vector<std::string> names() {
    auto catalogue = *store::Catalogue::open(catalogue_path_, sqlite::OpenMode::kRead);
    auto row = *catalogue.database().query(
        "SELECT location.id, CASE WHEN binding.location IS NULL THEN 'unbound' ELSE coalesce(function.name, "
        "'?') END "
        "FROM location LEFT JOIN binding ON binding.location = location.id "
        "LEFT JOIN frame ON frame.location = location.id LEFT JOIN function ON function.id = frame.function "
        "ORDER BY location.id, depth");
    std::vector<std::string> names;
    for (int64_t last = 0; *row.step(); last = row.integer(0)) {
      if (row.integer(0) == last) {
        names.back() += " < " + std::string(row.text(1));
      } else {
        names.emplace_back(row.text(1));
      }
    }
    return names;
  }

  int64_t quality_of(const std::string& path) {
    auto catalogue = *store::Catalogue::open(catalogue_path_, sqlite::OpenMode::kRead);
    return *catalogue.database().integer("SELECT quality FROM binary WHERE path = ?", -1, path);
  }

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

  const SymbolizeReport report = bind();
  EXPECT_EQ(report.locations, 5);
  EXPECT_EQ(report.named, 4);
  EXPECT_THAT(report.missing, IsEmpty());
  EXPECT_THAT(names(), ElementsAre("main", "exported_c", "fixture::exported_cpp(int)",
                                   "(anonymous namespace)::local_function(int)", "exported_c", "?"));
  EXPECT_EQ(quality_of(kFixturePath), static_cast<int>(store::SymbolQuality::kSymtab));
}

TEST_F(WorkerTest, OnceToldToStopItLooksUpOnlyWhatTakesNoSearch) {
  auto profile = make_profile({.stacks = "main 1\n"});
  add_sample(profile, fixture_, wire::ELF, loaded_.address_of("exported_c"), 1);
  add_sample(profile, binary("kernel", "[kernel]"), wire::KERNEL, 0x1000, 1);
  add_kernel_symbols(profile, {"schedule"});
  ingest(profile);
  const std::stop_source stop;
  Symbolizer symbolizer = *Symbolizer::open(folder_ / "data", {{built_file()}}, {{"/nowhere/plimsoll"}},
                                            {.stop = stop.get_token()});
  stop.request_stop();
  EXPECT_EQ(bind(symbolizer).locations, 1);
  EXPECT_THAT(names(), ElementsAre("main", "unbound", "schedule"));
  EXPECT_EQ(bind().locations, 1) << "nothing was noted of the binary";
  EXPECT_THAT(names(), ElementsAre("main", "exported_c", "schedule"));
}

TEST_F(WorkerTest, ABuildWhoseFileComesDuringAPassIsLeftToOthers) {
  auto profile = make_profile({.stacks = "main 1\n"});
  add_sample(profile, fixture_, wire::ELF, loaded_.address_of("exported_c"), 1);
  ingest(profile);
  LateOffer others;
  Symbolizer symbolizer =
      *Symbolizer::open(folder_ / "data", {{built_file()}}, {{"/nowhere/plimsoll"}}, {.remote = &others});
  EXPECT_EQ(bind(symbolizer).locations, 0);
  EXPECT_THAT(names(), ElementsAre("main", "unbound"));
  EXPECT_TRUE(symbolizer.has_left(1));
}

TEST_F(WorkerTest, ABuildWhoseFileIsComingIsLeftAndOfferedByALaterPass) {
  const SymbolRoots roots{{folder_ / "roots"}};
  const std::string path = folder_ / "roots/library.so";
  std::filesystem::create_directory(folder_ / "roots");
  auto profile = make_profile({.stacks = "main 1\n"});
  add_sample(profile, binary(kFixtureBuildId, path), wire::ELF, loaded_.address_of("exported_c"), 1);
  ingest(profile);
  bind(roots);
  std::filesystem::copy_file(kFixturePath, path);

  OfferOfAComingFile others;
  Symbolizer symbolizer =
      *Symbolizer::open(folder_ / "data", roots, {{"/nowhere/plimsoll"}}, {.remote = &others});
  EXPECT_EQ(bind(symbolizer).renamed, 0);
  EXPECT_TRUE(symbolizer.has_left(1));
  EXPECT_FALSE(others.is_offered());
  others.come();
  EXPECT_EQ(bind(symbolizer, /*look_for_better=*/false).renamed, 0);
  EXPECT_TRUE(others.is_offered()) << "even by a pass that looks for new addresses alone";
  EXPECT_THAT(names(), ElementsAre("main", "?"));
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
  const SymbolizeReport report = bind();
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
  add_sample(profile, binary(kFixtureBuildId, outside), wire::ELF, loaded_.address_of("exported_c") + 1, 1);
  add_sample(profile, binary("replaced", kFixturePath), wire::ELF, 1, 1);
  add_sample(profile, fixture_, wire::ELF, loaded_.address_of("exported_c"), 1);
  ingest(profile);

  const SymbolizeReport report = bind({{built_file(), folder_ / "roots"}});
  EXPECT_EQ(report.locations, 4);
  EXPECT_EQ(report.named, 2);  // also the one of the path outside: its build was found elsewhere
  // Two builds under one path, and one build under two.
  EXPECT_THAT(report.missing,
              UnorderedElementsAre(
                  AllOf(StartsWith("no symbols for " + gone), HasSubstr("No such file")),
                  AllOf(StartsWith("no symbols for " + kFixturePath), HasSubstr("another build ID"))));
  EXPECT_THAT(names(), ElementsAre("main", "?", "exported_c", "?", "exported_c"));
  EXPECT_EQ(quality_of(gone), static_cast<int>(store::SymbolQuality::kNone));
}

TEST_F(WorkerTest, KernelLocationsAreNamedByTheSymbolsAProfileBrought) {
  auto profile = make_profile({.stacks = "main 1\n"});
  const wire::Binary kernel = binary("kernel", "[kernel]");
  const wire::Binary module = binary("module", "ext4");
  for (const uint64_t offset : {0x1000, 0x10ff, 0x1100, 0xfff}) {
    add_sample(profile, kernel, wire::KERNEL, offset, 1);
  }
  add_kernel_symbols(profile, {"schedule", "do_exit"});
  add_sample(profile, module, wire::MODULE, 0x10, 1);
  ingest(profile);

  const SymbolizeReport report = bind();
  EXPECT_EQ(report.named, 3);
  EXPECT_THAT(names(), ElementsAre("main", "schedule", "schedule", "do_exit", "?", "?"));
  ASSERT_THAT(report.missing, SizeIs(1));
  EXPECT_EQ(report.missing[0],
            "no symbols for ext4: no profile contains its symbols; no separate debug file; it has no DWARF");
}

TEST_F(WorkerTest, KernelsOfTwoBuildsNameTheSameOffsetEachInItsOwnWay) {
  // As after an upgrade: yesterday's profile must keep yesterday's names.
  const auto profile_of = [](uint64_t seed, const std::string& build_id, const std::string& function) {
    auto profile = make_profile({.seed = seed, .stacks = "main 1\n"});
    add_sample(profile, binary(build_id, "[kernel]"), wire::KERNEL, 0x1000, 1);
    add_kernel_symbols(profile, {function});
    return profile;
  };
  ingest(profile_of(1, "yesterday", "schedule"));
  ingest(profile_of(2, "today", "tick_do_update"));
  EXPECT_EQ(bind().named, 2);
  EXPECT_THAT(names(), ElementsAre("main", "schedule", "tick_do_update"));
}

TEST_F(WorkerTest, AProfileMayNameAnyPathButReadsNoneOutsideTheRoots) {
  auto profile = make_profile({.stacks = "main 1\n"});
  add_sample(profile, binary("x", "/etc/shadow"), wire::ELF, 1, 1);
  add_sample(profile, binary("x", "/proc/self/mem"), wire::ELF, 1, 1);
  add_sample(profile, binary("x", ""), wire::ELF, 1, 1);
  add_sample(profile, binary("x", "relative/path"), wire::ELF, 1, 1);
  ingest(profile);
  const SymbolizeReport report = bind();
  EXPECT_EQ(report.named, 0);
  EXPECT_THAT(report.missing, SizeIs(1));  // one build ID, that of nothing
}

// --- late binding

// At the first addresses of hidden(), of which nothing is left but what was inlined into it.
constexpr const char* kHidden =
    "fixture::innermost(int) < fixture::Accumulator::add(int) < fixture::(anonymous namespace)::middle < "
    "fixture::(anonymous namespace)::hidden";

class LateBinding : public WorkerTest {
 protected:
  LateBinding() {
    std::filesystem::create_directory(binaries_);
    std::filesystem::copy_file(built_file("split.so"), path_);
    const std::string content = *read_file(path_, 1 << 20);
    build_id_ = elf::ElfFile::parse(as_bytes(content))->build_id();
    elf::ElfFile::parse(as_bytes(*read_file(built_file("inline_gcc5.so"), 1 << 20)))
        ->for_each_symbol(SHT_SYMTAB, [&](const elf::Symbol& symbol) {
          // Not exported, so that .dynsym does not know it.
          hidden_ = symbol.name == "_ZN7fixture12_GLOBAL__N_16hiddenEi" ? symbol.address : hidden_;
        });
    EXPECT_NE(hidden_, 0);
  }

  void add_profile(uint64_t seed, const std::string& path, uint64_t address) {
    auto profile = make_profile({.seed = seed, .stacks = "main 1\n"});
    add_sample(profile, binary(build_id_, path), wire::ELF, address, 1);
    ingest(profile);
  }

  void add_debug_file() {
    const std::string hex = to_hex(build_id_);
    const std::string folder = debug_ + "/.build-id/" + hex.substr(0, 2);
    std::filesystem::create_directories(folder);
    std::filesystem::copy_file(built_file("split.debug"), folder + "/" + hex.substr(2) + ".debug");
  }

  std::map<std::string, std::string> segments() const {
    std::map<std::string, std::string> contents;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "data/blocks/000001/segments")) {
      contents[entry.path().filename()] = *read_file(entry.path(), 1 << 20);
    }
    return contents;
  }

  std::string binaries_ = folder_ / "binaries";
  std::string debug_ = folder_ / "debug";
  std::string path_ = binaries_ + "/split.so";
  std::string build_id_;
  uint64_t hidden_ = 0;
  Symbolizer symbolizer_ = symbolizer_for({{binaries_}, {debug_}});
};

TEST_F(LateBinding, ADebugFileThatArrivesLaterRenamesOldRowsWithoutRewritingThem) {
  add_profile(1, path_, hidden_);
  EXPECT_THAT(bind(symbolizer_).missing, ElementsAre(HasSubstr("no separate debug file")));
  EXPECT_THAT(names(), ElementsAre("main", "?"));
  const auto segments_before = segments();
  ASSERT_FALSE(segments_before.empty());

  add_debug_file();
  const SymbolizeReport report = bind(symbolizer_);
  EXPECT_EQ(report.locations, 0);
  EXPECT_EQ(report.renamed, 1);
  EXPECT_THAT(report.improved,
              ElementsAre(HasSubstr("split.so: 1 addresses symbolized again (full DWARF, was dynsym)")));
  EXPECT_THAT(names(), ElementsAre("main", kHidden));
  EXPECT_EQ(quality_of(path_), static_cast<int>(store::SymbolQuality::kFull));
  EXPECT_EQ(segments(), segments_before);
}

TEST_F(LateBinding, AnotherProcessFindsThemToo) {
  add_profile(1, path_, hidden_);
  bind({{binaries_}, {debug_}});
  add_debug_file();
  EXPECT_EQ(bind({{binaries_}, {debug_}}).renamed, 1);
}

TEST_F(LateBinding, WithoutAChangeNothingIsLookedUpAgain) {
  add_profile(1, path_, hidden_);
  bind(symbolizer_);
  EXPECT_EQ(bind(symbolizer_).renamed, 0);
  add_debug_file();
  EXPECT_EQ(bind(symbolizer_).renamed, 1);
  EXPECT_EQ(bind(symbolizer_).renamed, 0);
}

TEST_F(LateBinding, OnlyAPassThatIsToldToLooksForBetterSymbols) {
  add_profile(1, path_, hidden_);
  bind(symbolizer_);
  add_debug_file();
  EXPECT_EQ(bind(symbolizer_, false).renamed, 0);
  EXPECT_EQ(bind(symbolizer_).renamed, 1);
}

TEST_F(LateBinding, ALaterBindingIsANewGeneration) {
  add_profile(1, path_, hidden_);
  bind(symbolizer_);
  add_debug_file();
  bind(symbolizer_);
  auto catalogue = *store::Catalogue::open(catalogue_path_, sqlite::OpenMode::kRead);
  EXPECT_EQ(*catalogue.database().integer("SELECT max(generation) FROM binding", -1), 2);
}

TEST_F(LateBinding, NamesThatAreReplacedLeaveTheCatalogue) {
  add_profile(1, path_, hidden_);
  const auto blocks = *store::symbols_of(*ingest_)->blocks();
  int64_t bound_up_to = 0;
  auto pending = *blocks.back()->find_pending(bound_up_to);
  const auto found = std::ranges::find(pending, build_id_, &store::PendingBinary::identity);
  ASSERT_NE(found, pending.end());
  ASSERT_TRUE(blocks.back()->add_locations(true, *found));
  const auto bind_to = [&](const std::string& function) {
    const store::Binding binding{found->locations.front().id, {{.function = function}}};
    const store::NamedBinary named{.ids = found->ids,
                                   .path = path_,
                                   .account = {.generation = 1, .reasons = "a test"},
                                   .bindings = std::span(&binding, 1)};
    ASSERT_TRUE(blocks.back()->bind(std::span(&named, 1)));
  };
  bind_to("a guess");
  bind_to("a better guess");
  EXPECT_THAT(names(), ElementsAre("main", "a better guess"));
  auto catalogue = *store::Catalogue::open(catalogue_path_, sqlite::OpenMode::kRead);
  EXPECT_EQ(*catalogue.database().integer("SELECT count(*) FROM function WHERE name = 'a guess'", -1), 0);
}

TEST_F(LateBinding, ABuildUnderSeveralPathsIsNamedUnderAll) {
  add_profile(1, binaries_ + "/not-here.so", hidden_);
  add_profile(2, "/another/machine/has/it.so", hidden_ + 1);
  std::filesystem::rename(path_, folder_ / "aside");
  bind(symbolizer_);
  EXPECT_THAT(names(), ElementsAre("main", "?", "?"));
  // A third path leads to the binary, and the debug file knows all three.
  std::filesystem::rename(folder_ / "aside", path_);
  add_debug_file();
  add_profile(3, path_, hidden_);
  const SymbolizeReport report = bind(symbolizer_);
  EXPECT_EQ(report.locations, 1);
  EXPECT_EQ(report.renamed, 2);
  EXPECT_THAT(names(), ElementsAre("main", kHidden, kHidden, kHidden));
}

TEST_F(LateBinding, ANewPathOfAKnownBuildIsTriedToo) {
  const std::string elsewhere = "/another/machine/has/it.so";
  add_profile(1, elsewhere, hidden_);
  bind(symbolizer_);
  EXPECT_EQ(quality_of(elsewhere), static_cast<int>(store::SymbolQuality::kNone));
  add_profile(2, path_, hidden_);
  EXPECT_EQ(bind(symbolizer_).renamed, 1);
  EXPECT_EQ(quality_of(elsewhere), static_cast<int>(store::SymbolQuality::kDynsym));
}

TEST_F(LateBinding, AProfileThatCallsABuildTheVdsoDoesNotHideItsSymbols) {
  add_profile(1, "[vdso]", hidden_);
  bind(symbolizer_);
  add_profile(2, path_, hidden_);
  add_debug_file();
  bind(symbolizer_);
  EXPECT_THAT(names(), ElementsAre("main", kHidden, kHidden));
}

TEST_F(LateBinding, WhatWasOnceReadOfABuildNamesLaterLocationsToo) {
  add_debug_file();
  add_profile(1, path_, hidden_);
  bind(symbolizer_);
  std::filesystem::remove_all(debug_);
  std::filesystem::remove(path_);
  add_profile(2, path_, hidden_ + 1);
  bind({{binaries_}, {debug_}});
  EXPECT_THAT(names(), ElementsAre("main", kHidden, kHidden));
}

TEST_F(LateBinding, WorseSymbolsDoNotReplaceBetterOnes) {
  add_debug_file();
  add_profile(1, path_, hidden_);
  bind(symbolizer_);
  std::filesystem::remove_all(debug_);
  std::filesystem::remove_all(folder_ / "data/symtab");
  add_profile(2, path_, hidden_ + 1);
  bind({{binaries_}, {debug_}});
  EXPECT_THAT(names(), ElementsAre("main", kHidden, "?"));
  add_debug_file();
  bind(symbolizer_);
  EXPECT_THAT(names(), ElementsAre("main", kHidden, kHidden));
}

TEST_F(LateBinding, SymbolsOfAKernelThatALaterProfileBringsRenameIt) {
  const auto profile_with = [](uint64_t seed, bool with_symbols) {
    auto profile = make_profile({.seed = seed, .stacks = "main 1\n"});
    add_sample(profile, binary("kernel", "[kernel]"), wire::KERNEL, 0x1000, 1);
    if (with_symbols) {
      add_kernel_symbols(profile, {"schedule"});
    }
    return profile;
  };
  ingest(profile_with(1, false));
  bind(symbolizer_);
  EXPECT_THAT(names(), ElementsAre("main", "?"));
  EXPECT_EQ(bind(symbolizer_).renamed, 0);
  ingest(profile_with(2, true));
  EXPECT_EQ(bind(symbolizer_).renamed, 1);
  EXPECT_THAT(names(), ElementsAre("main", "schedule"));
}

}  // namespace
}  // namespace plimsoll::symbolizer
