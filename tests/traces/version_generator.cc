#include "tests/traces/version_generator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

namespace plimsoll::diagnosis {
namespace {

constexpr int64_t kDayNs = 86'400'000'000'000;
constexpr int64_t kStartNs = 1'795'600'800'000'000'000;
constexpr int64_t kHours = 24;
constexpr int64_t kBusyHour = 17;

// Equal numbers on every machine and library.
class FleetRandom {
 public:
  explicit FleetRandom(uint64_t seed) : engine_(seed) {}
  double uniform() { return static_cast<double>(engine_() >> 11U) * 0x1p-53; }
  bool chance(double probability) { return uniform() < probability; }
  uint16_t below(uint16_t count) { return static_cast<uint16_t>(uniform() * count); }
  double normal() {
    // Box and Muller.
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::mt19937_64 engine_;
};

enum Attribute : uint8_t { kType, kHw, kDisk, kRegion, kVm, kKernel };
struct AttributeOfFleet {
  const char* name;
  uint16_t values;
  double slower;  // logarithm, from value to value
};
constexpr std::array<AttributeOfFleet, 6> kAttributes{{{"type", 3, 0.5},
                                                       {"hw", 3, -0.15},
                                                       {"disk", 3, 0.3},
                                                       {"region", 4, 0.05},
                                                       {"vm", 5, 0.12},
                                                       {"kernel", 3, 0.02}}};

struct Host {
  std::array<uint16_t, kAttributes.size()> values{};
  bool is_new = false;
  double slower = 0;
};

std::vector<Host> generated_hosts(const VersionGeneratorOptions& options, FleetRandom& random) {
  std::vector<Host> hosts(options.hosts);
  for (Host& host : hosts) {
    host.values[kHw] = random.below(3);
    host.values[kRegion] = random.below(4);
    host.values[kKernel] = random.chance(0.9) ? host.values[kHw] : random.below(3);
    host.is_new = random.chance(options.new_share);
    host.slower = options.host_sigma * random.normal();
  }
  if (options.disturbance == Disturbance::kSlowHost) {
    const auto slow = std::ranges::find_if(hosts, &Host::is_new);
    (slow == hosts.end() ? hosts.front() : *slow).slower += std::log(2.5);
  }
  return hosts;
}

}  // namespace

std::string name_of(Disturbance disturbance) {
  switch (disturbance) {
    case Disturbance::kSlowHost:
      return "slow host";
    case Disturbance::kOtherMix:
      return "other mix";
    case Disturbance::kBusyHour:
      return "busy hour";
    case Disturbance::kNone:
      break;
  }
  return "correlated attributes";
}

ComparedRequests generated_versions(const VersionGeneratorOptions& options) {
  FleetRandom random(options.seed);
  const std::vector<Host> hosts = generated_hosts(options, random);
  ComparedRequests made;
  made.hosts = hosts.size();
  for (const AttributeOfFleet& attribute : kAttributes) {
    BucketAttribute& added = made.attributes.emplace_back();
    added.name = attribute.name;
    added.values.emplace_back();
    for (uint16_t value = 0; value < attribute.values; ++value) {
      added.values.push_back(std::to_string(value));
    }
  }
  while (made.size() < options.requests) {
    const auto number = static_cast<uint32_t>(random.uniform() * options.hosts);
    const Host& host = hosts[number];
    const auto at_ns = static_cast<int64_t>(random.uniform() * static_cast<double>(kDayNs));
    const bool is_busy =
        options.disturbance == Disturbance::kBusyHour && at_ns / (kDayNs / kHours) == kBusyHour;
    // Hosts of the old version lose most of their requests of that hour to the others.
    if (is_busy && !host.is_new && random.chance(0.7)) {
      continue;
    }
    std::array<uint16_t, kAttributes.size()> values = host.values;
    const bool is_skewed = options.disturbance == Disturbance::kOtherMix && host.is_new && random.chance(0.4);
    values[kType] = is_skewed ? 2 : random.below(3);
    values[kDisk] = random.below(3);
    values[kVm] = is_skewed            ? 4
                  : random.chance(0.8) ? static_cast<uint16_t>(values[kDisk] + 1)
                                       : random.below(5);
    double log_ms = std::log(20) + host.slower + 0.4 * random.normal();
    for (size_t i = 0; i < kAttributes.size(); ++i) {
      log_ms += kAttributes[i].slower * values[i];
      made.attributes[i].value_of.push_back(static_cast<uint16_t>(values[i] + 1));
    }
    log_ms += is_busy ? std::log(1.6) : 0;
    log_ms += host.is_new && values[kHw] == 1 && values[kDisk] == 1 ? std::log(options.factor) : 0;
    log_ms += random.chance(0.03) ? std::log(2 + 18 * random.uniform()) : 0;
    made.ms.push_back(static_cast<float>(std::exp(log_ms)));
    made.start_ns.push_back(kStartNs + at_ns);
    made.host.push_back(number);
    made.is_new.push_back(host.is_new ? 1 : 0);
  }
  return made;
}

}  // namespace plimsoll::diagnosis
