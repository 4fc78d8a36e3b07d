// A thousand honest machines, and a few of each kind that claim what they have not done: the answers are those of the honest ones, and
// the others are named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>

#include "base/hex.h"
#include "base/time.h"
#include "query/operations/machines.h"
#include "query/views/top.h"
#include "scheduler/fleet_service.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"

namespace plimsoll::scheduler::liars_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kHonest = 1000;
constexpr int kLiarsOfAKind = 5;
constexpr int64_t kStartNs = 1'700'000'000 * kNsPerSecond;
constexpr int64_t kNowNs = kStartNs + kNsPerMinute;

// What a liar changes of a profile that is wholly of a function of its own.
using Lie = std::function<void(wire::RawProfile& profile)>;

class Liars : public ::testing::Test {
 protected:
  void SetUp() override {
    FleetOptions options;
    options.now_ns = [] { return kNowNs; };
    breaker_ = *CollectionBreaker::open(
        *store::DrawStore::open(ingest_->directory().draws_path(), sqlite::OpenMode::kReadWrite), {});
    service_ = std::make_unique<FleetService>(*ingest_, std::move(options), *breaker_, nullptr, [] {});
    std::mt19937 random(7);
    for (int i = 0; i < kHonest; ++i) {
      const auto parse = static_cast<int>(600 + random() % 200);
      upload(profile_of(fmt::format("honest-{}", i),
                        fmt::format("main;parse {}\nmain;read {}\n", parse, 1000 - parse)));
    }
  }

  // Ten seconds on four CPUs, of which one was busy with `stacks` of a thousand hits.
  wire::RawProfile profile_of(const std::string& machine, const std::string& stacks) {
    return testing::make_profile({.seed = ++seed_,
                                  .machine = machine,
                                  .from_ns = kStartNs,
                                  .length_ns = 10 * kNsPerSecond,
                                  .events = {{.name = "cpu-clock", .scale = 1e7, .unit = wire::NANOSECONDS}},
                                  .stacks = stacks});
  }

  // Whether it was taken.
  bool upload(const wire::RawProfile& profile) {
    wire::RegisterRequest request;
    *request.mutable_machine() = profile.machine();
    request.mutable_machine()->set_boot_id("boot");
    EXPECT_TRUE(service_->register_machine(request, http::Caller()));
    return service_->upload(to_hex(profile.profile_id()), as_bytes(wire::encode(profile)), http::Caller())
        .has_value();
  }

  // Of five that tell such a lie each.
  int accepted_of(const std::string& name, const Lie& lie) {
    int accepted = 0;
    for (int i = 0; i < kLiarsOfAKind; ++i) {
      wire::RawProfile profile = profile_of(fmt::format("{}-{}", name, i), "main;lie 1000\n");
      lie(profile);
      accepted += upload(profile) ? 1 : 0;
    }
    return accepted;
  }

  query::Table top(const query::Parameters& parameters) {
    while (ingest_->build_pending().value().profiles > 0) {
    }
    const auto snapshot = query::Snapshot::load(ingest_->directory().path());
    return *query::top(*query::parse_top(parameters, kNowNs), **snapshot);
  }

  std::map<std::string, double> shares(const query::Parameters& parameters) {
    std::map<std::string, double> shares;
    for (const auto& row : top(parameters).rows) {
      shares[std::get<std::string>(row[0])] = std::get<double>(row[2]);
    }
    return shares;
  }

  testing::TemporaryDirectory folder_;
  std::unique_ptr<store::Ingest> ingest_ = *store::Ingest::open(folder_ / "data");
  std::unique_ptr<CollectionBreaker> breaker_;
  std::unique_ptr<FleetService> service_;
  uint64_t seed_ = 0;
};

TEST_F(Liars, ClaimsThatCannotBeLeaveTheAnswersAsTheyWere) {
  const auto before = shares({});
  ASSERT_NEAR(before.at("parse"), 0.7, 0.01);
  const std::map<std::string, Lie> lies{
      {"counts", [](wire::RawProfile& profile) { profile.mutable_events(0)->set_counter_total(1e31); }},
      {"scales",
       [](wire::RawProfile& profile) {
         profile.mutable_events(0)->set_time_enabled_ns(1'000'000'000'000'000'000);
         profile.mutable_events(0)->set_time_running_ns(1);
       }},
      {"holds",
       [](wire::RawProfile& profile) {
         profile.mutable_events(0)->set_name("heap-inuse-space");
         profile.mutable_events(0)->set_unit(wire::BYTES);
         profile.mutable_events(0)->set_kind(wire::SNAPSHOT);
         profile.mutable_events(0)->set_counter_total(1e18);
         profile.mutable_machine()->set_memory_bytes(1UL << 34);
       }},
      {"was-in-1971",
       [](wire::RawProfile& profile) {
         profile.mutable_window()->mutable_start()->set_wall_ns(40'000'000 * kNsPerSecond);
         profile.mutable_window()->mutable_end()->set_wall_ns(40'000'010 * kNsPerSecond);
       }},
      {"will-be-in-2093",
       [](wire::RawProfile& profile) {
         profile.mutable_window()->mutable_start()->set_wall_ns(3'900'000'000 * kNsPerSecond);
         profile.mutable_window()->mutable_end()->set_wall_ns(3'900'000'010 * kNsPerSecond);
       }},
  };
  for (const auto& [name, lie] : lies) {
    EXPECT_EQ(accepted_of(name, lie), 0) << name;
  }
  EXPECT_EQ(shares({}), before);
  EXPECT_EQ(top({}).coverage.from_ns, kStartNs);
  EXPECT_EQ(top({}).coverage.to_ns, kStartNs + 10 * kNsPerSecond);
  // Who said it.
  const auto machines =
      query::machines({.now_ns = kNowNs}, **query::Snapshot::load(ingest_->directory().path()),
                      *query::LiveFleet::load(*store::open_fleet(ingest_->directory().path())));
  EXPECT_THAT(machines.notes, Contains(StartsWith("25 machines sent implausible profiles")));
  for (const auto& row : machines.rows) {
    const bool is_honest = std::get<std::string>(row[0]).starts_with("honest");
    EXPECT_EQ(std::get<std::string>(row.back()).empty(), is_honest) << std::get<std::string>(row[0]);
  }
}

// A machine of 8,192 CPUs can be; of a fleet whose machines have four, few such ones are the answer, which says so.
TEST_F(Liars, ClaimsThatCanBeAreNamedWhereTheyAreMostOfTheAnswer) {
  EXPECT_THAT(top({}).notes, ::testing::Not(Contains(HasSubstr("of what"))));
  EXPECT_EQ(accepted_of("large",
                        [](wire::RawProfile& profile) {
                          profile.mutable_machine()->set_cores(8192);
                          profile.mutable_events(0)->set_counter_total(8000e10);
                        }),
            kLiarsOfAKind);
  EXPECT_THAT(top({}).notes, Contains(HasSubstr("machines counted is of 3: large-")));
  query::Parameters honest;
  for (int i = 0; i < kLiarsOfAKind; ++i) {
    honest.emplace_back("where", fmt::format("machine!=large-{}", i));
  }
  EXPECT_NEAR(shares(honest).at("parse"), 0.7, 0.01);
}

}  // namespace
}  // namespace plimsoll::scheduler::liars_test
