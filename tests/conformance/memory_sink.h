// The definition of Sink: the model that every implementation is compared with.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "store/door/sink.h"
#include "store/door/symbols.h"
#include "tests/conformance/memory_rows.h"
#include "tests/conformance/shown.h"

namespace plimsoll::testing {

class MemorySink : public store::Sink {
 public:
  struct Epoch {
    store::Dictionaries entries;
    std::vector<store::Row> rows;
    std::map<uint32_t, std::vector<store::Frame>> frames;  // by location
    std::map<uint32_t, std::string> kernel_symbols;        // by binary
    std::map<uint32_t, std::string> machines;              // likewise
    std::map<uint32_t, store::BinaryAccount> accounts;     // likewise; of those that were looked up

    uint64_t profiles() const { return entries.origins.size() - 1; }

    void add(const store::Batch& batch) {
      add_events(batch);
      const store::NewEntries& added = batch.entries;
      entries.machines.append(added.machines);
      entries.events.append(added.events);
      entries.origins.append(added.origins);
      entries.workloads.append(added.workloads);
      entries.threads.append(added.threads);
      entries.label_sets.append(added.label_sets);
      entries.binaries.append(added.binaries);
      entries.locations.append(added.locations);
      entries.stacks.append(added.stacks);
      rows.insert(rows.end(), batch.rows.begin(), batch.rows.end());
      for (const store::Binding& binding : batch.bindings) {
        frames[binding.location] = binding.frames;
      }
      for (const store::KernelSymbols& symbols : batch.kernel_symbols) {
        kernel_symbols.emplace(symbols.binary, symbols.content);
      }
      for (const store::BinaryMachine& machine : batch.binary_machines) {
        machines.emplace(machine.binary, machine.machine_id);
      }
    }

    void add_events(const store::Batch& batch) {
      auto origin = static_cast<uint32_t>(entries.origins.size());
      for (const store::ProfileRecord& profile : batch.profiles) {
        for (const store::EventRecord& event : profile.events) {
          entries.origin_events.push_back({.origin = origin,
                                           .event = event.event,
                                           .scale = event.scale,
                                           .hits = event.hits,
                                           .lost = event.lost,
                                           .note = event.note,
                                           .samples = event.samples,
                                           .ran = event.ran()});
        }
        ++origin;
      }
    }

    Status add_to(Shown& shown) const {
      store::Contents contents;
      contents.dictionaries = entries;
      contents.rows = std::make_shared<MemoryRows>(rows);
      const auto frames_of = [&](uint32_t location) {
        std::vector<std::string> texts;
        if (const auto found = frames.find(location); found != frames.end()) {
          for (const store::Frame& frame : found->second) {
            texts.push_back(text_of(frame));
          }
        }
        return texts;
      };
      for (const auto& [binary, content] : kernel_symbols) {
        shown.facts.insert(fact_of_symbols(entries.binaries[binary], content));
      }
      for (const auto& [binary, machine_id] : machines) {
        add_machine_fact(entries.binaries[binary], machine_id, shown);
      }
      return ContentsInWords(contents, frames_of).add_to(shown);
    }
  };

  // An epoch ends with so many profiles.
  explicit MemorySink(uint64_t max_profiles) : max_profiles_(max_profiles) { epochs_.emplace_back(); }

  int64_t committed_up_to() const override { return known_up_to_; }

  Result<Place> begin(bool /*is_profile_waiting*/) override {
    if (epochs_.back().profiles() >= max_profiles_) {
      Epoch next;
      next.entries.events = epochs_.back().entries.events;
      epochs_.push_back(std::move(next));
    }
    known_up_to_ = committed_up_to_;
    return Place{.epoch = static_cast<int64_t>(epochs_.size()),
                 .after = committed_up_to_,
                 .entries = sizes_of(epochs_.back().entries),
                 .max_profiles = max_profiles_ - epochs_.back().profiles()};
  }

  Result<store::Dictionaries> dictionaries() override { return epochs_.back().entries; }

  Status commit(store::Batch batch) override {
    if (batch.last <= committed_up_to_) {
      known_up_to_ = committed_up_to_;
      return {};
    }
    Epoch& epoch = epochs_.back();
    if (batch.epoch != static_cast<int64_t>(epochs_.size()) || batch.after != committed_up_to_ ||
        batch.entries.before != sizes_of(epoch.entries)) {
      return fail(ErrorCode::kConflict, "the batch is for another place");
    }
    const bool is_of_batch = std::ranges::all_of(batch.rows, [&](const store::Row& row) {
      return row[store::Column::kOrigin] >= batch.entries.before.origins &&
             row[store::Column::kOrigin] < batch.entries.after().origins;
    });
    if (!is_of_batch || batch.profiles.size() != batch.entries.origins.size()) {
      return fail(ErrorCode::kInvalid, "origins are missing");
    }
    if (failure_ == Failure::kBefore) {
      return fail(ErrorCode::kUnavailable, "not committed");
    }
    epoch.add(batch);
    for (const store::Binding& binding : batch.bindings) {
      bound_.push_back({epochs_.size() - 1, binding});
    }
    ++changes_;
    for (const store::SetAside& profile : batch.set_aside) {
      set_aside_.push_back(profile);
    }
    committed_up_to_ = batch.last;
    if (failure_ == Failure::kAfter) {
      return fail(ErrorCode::kUnavailable, "it is not known whether it was committed");
    }
    known_up_to_ = committed_up_to_;
    return {};
  }

  enum class Failure : uint8_t { kNone, kBefore, kAfter };
  void set_failure(Failure failure) { failure_ = failure; }

  // The newest last.
  const std::vector<Epoch>& epochs() const { return epochs_; }
  // Counts them.
  uint64_t changes() const { return changes_; }

  // What was bound, in that order.
  struct Bound {
    size_t epoch;
    store::Binding binding;
  };
  const std::vector<Bound>& bound() const { return bound_; }

  // Names that are found later, all at once.
  void bind(size_t epoch, std::span<const store::NamedBinary> binaries) {
    for (const store::NamedBinary& binary : binaries) {
      for (const store::Binding& binding : binary.bindings) {
        epochs_[epoch].frames[binding.location] = binding.frames;
        bound_.push_back({epoch, binding});
      }
      for (const int64_t id : binary.ids) {
        epochs_[epoch].accounts[static_cast<uint32_t>(id)] = binary.account;
      }
    }
    ++changes_;
  }

  Result<Shown> shown() const {
    Shown shown;
    for (const Epoch& epoch : epochs_) {
      if (const Status added = epoch.add_to(shown); !added) {
        return propagate(added);
      }
    }
    for (const store::SetAside& profile : set_aside_) {
      shown.facts.insert(fact_of(profile));
    }
    return shown;
  }

 private:
  const uint64_t max_profiles_;
  std::vector<Epoch> epochs_;
  std::vector<store::SetAside> set_aside_;
  std::vector<Bound> bound_;
  uint64_t changes_ = 0;
  int64_t committed_up_to_ = 0;
  int64_t known_up_to_ = 0;
  Failure failure_ = Failure::kNone;
};

}  // namespace plimsoll::testing
