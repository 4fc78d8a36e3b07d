#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/stop_scope.h"
#include "formats/pprof_writer.h"
#include "query/export/samples.h"
#include "query/snapshot/dimension.h"
#include "store/model/label_set.h"
#include "store/model/wire_entries.h"

namespace plimsoll::query {
namespace {

// pprof's word for it.
std::string_view pprof_unit(wire::Unit unit) {
  return unit == wire::NANOSECONDS ? "nanoseconds" : unit_name(unit);
}

class PprofExport {
 public:
  PprofExport(const ExportSamples& samples, const Snapshot& snapshot)
      : samples_(samples),
        snapshot_(snapshot),
        dictionaries_(snapshot.dictionaries),
        stacks_(stacks_of(samples, snapshot)) {}

  Result<std::string> run() {
    add_header();
    add_main_binary();
    for (size_t first = 0; first < samples_.values.size();) {
      const auto next = add_sample(first);
      if (!next) {
        return propagate(next);
      }
      first = *next;
    }
    return writer_.finish();
  }

 private:
  const store::EventEntry& event(size_t index) const { return dictionaries_.events[samples_.events[index]]; }

  void add_header() {
    int64_t from_ns = INT64_MAX;
    int64_t to_ns = 0;
    for (size_t i = 0; i < samples_.events.size(); ++i) {
      writer_.add_sample_type(event(i).name, pprof_unit(event(i).unit));
      std::string coverage = coverage_text(event(i).name, samples_.coverages[i]);
      coverage.pop_back();  // its line end
      writer_.add_comment(coverage);
      // Without a profile in the range, an event has no times.
      if (samples_.coverages[i].to_ns != 0) {
        from_ns = std::min(from_ns, samples_.coverages[i].from_ns);
        to_ns = std::max(to_ns, samples_.coverages[i].to_ns);
      }
    }
    for (const std::string& note : samples_.notes) {
      writer_.add_comment(note);
    }
    if (to_ns != 0) {
      writer_.set_time(from_ns, to_ns - from_ns);
    }
    writer_.set_default_sample_type(event(0).name);
    add_period();
  }

  // On average: what a sample of the first event stands for.
  void add_period() {
    double value = 0;
    double samples = 0;
    for (const SampleValue& sample : samples_.values) {
      value += sample.event == 0 ? sample.value : 0;
      samples += sample.event == 0 ? sample.samples : 0;
    }
    if (samples > 0) {
      writer_.set_period(event(0).name, pprof_unit(event(0).unit), std::llround(value / samples));
    }
  }

  // The program with the largest share of the first event.
  std::string main_app() const {
    std::map<std::string_view, double> by_app;
    for (const SampleValue& sample : samples_.values) {
      by_app[samples_.programs[sample.key.program].second] += sample.event == 0 ? sample.value : 0;
    }
    const auto largest = std::ranges::max_element(by_app, {}, [](const auto& entry) { return entry.second; });
    return largest == by_app.end() ? std::string() : std::string(largest->first);
  }

  // Readers take the first mapping for the main binary.
  void add_main_binary() {
    const std::string app = main_app();
    std::set<uint32_t> stacks;
    for (const SampleValue& sample : samples_.values) {
      for (uint32_t node = sample.key.stack; node != 0 && stacks.insert(node).second;
           node = stacks_[node].parent) {
        const uint32_t location = stacks_[node].location;
        if (binary_id_of(snapshot_, location) && frame_value(snapshot_, "binary", {location, 0}) == app) {
          mapping_of(location);
          return;
        }
      }
    }
  }

