// Which builds are looked for elsewhere, and in what order.
#include "query/operations/wanted_builds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "server/background/work_kinds.h"
#include "server/passes.h"
#include "symbolizer/debuginfod/debuginfod_fetcher.h"
#include "tests/unit/symbolizer/binding_fixture.h"
#include "tests/unit/symbolizer/debuginfod/fake_debuginfod.h"
#include "tests/unit/symbolizer/repository/sample_binary.h"

namespace plimsoll::query::wanted_builds_test {
namespace {

using ::testing::ElementsAre;

class WantedBuilds : public symbolizer::BindingTest {
 protected:
  // Notes of each binary, by its build ID, why it has no better symbols.
  void note_reasons(const std::map<std::string, std::string>& reasons) {
    const auto blocks = *store::symbols_of(*ingest_)->blocks();
    int64_t up_to = 0;
    const auto pending = blocks.back()->find_pending(up_to);
    ASSERT_TRUE(pending) << pending.error().text();
    for (const store::PendingBinary& one : *pending) {
      const auto reason = reasons.find(one.identity);
      const store::NamedBinary named{
          .ids = one.ids,
          .path = one.paths.front(),
          .account = {.generation = 1, .reasons = reason == reasons.end() ? "" : reason->second},
          .bindings = {}};
      ASSERT_TRUE(blocks.back()->bind(std::span(&named, 1)));
    }
  }
};

TEST_F(WantedBuilds, ThoseWithTheMostSamplesComeFirst) {
  wire::RawProfile profile = plimsoll::testing::make_profile({.stacks = "main;work 50\n"});
  using symbolizer::binary;
  plimsoll::testing::add_sample(profile, binary("a seldom one", "/lib/seldom.so"), wire::ELF, 0x10, 2);
  plimsoll::testing::add_sample(profile, binary("one without symbols", "/srv/app"), wire::ELF, 0x20, 30);
  plimsoll::testing::add_sample(profile, binary("with all symbols", "/srv/best"), wire::ELF, 0x30, 40);
  plimsoll::testing::add_sample(profile, binary("the vdso", "[vdso]"), wire::ELF, 0x40, 5);
  ingest(profile);
  note_reasons({{"a seldom one", "exported functions only"},
                {"one without symbols", "no file"},
                {"the vdso", "it belongs to another kernel"}});
  const auto snapshot = *Snapshot::load(folder_ / "data");
  EXPECT_THAT(*wanted_builds(*snapshot, 10), ElementsAre("one without symbols", "a seldom one"));
  EXPECT_THAT(*wanted_builds(*snapshot, 1), ElementsAre("one without symbols"));
  const std::vector<std::string> of_code = *wanted_builds(*snapshot, 10, WantedContent::kCode);
  EXPECT_THAT(of_code, ::testing::IsSupersetOf({"with all symbols", "one without symbols", "a seldom one"}));
  EXPECT_LT(std::ranges::find(of_code, "with all symbols"), std::ranges::find(of_code, "a seldom one"));
  EXPECT_THAT(of_code, ::testing::Not(::testing::Contains("the vdso")));
}

// A hit of a heap is a byte: a thousand million of them are two samples.
TEST_F(WantedBuilds, ThoseThatHoldMuchMemoryHaveNoMoreSamplesForIt) {
  wire::RawProfile cycles = plimsoll::testing::make_profile({.seed = 1});
  plimsoll::testing::add_sample(cycles, symbolizer::binary("it burns CPU", "/srv/burns"), wire::ELF, 0x10,
                                30);
  ingest(cycles);
  wire::RawProfile heap = plimsoll::testing::make_profile(
      {.seed = 2, .events = {{.name = "heap-inuse-bytes", .unit = wire::BYTES, .kind = wire::SNAPSHOT}}});
  heap.mutable_assignment()->set_id("scrape:server/heap");
  plimsoll::testing::add_sample(heap, symbolizer::binary("it holds memory", "/lib/holds.so"), wire::ELF, 0x20,
                                1'000'000'000);
  heap.mutable_events(0)->set_samples(2);
  ingest(heap);
  note_reasons({{"it burns CPU", "no file"}, {"it holds memory", "no file"}});
  const auto snapshot = *Snapshot::load(folder_ / "data");
  for (const WantedContent content : {WantedContent::kBetterSymbols, WantedContent::kCode}) {
    EXPECT_THAT(*wanted_builds(*snapshot, 10, content), ElementsAre("it burns CPU", "it holds memory"));
    EXPECT_THAT(*wanted_builds(*snapshot, 1, content), ElementsAre("it burns CPU"));
  }
}

// Symbols of others are a help: a server that has no room for them serves its profiles as well as before.
TEST_F(WantedBuilds, AFullDiskIsNoFailureOfThePassThatFetchesThem) {
  const std::string build_id = "one without symbols";
  wire::RawProfile profile = plimsoll::testing::make_profile({.from_ns = wall_now_ns() - 60 * kNsPerSecond});
  plimsoll::testing::add_sample(profile, symbolizer::binary(build_id, "/srv/app"), wire::ELF, 0x20, 30);
  ingest(profile);
  note_reasons({{build_id, "no file"}});
  const symbolizer::FakeDebuginfod debuginfod([&](const std::string& /*path*/, int socket) {
    symbolizer::FakeDebuginfod::answer(socket, 200, symbolizer::image_of({.build_id = build_id}));
  });
  const auto repository = *symbolizer::BinaryRepository::open(folder_ / "data", {});
  bool is_full = true;
  symbolizer::DebuginfodSettings settings{.servers =
                                              *symbolizer::parse_debuginfod_servers({debuginfod.url()})};
  settings.check_room = [&is_full](uint64_t /*bytes*/) {
    return is_full ? fail(ErrorCode::kUnavailable, "the disk is full") : Status();
  };
  SnapshotCache snapshots(folder_ / "data");
  server::WantedBuildSet wanted;
  int added = 0;
  const auto pass = [&] {
    return server::fetch_pass(std::make_unique<symbolizer::DebuginfodFetcher>(settings, *repository),
                              snapshots, wanted, std::chrono::hours(1), [&added] { ++added; });
  };
  const auto without_room = pass()(std::stop_token());
  ASSERT_TRUE(without_room) << without_room.error().text();
  EXPECT_EQ(without_room->after, server::kFetch.retry);
  EXPECT_TRUE(wanted.contains(build_id)) << "daemons may send it";
  EXPECT_THAT(debuginfod.paths(), ::testing::SizeIs(1));
  is_full = false;
  ASSERT_TRUE(pass()(std::stop_token()));
  EXPECT_EQ(added, 1);
}

}  // namespace
}  // namespace plimsoll::query::wanted_builds_test
