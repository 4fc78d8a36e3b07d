#include "query/traces/profile_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "store/model/label_set.h"

namespace plimsoll::query {
namespace {

constexpr int kByLabel = 1;
constexpr int kByPod = 2;
constexpr int kByInstance = 3;

}  // namespace

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.front() != '-' && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  });
}

void ProfileLinks::add_instance(std::string_view instance) {
  if (replicas_.contains(instance)) {
    dimensions_.insert_or_assign(std::string(instance), std::pair(kByInstance, std::string("instance")));
  }
}

void ProfileLinks::add_labels(std::string_view encoded) {
  store::for_each_label(encoded, [this](std::string_view key, std::string_view value) {
    if (!replicas_.contains(value) || !is_plain_name(key)) {
      return;
    }
    const std::pair<int, std::string> found(key == "pod" ? kByPod : kByLabel, fmt::format("label:{}", key));
    const auto [known, is_new] = dimensions_.try_emplace(std::string(value), found);
    const bool is_better = found.first > known->second.first ||
                           (found.first == known->second.first && found.second < known->second.second);
    if (!is_new && is_better) {
      known->second = found;
    }
  });
}

void ProfileLinks::add(const store::Dictionaries& dictionaries) {
  if (replicas_.empty()) {
    return;
  }
  for (const store::WorkloadEntry& workload : dictionaries.workloads.span()) {
    add_instance(workload.instance);
  }
  for (const std::string& labels : dictionaries.label_sets.span()) {
    add_labels(labels);
  }
}

std::string ProfileLinks::predicate_for(std::string_view replica, std::string_view machine) const {
  const auto found = dimensions_.find(replica);
  if (found != dimensions_.end() && is_plain_name(replica)) {
    return fmt::format("{}={}", found->second.second, replica);
  }
  return is_plain_name(machine) ? fmt::format("hostname={}", machine) : "";
}

}  // namespace plimsoll::query
