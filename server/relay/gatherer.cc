#include "server/relay/gatherer.h"

#include <string_view>

#include "base/result.h"

namespace plimsoll::server {
namespace {

// Of an entry beside its bytes on the wire: the messages and where the answer goes.
constexpr size_t kBytesOfEntry = 1024;
// Of its tag and length within a batch, at most.
constexpr size_t kBytesOfField = 8;

http::Response busy(std::string_view why) {
  return http::error_response(
      Error{ErrorCode::kUnavailable, std::string(why), {}, "try again later, or at another ingest server"});
}

}  // namespace

void Gatherer::add(RelayEntry entry) {
  const size_t bytes = entry.request.ByteSizeLong() + kBytesOfEntry;
  if (!held_.take_or_all(bytes)) {
    entry.answer.give(busy("this ingest server is at its limit of requests that wait for the primary"));
    return;
  }
  entry.held = HeldBytes(held_, bytes);
  {
    const std::lock_guard lock(mutex_);
    if (!is_stopped_) {
      waiting_.push_back(std::move(entry));
      changed_.notify_one();
      return;
    }
  }
  entry.answer.give(busy("this ingest server is stopping"));
}

std::vector<RelayEntry> Gatherer::take(std::chrono::nanoseconds max_wait) {
  std::vector<RelayEntry> batch;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, max_wait, [this] { return is_stopped_ || !waiting_.empty(); });
  size_t bytes = 0;
  while (!waiting_.empty() && batch.size() < limits_.max_batch_entries) {
    bytes += waiting_.front().held.bytes() - kBytesOfEntry + kBytesOfField;
    if (!batch.empty() && bytes > limits_.max_batch_bytes) {
      break;
    }
    batch.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return batch;
}

void Gatherer::stop() {
  std::deque<RelayEntry> left;
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    left.swap(waiting_);
    changed_.notify_all();
  }
  for (RelayEntry& entry : left) {
    entry.answer.give(busy("this ingest server is stopping"));
  }
}

bool Gatherer::is_stopped() const {
  const std::lock_guard lock(mutex_);
  return is_stopped_;
}

size_t Gatherer::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

}  // namespace plimsoll::server
