#include "store/local/newest_block.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/durable_file.h"
#include "base/log.h"
#include "store/catalogue/segment_table.h"
#include "store/dictionaries/dictionary_reader.h"
#include "store/dictionaries/entry_writer.h"
#include "store/frames/binding_writer.h"
#include "store/segments/encoded_segment.h"
#include "store/segments/segment_writer.h"

namespace plimsoll::store {
namespace {

// Of names that come with profiles: the first that a location has.
constexpr int64_t kFirstGeneration = 1;

uint64_t entries_in(const DictionarySizes& sizes) {
  return sizes.machines + sizes.workloads + sizes.threads + sizes.label_sets + sizes.binaries +
         sizes.locations + sizes.stacks;
}

}  // namespace

Status write_in_transaction(sqlite::Database& catalogue, const CatalogueWork& work) {
  auto transaction = sqlite::Transaction::begin(catalogue);
  if (!transaction) {
    return propagate(transaction);
  }
  const Status done = work(catalogue);
  return done ? transaction->commit() : done;
}

// Takes back what commit() has begun, however it ends, unless it is done. Memory must not know what the catalogue has rolled back.
class NewestBlock::Undo {
 public:
  explicit Undo(Opened& block) : block_(block) {}
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;
  ~Undo() {
    if (is_done_) {
      return;
    }
    block_.order.reset();
    if (is_committing_) {
      block_.doubtful_segment = std::move(segment_path_);
    } else if (!segment_path_.empty()) {
      ::unlink(segment_path_.c_str());
    }
  }

  void set_segment(std::string path) { segment_path_ = std::move(path); }
  void committing() { is_committing_ = true; }
  // The commits before this one that failed are not done, since it is in their place in the log.
  void done() {
    is_done_ = true;
    if (!block_.doubtful_segment.empty() && block_.doubtful_segment != segment_path_) {
      ::unlink(block_.doubtful_segment.c_str());
    }
    block_.doubtful_segment.clear();
  }

