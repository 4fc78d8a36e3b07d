#include "query/traces/regressions_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "base/stop_scope.h"
#include "base/time.h"
#include "formats/traces/read_spans.h"
#include "query/traces/machine_attributes.h"
#include "store/directory/data_directory.h"
#include "store/ingest.h"
#include "store/live/live_machines.h"
#include "store/store.h"
#include "tests/temporary_directory.h"
#include "tests/traces/span_fixture.h"
#include "tests/traces/versioned_disks.h"

namespace plimsoll::query::regressions_answer_test {
namespace {

using plimsoll::testing::TemporaryDirectory;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// The paper's case, with its attributes.
void store_disks(const std::string& data_dir) {
  traces::SpanSet spans({.keeps_attributes = true});
  const std::string table = diagnosis::versioned_disks_table();
  ASSERT_TRUE(formats::read_spans(as_bytes(table), spans));
  const auto ingest = store::Ingest::open(data_dir);
  ASSERT_TRUE(ingest) << ingest.error().text();
  const auto sink = store::open_span_sink((*ingest)->directory());
  ASSERT_TRUE(sink) << sink.error().text();
  ASSERT_TRUE((*sink)->add(spans, 1));
}

Result<std::string> regressions_in(const std::string& data_dir, Parameters parameters,
                                   uint64_t max_spans = kMaxReadSpans) {
  parameters.emplace_back("since", "2026-11-21T00:00:00Z");
  const auto request = parse_regressions(parameters, wall_now_ns());
  EXPECT_TRUE(request) << request.error().text();
  return request ? regressions_of_store(*request, data_dir, max_spans) : propagate(request);
}

TEST(StoredRegressions, AreThoseOfTheSpansWithTheirAttributes) {
  const TemporaryDirectory folder;
  const std::string data_dir = folder / "data";
  ASSERT_NO_FATAL_FAILURE(store_disks(data_dir));
  const auto report = regressions_in(data_dir, {{"by_hardware", "hw"}});
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_THAT(*report, AllOf(HasSubstr("## 1. hw=c7: median +"),
                             HasSubstr("- path: api create_vm > disk create_all > disk create\n"),
                             HasSubstr("sequential where it was parallel\n")));
  const auto json = regressions_in(data_dir, {{"by_hardware", "hw"}, {"json", "yes"}});
  ASSERT_TRUE(json) << json.error().text();
  EXPECT_THAT(*json, HasSubstr("\"hw\""));
}

TEST(StoredRegressions, GoOnWithoutADamagedMachineDatabase) {
  const TemporaryDirectory folder;
  const std::string data_dir = folder / "data";
  ASSERT_NO_FATAL_FAILURE(store_disks(data_dir));
  std::filesystem::remove(data_dir + "/live.db-wal");
  std::filesystem::remove(data_dir + "/live.db-shm");
  std::ofstream(data_dir + "/live.db", std::ios::binary | std::ios::trunc) << std::string(8192, 'x');
  const auto report = regressions_in(data_dir, {{"by_hardware", "hw"}});
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_THAT(*report,
              AllOf(HasSubstr("## 1. hw=c7: median +"),
                    HasSubstr("- note: attributes of machines are missing: "), Not(HasSubstr(data_dir))));
}

TEST(StoredRegressions, AreHeldToTheirMemoryAndTime) {
  const TemporaryDirectory folder;
  const std::string data_dir = folder / "data";
  ASSERT_NO_FATAL_FAILURE(store_disks(data_dir));
  const auto large = regressions_in(data_dir, {}, 100);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::kTooLarge);
  // Wherever it is stopped: while spans are read, and while buckets are searched.
  uint64_t checks = 0;
  uint64_t last = UINT64_MAX;
  const StopCheck check = [&]() -> Status {
    return ++checks > last ? fail(ErrorCode::kUnavailable, "its client is gone") : Status();
  };
  const StopScope scope(check);
  ASSERT_TRUE(regressions_in(data_dir, {}));
  const uint64_t all = checks;
  ASSERT_GT(all, 10);
  for (last = 0; last < all; last += 1 + all / 7) {
    SCOPED_TRACE(last);
    checks = 0;
    const auto stopped = regressions_in(data_dir, {});
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().message, "its client is gone");
  }
}

