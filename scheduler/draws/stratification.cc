#include "scheduler/draws/stratification.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/suggest.h"

namespace plimsoll::scheduler {
namespace {

struct Attribute {
  std::string_view name;
  const std::string& (wire::Machine::*value)() const;
};

constexpr std::array<Attribute, 8> kAttributes{{{"platform", &wire::Machine::platform},
                                                {"datacenter", &wire::Machine::datacenter},
                                                {"cluster", &wire::Machine::cluster},
                                                {"architecture", &wire::Machine::architecture},
                                                {"cpu_model", &wire::Machine::cpu_model},
                                                {"kernel", &wire::Machine::kernel_release},
                                                {"os", &wire::Machine::os},
                                                {"daemon_version", &wire::Machine::daemon_version}}};

constexpr auto kNames = [] {
  std::array<std::string_view, kAttributes.size()> names;
  std::ranges::transform(kAttributes, names.begin(), &Attribute::name);
  return names;
}();

}  // namespace

std::span<const std::string_view> stratum_attributes() {
  return kNames;
}

Result<Stratification> Stratification::make(std::vector<std::string> attributes) {
  for (auto name = attributes.begin(); name != attributes.end(); ++name) {
    if (std::ranges::find(kNames, *name) == kNames.end()) {
      const auto nearest = nearest_word(*name, kNames);
      return with_hint(
          with_field(fail(ErrorCode::kInvalid, "no such stratum attribute: \"{}\"", *name), "strata"),
          nearest ? fmt::format("did you mean {}?", *nearest)
                  : fmt::format("they can by {}", fmt::join(kNames, ", ")));
    }
    if (std::find(attributes.begin(), name, *name) != name) {
      return with_field(fail(ErrorCode::kInvalid, "{} is listed twice", *name), "strata");
    }
  }
  return Stratification(std::move(attributes));
}

std::string Stratification::stratum_of(const wire::Machine& machine) const {
  std::string name;
  for (const std::string& attribute : attributes_) {
    const auto known = std::ranges::find(kAttributes, attribute, &Attribute::name);
    const std::string& value = (machine.*known->value)();
    name += fmt::format("{}{}={}", name.empty() ? "" : ", ", attribute, value.empty() ? "?" : value);
  }
  return name;
}

}  // namespace plimsoll::scheduler
