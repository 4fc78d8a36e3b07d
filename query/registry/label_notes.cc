#include "query/registry/label_notes.h"

#include <algorithm>
#include <map>
#include <set>

#include "query/selection/predicate.h"
#include "store/model/label_set.h"
#include "store/model/label_values.h"

namespace plimsoll::query {
namespace {

constexpr size_t kMaxKeysShown = 10;

void add_key(const Dimension& dimension, std::set<std::string>& keys) {
  if (dimension.source == DimensionSource::kLabels) {
    keys.emplace(dimension.label_key());
  }
}

// Parameters that no view would take are passed over here: asking the view says what is wrong with them.
std::set<std::string> keys_asked_for(const Parameters& parameters) {
  std::set<std::string> keys;
  for (const auto& [name, text] : parameters) {
    if (name == "by" || name == "across") {
      std::vector<Dimension> by;
      if (by_parameter(by).read(text)) {
        std::ranges::for_each(by, [&](const Dimension& dimension) { add_key(dimension, keys); });
      }
    } else if (is_filter(name)) {
      if (const auto predicate = Predicate::parse(text)) {
        add_key(predicate->dimension(), keys);
      }
    }
  }
  return keys;
}

// The keys that there are, and whether each has kOtherLabel among its values.
struct Known {
  std::map<std::string, bool, std::less<>> has_others;
  bool are_rolled_up = false;  // some labels: which they were is not known
};

Known keys_there_are(const Snapshot& snapshot) {
  Known there_are;
  auto& has_others = there_are.has_others;
  bool have_all_others = false;
  for (const std::string& set : snapshot.dictionaries.label_sets) {
    store::for_each_label(set, [&](std::string_view key, std::string_view value) {
      if (key == store::kAnyLabel) {
        have_all_others = have_all_others || value == store::kOtherLabel;
        there_are.are_rolled_up = there_are.are_rolled_up || value != store::kOtherLabel;
        return;
      }
      auto known = has_others.find(key);
      if (known == has_others.end()) {
        known = has_others.emplace(key, false).first;
      }
      known->second = known->second || value == store::kOtherLabel;
    });
  }
  for (auto& [key, has_other] : has_others) {
    has_other = has_other || have_all_others;
  }
  return there_are;
}

std::string text_of_keys(const std::map<std::string, bool, std::less<>>& keys) {
  std::string text;
  size_t shown = 0;
  for (const auto& [key, has_others] : keys) {
    if (shown++ == kMaxKeysShown) {
      return fmt::format("{} and {} more", text, keys.size() - kMaxKeysShown);
    }
    text += (text.empty() ? "" : ", ") + key;
  }
  return text;
}

}  // namespace

std::vector<std::string> label_notes(const Parameters& parameters, const Snapshot& snapshot) {
  std::vector<std::string> notes;
  const std::set<std::string> asked_for = keys_asked_for(parameters);
  if (asked_for.empty()) {
    return notes;
  }
  const Known known_labels = keys_there_are(snapshot);
  const auto& there_are = known_labels.has_others;
  for (const std::string& key : asked_for) {
    const auto known = there_are.find(key);
    if (known == there_are.end() && !known_labels.are_rolled_up) {
      notes.push_back(there_are.empty() ? fmt::format("no sample carries the label {}, or any other", key)
                                        : fmt::format("no sample carries the label {}; labels are {}", key,
                                                      text_of_keys(there_are)));
    } else if (known != there_are.end() && known->second) {
      notes.push_back(fmt::format(
          "the label {} has more values than are kept apart; {} stands for the less frequent ones", key,
          store::kOtherLabel));
    }
  }
  return notes;
}

}  // namespace plimsoll::query
