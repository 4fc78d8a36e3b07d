#include "daemon/spool/spool.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <vector>

#include "base/hex.h"
#include "base/log.h"

namespace plimsoll::spool {
namespace {

// How often the oldest is dropped for the sake of one profile that finds the disk full: what else writes to the disk may
// take what we free, and those that are safely there must not all be lost to it.
constexpr int kDiskFullRounds = 2;
// A profile that cannot be read so often is taken to be damaged.
constexpr int kMaxFailedReads = 5;

std::string reason_of(Fate fate, const SpoolKind& kind) {
  switch (fate) {
    case Fate::kNoRoom:
      return fmt::format("over {}", kind.bytes_key);
    case Fate::kTooOld:
      return "older than limits.max_spool_age";
    case Fate::kDamaged:
      return "damaged";
    case Fate::kDiskFailed:
      return "the disk is full";
    case Fate::kMissing:
      return "no longer on disk";
    case Fate::kRefused:
      return "the server rejects it";
    case Fate::kDelivered:
      break;
  }
  return "delivered";
}

}  // namespace

Result<std::unique_ptr<Spool>> Spool::open(SpoolOptions options) {
  auto folder = SpoolFolder::open(options.folder, options.wall_ns(), *options.calls, *options.kind);
  if (!folder) {
    return propagate(folder, "opening the spool");
  }
  std::unique_ptr<Spool> spool(new Spool(std::move(options), std::move(*folder)));
  const std::lock_guard lock(spool->mutex_);
  spool->index_found();
  Status within_limits = spool->expire(0);
  if (within_limits) {
    within_limits = spool->make_room(0, 0);
  }
  if (!within_limits) {
    return propagate(within_limits, "opening the spool");
  }
  return spool;
}

Spool::Spool(SpoolOptions options, std::unique_ptr<SpoolFolder> folder)
    : options_(std::move(options)),
      wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      first_of_this_run_(folder->next_sequence()),
      folder_(std::move(folder)) {}

void Spool::index_found() {
  const int64_t wall_ns = options_.wall_ns();
  const int64_t boottime_ns = options_.boottime_ns();
  for (SpooledProfile& found : folder_->take_found()) {
    // A clock that was set back makes nothing younger than new.
    const int64_t longest_s = wall_ns / kNsPerSecond;
    const int64_t age_s = std::clamp<int64_t>(longest_s - found.spooled_s, 0, longest_s);
    bytes_ += found.disk_bytes;
    entries_.push_back({std::move(found), boottime_ns - age_s * kNsPerSecond});
  }
  if (!entries_.empty()) {
    maybe_sent_ = entries_.front().profile.sequence;
    log_info("{} unsent {} from the previous run", entries_.size(), kind().nouns);
  }
}

Result<uint64_t> Spool::push(const std::string& id, Bytes encoded, bool has_kernel_symbols) {
  if (id.size() != kIdBytes) {
    return fail(ErrorCode::kInvalid, "the ID of a {} has {} bytes, not {}", kind().noun, kIdBytes, id.size());
  }
  const std::lock_guard lock(mutex_);
  const SpooledProfile profile{.sequence = folder_->next_sequence(),
                               .id = id,
                               .spooled_s = std::max<int64_t>(0, options_.wall_ns() / kNsPerSecond),
                               .has_kernel_symbols = has_kernel_symbols,
                               .disk_bytes = disk_bytes_of(encoded.size())};
  if (auto expired = expire(first_droppable()); !expired) {
    return drop_unwritten(Fate::kDiskFailed, expired.error());
  }
  if (profile.disk_bytes > options_.max_bytes) {
    return drop_unwritten(Fate::kNoRoom,
                          {ErrorCode::kTooLarge, fmt::format("larger than {}", kind().bytes_key), {}, {}});
  }
  if (auto made = make_room(profile.disk_bytes, 1); !made) {
    const Fate fate = made.error().code == ErrorCode::kTooLarge ? Fate::kNoRoom : Fate::kDiskFailed;
    return drop_unwritten(fate, made.error());
  }
  if (auto written = write_to_disk(profile, encoded); !written) {
    return drop_unwritten(Fate::kDiskFailed, written.error());
  }
  note(write_problem_, {});
  entries_.push_back({profile, options_.boottime_ns()});
  bytes_ += profile.disk_bytes;
  ::eventfd_write(wake_fd_.get(), 1);
  return profile.sequence;
}

Status Spool::write_to_disk(const SpooledProfile& profile, Bytes encoded) {
  Status written = folder_->write(profile, encoded);
  for (int round = 0; round < kDiskFullRounds; ++round) {
    const bool is_full = !written && written.error().code == ErrorCode::kUnavailable;
    if (!is_full || !free_disk(profile.disk_bytes)) {
      break;
    }
    written = folder_->write(profile, encoded);
  }
  return written;
}

std::unexpected<Error> Spool::drop_unwritten(Fate fate, Error error) {
  error.message = fmt::format("a {} is dropped: {}", kind().noun, error.message);
  if (auto counted = folder_->count_unwritten(fate); !counted) {
    log_error("{}", counted.error().text());
  }
  note(write_problem_, std::unexpected(error));
  return std::unexpected(std::move(error));
}

Status Spool::make_room(uint64_t bytes, uint64_t profiles) {
  const size_t from = first_droppable();
  size_t count = 0;
  uint64_t kept_bytes = bytes_ + bytes;
  const auto fits = [&] {
    return kept_bytes <= options_.max_bytes && entries_.size() - count + profiles <= options_.max_profiles;
  };
  while (!fits() && from + count < entries_.size()) {
    kept_bytes -= entries_[from + count].profile.disk_bytes;
    ++count;
  }
  if (!fits() && bytes > 0) {
    return fail(ErrorCode::kTooLarge, "the spool is full, and the oldest {} may be being sent", kind().noun);
  }
  return remove(from, count, Fate::kNoRoom);
}

// False where there is nothing to drop.
bool Spool::free_disk(uint64_t bytes) {
  const size_t from = first_droppable();
  size_t count = 0;
  for (uint64_t freed = 0; freed < bytes && from + count < entries_.size(); ++count) {
    freed += entries_[from + count].profile.disk_bytes;
  }
  return count > 0 && remove(from, count, Fate::kDiskFailed);
}

size_t Spool::first_droppable() const {
  return !entries_.empty() && entries_.front().profile.sequence == maybe_sent_ ? 1 : 0;
}

Status Spool::expire(size_t from) {
  const int64_t oldest_ns = options_.boottime_ns() - options_.max_age_ns;
  size_t count = 0;
  while (from + count < entries_.size() && entries_[from + count].spooled_at_ns < oldest_ns) {
    ++count;
  }
  return remove(from, count, Fate::kTooOld);
}

Status Spool::remove(size_t from, size_t count, Fate fate) {
  if (count == 0) {
    return {};
  }
  const auto first = entries_.begin() + static_cast<std::ptrdiff_t>(from);
  const auto last = first + static_cast<std::ptrdiff_t>(count);
  std::vector<SpooledProfile> removed;
  std::transform(first, last, std::back_inserter(removed), [](const Entry& entry) { return entry.profile; });
  if (auto begun = folder_->begin_removal(removed, fate); !begun) {
    note(removal_problem_, begun);
    return begun;
  }
  for (const SpooledProfile& profile : removed) {
    bytes_ -= profile.disk_bytes;
    if (fate != Fate::kDelivered) {
      log_warning("{} {} is dropped: {}", kind().noun, to_hex(profile.id), reason_of(fate, kind()));
    }
  }
  entries_.erase(first, last);
  // They are counted, and gone for us. What is left of their files is the next removal's to finish.
  note(removal_problem_, folder_->finish_removal());
  return {};
}

Result<std::optional<OutgoingProfile>> Spool::oldest() {
  const std::lock_guard lock(mutex_);
  if (auto expired = expire(0); !expired) {
    return propagate(expired);
  }
  while (!entries_.empty()) {
    const SpooledProfile& profile = entries_.front().profile;
    auto encoded = read_checked(profile);
    if (encoded) {
      failed_reads_ = 0;
      maybe_sent_ = profile.sequence;
      return OutgoingProfile{profile.sequence, profile.id, std::move(*encoded), profile.has_kernel_symbols};
    }
    if (auto dropped = drop_unreadable(encoded.error()); !dropped) {
      return propagate(dropped);
    }
  }
  return std::nullopt;
}

Result<std::string> Spool::read_checked(const SpooledProfile& profile) {
  auto encoded = folder_->read(profile, kind().max_encoded_bytes);
  if (encoded) {
    if (const Status sound = kind().check(as_bytes(*encoded)); !sound) {
      return propagate(sound);
    }
  }
  return encoded;
}

// An error: it may be readable later, and stays.
Status Spool::drop_unreadable(const Error& error) {
  const bool may_pass =
      error.code == ErrorCode::kIo || error.code == ErrorCode::kExhausted || error.code == ErrorCode::kDenied;
  if (may_pass && ++failed_reads_ < kMaxFailedReads) {
    return std::unexpected(error);
  }
  log_error("{}", error.text());
  const Fate fate = error.code == ErrorCode::kNotFound ? Fate::kMissing : Fate::kDamaged;
  auto removed = remove(0, 1, fate);
  failed_reads_ = removed ? 0 : failed_reads_;
  return removed;
}

Status Spool::settle(uint64_t sequence, Fate fate) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find(entries_, sequence, [](const Entry& entry) { return entry.profile.sequence; });
  if (found == entries_.end()) {
    return {};
  }
  return remove(static_cast<size_t>(found - entries_.begin()), 1, fate);
}

void Spool::note(std::string& problem, const Status& done) {
  if (!done) {
    problem = "spool: " + done.error().text();
    log_error("{}", problem);
  } else if (!problem.empty()) {
    problem.clear();
    log_info("the spool works again");
  }
}

SpoolStatus Spool::status() const {
  const std::lock_guard lock(mutex_);
  const std::string separator = write_problem_.empty() || removal_problem_.empty() ? "" : "; ";
  return {.spooled = folder_->spooled(),
          .counts = folder_->counts(),
          .counted_since_ns = folder_->counted_since_ns(),
          .waiting = entries_.size(),
          .waiting_bytes = bytes_,
          .problem = write_problem_ + separator + removal_problem_};
}

bool Spool::holds_kernel_symbols() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(entries_, [this](const Entry& entry) {
    return entry.profile.has_kernel_symbols && entry.profile.sequence >= first_of_this_run_;
  });
}

uint64_t Spool::waiting() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

void Spool::drain_wakeups() const {
  eventfd_t count = 0;
  ::eventfd_read(wake_fd_.get(), &count);
}

}  // namespace plimsoll::spool
