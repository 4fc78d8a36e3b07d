#include "server/relay/relay_lane.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "base/stop_scope.h"
#include "base/time.h"
#include "proto/fleet_messages.h"
#include "server/relay/relay_codec.h"

namespace plimsoll::server {
namespace {

constexpr int64_t kGraceOfStopNs = 5 * kNsPerSecond;
constexpr std::chrono::seconds kIdleInterval{5};
// Of a lane that asks nothing while it is idle.
constexpr std::chrono::hours kLongWait{1};

// Nothing of the primary's address, which the log has: daemons and strangers read this.
http::Response no_answer() {
  return http::error_response(Error{ErrorCode::kUnavailable,
                                    "the primary server did not answer this ingest server",
                                    {},
                                    "try again later"});
}

Result<wire::RelayReply> replies_in(const http::Response& response, size_t requests) {
  if (!response.ok()) {
    return std::unexpected(http::error_of(response, "forwarding requests of daemons"));
  }
  return decode_relay_reply(response.body, requests);
}

std::string taken_out(std::vector<RelayEntry>& batch) {
  wire::RelayRequest request;
  request.set_format_version(wire::kFormatVersion);
  for (RelayEntry& entry : batch) {
    *request.add_entries() = std::move(entry.request);
  }
  return request.SerializeAsString();
}

}  // namespace

void forward_batch(std::vector<RelayEntry> batch, std::string_view path, const PostBatch& post,
                   PrimaryWatch& watch) {
  auto response = post(path, taken_out(batch));
  auto replies = response ? replies_in(*response, batch.size()) : propagate(response);
  if (replies) {
    watch.answered(batch.size(), monotonic_now_ns());
    for (size_t i = 0; i < batch.size(); ++i) {
      batch[i].answer.give(response_of(std::move(*replies->mutable_replies(static_cast<int>(i)))));
    }
    return;
  }
  // The primary takes less than this server does: only its daemon can do anything about that.
  if (response && response->status == 413 && batch.size() == 1) {
    watch.answered(1, monotonic_now_ns());
    batch.front().answer.give(response_of(relayed(*std::move(response))));
    return;
  }
  watch.failed(batch.size(), replies.error(), monotonic_now_ns());
  for (RelayEntry& entry : batch) {
    entry.answer.give(no_answer());
  }
}

RelayLane::RelayLane(LaneSettings settings, const std::function<PostBatch()>& connect, PrimaryWatch& watch)
    : settings_(std::move(settings)),
      watch_(watch),
      gatherer_(settings_.limits),
      give_up_ns_(INT64_MAX),
      give_up_([this]() -> Status {
        return monotonic_now_ns() < give_up_ns_
                   ? Status()
                   : fail(ErrorCode::kUnavailable, "this ingest server is stopping");
      }) {
  for (unsigned i = 0; i < settings_.connections; ++i) {
    threads_.emplace_back([this, post = connect()] { forward_batches(post); });
  }
}

void RelayLane::forward_batches(const PostBatch& post) {
  const StopScope scope(give_up_);
  if (settings_.asks_while_idle) {
    forward_batch({}, settings_.path, post, watch_);
  }
  while (!gatherer_.is_stopped()) {
    auto batch = settings_.asks_while_idle ? gatherer_.take(kIdleInterval) : gatherer_.take(kLongWait);
    if (!batch.empty() || (settings_.asks_while_idle && !gatherer_.is_stopped())) {
      forward_batch(std::move(batch), settings_.path, post, watch_);
    }
  }
}

void RelayLane::begin_stop() {
  gatherer_.stop();
  give_up_ns_ = std::min(give_up_ns_.load(), monotonic_now_ns() + kGraceOfStopNs);
}

void RelayLane::stop() {
  begin_stop();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) {
      thread.join();
    }
  }
}

}  // namespace plimsoll::server
