// The definition of Source and Symbols: the model that every implementation is compared with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "store/door/source.h"
#include "store/door/symbols.h"
#include "tests/conformance/memory_rows.h"
#include "tests/conformance/memory_sink.h"

namespace plimsoll::testing {

// What several epochs have in common: entries that are equal are one. The same epochs, in the same order, have the same IDs, and what they
// get later has further ones.
class MemoryUnion {
 public:
  // IDs of the epoch's locations.
  std::vector<uint32_t> add(const MemorySink::Epoch& epoch) {
    const store::Dictionaries& from = epoch.entries;
    const auto machines =
        add_each(from.machines, union_.machines, machines_, [](auto entry) { return entry; });
    const auto events = add_each(from.events, union_.events, events_, [](auto entry) { return entry; });
    const auto workloads =
        add_each(from.workloads, union_.workloads, workloads_, [](auto entry) { return entry; });
    const auto threads = add_each(from.threads, union_.threads, threads_, [](auto entry) { return entry; });
    const auto label_sets =
        add_each(from.label_sets, union_.label_sets, label_sets_, [](auto entry) { return entry; });
    const auto binaries =
        add_each(from.binaries, union_.binaries, binaries_, [](auto entry) { return entry; });
    const auto locations = add_each(from.locations, union_.locations, locations_, [&](auto entry) {
      entry.owner = (entry.kind == wire::JIT ? workloads : binaries)[entry.owner];
      return entry;
    });
    std::vector<uint32_t> stacks{0};
    for (uint32_t id = 1; id < from.stacks.size(); ++id) {
      const store::StackNode node{stacks[from.stacks[id].parent], locations[from.stacks[id].location]};
      stacks.push_back(intern(std::pair(node.parent, node.location), node, union_.stacks, stacks_));
    }
    const auto first_origin = static_cast<uint32_t>(union_.origins.size() - 1);
    for (uint32_t id = 1; id < from.origins.size(); ++id) {
      store::OriginEntry origin = from.origins[id];
      origin.machine = machines[origin.machine];
      union_.origins.push_back(origin);
    }
    for (store::OriginEventEntry of_origin : from.origin_events) {
      of_origin.origin += first_origin;
      of_origin.event = events[of_origin.event];
      union_.origin_events.push_back(of_origin);
    }
    for (store::Row row : epoch.rows) {
      row = {.ids = {{events[row[store::Column::kEvent]], row[store::Column::kOrigin] + first_origin,
                      workloads[row[store::Column::kWorkload]], threads[row[store::Column::kThread]],
                      label_sets[row[store::Column::kLabels]], stacks[row[store::Column::kStack]]}},
             .hits = row.hits};
      rows_.push_back(row);
    }
    for (const auto& [binary, account] : epoch.accounts) {
      names_.describe(binaries[binary], account.reasons);
    }
    return locations;
  }

  void bind(uint32_t location, const std::vector<store::Frame>& frames) { names_.bind(location, frames); }

  store::Contents contents() const {
    store::Contents contents;
    contents.dictionaries = union_;
    contents.bindings = names_.bindings();
    contents.rows = std::make_shared<MemoryRows>(rows_);
    for (const store::OriginEntry& origin : union_.origins.span().subspan(1)) {
      contents.history_from_ns = std::min(contents.history_from_ns, origin.from_ns);
      contents.history_to_ns = std::max(contents.history_to_ns, origin.to_ns);
    }
    return contents;
  }

 private:
  static const auto& key_of(const auto& entry) { return entry; }
  static auto key_of(const store::EventEntry& entry) {
    return std::tuple(entry.name, entry.unit, entry.kind);
  }

  template <typename Key, typename Entry>
  static uint32_t intern(const Key& key, const Entry& entry, AppendOnlyList<Entry>& entries,
                         std::map<Key, uint32_t>& known) {
    const auto [found, is_new] = known.try_emplace(key, static_cast<uint32_t>(entries.size()));
    if (is_new) {
      entries.push_back(entry);
    }
    return found->second;
  }

  // The IDs of the entries of an epoch.
  template <typename Entry, typename Key, typename Translate>
  static std::vector<uint32_t> add_each(const AppendOnlyList<Entry>& from, AppendOnlyList<Entry>& to,
                                        std::map<Key, uint32_t>& known, const Translate& translate) {
    std::vector<uint32_t> ids{0};
    for (uint32_t id = 1; id < from.size(); ++id) {
      const Entry entry = translate(from[id]);
      ids.push_back(intern<Key>(key_of(entry), entry, to, known));
    }
    return ids;
  }

