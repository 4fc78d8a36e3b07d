#include "store/spans/span_batch_queue.h"

#include <utility>

namespace plimsoll::store {

struct SpanBatchQueue::Call {
  std::span<const SpanBatch> batches;
  uint64_t spans = 0;
  // Made beforehand: what is left where the commit throws for lack of memory.
  Result<SpansKept> result = fail(ErrorCode::kExhausted, "there is no memory to store spans");
  bool is_done = false;  // protected by the queue's mutex
};

// Of the thread that stores a group. Ended by its destructor, so that no thread waits for one that has failed.
class SpanBatchQueue::Turn {
 public:
  Turn(SpanBatchQueue& queue, std::list<Call*> group) : queue_(queue), group_(std::move(group)) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    const std::lock_guard lock(queue_.mutex_);
    for (Call* const call : group_) {
      call->is_done = true;
    }
    queue_.is_committing_ = false;
    queue_.turn_ended_.notify_all();
  }

  void run(const Commit& commit) {
    std::vector<SpanBatch> batches;
    for (const Call* const call : group_) {
      batches.insert(batches.end(), call->batches.begin(), call->batches.end());
    }
    const auto kept = commit(batches);
    size_t next = 0;
    for (Call* const call : group_) {
      if (!kept) {
        call->result = propagate(kept);
        continue;
      }
      SpansKept of_call;
      for (size_t i = 0; i < call->batches.size(); ++i, ++next) {
        of_call.spans += (*kept)[next].spans;
        of_call.with_other_names += (*kept)[next].with_other_names;
      }
      call->result = of_call;
    }
  }

 private:
  SpanBatchQueue& queue_;
  const std::list<Call*> group_;
};

Result<SpansKept> SpanBatchQueue::add(std::span<const SpanBatch> batches, const Commit& commit) {
  Call own{.batches = batches};
  for (const SpanBatch& batch : batches) {
    own.spans += batch.spans->spans().size();
  }
  std::unique_lock lock(mutex_);
  const bool is_full =
      waiting_.size() >= limits_.max_waiting_calls || waiting_spans_ + own.spans > limits_.max_waiting_spans;
  if (!waiting_.empty() && is_full) {
    return with_hint(fail(ErrorCode::kUnavailable, "{} spans wait to be stored", waiting_spans_),
                     "send these again later, or in larger batches");
  }
  waiting_.push_back(&own);
  waiting_spans_ += own.spans;
  turn_ended_.wait(lock, [&] { return own.is_done || (!is_committing_ && waiting_.front() == &own); });
  if (!own.is_done) {
    is_committing_ = true;
    auto group = take_group();
    lock.unlock();
    Turn(*this, std::move(group)).run(commit);
  }
  return std::move(own.result);
}

size_t SpanBatchQueue::waiting_calls() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

std::list<SpanBatchQueue::Call*> SpanBatchQueue::take_group() noexcept {
  std::list<Call*> group;
  uint64_t spans = 0;
  while (!waiting_.empty() && (group.empty() || spans + waiting_.front()->spans <= limits_.max_group_spans)) {
    spans += waiting_.front()->spans;
    group.splice(group.end(), waiting_, waiting_.begin());
  }
  waiting_spans_ -= spans;
  return group;
}

}  // namespace plimsoll::store
