// What a store shows, in words: the same for two stores that hold the same profiles, whatever their IDs are.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/hex.h"
#include "store/door/source.h"
#include "store/model/batch.h"

namespace plimsoll::testing {

struct Shown {
  std::map<std::string, uint64_t> rows;  // their hits
  std::multiset<std::string> origins;
  std::set<std::string> entries;  // of the other dictionaries
  std::set<std::string> facts;    // profiles that were set aside, symbols of kernels, machines of binaries

  bool operator==(const Shown&) const = default;
};

inline void PrintTo(const Shown& shown, std::ostream* out) {
  *out << fmt::format("rows:\n{}\norigins:\n{}\nentries:\n{}\nfacts:\n{}\n", fmt::join(shown.rows, "\n"),
                      fmt::join(shown.origins, "\n"), fmt::join(shown.entries, "\n"),
                      fmt::join(shown.facts, "\n"));
}

inline std::string text_of(const store::BinaryEntry& entry) {
  return fmt::format("{}:{}:{}", static_cast<int>(entry.identity_kind), entry.identity, entry.path);
}

inline std::string fact_of(const store::SetAside& profile) {
  return fmt::format("set aside {}: {}", profile.sequence, profile.reason);
}

inline std::string fact_of_symbols(const store::BinaryEntry& binary, const std::string& content) {
  return fmt::format("symbols of {}: {}", text_of(binary), to_hex(content));
}

// Of kernels it is not compared: a sink may know some of them already when an epoch begins.
inline void add_machine_fact(const store::BinaryEntry& binary, const std::string& machine_id, Shown& shown) {
  if (!binary.path.starts_with('[')) {
    shown.facts.insert(fmt::format("{} came from {} first", text_of(binary), machine_id));
  }
}

inline std::string text_of(const store::Frame& frame) {
  return fmt::format("{}|{}|{}:{}", frame.function, frame.linkage_name, frame.file, frame.line);
}

// Adds contents of one lineage. A second implementation of what IDs mean would only repeat the first: texts are of entries, one by one.
class ContentsInWords {
 public:
  // The texts of a location's frames, innermost first.
  using FramesOf = std::function<std::vector<std::string>(uint32_t location)>;

  ContentsInWords(const store::Contents& contents, FramesOf frames_of)
      : entries_(contents.dictionaries), rows_(*contents.rows), frames_of_(std::move(frames_of)) {}

  Status add_to(Shown& shown) const {
    for (uint32_t id = 1; id < entries_.origins.size(); ++id) {
      shown.origins.insert(origin(id));
    }
    add_each(entries_.machines, &ContentsInWords::machine, "machine", shown);
    add_each(entries_.events, &ContentsInWords::event, "event", shown);
    add_each(entries_.workloads, &ContentsInWords::workload, "workload", shown);
    add_each(entries_.threads, &ContentsInWords::thread, "thread", shown);
    add_each(entries_.label_sets, &ContentsInWords::labels, "labels", shown);
    add_each(entries_.binaries, &ContentsInWords::binary, "binary", shown);
    add_each(entries_.locations, &ContentsInWords::location, "location", shown);
    add_each(entries_.stacks, &ContentsInWords::stack, "stack", shown);
    return add_rows(shown);
  }

 private:
  template <typename Entries>
  void add_each(const Entries& entries, std::string (ContentsInWords::*text)(uint32_t) const,
                const char* name, Shown& shown) const {
    for (uint32_t id = 1; id < entries.size(); ++id) {
      shown.entries.insert(fmt::format("{} {}", name, (this->*text)(id)));
    }
  }

  Status add_rows(Shown& shown) const {
    const auto cursor = rows_.scan({});
    while (true) {
      const auto rows = cursor->next();
      if (!rows || rows->empty()) {
        return rows ? Status() : propagate(rows);
      }
      for (const store::Row& row : *rows) {
        shown.rows[fmt::format("{} / {} / {} / {} / {} / {}", event(row[store::Column::kEvent]),
                               origin(row[store::Column::kOrigin]), workload(row[store::Column::kWorkload]),
                               thread(row[store::Column::kThread]), labels(row[store::Column::kLabels]),
                               stack(row[store::Column::kStack]))] += row.hits;
      }
    }
  }

  std::string machine(uint32_t id) const {
    const store::MachineEntry& entry = entries_.machines.at(id);
    return fmt::format("{}:{}:{}:{}:{}", entry.machine_id, entry.hostname, entry.platform, entry.kernel,
                       entry.cores);
  }

  std::string event(uint32_t id) const {
    const store::EventEntry& entry = entries_.events.at(id);
    return fmt::format("{}:{}:{}", entry.name, static_cast<int>(entry.unit), static_cast<int>(entry.kind));
  }

  std::string origin(uint32_t id) const {
    const store::OriginEntry& entry = entries_.origins.at(id);
    std::string text =
        fmt::format("{} {}-{} draw {} {} {} {} {}", machine(entry.machine), entry.from_ns, entry.to_ns,
                    entry.draw, entry.inclusion_probability, entry.interval_ns, entry.series, entry.stratum);
    for (const auto* list : {&entries_.origin_events, &entries_.origin_squares}) {
      for (const store::OriginEventEntry& of_event : *list) {
        if (of_event.origin == id) {
          text += fmt::format(", {} {} {} {} {} {} {}", event(of_event.event), of_event.scale, of_event.hits,
                              of_event.lost, of_event.note, of_event.samples, of_event.ran);
        }
      }
    }
    return text;
  }

  std::string workload(uint32_t id) const {
    const store::WorkloadEntry& entry = entries_.workloads.at(id);
    return fmt::format("{}:{}:{}:{}:{}", entry.job, entry.instance, entry.app, entry.build_id,
                       entry.compiler);
  }

  std::string thread(uint32_t id) const { return entries_.threads.at(id); }
  std::string labels(uint32_t id) const { return to_hex(entries_.label_sets.at(id)); }
  std::string binary(uint32_t id) const { return text_of(entries_.binaries.at(id)); }

  std::string location(uint32_t id) const {
    const store::LocationEntry& entry = entries_.locations.at(id);
    const std::string owner = entry.owner == 0          ? ""
                              : entry.kind == wire::JIT ? workload(entry.owner)
                                                        : binary(entry.owner);
    return fmt::format("{}:{}:{}:{} called {}", static_cast<int>(entry.kind), owner, entry.address,
                       entry.name, fmt::join(frames_of_(id), " in "));
  }

  std::string stack(uint32_t id) const {
    std::string text;
    for (; id != 0; id = entries_.stacks.at(id).parent) {
      text += "; " + location(entries_.stacks.at(id).location);
    }
    return text;
  }

  const store::Dictionaries& entries_;
  const store::RowSource& rows_;
  const FramesOf frames_of_;
};

// Of contents with their own bindings.
inline Result<Shown> shown_of(const store::Contents& contents) {
  const store::Bindings& bindings = contents.bindings;
  const auto frames_of = [&](uint32_t location) {
    std::vector<std::string> texts;
    for (const store::Bindings::BoundFrame& frame : bindings.of(location)) {
      texts.push_back(text_of(store::Frame{.function = bindings.functions.at(frame.function),
                                           .file = bindings.files.at(frame.file),
                                           .line = frame.line,
                                           .linkage_name = bindings.linkage_names.at(frame.function)}));
    }
    return texts;
  };
  Shown shown;
  const Status added = ContentsInWords(contents, frames_of).add_to(shown);
  return added ? Result<Shown>(std::move(shown)) : propagate(added);
}

}  // namespace plimsoll::testing
