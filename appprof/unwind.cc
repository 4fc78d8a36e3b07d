#include "appprof/unwind.h"

#include <dlfcn.h>
#include <ucontext.h>
#include <unwind.h>

#include <atomic>

namespace plimsoll::appprof {
namespace {

using Backtrace = decltype(&_Unwind_Backtrace);
using GetIp = decltype(&_Unwind_GetIP);

struct Unwinder {
  Backtrace backtrace;
  GetIp get_ip;
};

Unwinder g_found;
// What the linker bound, until find_unwinder() has looked.
std::atomic<const Unwinder*> g_unwinder{nullptr};

struct Walk {
  GetIp get_ip;
  uintptr_t* frames;
  size_t max_frames;
  uintptr_t first;
  size_t depth;
  bool is_inside;  // past the frames before `first`
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* argument) {
  auto& walk = *static_cast<Walk*>(argument);
  const auto address = static_cast<uintptr_t>(walk.get_ip(context));
  if (address == 0) {
    return _URC_END_OF_STACK;
  }
  walk.is_inside = walk.is_inside || address == walk.first;
  if (walk.is_inside) {
    walk.frames[walk.depth++] = address;
  }
  return walk.depth == walk.max_frames ? _URC_END_OF_STACK : _URC_NO_REASON;
}

}  // namespace

size_t take_stack(uintptr_t* frames, size_t max_frames, uintptr_t first) noexcept {
  if (!are_walks_allowed()) {
    frames[0] = first;
    return first == 0 ? 0 : 1;
  }
  const Unwinder* found = g_unwinder.load(std::memory_order_acquire);
  const Unwinder unwinder = found != nullptr ? *found : Unwinder{&_Unwind_Backtrace, &_Unwind_GetIP};
  Walk walk{unwinder.get_ip, frames, max_frames, first, 0, first == 0};
  unwinder.backtrace(&visit, &walk);
  if (walk.depth == 0 && first != 0) {
    walk.is_inside = true;
    unwinder.backtrace(&visit, &walk);
  }
  return walk.depth;
}

uintptr_t interrupted_address(const void* context) noexcept {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<uintptr_t>(machine.gregs[REG_RIP]);
#else
  return static_cast<uintptr_t>(machine.pc);
#endif
}

void find_unwinder() noexcept {
  // Never closed: what is loaded stays, and the count of references does not matter.
  void* library = ::dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) {
    return;
  }
  const auto backtrace = reinterpret_cast<Backtrace>(::dlsym(library, "_Unwind_Backtrace"));
  const auto get_ip = reinterpret_cast<GetIp>(::dlsym(library, "_Unwind_GetIP"));
  if (backtrace != nullptr && get_ip != nullptr && g_unwinder.load(std::memory_order_acquire) == nullptr) {
    g_found = {backtrace, get_ip};
    g_unwinder.store(&g_found, std::memory_order_release);
  }
  // The first walk of a process sets up tables of registers; let it not be in a signal handler.
  uintptr_t frame = 0;
  take_stack(&frame, 1, 0);
}

}  // namespace plimsoll::appprof
