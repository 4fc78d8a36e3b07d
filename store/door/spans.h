// The door for spans of request traces: a sink takes them, a source answers questions about them.
//
// A span is (trace, ID, half of a shared call, kind). Clients send spans again when an answer is lost: a sink takes copies, a source returns
// each span once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "base/result.h"
#include "store/model/damaged_part.h"
#include "store/model/time_spans.h"
#include "traces/model/span_set.h"

namespace plimsoll::store {

// What became of a batch.
struct SpansKept {
  uint64_t spans = 0;
  // Of these, how many have a name that is "[other]" now, since there are too many of its kind.
  uint64_t with_other_names = 0;
};

// What one request or file has brought. Borrows the spans.
struct SpanBatch {
  const traces::SpanSet* spans = nullptr;
  // How many requests each of these stands for; over 0.
  double weight = 1;
};

struct SpanFilesMerged {
  uint64_t merged = 0;  // small files; 0: there is nothing to merge
  uint64_t made = 0;    // that took their place
};

// Any thread.
class SpanSink {
 public:
  SpanSink() = default;
  SpanSink(const SpanSink&) = delete;
  SpanSink& operator=(const SpanSink&) = delete;
  virtual ~SpanSink() = default;

  // All of the batches are visible and durable when it returns, or nothing of them. After a failure they may be there all the same; they are
  // sent again then, which changes nothing. Calls that come at the same time are stored together, with one fsync. kInvalid for a weight that
  // cannot be; kUnavailable where too many calls wait, or the disk is full.
  virtual Result<SpansKept> add_all(std::span<const SpanBatch> batches) = 0;
  Result<SpansKept> add(const traces::SpanSet& spans, double weight) {
    const SpanBatch batch{&spans, weight};
    return add_all(std::span(&batch, 1));
  }

  // Does what is due by time: to be called every few seconds.
  virtual Status settle() = 0;

  // Makes one larger file of some small ones of a block, so that a question opens few; answers stay as they are. Beside add() and questions,
  // which wait for one transaction at most. Gives up, with nothing changed, once `stop` is requested. Damaged files are logged, and left alone.
  virtual Result<SpanFilesMerged> merge_once(const std::stop_token& stop) = 0;

  // Does what settle() does, and drops spans that came before that time by the wall clock, and the oldest ones beyond so many bytes; a whole
  // block of them at a time. What is due goes also where settling fails, as on a full disk, whose error is returned then. How many blocks
  // were dropped.
  virtual Result<uint64_t> drop_old(int64_t before_ns, uint64_t max_bytes) = 0;

  // Drops the oldest block, for a disk that is nearly full. False: there is none but the newest, which stays.
  virtual Result<bool> drop_oldest() = 0;
};

struct SpanQuestion {
  // Spans that touch it, by their machines' wall clocks. Of copies that have different times only one may be looked at.
  TimeSpan times = {};
  // Of one trace only.
  std::optional<traces::TraceId> trace = std::nullopt;
  // kTooLarge beyond; each takes 80 bytes while it is looked for.
  uint64_t max_spans = 50'000'000;
  // Whether spans come with their attributes, which takes time.
  bool with_attributes = false;
};

struct StoredSpan {
  traces::NamedSpan span;  // borrows its names and attributes, until the next span
  double weight = 1;
};

// A failure ends the answer.
using SpanVisitor = std::function<Status(const StoredSpan& span)>;

// Any thread.
class SpanSource {
 public:
  SpanSource() = default;
  SpanSource(const SpanSource&) = delete;
  SpanSource& operator=(const SpanSource&) = delete;
  virtual ~SpanSource() = default;

  // Each span once, by trace, then ID: of one state of each block. Gives what could not be read and may lack from the answer.
  virtual Result<std::vector<DamagedPart>> read(const SpanQuestion& question, const SpanVisitor& visit) = 0;
};

}  // namespace plimsoll::store
