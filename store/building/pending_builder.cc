#include "store/building/pending_builder.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "base/hex.h"
#include "base/log.h"
#include "base/no_exceptions.h"
#include "proto/profile_codec.h"

namespace plimsoll::store {
namespace {

// That a profile may throw while it is built.
constexpr int kMaxTimes = 2;

}  // namespace

void PendingBuilder::note_end(int64_t sequence, std::optional<std::string> why_set_aside) {
  mark_.set(0);
  ended_at_ = {sequence, std::move(why_set_aside)};
}

Result<BuildReport> PendingBuilder::build_pending() {
  const std::lock_guard lock(mutex_);
  auto report = build_without_exceptions();
  mark_.set(0);
  if (!report) {
    // At once: it takes memory, for want of which most builds fail.
    batches_.give_up();
  }
  learn_size(report);
  return report;
}

// All that was done for a batch is lost where there is no memory for the last of it: the next one is of half as many. From there on batches
// grow slowly: what failed once fails again, if nothing else has changed.
void PendingBuilder::learn_size(const Result<BuildReport>& report) {
  if (tried_ == 0) {
    return;
  }
  if (report) {
    max_profiles_ += std::min(std::max<uint64_t>(max_profiles_ / 8, 1), kNoLimit - max_profiles_);
  } else if (report.error().code == ErrorCode::kTooLarge || report.error().code == ErrorCode::kExhausted) {
    max_profiles_ = std::max<uint64_t>(tried_ / 2, 1);
  }
}

Result<BuildReport> PendingBuilder::build_without_exceptions() {
  building_ = 0;
  building_is_large_ = false;
  tried_ = 0;
  try {
    return build_batch();
  } catch (const std::exception& exception) {
    if (building_ != 0) {
      // A small one for which there is no memory is not to blame: other work has it.
      const bool lacks_memory = dynamic_cast<const std::bad_alloc*>(&exception) != nullptr;
      const bool is_to_blame = building_is_large_ || !lacks_memory;
      trouble_.times = (trouble_.sequence == building_ ? trouble_.times : 0) + (is_to_blame ? 1 : 0);
      trouble_.sequence = building_;
      trouble_.what.clear();
    }
    // The caller has to undo what was begun: nothing may be thrown from here.
    return failure_without_exceptions([&] {
      trouble_.what = building_ == 0 ? trouble_.what : exception.what();
      return building_ == 0 ? fail(ErrorCode::kTooLarge, "preparing to build rows: {}", exception.what())
                            : fail(ErrorCode::kTooLarge, "building the rows of profile number {}: {}",
                                   building_, exception.what());
    });
  }
}

Result<std::unique_ptr<const ArchivedProfile>> PendingBuilder::next_after(int64_t sequence) {
  auto next = archive_.next_after(sequence);
  if (!next) {
    return propagate(next);
  }
  std::optional<ArchivedProfile> found = std::move(*next);
  const bool is_pending = found.has_value() && found->sequence <= build_up_to_;
  return is_pending ? std::make_unique<const ArchivedProfile>(std::move(*found)) : nullptr;
}

uint64_t PendingBuilder::max_profiles(const Sink::Place& place) const {
  // Where a process ended, one by one shows which it was if it comes to that again.
  return place.after < ended_at_.sequence ? 1 : std::clamp<uint64_t>(place.max_profiles, 1, max_profiles_);
}

Result<BuildReport> PendingBuilder::build_batch() {
  const int64_t committed_up_to = sink_.committed_up_to();
  auto next = next_after(committed_up_to);
  const auto place = next ? batches_.begin(*next != nullptr) : propagate(next);
  if (place && place->after != committed_up_to) {
    // A batch whose commit failed was committed all the same.
    next = next_after(place->after);
  }
  if (!place || !next) {
    return place ? propagate(next) : propagate(place);
  }
  const uint64_t wanted = max_profiles(*place);
  BuildReport report;
  while (*next != nullptr) {
    const int64_t sequence = (*next)->sequence;
    ++tried_;
    if (auto built = build_profile(**next, report); !built) {
      return propagate(built);
    }
    if (tried_ >= wanted || batches_.is_full() || sequence == trouble_.sequence) {
      report.is_full = true;
      break;
    }
    // What is in the way of reading the next one is no fault of this one.
    building_ = 0;
    next = next_after(sequence);
    building_ = sequence;
    if (!next) {
      return propagate(next);
    }
    if (*next != nullptr && (*next)->sequence == trouble_.sequence) {
      report.is_full = true;
      break;
    }
  }
  if (report.profiles + report.unbuildable == 0) {
    return report;
  }
  // Of several it is not known whose rows there was no memory for; the next batch is of fewer.
  building_ = tried_ == 1 ? building_ : 0;
  Batch batch = batches_.take();
  report.rows = batch.rows.size();
  if (const Status committed = sink_.commit(std::move(batch)); !committed) {
    return propagate(committed);
  }
  batches_.settle();
  return report;
}

Status PendingBuilder::build_profile(const ArchivedProfile& archived, BuildReport& report) {
  const auto set_aside = [&](const Error& error) {
    log_warning("no rows can be built from profile {}: {}", to_hex(archived.id), error.text());
    batches_.set_aside(archived.sequence, error.text());
    ++report.unbuildable;
    return Status();
  };
  if (trouble_.sequence == archived.sequence && trouble_.times >= kMaxTimes) {
    return set_aside(Error{ErrorCode::kTooLarge, "it failed twice: " + trouble_.what, {}, {}});
  }
  if (ended_at_.sequence == archived.sequence && ended_at_.why_set_aside) {
    return set_aside(Error{ErrorCode::kTooLarge, *ended_at_.why_set_aside, {}, {}});
  }
  building_ = archived.sequence;
  building_is_large_ = true;
  mark_.set(building_);
  // It was checked when it was accepted, with the limits of then.
  uint64_t decoded_bytes = 0;
  MemoryShare memory(memory_);
  const auto profile =
      wire::decode_in_arena(as_bytes(archived.encoded), {UINT64_MAX, INT32_MAX}, [&](uint64_t bytes) {
        decoded_bytes += bytes;
        building_is_large_ = decoded_bytes > kMaxSmallBytes;
        memory.take(bytes);
        return Status();
      });
  if (!profile && profile.error().code == ErrorCode::kExhausted) {
    return propagate(profile, "building the rows of profile number {}", building_);
  }
  if (!profile) {
    return set_aside(profile.error());
  }
  if (on_building_) {
    on_building_(archived);
  }
  const Status added = batches_.add(**profile, archived.sequence);
  if (!added) {
    return added.error().code == ErrorCode::kConflict ? set_aside(added.error()) : added;
  }
  ++report.profiles;
  return {};
}

Status PendingBuilder::prepare_trial() {
  const std::lock_guard lock(mutex_);
  const auto place = batches_.begin(/*is_profile_waiting=*/false);
  return place ? Status() : propagate(place);
}

std::optional<Batch> PendingBuilder::build_alone(int64_t sequence) {
  const std::lock_guard lock(mutex_);
  const auto next = next_after(sequence - 1);
  const bool is_pending =
      sequence > sink_.committed_up_to() && next && *next != nullptr && (*next)->sequence == sequence;
  BuildReport report;
  if (!is_pending || !build_profile(**next, report)) {
    return std::nullopt;
  }
  return batches_.take();
}

}  // namespace plimsoll::store
