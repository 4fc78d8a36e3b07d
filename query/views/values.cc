#include "query/views/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sort_stably.h"
#include "query/snapshot/dimension.h"
#include "store/model/label_set.h"
#include "store/model/label_values.h"

namespace plimsoll::query {
namespace {

constexpr std::string_view kOfEvents = "event";
constexpr std::string_view kOfDimensions = "dimension";

struct FoundValue {
  std::string text;
  std::string unit = {};
  std::string meaning = {};
};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lower(std::string_view text) {
  std::string lowered(text);
  std::ranges::transform(lowered, lowered.begin(), [](char c) { return lower(c); });
  return lowered;
}

// Where the pattern, in lower case, begins in the text; npos: nowhere.
size_t place_of(std::string_view pattern, std::string_view text) {
  const auto found = std::ranges::search(text, pattern, {}, [](char c) { return lower(c); });
  return found.empty() && !pattern.empty() ? std::string_view::npos
                                           : static_cast<size_t>(found.begin() - text.begin());
}

class ValuesQuery {
 public:
  ValuesQuery(const ValuesRequest& request, const Snapshot& snapshot)
      : request_(request), snapshot_(snapshot), pattern_(lower(request.match)) {}

  Result<Table> run() {
    if (request_.of == kOfEvents) {
      add_events();
    } else if (request_.of == kOfDimensions) {
      add_dimensions();
    } else {
      const auto dimension = find_dimension(request_.of);
      if (!dimension) {
        return with_field(propagate(dimension), "of");
      }
      add_values(*dimension);
    }
    return table();
  }

 private:
  bool matches(std::string_view text) const { return place_of(pattern_, text) != std::string_view::npos; }
  bool begins(std::string_view text) const { return place_of(pattern_, text) == 0; }

  void add(std::string_view text) {
    if (matches(text) && seen_.emplace(text).second) {
      found_.push_back({std::string(text)});
    }
  }

  void add_events() {
    const store::Dictionaries& dictionaries = snapshot_.dictionaries;
    std::vector<uint64_t> samples(dictionaries.events.size());
    std::vector<bool> is_there(dictionaries.events.size());
    for (const store::OriginEventEntry& entry : dictionaries.origin_events) {
      if (request_.selection.is_about(snapshot_.origins.middle_ns[entry.origin])) {
        samples[entry.event] += entry.samples;
        is_there[entry.event] = true;
      }
    }
    std::vector<std::pair<uint64_t, uint32_t>> events;
    for (uint32_t id = 1; id < dictionaries.events.size(); ++id) {
      const store::EventEntry& event = dictionaries.events[id];
      if (is_there[id] && event.is_shown() && matches(event.name)) {
        events.emplace_back(samples[id], id);
      }
    }
    sort_stably(events, [](const auto& event) { return UINT64_MAX - event.first; });
    for (const auto& [count, id] : events) {
      const store::EventEntry& event = dictionaries.events[id];
      found_.push_back({event.name, std::string(unit_name(event.unit)), {}});
    }
  }

  void add_dimensions() {
    for (const Dimension& dimension : dimensions()) {
      if (matches(dimension.name)) {
        found_.push_back({dimension.name, {}, std::string(dimension.meaning)});
      }
    }
    std::set<std::string, std::less<>> keys;
    for (const std::string& set : snapshot_.dictionaries.label_sets) {
      store::for_each_label(set, [&](std::string_view key, std::string_view /*value*/) {
        if (key != store::kAnyLabel && !keys.contains(key)) {
          keys.emplace(key);
        }
      });
    }
    for (const std::string& key : keys) {
      std::string name = fmt::format("{}{}", kLabelPrefix, key);
      if (matches(name)) {
        found_.push_back({std::move(name), {}, "value of a label"});
      }
    }
  }

  void add_values(const Dimension& dimension) {
    switch (dimension.source) {
      case DimensionSource::kFrame: {
        const auto frames = snapshot_.frame_keys->of(snapshot_, {dimension.name});
        const std::string no_stack = frame_value(snapshot_, dimension.name, FramePlace());  // is no frame's
        for (uint32_t key = 0; key < frames->size(); ++key) {
          if (frames->text(key, 0) != no_stack) {
            add(frames->text(key, 0));
          }
        }
        break;
      }
      case DimensionSource::kStack:
        break;  // whole stacks are too long to be chosen from a list
      case DimensionSource::kOrigin:
        for (uint32_t id = 1; id < entries_of(snapshot_, Column::kOrigin); ++id) {
          if (request_.selection.is_about(snapshot_.origins.middle_ns[id])) {
            add(entry_value(snapshot_, dimension, id));
          }
        }
        break;
      default:
        for (uint32_t id = 1; id < entries_of(snapshot_, column_of(dimension.source)); ++id) {
          add(entry_value(snapshot_, dimension, id));
        }
    }
    std::ranges::sort(found_, {}, [](const FoundValue& value) { return std::string_view(value.text); });
  }

  Table table() {
    sort_stably(found_, [&](const FoundValue& value) { return !begins(value.text); });
    Table table;
    table.columns = {{"value", ""}, {"unit", ""}, {"meaning", ""}};
    for (FoundValue& value : found_) {
      if (table.rows.size() == request_.limit) {
        table.notes.push_back(fmt::format("showing {} of {} values", request_.limit, found_.size()));
        break;
      }
      table.rows.push_back({std::move(value.text), std::move(value.unit), std::move(value.meaning)});
    }
    return table;
  }

  const ValuesRequest& request_;
  const Snapshot& snapshot_;
  const std::string pattern_;
  std::vector<FoundValue> found_;
  boost::unordered_flat_set<std::string> seen_;
};

}  // namespace

Result<ValuesRequest> parse_values(const Parameters& parameters, int64_t now_ns) {
  ValuesRequest request;
  const std::vector<Parameter> known{text_parameter("of", request.of), text_parameter("match", request.match),
                                     since_parameter(now_ns, request.selection),
                                     until_parameter(now_ns, request.selection),
                                     count_parameter("limit", kMaxRows, request.limit)};
  Status read = read_parameters(parameters, known);
  read = read ? check_selection(request.selection) : read;
  if (!read) {
    return propagate(read);
  }
  return request;
}

Result<Table> values(const ValuesRequest& request, const Snapshot& snapshot) {
  return ValuesQuery(request, snapshot).run();
}

}  // namespace plimsoll::query
