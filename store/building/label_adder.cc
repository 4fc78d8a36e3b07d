#include "store/building/label_adder.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/model/label_set.h"
#include "store/model/label_values.h"

namespace plimsoll::store {
namespace {

// Process, and label set plus 1.
using Carrier = std::pair<uint32_t, uint32_t>;
using Label = std::pair<std::string, std::string>;

struct Carried {
  Labels labels;
  uint64_t samples = 0;
};

bool has_labels(const wire::RawProfile& profile) {
  return profile.label_sets_size() > 0 ||
         std::ranges::any_of(profile.processes(),
                             [](const wire::Process& process) { return !process.labels().empty(); });
}

// Of a table, whether each row has a label set or none does.
uint32_t label_set_plus_1(const wire::SampleTable& table, int row) {
  return table.label_set_size() == 0 ? 0 : table.label_set(row);
}

Labels labels_of(const wire::RawProfile& profile, const Carrier& carrier) {
  const auto& [process, label_set] = carrier;
  const auto& of_process = profile.processes(static_cast<int>(process)).labels();
  Labels labels(of_process.begin(), of_process.end());
  if (label_set != 0) {
    for (const auto& [key, value] : profile.label_sets(static_cast<int>(label_set - 1)).labels()) {
      labels[key] = value;
    }
  }
  return labels;
}

std::map<Carrier, Carried> find_carriers(const wire::RawProfile& profile) {
  std::map<Carrier, Carried> carriers;
  const auto process_of = [&](uint32_t thread) {
    return profile.threads(static_cast<int>(thread)).process();
  };
  for (const wire::SampleTable& table : profile.samples()) {
    for (int row = 0; row < table.stack_size(); ++row) {
      // Values of one row are in different units: the first event's tell as well as any which rows are frequent.
      carriers[{process_of(table.thread(row)), label_set_plus_1(table, row)}].samples +=
          table.hits(row * table.event_size());
    }
  }
  for (const wire::BranchTable& table : profile.branches()) {
    for (const uint32_t thread : table.thread()) {
      carriers[{process_of(thread), 0}].samples += 1;
    }
  }
  for (auto& [carrier, carried] : carriers) {
    carried.labels = labels_of(profile, carrier);
    carried.labels.erase(kAnyLabel);
  }
  return carriers;
}

// The labels that the block has no room for.
class Refused {
 public:
  Refused(const std::map<Carrier, Carried>& carriers, const LabelValues& known) {
    std::map<std::string, std::map<std::string, uint64_t>> new_values;  // by key: samples
    for (const auto& [carrier, carried] : carriers) {
      for (const auto& [key, value] : carried.labels) {
        if (!known.has(key, value)) {
          new_values[key][value] += carried.samples;
        }
      }
    }
    refuse_keys(new_values, known);
    for (const auto& [key, values] : new_values) {
      refuse_values(key, values, known.room_for(key));
    }
  }

  // What is kept of labels, as a set is encoded.
  std::string kept(const Labels& labels) const {
    Labels kept;
    for (const auto& [key, value] : labels) {
      if (!keys_.contains(key)) {
        kept.emplace(key, values_.contains({key, value}) ? kOtherLabel : value);
      }
    }
    return encode_labels(kept);
  }

 private:
  void refuse_keys(const std::map<std::string, std::map<std::string, uint64_t>>& new_values,
                   const LabelValues& known) {
    size_t room = kMaxLabelKeys - std::min(known.keys(), kMaxLabelKeys);
    for (const auto& [key, values] : new_values) {
      if (known.has_key(key)) {
        continue;
      }
      if (room == 0) {
        keys_.insert(key);
      } else {
        --room;
      }
    }
  }

  void refuse_values(const std::string& key, const std::map<std::string, uint64_t>& values, size_t room) {
    if (values.size() <= room) {
      return;
    }
    std::vector<std::pair<uint64_t, std::string>> by_samples;
    for (const auto& [value, samples] : values) {
      by_samples.emplace_back(samples, value);
    }
    // Descending samples; of as many the value that comes first in the alphabet: a profile is always built alike.
    std::ranges::sort(by_samples, {}, [](const auto& value) {
      return std::pair(~value.first, std::string_view(value.second));
    });
    for (size_t i = room; i < by_samples.size(); ++i) {
      values_.emplace(key, by_samples[i].second);
    }
  }

  std::set<std::string> keys_;
  std::set<Label> values_;
};

}  // namespace

ProfileLabels ProfileLabels::add(const wire::RawProfile& profile, DictionaryBuilder& dictionaries) {
  ProfileLabels added;
  if (!has_labels(profile)) {
    return added;
  }
  const std::map<Carrier, Carried> carriers = find_carriers(profile);
  const Refused refused(carriers, dictionaries.label_values());
  for (const auto& [carrier, carried] : carriers) {
    std::string kept = refused.kept(carried.labels);
    const bool is_full = dictionaries.entries().label_sets.size() > kMaxLabelSets;
    if (is_full && !kept.empty() && dictionaries.find_label_set(kept) == 0) {
      kept = encode_labels({{kAnyLabel, kOtherLabel}});
    }
    added.ids_.emplace(carrier, dictionaries.label_set(kept));
  }
  return added;
}

}  // namespace plimsoll::store
