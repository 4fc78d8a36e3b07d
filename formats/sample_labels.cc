#include "formats/sample_labels.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::formats {
namespace {

// A key and one of its values, as texts: an application may have a text twice.
using Label = std::pair<std::string, std::string>;

// By label, how many samples carry it.
std::map<Label, uint64_t> count_labels(const ApplicationProfile& application) {
  std::vector<uint64_t> samples_of_set(application.label_sets.size());
  for (size_t sample = 0; sample < application.samples.size(); ++sample) {
    ++samples_of_set[application.samples.label_set(sample)];
  }
  std::map<Label, uint64_t> samples;
  for (size_t set = 0; set < application.label_sets.size(); ++set) {
    for (const auto& [key, value] : application.label_sets[set]) {
      samples[{application.texts[key], application.texts[value]}] += samples_of_set[set];
    }
  }
  return samples;
}

// Leaves each key its most frequent values; of as frequent ones those that come first. Gives the keys that lost some.
std::vector<std::string> keep_most_frequent(std::map<Label, uint64_t>& samples) {
  std::map<std::string, std::vector<std::pair<uint64_t, std::string>>> values_of_key;
  for (const auto& [label, count] : samples) {
    values_of_key[label.first].emplace_back(count, label.second);
  }
  std::vector<std::string> cut;
  for (auto& [key, values] : values_of_key) {
    if (values.size() <= kMaxLabelValues) {
      continue;
    }
    cut.push_back(key);
    // Descending counts; of as frequent ones the value that comes first in the alphabet.
    std::ranges::sort(values, {}, [](const auto& value) {
      return std::pair(~value.first, std::string_view(value.second));
    });
    for (size_t i = kMaxLabelValues; i < values.size(); ++i) {
      samples.erase({key, values[i].second});
    }
  }
  return cut;
}

}  // namespace

SampleLabels::SampleLabels(const ApplicationProfile& application, wire::RawProfile& raw)
    : place_plus_1_(application.label_sets.size()) {
  std::map<Label, uint64_t> kept = count_labels(application);
  for (const std::string& key : keep_most_frequent(kept)) {
    raw.add_notes(fmt::format("the label {} has more than {} values: the others are called {}", key,
                              kMaxLabelValues, kOtherLabel));
  }
  std::map<std::map<std::string, std::string>, uint32_t> places;
  for (size_t set = 1; set < application.label_sets.size(); ++set) {
    std::map<std::string, std::string> labels;
    for (const auto& [key, value] : application.label_sets[set]) {
      const Label label{application.texts[key], application.texts[value]};
      labels[label.first] = kept.contains(label) ? label.second : kOtherLabel;
    }
    const auto [place, is_new] =
        places.try_emplace(std::move(labels), static_cast<uint32_t>(places.size() + 1));
    if (is_new) {
      auto& added = *raw.add_label_sets()->mutable_labels();
      added.insert(place->first.begin(), place->first.end());
    }
    place_plus_1_[set] = place->second;
  }
}

}  // namespace plimsoll::formats