  store::Dictionaries union_;
  std::map<store::MachineEntry, uint32_t> machines_;
  std::map<std::tuple<std::string, wire::Unit, wire::Kind>, uint32_t> events_;
  std::map<store::WorkloadEntry, uint32_t> workloads_;
  std::map<std::string, uint32_t> threads_;
  std::map<std::string, uint32_t> label_sets_;
  std::map<store::BinaryEntry, uint32_t> binaries_;
  std::map<store::LocationEntry, uint32_t> locations_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> stacks_;
  std::vector<store::Row> rows_;
  store::BindingsBuilder names_;
};

// Of one epoch, which is a block.
class MemoryBlockSymbols : public store::BlockSymbols {
 public:
  MemoryBlockSymbols(MemorySink& sink, size_t epoch, const std::set<size_t>& dropped)
      : sink_(sink), epoch_(epoch), dropped_(dropped) {}

  int64_t number() const override { return static_cast<int64_t>(epoch_) + 1; }

  Result<std::vector<store::PendingBinary>> find_pending(int64_t& bound_up_to) override {
    if (is_gone()) {
      return fail(ErrorCode::kNotFound, "the block is gone");
    }
    std::map<std::string, store::PendingBinary> binaries;
    for (uint32_t id = 1; id < entries().binaries.size(); ++id) {
      store::PendingBinary binary = binary_of(id, bound_up_to);
      const auto [known, is_first] = binaries.try_emplace(binary.key(), binary);
      if (!is_first) {
        merge(known->second, binary);
      }
    }
    bound_up_to = static_cast<int64_t>(entries().locations.size()) - 1;
    std::vector<store::PendingBinary> pending;
    for (const auto& [key, binary] : binaries) {
      const bool may_improve = binary.generation != 0 && binary.quality != store::SymbolQuality::kFull;
      if (binary.new_locations > 0 || may_improve) {
        pending.push_back(binary);
      }
    }
    return pending;
  }

  Status add_locations(bool all, store::PendingBinary& binary) override {
    if (is_gone()) {
      return fail(ErrorCode::kNotFound, "the block is gone");
    }
    for (const int64_t id : binary.ids) {
      for (uint32_t location = 1; location < entries().locations.size(); ++location) {
        const store::LocationEntry& entry = entries().locations[location];
        const bool is_new = !epoch().frames.contains(location);
        if (is_of(entry, id) && (all || is_new)) {
          binary.locations.push_back({location, entry.kind, entry.address, is_new});
        }
      }
    }
    return {};
  }

  Result<std::string> kernel_image(const store::PendingBinary& binary) override {
    for (const int64_t id : binary.ids) {
      const auto found = epoch().kernel_symbols.find(static_cast<uint32_t>(id));
      if (found != epoch().kernel_symbols.end()) {
        return found->second;
      }
    }
    return std::string();
  }

  Status bind(std::span<const store::NamedBinary> binaries) override {
    if (is_gone()) {
      return fail(ErrorCode::kNotFound, "the block is gone");
    }
    const auto locations = static_cast<uint32_t>(entries().locations.size());
    for (const store::NamedBinary& binary : binaries) {
      if (std::ranges::any_of(binary.bindings, [&](const auto& one) { return one.location >= locations; })) {
        return fail(ErrorCode::kInvalid, "there is no such location");
      }
    }
    sink_.bind(epoch_, binaries);
    return {};
  }

  bool is_gone() const override { return dropped_.contains(epoch_); }
  bool is_unreadable() const override { return false; }

 private:
  const MemorySink::Epoch& epoch() const { return sink_.epochs()[epoch_]; }
  const store::Dictionaries& entries() const { return epoch().entries; }

  static bool is_of(const store::LocationEntry& entry, int64_t binary) {
    return entry.owner == static_cast<uint32_t>(binary) &&
           (entry.kind == wire::ELF || entry.kind == wire::ELF_FILE_OFFSET || is_of_kernel(entry));
  }
  static bool is_of_kernel(const store::LocationEntry& entry) {
    return entry.kind == wire::KERNEL || entry.kind == wire::MODULE;
  }

