#include "store/contents/joined_rows.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>

#include "store/aggregation/aggregation_run.h"

namespace plimsoll::store {
namespace {

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
  std::vector<PartRows> parts;
  for (const Part& part : parts_) {
    parts.push_back({part.rows, part.translation});
  }
  return scan_parts(std::move(parts), std::move(filter));
}

std::shared_ptr<const RowSource> join_local_rows(std::vector<PartRows> parts,
                                                 const ByColumn<uint32_t>& last_ids) {
  std::vector<JoinedRows::Part> local;
  for (PartRows& part : parts) {
    local.push_back({std::static_pointer_cast<const LocalRows>(part.rows), std::move(part.translation)});
  }
  return std::make_shared<JoinedRows>(std::move(local), last_ids);
}

}  // namespace plimsoll::store
