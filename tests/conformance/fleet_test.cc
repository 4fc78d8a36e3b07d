// What every implementation of Fleet does. MemoryFleet is the definition; the others must agree with it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/conformance/copied_fleet.h"
#include "tests/conformance/fleets.h"
#include "tests/conformance/random_requests.h"
#include "tests/temporary_directory.h"

namespace plimsoll::testing::fleet_test {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kStartNs = 1'700'000'000 * kSecondNs;

// What a fleet shows, in words.
template <typename Value, typename Text>
std::string shown(const Result<Value>& value, const Text& text) {
  return value ? text(*value) : fmt::format("error {}", static_cast<int>(value.error().code));
}
template <typename Value, typename Text>
std::string each(const Result<std::vector<Value>>& values, const Text& text) {
  return shown(values, [&](const auto& list) {
    std::string all;
    for (const Value& value : list) {
      all += text(value) + "\n";
    }
    return all;
  });
}

std::string text_of(const store::LiveMachine& machine) {
  return fmt::format("{} {} on {}, seen {} to {} each {}", machine.attributes.id(),
                     machine.attributes.hostname(), machine.attributes.platform(), machine.first_seen_ns,
                     machine.last_seen_ns, machine.heartbeat_ns);
}
std::string text_of(const store::Census& census) {
  std::string text = fmt::format("{} at {} of {}:", census.machine_id, census.taken_ns, census.interval_ns);
  for (const wire::InstanceUsage& usage : census.instances) {
    text += fmt::format(" {} of {} with {} CPUs", usage.instance(), usage.job(), usage.quota_cpus());
  }
  return text;
}
std::string text_of(const store::DrawWithMachines& draw) {
  std::string text = fmt::format("{} made {}, due {}:", draw.draw.id, draw.draw.made_ns, draw.draw.due_ns);
  for (const store::DrawStratum& stratum : draw.draw.strata) {
    text += fmt::format(" {} {} of {}", stratum.name, stratum.drawn, stratum.machines);
  }
  for (const store::DrawnMachine& machine : draw.machines) {
    text +=
        fmt::format(" {} of {} by {}", machine.machine_id, machine.stratum, machine.inclusion_probability);
  }
  return text;
}
std::string text_of(const store::Stop& stop) {
  return fmt::format("{}: {} by hand {} since {}", name_of(stop), stop.reason, stop.by_hand, stop.since_ns);
}

// All of it, and what it says of times, limits and names.
std::vector<std::string> all_of(const store::Fleet& fleet) {
  const auto number = [](int64_t count) { return std::to_string(count); };
  const auto draw = [](const auto& drawn) { return text_of(drawn); };
  std::vector<std::string> all{
      "machines: " + shown(fleet.count_machines(), number) + "\n" +
          each(fleet.machines(), [](const auto& machine) { return text_of(machine); }),
      "current: " + shown(fleet.current(),
                          [](const store::CurrentFleet& current) {
                            std::string text;
                            for (const auto& machine : current.machines) {
                              text += text_of(machine) + "\n";
                            }
                            for (const auto& census : current.censuses) {
                              text += text_of(census) + "\n";
                            }
                            return text;
                          }),
      "draws: " + shown(fleet.count_draws(), number) + "\n" + each(fleet.newest_draws(1000), draw),
      "newest draws:\n" + each(fleet.newest_draws(3), draw),
      "stops:\n" + each(fleet.stops(), [](const auto& stop) { return text_of(stop); }),
      "experiments:\n" + each(fleet.experiments(), [](const auto& one) { return one.name + one.feature; })};
  for (const int64_t time_ns : {kStartNs + 20 * kSecondNs, kStartNs + 10'000 * kSecondNs}) {
    all.push_back("past: " + shown(fleet.at(time_ns), [](const auto& past) {
                    std::string text;
                    for (const auto& machine : past ? past->machines : std::vector<store::LiveMachine>()) {
                      text += machine.attributes.id() + " " + machine.attributes.hostname() + "\n";
                    }
                    return text;
                  }));
  }
  for (const char* id : {"draw-1", "draw-2", "none"}) {
    all.push_back(
        "draw: " + shown(fleet.draw(id), [](const auto& one) { return one ? text_of(*one) : "none"; }) +
        each(fleet.drawn_weights(id), [](const store::DrawnWeight& weight) {
          return fmt::format("{} {} {}", weight.stratum, weight.machines, weight.weight);
        }));
  }
  for (const int64_t since_ns : {int64_t{0}, kStartNs + 30 * kSecondNs}) {
    for (const size_t limit : {2, 1000}) {
      all.push_back("requests:\n" + each(fleet.newest_requests(limit, since_ns), [](const auto& asked) {
                      return fmt::format("{} {} {} {} {} {} {}", asked.first_ns, asked.last_ns, asked.caller,
                                         asked.host, asked.request, asked.status, asked.count);
                    }));
      all.push_back("callers:\n" + each(fleet.callers(limit, since_ns), [](const auto& use) {
                      return fmt::format("{} {} {} {} {}", use.caller, use.first_ns, use.last_ns, use.count,
                                         use.refused);
                    }));
    }
  }
  return all;
}

class FleetTest : public ::testing::TestWithParam<FleetImplementation> {
 protected:
  // The same to the tested one and to the model.
  void write(const auto& write) {
    const Status tested = write(*tested_);
    ASSERT_TRUE(tested) << tested.error().text();
    ASSERT_TRUE(write(model_));
  }

  void write_random(Random& random) {
    now_ns_ += kSecondNs;
    const uint32_t number = random.below(5);
    switch (random.below(5)) {
      case 0: {
        wire::Machine machine;
        machine.set_id(fmt::format("m{}", number));
        machine.set_boot_id("boot");
        machine.set_platform("rome");
        machine.set_hostname(fmt::format("host{}", random.below(2)));
        wire::InstanceUsage usage;
        usage.set_job("web");
        usage.set_instance("web/1");
        usage.set_quota_cpus(random.below(8));
        return write([&](TestedFleet& fleet) {
          return fleet.hear(machine, {machine.id(), now_ns_, kSecondNs, {usage}}, now_ns_);
        });
      }
      case 1: {
        store::DrawWithMachines draw;
        draw.draw.id = fmt::format("draw-{}", ++draws_);
        draw.draw.made_ns = now_ns_;
        draw.draw.due_ns = now_ns_ + 60 * kSecondNs;
        draw.draw.strata = {{.name = "a", .machines = 9, .expected = 1, .drawn = 1, .drawn_weight = 9},
                            {.name = "b", .machines = 4, .expected = 1, .drawn = number, .drawn_weight = 4}};
        draw.machines = {{.machine_id = "m0", .stratum = 0, .inclusion_probability = 1.0 / 9}};
        return write([&](TestedFleet& fleet) { return fleet.add(draw); });
      }
      case 2:
        return write([&](TestedFleet& fleet) {
          return fleet.replace_stops({{.scope = store::StopScope::kPlatform,
                                       .value = "rome",
                                       .reason = fmt::format("reason {}", number),
                                       .by_hand = true,
                                       .since_ns = now_ns_}});
        });
      case 3:
        return write([&](TestedFleet& fleet) {
          return fleet.keep(store::ExperimentDefinition{.name = fmt::format("e{}", number),
                                                        .feature = std::to_string(now_ns_),
                                                        .defined_ns = now_ns_,
                                                        .changed_ns = now_ns_});
        });
      default:
        return write([&](TestedFleet& fleet) {
          return fleet.add(store::AskedFor{now_ns_ - kSecondNs, now_ns_, fmt::format("caller{}", number),
                                           "10.0.0.1", "GET /api/v1/top", number == 0 ? 403U : 200U,
                                           1 + number});
        });
    }
  }

  TemporaryDirectory folder_;
  std::unique_ptr<TestedFleet> tested_ = GetParam().make(folder_.path());
  MemoryFleet model_;
  int64_t now_ns_ = kStartNs;
  int draws_ = 0;
};

TEST_P(FleetTest, WhatNoServerHasKeptIsEmpty) {
  EXPECT_EQ(*tested_->fleet().count_machines(), 0);
  EXPECT_EQ(all_of(tested_->fleet()), all_of(model_));
}

// The fleet is the same all the time: it sees what was written before each call.
TEST_P(FleetTest, ShowsWhatTheModelShows) {
  Random random(1);
  for (int step = 0; step < 60; ++step) {
    SCOPED_TRACE(fmt::format("step {}", step));
    ASSERT_NO_FATAL_FAILURE(write_random(random));
    ASSERT_EQ(all_of(tested_->fleet()), all_of(model_));
  }
  EXPECT_GT(*tested_->fleet().count_machines(), 2);
  EXPECT_GT(*tested_->fleet().count_draws(), 2);
}

TEST_P(FleetTest, ThreadsAskAtOnce) {
  Random random(2);
  for (int step = 0; step < 20; ++step) {
    ASSERT_NO_FATAL_FAILURE(write_random(random));
  }
  const std::vector<std::string> expected = all_of(model_);
  std::vector<std::vector<std::string>> seen(4);
  {
    std::vector<std::jthread> threads;
    for (auto& of_thread : seen) {
      threads.emplace_back([&] { of_thread = all_of(tested_->fleet()); });
    }
  }
  EXPECT_THAT(seen, ::testing::Each(expected));
}

INSTANTIATE_TEST_SUITE_P(
    Fleets, FleetTest,
    ::testing::Values(
        FleetImplementation{"Memory", [](const std::string&) { return std::make_unique<MemoryFleet>(); }},
        FleetImplementation{
            "Local", [](const std::string& folder) { return std::make_unique<TestedLocalFleet>(folder); }},
        FleetImplementation{
            "Copied", [](const std::string& folder) { return std::make_unique<TestedCopiedFleet>(folder); }}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace plimsoll::testing::fleet_test
