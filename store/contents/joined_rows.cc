#include "store/contents/joined_rows.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>

#include "store/aggregation/aggregation_run.h"

namespace plimsoll::store {
namespace {

class JoinedCursor : public RowCursor {
 public:
  JoinedCursor(const std::vector<JoinedRows::Part>& parts, RowFilter filter)
      : parts_(parts), filter_(std::move(filter)) {}

  Result<std::span<const Row>> next() override {
    for (; next_part_ <= parts_.size(); cursor_ = nullptr) {
      if (cursor_ == nullptr && !open_next()) {
        break;
      }
      const auto rows = cursor_->next();
      if (!rows || !rows->empty()) {
        return rows ? translated(*rows) : rows;
      }
    }
    return std::span<const Row>();
  }

 private:
  bool open_next() {
    if (next_part_ == parts_.size()) {
      return false;
    }
    const JoinedRows::Part& part = parts_[next_part_++];
    cursor_ = part.rows->scan(translate(filter_, part.translation));
    cursor_->stop_when([this] { return check(); });
    return true;
  }

  std::span<const Row> translated(std::span<const Row> rows) {
    rows_.clear();
    for (const Row& row : rows) {
      rows_.push_back(translate(row, parts_[next_part_ - 1].translation));
    }
    return rows_;
  }

  const std::vector<JoinedRows::Part>& parts_;
  RowFilter filter_;
  size_t next_part_ = 0;
  std::unique_ptr<RowCursor> cursor_;  // of the part before
  std::vector<Row> rows_;
};

// A request in the IDs of each block. It takes as much memory as the dictionaries have entries: threads that share a block share it, and it goes
// with the last of them.
class TranslatedRequests {
 public:
  TranslatedRequests(const AggregateRequest& request, const std::vector<JoinedRows::Part>& parts)
      : request_(request), parts_(parts), slots_(parts.size()) {}

  std::shared_ptr<const AggregateRequest> of(size_t block) {
    Slot& slot = slots_[block];
    const std::lock_guard lock(slot.mutex);
    auto known = slot.request.lock();
    if (known == nullptr) {
      known = std::make_shared<const AggregateRequest>(translate(request_, parts_[block].translation));
      slot.request = known;
    }
    return known;
  }

 private:
  struct Slot {
    std::mutex mutex;
    std::weak_ptr<const AggregateRequest> request;  // protected by mutex
  };

  const AggregateRequest& request_;
  const std::vector<JoinedRows::Part>& parts_;
  std::vector<Slot> slots_;
};

}  // namespace

Result<Cells> JoinedRows::aggregate(const AggregateRequest& request) const {
  const auto space = CellSpace::of(request, last_ids_);
  if (!space) {
    return propagate(space);
  }
  std::vector<SelectedChunks> selected;
  uint64_t rows = 0;
  for (const Part& part : parts_) {
    selected.push_back(select_chunks(part.rows->segments(), translate(request.filter, part.translation)));
    rows += selected.back().rows;
  }
  AggregationRun run(*space, request.max_sums, rows, threads_);
  TranslatedRequests requests(request, parts_);
  const Status added = run.add(selected, [&](size_t block) { return requests.of(block); });
  return added ? run.cells() : propagate(added);
}

std::vector<DamagedPart> JoinedRows::damage() const {
  std::vector<DamagedPart> damaged;
  for (const Part& part : parts_) {
    std::ranges::move(part.rows->damage(), std::back_inserter(damaged));
  }
  return damaged;
}

std::unique_ptr<RowCursor> JoinedRows::scan(RowFilter filter) const {
  return std::make_unique<JoinedCursor>(parts_, std::move(filter));
}

}  // namespace plimsoll::store
