#include "store/sqlite/deadline.h"

namespace plimsoll::sqlite {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{100};

}  // namespace

Deadline::Deadline(std::chrono::milliseconds time, std::function<bool()> is_abandoned)
    : time_(time),
      is_abandoned_(std::move(is_abandoned)),
      end_(Clock::now() + time),
      next_look_(end_ - time + kBetweenLooks) {}

Status Deadline::check() {
  const auto now = Clock::now();
  if (now > end_) {
    return with_hint(fail(ErrorCode::kTooLarge, "the statement was stopped after {} s",
                          std::chrono::duration<double>(time_).count()),
                     "select less: filter by a dimension or a time");
  }
  if (is_abandoned_ && now >= next_look_) {
    next_look_ = now + kBetweenLooks;
    has_nobody_ = has_nobody_ || is_abandoned_();
  }
  return has_nobody_ ? fail(ErrorCode::kUnavailable, "the statement was stopped: its client is gone")
                     : Status();
}

}  // namespace plimsoll::sqlite
