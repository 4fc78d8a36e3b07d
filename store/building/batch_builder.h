// Profiles on their way into a sink: a batch of them, and the dictionaries that it extends.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/result.h"
#include "proto/profile.pb.h"
#include "store/building/row_builder.h"
#include "store/dictionaries/dictionary_builder.h"
#include "store/door/sink.h"
#include "store/model/batch.h"

namespace plimsoll::store {

// Keeps the dictionaries of the sink's epoch in memory, and extends them from batch to batch. One thread. An exception leaves it fit for
// give_up() and begin().
class BatchBuilder {
 public:
  // `sink` must outlive it.
  explicit BatchBuilder(Sink& sink) : sink_(sink) {}

  // Begins a batch where the sink says (Sink::begin()). The dictionaries are loaded where the sink has others than this has: the first time, in
  // a new epoch, and where a commit that failed was done all the same. What was not committed is forgotten.
  Result<Sink::Place> begin(bool is_profile_waiting);

  // A valid profile (wire::validate), the one behind those before. kConflict where it contradicts what is known: nothing of it is added.
  Status add(const wire::RawProfile& profile, int64_t sequence);
  // No rows come of it.
  void set_aside(int64_t sequence, const std::string& reason);

  // What it holds in memory is enough for one batch, however many profiles it is of.
  bool is_full() const;

  // What was added since begin(). It borrows the new entries, until the next call.
  Batch take();

  // The batch that was taken is committed.
  void settle();

  // Forgets what was added since begin(), unless it is settled, and gives its memory back. Allocates nothing.
  void give_up();

 private:
  void clear();
  void bind(const NamedLocation& named);
  void keep_kernel_symbols(const wire::RawProfile& profile, const std::vector<uint32_t>& binaries);

  Sink& sink_;
  int64_t epoch_ = 0;
  std::unique_ptr<DictionaryBuilder> dictionaries_;  // none: not loaded yet
  DictionarySizes committed_;                        // as far as the sink has them
  Batch batch_;
  std::unordered_map<uint32_t, size_t> bound_;  // by location: its place in batch_.bindings
  std::unordered_set<uint32_t> with_symbols_;   // binaries in batch_.kernel_symbols
  uint64_t max_rows_ = 0;                       // that the batch may have
  uint64_t held_bytes_ = 0;                     // of names and symbols
};

}  // namespace plimsoll::store
