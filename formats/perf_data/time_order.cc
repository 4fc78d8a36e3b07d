#include "formats/perf_data/time_order.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace plimsoll::perf_data {

Status TimeOrder::add(uint64_t time_ns, uint64_t offset, Bytes bytes) {
  Record record{time_ns, offset, ++added_, std::string(as_text(bytes))};
  if (time_ns == 0) {
    return consume_(record);
  }
  late_ += time_ns < handed_on_ns_ ? 1 : 0;
  newest_ns_ = std::max(newest_ns_, time_ns);
  waiting_bytes_ += sizeof record + bytes.size();
  waiting_.push_back(std::move(record));
  if (waiting_bytes_ <= max_bytes_) {
    return {};
  }
  std::vector<uint64_t> times;
  times.reserve(waiting_.size());
  std::ranges::transform(waiting_, std::back_inserter(times), &Record::time_ns);
  const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return hand_on(*middle);
}

Status TimeOrder::hand_on(uint64_t time_ns) {
  // Of one time, the record that was written first comes first.
  std::ranges::sort(waiting_, {},
                    [](const Record& record) { return std::pair(record.time_ns, record.sequence); });
  const auto end = std::ranges::upper_bound(waiting_, time_ns, {}, &Record::time_ns);
  for (auto record = waiting_.begin(); record != end; ++record) {
    if (auto consumed = consume_(*record); !consumed) {
      return consumed;
    }
    waiting_bytes_ -= sizeof *record + record->bytes.size();
  }
  waiting_.erase(waiting_.begin(), end);
  handed_on_ns_ = std::max(handed_on_ns_, time_ns);
  return {};
}

Status TimeOrder::finish_round() {
  auto handed_on = hand_on(newest_of_round_before_ns_);
  newest_of_round_before_ns_ = newest_ns_;
  return handed_on;
}

Status TimeOrder::finish() {
  return hand_on(UINT64_MAX);
}

}  // namespace plimsoll::perf_data
