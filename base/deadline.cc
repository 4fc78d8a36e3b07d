#include "base/deadline.h"

#include <utility>

namespace plimsoll {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{100};

}  // namespace

Deadline::Deadline(std::string what, std::chrono::milliseconds time, std::function<bool()> is_abandoned)
    : what_(std::move(what)),
      time_(time),
      is_abandoned_(std::move(is_abandoned)),
      end_(time.count() == 0 ? Clock::time_point::max() : Clock::now() + time),
      next_look_(Clock::now() + kBetweenLooks) {}

Status Deadline::check() {
  const auto now = Clock::now();
  if (now > end_) {
    return with_hint(fail(ErrorCode::kTooLarge, "{} was stopped after {} s", what_,
                          std::chrono::duration<double>(time_).count()),
                     "select less: filter by a dimension or a time");
  }
  // One of the threads that ask looks.
  auto look = next_look_.load();
  if (is_abandoned_ && now >= look && next_look_.compare_exchange_strong(look, now + kBetweenLooks) &&
      is_abandoned_()) {
    client_is_gone_ = true;
  }
  return client_is_gone_ ? fail(ErrorCode::kUnavailable, "{} was stopped: its client is gone", what_)
                         : Status();
}

}  // namespace plimsoll
