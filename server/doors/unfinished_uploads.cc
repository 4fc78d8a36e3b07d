#include "server/doors/unfinished_uploads.h"

#include <algorithm>
#include <utility>

namespace plimsoll::server {

uint64_t UnfinishedUploads::bytes(std::string_view sender, std::string_view upload) {
  const std::lock_guard lock(mutex_);
  drop_old();
  const auto found = find(sender, upload);
  return found == list_.end() ? 0 : found->staged->bytes();
}

std::unique_ptr<symbolizer::StagedBinary> UnfinishedUploads::take(std::string_view sender,
                                                                  std::string_view upload) {
  const std::lock_guard lock(mutex_);
  drop_old();
  const auto found = find(sender, upload);
  if (found == list_.end()) {
    return nullptr;
  }
  auto staged = std::move(found->staged);
  list_.erase(found);
  return staged;
}

void UnfinishedUploads::keep(std::string_view sender, std::string_view upload,
                             symbolizer::StagedBinary staged) {
  const uint64_t bytes = staged.bytes();
  const std::lock_guard lock(mutex_);
  drop_old();
  if (const auto before = find(sender, upload); before != list_.end()) {
    list_.erase(before);
  }
  if (bytes == 0 || bytes > limits_.max_bytes) {
    return;
  }
  drop_oldest_of(sender);
  while (!list_.empty() && (list_.size() >= limits_.max_uploads || all_bytes() > limits_.max_bytes - bytes)) {
    list_.pop_front();
  }
  list_.push_back({.sender = std::string(sender),
                   .upload = std::string(upload),
                   .kept_ns = monotonic_ns_(),
                   .staged = std::make_unique<symbolizer::StagedBinary>(std::move(staged))});
}

void UnfinishedUploads::drop_all() {
  const std::lock_guard lock(mutex_);
  list_.clear();
}

void UnfinishedUploads::drop_old() {
  const int64_t oldest_ns = monotonic_ns_() - limits_.max_age_ns;
  list_.remove_if([oldest_ns](const Unfinished& one) { return one.kept_ns < oldest_ns; });
}

// One more comes.
void UnfinishedUploads::drop_oldest_of(std::string_view sender) {
  const auto is_senders = [sender](const Unfinished& one) { return one.sender == sender; };
  if (static_cast<size_t>(std::ranges::count_if(list_, is_senders)) >= limits_.max_per_sender) {
    list_.erase(std::ranges::find_if(list_, is_senders));
  }
}

UnfinishedUploads::List::iterator UnfinishedUploads::find(std::string_view sender, std::string_view upload) {
  return std::ranges::find_if(
      list_, [&](const Unfinished& one) { return one.sender == sender && one.upload == upload; });
}

uint64_t UnfinishedUploads::all_bytes() const {
  uint64_t bytes = 0;
  for (const Unfinished& one : list_) {
    bytes += one.staged->bytes();
  }
  return bytes;
}

}  // namespace plimsoll::server
