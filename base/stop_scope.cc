#include "base/stop_scope.h"

#include <utility>

namespace plimsoll {
namespace {

const StopCheck*& innermost() {
  thread_local const StopCheck* check = nullptr;
  return check;
}

}  // namespace

StopScope::StopScope(const StopCheck* check) : outer_(std::exchange(innermost(), check)) {}

StopScope::~StopScope() {
  innermost() = outer_;
}

const StopCheck* current_stop_check() {
  return innermost();
}

Status check_stop() {
  const StopCheck* const check = innermost();
  return check == nullptr ? Status() : (*check)();
}

}  // namespace plimsoll