 private:
  Opened& block_;
  std::string segment_path_;
  bool is_committing_ = false;
  bool is_done_ = false;
};

Result<std::unique_ptr<NewestBlock>> NewestBlock::open(std::string blocks_path,
                                                       std::span<const BlockFolder> blocks,
                                                       const BlockLimits& limits,
                                                       std::function<int64_t()> now_ns) {
  auto newest = open_block(blocks.back());
  if (!newest) {
    return propagate(newest);
  }
  int64_t committed_up_to = 0;
  for (auto block = blocks.rbegin(); block != blocks.rend() && committed_up_to == 0; ++block) {
    auto catalogue = Catalogue::open(block->catalogue_path(), sqlite::OpenMode::kRead);
    const auto last = catalogue ? last_built_sequence(catalogue->database()) : propagate(catalogue);
    if (!last) {
      return propagate(last);
    }
    committed_up_to = *last;
  }
  return std::unique_ptr<NewestBlock>(new NewestBlock(std::move(blocks_path), limits, std::move(now_ns),
                                                      std::move(*newest), committed_up_to));
}

Result<NewestBlock::Opened> NewestBlock::open_block(const BlockFolder& folder) {
  auto catalogue = Catalogue::open(folder.catalogue_path(), sqlite::OpenMode::kReadWrite);
  if (!catalogue) {
    return propagate(catalogue);
  }
  const auto state = read_block_state(catalogue->database());
  return state ? Result<Opened>(Opened{folder, std::move(*catalogue), *state, std::nullopt, nullptr, {}})
               : propagate(state);
}

Result<Sink::Place> NewestBlock::begin(bool is_profile_waiting) {
  const std::lock_guard lock(mutex_);
  Status ready = is_profile_waiting ? seal_if_old() : Status();
  ready = ready && block_.state.is_sealed ? begin_next() : ready;
  const auto known = ready ? sizes() : propagate(ready);
  if (!known) {
    return propagate(known);
  }
  const uint64_t profiles = known->origins - 1;
  const uint64_t room = limits_.max_profiles - std::min(limits_.max_profiles, profiles);
  return Place{.epoch = block_.folder.number,
               .after = committed_up_to_,
               .entries = *known,
               .max_profiles = std::clamp<uint64_t>(room, 1, kBatchProfiles)};
}

// A block goes on while nothing comes.
Status NewestBlock::seal_if_old() {
  const bool is_old = block_.state.first_built_ns != 0 && !block_.state.is_sealed &&
                      now_ns_() - block_.state.first_built_ns >= limits_.max_age_ns;
  if (!is_old) {
    return {};
  }
  BlockState sealed = block_.state;
  sealed.is_sealed = true;
  const Status written = write_block_state(block_.catalogue.database(), sealed);
  if (written) {
    block_.state = sealed;
  }
  return written;
}

Status NewestBlock::begin_next() {
  const auto next = make_block(blocks_path_, block_.folder.number + 1, block_.catalogue.database());
  auto opened = next ? open_block(*next) : propagate(next);
  if (!opened) {
    return propagate(opened);
  }
  log_info("block {} is sealed; profiles go to block {} now", block_.folder.number, next->number);
  block_ = std::move(*opened);
  number_ = block_.folder.number;
  return {};
}

Result<DictionarySizes> NewestBlock::sizes() {
  if (!block_.sizes.has_value()) {
    const auto read = read_sizes(block_.catalogue.database());
    if (!read) {
      return read;
    }
    block_.sizes = *read;
  }
  return *block_.sizes;
}

Result<Dictionaries> NewestBlock::dictionaries() {
  const std::lock_guard lock(mutex_);
  return load_dictionaries(block_.catalogue.database());
}

Status NewestBlock::commit(Batch batch) {
  const std::lock_guard lock(mutex_);
  if (batch.last <= committed_up_to_) {
    return {};
  }
  if (const Status expected = expect_place(batch); !expected) {
    return expected;
  }
  sqlite::Database& catalogue = block_.catalogue.database();
  Undo undo(block_);
  auto transaction = sqlite::Transaction::begin(catalogue);
  Status written = transaction ? Status() : propagate(transaction);
  written = written ? write_entries(catalogue, batch.entries, batch.profiles) : written;
  written = written ? write_facts(batch) : written;
  written = written ? write_segment(batch, undo) : written;
  const auto state = written ? state_after(batch.entries) : propagate(written);
  written = state ? write_block_state(catalogue, *state) : propagate(state);
  if (written) {
    undo.committing();
    written = transaction->commit();
  }
  if (!written) {
    return written;
  }
  undo.done();
  block_.state = *state;
  block_.sizes = batch.entries.after();
  committed_up_to_ = batch.last;
  return {};
}

Status NewestBlock::expect_place(const Batch& batch) {
  const auto known = sizes();
  if (!known) {
    return propagate(known);
  }
  const bool is_next = !block_.state.is_sealed && batch.epoch == block_.folder.number &&
                       batch.after == committed_up_to_ && batch.entries.before == *known;
  return is_next
             ? Status()
             : fail(ErrorCode::kConflict,
                    "a batch of the profiles after {} for block {} does not follow profile {} in block {}",
                    batch.after, batch.epoch, committed_up_to_.load(), block_.folder.number);
}

// All but rows and entries.
Status NewestBlock::write_facts(const Batch& batch) {
  sqlite::Database& catalogue = block_.catalogue.database();
  Status written = BindingWriter(catalogue).bind(batch.bindings, kFirstGeneration);
  for (const KernelSymbols& symbols : batch.kernel_symbols) {
    written = written
                  ? catalogue.execute("INSERT OR IGNORE INTO kernel_symbols (binary, content) VALUES (?, ?)",
                                      symbols.binary, as_bytes(symbols.content))
                  : written;
  }
  // Symbols are looked up in turns by machine (store/frames/pending.h).
  for (const BinaryMachine& machine : batch.binary_machines) {
    written = written ? catalogue.execute("INSERT OR IGNORE INTO binary_machine VALUES (?, ?)",
                                          machine.binary, machine.machine_id)
                      : written;
  }
  for (const SetAside& profile : batch.set_aside) {
    written = written ? catalogue.execute("INSERT OR REPLACE INTO unbuildable VALUES (?, ?)",
                                          profile.sequence, profile.reason)
                      : written;
  }
  return written;
}

Status NewestBlock::extend_order(const NewEntries& entries) {
  if (block_.order == nullptr) {
    block_.order = std::make_unique<RowOrder>();
  }
  RowOrder& order = *block_.order;
  // A batch without rows leaves the order as it is.
  if (order.workloads() < entries.before.workloads) {
    if (const Status added = order.add_workloads_of(block_.catalogue.database()); !added) {
      return added;
    }
  }
  const size_t workloads = entries.after().workloads;
  for (size_t id = order.workloads(); id < workloads; ++id) {
    order.add_workload(entries.workloads[id - entries.before.workloads].job);
  }
  return {};
}

Status NewestBlock::write_segment(Batch& batch, Undo& undo) {
  if (batch.rows.empty()) {
    return {};
  }
  const NewEntries& entries = batch.entries;
  const Status extended = extend_order(entries);
  const auto segment =
      extended ? encode_segment_file(fmt::format("{:012}.rows", batch.last), std::move(batch.rows),
                                     *block_.order, entries.origins, entries.before.origins)
               : propagate(extended);
  if (!segment) {
    return propagate(segment);
  }
  const std::string path = block_.folder.segments_path() + "/" + segment->entry.file;
  undo.set_segment(path);
  const Status written = write_file_durably(path, as_bytes(segment->content));
  return written ? insert_segment(block_.catalogue.database(), segment->entry) : written;
}

// What the block covers with the origins that have come, and whether they were its last.
Result<BlockState> NewestBlock::state_after(const NewEntries& entries) {
  BlockState state = block_.state;
  for (const OriginEntry& origin : entries.origins) {
    state.from_ns = std::min(state.from_ns, origin.from_ns);
    state.to_ns = std::max(state.to_ns, origin.to_ns);
    state.max_interval_ns = std::max(state.max_interval_ns, origin.interval_ns);
  }
  state.first_built_ns = state.first_built_ns == 0 ? now_ns_() : state.first_built_ns;
  const auto bytes = bytes_of_block();
  if (!bytes) {
    return propagate(bytes);
  }
  const DictionarySizes sizes = entries.after();
  state.is_sealed = *bytes >= limits_.max_bytes || sizes.origins - 1 >= limits_.max_profiles ||
                    entries_in(sizes) >= limits_.max_entries;
  return state;
}

// Of its catalogue, and the segments in it.
Result<uint64_t> NewestBlock::bytes_of_block() {
  sqlite::Database& catalogue = block_.catalogue.database();
  const auto pages = catalogue.integer("PRAGMA page_count", 0);
  const auto page_bytes = catalogue.integer("PRAGMA page_size", 0);
  const auto segment_bytes = catalogue.integer("SELECT coalesce(sum(bytes), 0) FROM segment", 0);
  for (const auto* number : {&pages, &page_bytes, &segment_bytes}) {
    if (!*number) {
      return propagate(*number, "measuring a block");
    }
  }
  return static_cast<uint64_t>(*pages * *page_bytes + *segment_bytes);
}

Status NewestBlock::rehearse(Batch batch) {
  const std::lock_guard lock(mutex_);
  const Undo undo(block_);
  sqlite::Database& catalogue = block_.catalogue.database();
  const auto rolled_back = sqlite::Transaction::begin(catalogue);
  Status written = rolled_back ? Status() : propagate(rolled_back);
  written = written ? write_entries(catalogue, batch.entries, batch.profiles) : written;
  written = written ? write_facts(batch) : written;
  written = written ? extend_order(batch.entries) : written;
  if (written) {
    // Not for the bytes: this too may end the process.
    encode_rows(std::move(batch.rows), *block_.order);
  }
  return written;
}

std::optional<Status> NewestBlock::write(const BlockFolder& block, const CatalogueWork& work) {
  const std::lock_guard lock(mutex_);
  if (block.number != block_.folder.number) {
    return std::nullopt;
  }
  return write_in_transaction(block_.catalogue.database(), work);
}

}  // namespace plimsoll::store