  store::PendingBinary binary_of(uint32_t id, int64_t bound_up_to) const {
    const store::BinaryEntry& entry = entries().binaries[id];
    const auto account = epoch().accounts.find(id);
    const auto machine = epoch().machines.find(id);
    const auto symbols = epoch().kernel_symbols.find(id);
    const store::BinaryAccount known =
        account == epoch().accounts.end() ? store::BinaryAccount() : account->second;
    store::PendingBinary binary{.identity_kind = entry.identity_kind,
                                .identity = entry.identity,
                                .ids = {id},
                                .paths = {entry.path},
                                .quality = known.quality,
                                .generation = known.generation,
                                .looked_at = known.looked_at,
                                .reasons = known.reasons,
                                .machine = machine == epoch().machines.end() ? "" : machine->second,
                                .new_locations = 0,
                                .is_kernel = false,
                                .kernel_symbol_bytes = symbols == epoch().kernel_symbols.end()
                                                           ? 0
                                                           : static_cast<int64_t>(symbols->second.size())};
    for (uint32_t location = 1; location < entries().locations.size(); ++location) {
      const store::LocationEntry& of_binary = entries().locations[location];
      if (is_of(of_binary, id)) {
        binary.is_kernel = binary.is_kernel || is_of_kernel(of_binary);
        binary.new_locations += location > bound_up_to && !epoch().frames.contains(location) ? 1 : 0;
      }
    }
    return binary;
  }

  static void merge(store::PendingBinary& into, const store::PendingBinary& other) {
    into.ids.push_back(other.ids.front());
    into.paths.push_back(other.paths.front());
    if (into.generation == 0 || (other.generation != 0 && other.quality < into.quality)) {
      into.quality = other.quality;
      into.looked_at = other.looked_at;
      into.reasons = other.reasons;
    }
    into.generation = std::max(into.generation, other.generation);
    into.new_locations += other.new_locations;
    into.is_kernel = into.is_kernel || other.is_kernel;
    into.kernel_symbol_bytes = std::max(into.kernel_symbol_bytes, other.kernel_symbol_bytes);
  }

  MemorySink& sink_;
  const size_t epoch_;
  const std::set<size_t>& dropped_;
};

// The epochs of a sink are its blocks. One thread.
class MemoryStore : public store::Source, public store::Symbols {
 public:
  explicit MemoryStore(uint64_t max_profiles) : sink_(max_profiles) {}

  MemorySink& sink() { return sink_; }

  Result<store::Contents> newest(const store::TimeSpans& /*times*/) override {
    MemoryUnion all;
    std::map<size_t, std::vector<uint32_t>> locations;  // by epoch
    std::vector<store::DamagedPart> damaged;
    for (size_t epoch = 0; epoch < sink_.epochs().size(); ++epoch) {
      if (damaged_.contains(epoch)) {
        damaged.push_back({.path = fmt::format("epoch {}", epoch + 1), .why = "it is damaged"});
      } else if (!dropped_.contains(epoch)) {
        locations[epoch] = all.add(sink_.epochs()[epoch]);
      }
    }
    for (const auto& [epoch, binding] : sink_.bound()) {
      if (locations.contains(epoch) && (!binding.frames.empty() || locations.size() == 1)) {
        all.bind(locations[epoch][binding.location], binding.frames);
      }
    }
    store::Contents contents = all.contents();
    contents.lineage = lineage_;
    contents.version = sink_.changes();
    contents.damaged_blocks = std::move(damaged);
    return contents;
  }
  void forget_dropped() override {}
  std::vector<uint64_t> lineages() const override { return {lineage_}; }

  Result<std::vector<std::unique_ptr<store::BlockSymbols>>> blocks() override {
    std::vector<std::unique_ptr<store::BlockSymbols>> blocks;
    for (size_t epoch = 0; epoch < sink_.epochs().size(); ++epoch) {
      if (!dropped_.contains(epoch)) {
        blocks.push_back(std::make_unique<MemoryBlockSymbols>(sink_, epoch, dropped_));
      }
    }
    return blocks;
  }

  void damage(size_t epoch) {
    damaged_.insert(epoch);
    ++lineage_;
  }
  void drop(size_t epoch) {
    dropped_.insert(epoch);
    ++lineage_;
  }

 private:
  MemorySink sink_;
  std::set<size_t> damaged_, dropped_;
  uint64_t lineage_ = 1;
};

}  // namespace plimsoll::testing
