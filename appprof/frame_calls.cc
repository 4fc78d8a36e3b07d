// libgcc's functions by which a program registers unwinding tables of its own (JIT compilers), replaced to learn of it: from the
// first on, libgcc's unwinder takes a mutex that is not recursive and sorts tables in memory of malloc() with it held, so that a
// stack taken in a handler, in malloc() or in a wait for a lock could wait for its own thread.
#include <dlfcn.h>

#include <atomic>

#include "appprof/unwind.h"

// Weak, so that a program that links libgcc_eh statically keeps its own.
#define APPPROF_REPLACES_WEAKLY extern "C" __attribute__((weak, visibility("default"), noinline))

namespace plimsoll::appprof {
namespace {

constinit std::atomic<bool> g_may_walk{true};

template <typename... Arguments>
void register_really(const char* name, Arguments... arguments) noexcept {
  g_may_walk.store(false);  // before the table is there
  if (const auto real = reinterpret_cast<void (*)(Arguments...)>(::dlsym(RTLD_NEXT, name)); real != nullptr) {
    real(arguments...);
  }
}

}  // namespace

// Also keeps this file in a program that links the static library.
bool are_walks_allowed() noexcept {
  return g_may_walk.load();
}

}  // namespace plimsoll::appprof

using plimsoll::appprof::register_really;

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): libgcc's names
APPPROF_REPLACES_WEAKLY void __register_frame(void* begin) {
  register_really("__register_frame", begin);
}

APPPROF_REPLACES_WEAKLY void __register_frame_table(void* begin) {
  register_really("__register_frame_table", begin);
}

APPPROF_REPLACES_WEAKLY void __register_frame_info(const void* begin, void* object) {
  register_really("__register_frame_info", begin, object);
}

APPPROF_REPLACES_WEAKLY void __register_frame_info_table(void* begin, void* object) {
  register_really("__register_frame_info_table", begin, object);
}

APPPROF_REPLACES_WEAKLY void __register_frame_info_bases(const void* begin, void* object, void* text,
                                                         void* data) {
  register_really("__register_frame_info_bases", begin, object, text, data);
}

APPPROF_REPLACES_WEAKLY void __register_frame_info_table_bases(void* begin, void* object, void* text,
                                                               void* data) {
  register_really("__register_frame_info_table_bases", begin, object, text, data);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
