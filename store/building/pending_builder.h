// Turns accepted profiles into batches, and hands them to a sink.
//
// What the sink has not got yet is built again after a crash or a failure. A profile that cannot be built must not keep those behind it: one
// that makes trouble is built by itself, and set aside with the reason where it makes it again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/memory_budget.h"
#include "base/result.h"
#include "store/archive/archive.h"
#include "store/building/batch_builder.h"
#include "store/building/building_mark.h"
#include "store/door/sink.h"

namespace plimsoll::store {

struct BuildReport {
  uint64_t profiles = 0;
  uint64_t rows = 0;
  uint64_t unbuildable = 0;  // profiles set aside with a reason
  bool is_full = false;      // the batch takes no more, and other profiles may be pending
};

class PendingBuilder {
 public:
  // A profile that takes more once it is decoded is large: it may be to blame where there is no memory for it.
  static constexpr uint64_t kMaxSmallBytes = uint64_t{8} << 20;

  // `archive` is for reading: building does not wait for the disk that profiles are being accepted to. What is decoded counts in `memory`. All
  // three must outlive it.
  PendingBuilder(Archive& archive, Sink& sink, MemoryBudget& memory, BuildingMark mark)
      : archive_(archive), sink_(sink), memory_(memory), mark_(std::move(mark)), batches_(sink) {}

  // Builds one batch: what is pending, up to a bound. Zero profiles: nothing was pending. A large profile for which there is not the
  // memory twice is set aside, so that the others are built; kTooLarge the first time. Where there is none for a small one others have
  // taken it, and it is built once they are done. Any thread; one at a time.
  Result<BuildReport> build_pending();

  // The trial of a profile at which a process ended, in a process that does nothing else: first all that does not depend on it is loaded, then
  // it alone is built, if it is still pending. Nothing is committed.
  Status prepare_trial();
  std::optional<Batch> build_alone(int64_t sequence);

  // These are for the time before the first call of build_pending().
  //
  // The process before this one ended at that profile: up to it profiles are built one by one. It is set aside where there is a reason.
  void note_end(int64_t sequence, std::optional<std::string> why_set_aside);
  // Later ones stay pending.
  void build_up_to(int64_t sequence) { build_up_to_ = sequence; }
  // Called before each profile becomes rows, once it is decoded, in the thread that builds; what it throws is met as what building throws. For
  // tests.
  void on_building(std::function<void(const ArchivedProfile& profile)> call) {
    on_building_ = std::move(call);
  }

 private:
  static constexpr uint64_t kNoLimit = UINT64_MAX;

  // Of the profile that was being built when the newest exception came, and how often it was to blame.
  struct Trouble {
    int64_t sequence = 0;
    int times = 0;
    std::string what;
  };
  struct EndedAt {
    int64_t sequence = 0;
    std::optional<std::string> why_set_aside;  // nothing: it was not to blame
  };

  Result<BuildReport> build_without_exceptions();
  void learn_size(const Result<BuildReport>& report);
  Result<BuildReport> build_batch();
  // Null: there is none, or it has to wait.
  Result<std::unique_ptr<const ArchivedProfile>> next_after(int64_t sequence);
  Status build_profile(const ArchivedProfile& archived, BuildReport& report);
  uint64_t max_profiles(const Sink::Place& place) const;

  Archive& archive_;
  Sink& sink_;
  MemoryBudget& memory_;
  std::mutex mutex_;  // of all below
  BuildingMark mark_;
  BatchBuilder batches_;
  int64_t build_up_to_ = INT64_MAX;
  uint64_t max_profiles_ = kNoLimit;  // of a batch, beside what the sink says
  uint64_t tried_ = 0;                // of the newest batch
  std::function<void(const ArchivedProfile& profile)> on_building_;
  int64_t building_ = 0;            // archive sequence; 0: no profile yet
  bool building_is_large_ = false;  // or it is not known yet what it takes
  Trouble trouble_;
  EndedAt ended_at_;
};

}  // namespace plimsoll::store