  // 0: the location has no place in anything (it came with its name).
  uint64_t mapping_of(uint32_t location) {
    const store::LocationEntry& entry = dictionaries_.locations[location];
    const bool in_binary = binary_id_of(snapshot_, location).has_value();
    const std::string name = frame_value(snapshot_, "binary", {location, 0});
    if (name.empty()) {
      return 0;
    }
    const std::pair key(in_binary ? std::string() : name, entry.owner);
    const auto [known, is_new] = mappings_.try_emplace(key, 0);
    if (is_new && in_binary) {
      const store::BinaryEntry& binary = dictionaries_.binaries[entry.owner];
      known->second =
          writer_.add_mapping({binary.path, store::build_id_text(binary.identity_kind, binary.identity)});
    } else if (is_new) {
      known->second = writer_.add_mapping({name, ""});
    }
    return known->second;
  }

  uint64_t location_of(uint32_t location) {
    const auto [known, is_new] = locations_.try_emplace(location, 0);
    if (!is_new) {
      return known->second;
    }
    std::vector<formats::PprofLine> lines;
    const store::Bindings& bindings = snapshot_.bindings;
    const auto frames = bindings.of(location);
    for (uint32_t depth = 0; depth < frames.size(); ++depth) {
      if (!is_shown(samples_, {location, depth})) {
        continue;
      }
      const auto& frame = frames[depth];
      lines.push_back({bindings.functions[frame.function], bindings.files[frame.file], frame.line,
                       bindings.linkage_names[frame.function]});
    }
    const uint64_t mapping = location == 0 ? 0 : mapping_of(location);
    // A reader has nothing to call it by: neither a function nor a binary.
    if (lines.empty() && mapping == 0) {
      lines.push_back({frame_value(snapshot_, "function", {location, 0}), "", 0});
    }
    known->second = writer_.add_location(mapping, dictionaries_.locations[location].address, lines);
    return known->second;
  }

  // The values of one key, which stand side by side; gives where the next key begins.
  Result<size_t> add_sample(size_t first) {
    if (auto stop = check_stop(); !stop) {
      return propagate(stop);
    }
    const SampleKey& key = samples_.values[first].key;
    std::vector<int64_t> values(samples_.events.size());
    size_t next = first;
    for (; next < samples_.values.size() && samples_.values[next].key == key; ++next) {
      values[samples_.values[next].event] = std::llround(samples_.values[next].value);
    }
    std::vector<uint64_t> locations;
    for (uint32_t node = key.stack; node != 0; node = stacks_[node].parent) {
      locations.push_back(location_of(stacks_[node].location));
    }
    if (locations.empty()) {
      locations.push_back(location_of(0));
    }
    std::vector<std::pair<std::string_view, std::string_view>> labels;
    const auto& [job, app] = samples_.programs[key.program];
    for (const auto& [name, text] : {std::pair<std::string_view, std::string_view>("job", job),
                                     {"app", app},
                                     {"thread", dictionaries_.threads[key.thread]},
                                     {"machine", samples_.machines[key.machine]}}) {
      if (!text.empty()) {
        labels.emplace_back(name, text);
      }
    }
    store::for_each_label(
        dictionaries_.label_sets[key.labels], [&](std::string_view name, std::string_view text) {
          // Of two with one name ours stands.
          const auto same =
              std::ranges::find(labels, name, &std::pair<std::string_view, std::string_view>::first);
          if (same == labels.end() && name != store::kAnyLabel) {
            labels.emplace_back(name, text);
          }
        });
    if (auto added = writer_.add_sample(locations, values, labels); !added) {
      return propagate(added);
    }
    return next;
  }

  const ExportSamples& samples_;
  const Snapshot& snapshot_;
  const store::Dictionaries& dictionaries_;
  std::span<const store::StackNode> stacks_;  // without what is hidden
  formats::PprofWriter writer_;
  std::map<std::pair<std::string, uint32_t>, uint64_t>
      mappings_;  // by owner, and a name where that is no binary
  std::map<uint32_t, uint64_t> locations_;
};

}  // namespace

Result<std::string> export_pprof(const ExportRequest& request, const Snapshot& snapshot) {
  const auto samples = read_samples(request, SampleKeys::kAll, snapshot);
  if (!samples) {
    return propagate(samples);
  }
  return PprofExport(*samples, snapshot).run();
}

}  // namespace plimsoll::query
