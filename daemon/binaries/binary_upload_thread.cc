#include "daemon/binaries/binary_upload_thread.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"

namespace plimsoll::binaries {
namespace {

constexpr int64_t kLongestPauseNs = kNsPerHour;

http::ClientOptions with_cancel(http::ClientOptions client, const UniqueFd& cancel) {
  client.cancel_fd = cancel.get();
  return client;
}

http::ClientOptions with_transfers(http::ClientOptions client) {
  client.timeout_ms = kTransferTimeoutNs / 1'000'000;
  return client;
}

// Most files shrink while they are compressed, so that it may be well all the same.
void warn_of_slow_transfers(const BinaryUploadSettings& settings) {
  constexpr uint64_t kTimeoutS = kTransferTimeoutNs / kNsPerSecond;
  const auto bytes_per_second = static_cast<uint64_t>(std::max<int64_t>(settings.max_bytes_per_second, 0));
  if (bytes_per_second > 0 && settings.max_file_bytes / bytes_per_second > kTimeoutS) {
    log_warning(
        "a binary of binaries.max_file_bytes ({}) takes over an hour at binaries.max_bytes_per_second ({}), "
        "and then its transfer goes on only after a day",
        settings.max_file_bytes, bytes_per_second);
  }
}

}  // namespace

BinaryUploadThread::BinaryUploadThread(const BinaryUploadSettings& settings, http::ClientOptions client)
    : uploader_(settings),
      cancel_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      asking_(with_cancel(client, cancel_)),
      sending_(with_transfers(with_cancel(std::move(client), cancel_))) {
  if (!settings.paths.empty()) {
    warn_of_slow_transfers(settings);
    thread_ = std::thread([this] { run(); });
  }
}

void BinaryUploadThread::note(const wire::RawProfile& profile) {
  if (!thread_.joinable()) {
    return;
  }
  uploader_.note(profile);
  const std::lock_guard lock(mutex_);
  has_news_ = true;
  changed_.notify_all();
}

void BinaryUploadThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  ::eventfd_write(cancel_.get(), 1);
  if (thread_.joinable()) {
    thread_.join();
  }
}

void BinaryUploadThread::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const int64_t pause_ns = std::clamp<int64_t>(uploader_.due_ns() - monotonic_now_ns(), 0, kLongestPauseNs);
    changed_.wait_for(lock, std::chrono::nanoseconds(pause_ns), [this] { return stopping_ || has_news_; });
    has_news_ = false;
    if (stopping_) {
      return;
    }
    lock.unlock();
    if (const Status done = uploader_.step(asking_, sending_); !done) {
      log_warning("{}", done.error().text());
    }
    lock.lock();
  }
}

}  // namespace plimsoll::binaries
