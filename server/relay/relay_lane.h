// Requests of one kind on their way to the primary, in batches over connections of their own.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/stop_check.h"
#include "http/message.h"
#include "server/relay/gatherer.h"
#include "server/relay/primary_watch.h"

namespace plimsoll::server {

// Posts a batch to a path of the primary. For one thread; ends with the thread's stop scope (base/stop_scope.h).
using PostBatch = std::function<Result<http::Response>(std::string_view path, const std::string& body)>;

// Posts a batch, and gives each of its requests its own answer; 503 where the primary gave none, or no sound one. An empty batch finds out whether
// the primary answers.
void forward_batch(std::vector<RelayEntry> batch, std::string_view path, const PostBatch& post,
                   PrimaryWatch& watch);

struct LaneSettings {
  std::string path;
  unsigned connections = 1;
  GatherLimits limits = {};
  bool asks_while_idle = false;  // whether the primary answers, every few seconds
};

// Any thread may call.
class RelayLane {
 public:
  // `connect` is called by each of the lane's threads for a connection of its own. Borrows the watch.
  RelayLane(LaneSettings settings, const std::function<PostBatch()>& connect, PrimaryWatch& watch);
  RelayLane(const RelayLane&) = delete;
  RelayLane& operator=(const RelayLane&) = delete;
  ~RelayLane() { stop(); }

  // As Gatherer::add().
  void add(RelayEntry entry) { gatherer_.add(std::move(entry)); }

  size_t waiting() const { return gatherer_.waiting(); }
  size_t held_bytes() const { return gatherer_.held_bytes(); }

  // Takes nothing more. What waits is answered with 503, and so is what is on its way, if the primary does not answer it within seconds.
  void begin_stop();
  // All has been answered when it returns. May be called again, by one thread at a time.
  void stop();

 private:
  void forward_batches(const PostBatch& post);

  const LaneSettings settings_;
  PrimaryWatch& watch_;
  Gatherer gatherer_;
  std::atomic<int64_t> give_up_ns_;  // monotonic
  const StopCheck give_up_;
  std::vector<std::thread> threads_;
};

}  // namespace plimsoll::server