TEST(StoredRegressions, RefuseWhatIsNoQuestion) {
  EXPECT_FALSE(parse_regressions({{"since", "yesterday"}}, 0));
  EXPECT_FALSE(parse_regressions({{"json", "perhaps"}}, 0));
  EXPECT_FALSE(parse_regressions({{"hardware", "hw"}}, 0));
  EXPECT_FALSE(parse_regressions({{"since", "2026-11-21T00:00:00Z"}, {"until", "2026-11-20T00:00:00Z"}}, 0));
}

TEST(StoredRegressions, SearchSoManyAttributesAtMost) {
  Parameters parameters;
  for (size_t i = 0; i < diagnosis::kMaxSearchedAttributes; ++i) {
    parameters.emplace_back("attribute", "key" + std::to_string(i));
  }
  EXPECT_TRUE(parse_regressions(parameters, 0));
  parameters.emplace_back("attribute", "one.more");
  const auto refused = parse_regressions(parameters, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(refused.error().message, "over 12 attributes to search");
}

// Before each column of an attribute: their number is that of the question.
TEST(StoredRegressions, AskWhetherToGoOnForEachAttribute) {
  const TemporaryDirectory folder;
  const std::string data_dir = folder / "data";
  ASSERT_NO_FATAL_FAILURE(store_disks(data_dir));
  uint64_t checks = 0;
  const StopCheck check = [&]() -> Status {
    ++checks;
    return {};
  };
  const StopScope scope(check);
  const auto checks_with = [&](const Parameters& parameters) {
    checks = 0;
    // The last attribute is in no span, and ends the question before buckets are searched.
    EXPECT_FALSE(regressions_in(data_dir, parameters));
    return checks;
  };
  const uint64_t without = checks_with({{"attribute", "none"}});
  EXPECT_EQ(checks_with({{"attribute", "replica"}, {"attribute", "service"}, {"attribute", "none"}}),
            without + 2);
}

wire::Machine machine_with(const std::string& kernel) {
  wire::Machine machine;
  machine.set_id("m1");
  machine.set_boot_id("boot");
  machine.set_hostname("node-1");
  machine.set_platform("AMD Zen 3");
  machine.set_kernel_release(kernel);
  return machine;
}

std::vector<std::string> attributes_at(const MachineAttributes& machines, const std::string& name,
                                       int64_t time_ns) {
  std::vector<traces::Attribute> attributes;
  machines.append_to(attributes, name, time_ns);
  std::vector<std::string> texts;
  for (const traces::Attribute& attribute : attributes) {
    texts.push_back(std::string(attribute.key) + "=" + std::string(attribute.value));
  }
  return texts;
}

// By host name or ID, as they were at the time of the span.
TEST(MachineAttributes, AreThoseOfTheTime) {
  constexpr int64_t kStartNs = int64_t{1'700'000'000} * kNsPerSecond;
  const TemporaryDirectory folder;
  const std::string data_dir = folder / "data";
  {
    const auto ingest = store::Ingest::open(data_dir);
    ASSERT_TRUE(ingest) << ingest.error().text();
    auto live = store::LiveMachines::open((*ingest)->directory().live_path(), sqlite::OpenMode::kReadWrite);
    ASSERT_TRUE(live) << live.error().text();
    ASSERT_TRUE(live->register_machine(machine_with("6.1"), kStartNs, kNsPerSecond));
    ASSERT_TRUE(live->register_machine(machine_with("6.12"), kStartNs + 2 * kNsPerHour, kNsPerSecond));
  }
  const auto machines =
      MachineAttributes::load(data_dir, {kStartNs, kStartNs + 4 * kNsPerHour}, kStartNs + 5 * kNsPerHour);
  ASSERT_TRUE(machines) << machines.error().text();
  for (const char* const name : {"node-1", "m1"}) {
    EXPECT_THAT(attributes_at(*machines, name, kStartNs + kNsPerHour),
                ElementsAre("machine.platform=AMD Zen 3", "machine.kernel=6.1"));
    EXPECT_THAT(attributes_at(*machines, name, kStartNs + 3 * kNsPerHour),
                ElementsAre("machine.platform=AMD Zen 3", "machine.kernel=6.12"));
    EXPECT_THAT(attributes_at(*machines, name, 0),
                ElementsAre("machine.platform=AMD Zen 3", "machine.kernel=6.1"));
  }
  EXPECT_THAT(attributes_at(*machines, "node-2", kStartNs), ElementsAre());
  EXPECT_THAT(attributes_at(*machines, "", kStartNs), ElementsAre());
}

// One by one: it asks whether to go on before each.
TEST(MachineAttributes, AreReadAt48TimesHoweverTheRangeIsDivided) {
  const TemporaryDirectory folder;
  const std::string data_dir = folder / "data";
  ASSERT_TRUE(store::Ingest::open(data_dir));
  uint64_t times = 0;
  const StopCheck count = [&]() -> Status {
    ++times;
    return {};
  };
  const StopScope scope(count);
  for (int64_t beyond_ns = 0; beyond_ns < 48; ++beyond_ns) {
    times = 0;
    const int64_t to_ns = 96 * kNsPerHour + beyond_ns;
    ASSERT_TRUE(MachineAttributes::load(data_dir, {0, to_ns}, to_ns));
    EXPECT_EQ(times, 48U) << beyond_ns;
  }
}

store::LiveMachine live_machine(const std::string& id, const std::string& hostname, const std::string& kernel,
                                int64_t last_seen_ns) {
  store::LiveMachine machine;
  machine.attributes.set_id(id);
  machine.attributes.set_hostname(hostname);
  machine.attributes.set_kernel_release(kernel);
  machine.first_seen_ns = last_seen_ns == 0 ? 0 : 1;
  machine.last_seen_ns = last_seen_ns;
  return machine;
}

// A machine that is installed again has a new ID; the old one is known for as long as machines are kept.
TEST(MachineAttributes, OfAHostNameAreThoseOfTheMachineHeardOfLast) {
  MachineAttributes machines;
  for (const int64_t hour : {1, 2, 3}) {
    store::PastFleet fleet;
    fleet.at_ns = hour * kNsPerHour;
    fleet.machines = {live_machine("m1", "node-1", "6.1", kNsPerHour),
                      live_machine("m3", "node-1", "inventory", 0)};
    if (hour > 1) {
      // Before and behind it in the order of IDs.
      fleet.machines.insert(fleet.machines.begin(), live_machine("m0", "node-1", "6.12", hour * kNsPerHour));
    }
    machines.add(fleet);
  }
  const auto kernel_of = [&](const char* name, int64_t hour) {
    return attributes_at(machines, name, hour * kNsPerHour);
  };
  EXPECT_THAT(kernel_of("node-1", 1), ElementsAre("machine.kernel=6.1"));
  EXPECT_THAT(kernel_of("node-1", 2), ElementsAre("machine.kernel=6.12"));
  EXPECT_THAT(kernel_of("node-1", 3), ElementsAre("machine.kernel=6.12"));
  EXPECT_THAT(kernel_of("m1", 3), ElementsAre("machine.kernel=6.1"));
  EXPECT_THAT(kernel_of("m3", 3), ElementsAre("machine.kernel=inventory"));
}

TEST(MachineAttributes, OfAnIdAreThoseOfItsMachine) {
  store::PastFleet fleet;
  fleet.at_ns = kNsPerHour;
  fleet.machines = {live_machine("a", "b", "of a", 2), live_machine("b", "c", "of b", 1),
                    live_machine("c", "c", "of c", 1)};
  MachineAttributes machines;
  machines.add(fleet);
  EXPECT_THAT(attributes_at(machines, "a", 0), ElementsAre("machine.kernel=of a"));
  EXPECT_THAT(attributes_at(machines, "b", 0), ElementsAre("machine.kernel=of b"));
  EXPECT_THAT(attributes_at(machines, "c", 0), ElementsAre("machine.kernel=of c"));
}

}  // namespace
}  // namespace plimsoll::query::regressions_answer_test
