// Runs out of memory: appprof_oom FOLDER HOW, where HOW is new (bad_alloc is caught), malloc (returns no memory), handler (the program has
// a new handler of its own), late-handler (set after the library started, and malloc() is asked) or small (new, in blocks of 64 bytes). Says on standard output how it ended, and exits with 0.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "appprof/appprof.h"

namespace {

constexpr size_t kBlockBytes = 65'536;
constexpr size_t kSmallBytes = 64;
std::vector<void*> g_held;

[[noreturn]] void own_handler() {
  std::puts("own handler");
  std::fflush(stdout);
  std::_Exit(0);
}

}  // namespace

[[gnu::noinline]] void hold_all_with_new() {
  for (;;) {
    g_held.push_back(::operator new(kBlockBytes));
  }
}

[[gnu::noinline]] bool hold_all_with_malloc() {
  for (;;) {
    void* block = std::malloc(kBlockBytes);
    if (block == nullptr) {
      return true;
    }
    g_held.push_back(block);
  }
}

// A list through the blocks themselves: then not even an exception's memory is left.
[[gnu::noinline]] void hold_all_with_small_blocks() {
  static void* newest = nullptr;
  for (;;) {
    auto* block = static_cast<void**>(::operator new(kSmallBytes));
    *block = newest;
    newest = block;
  }
}

int main(int argc, char** argv) {
  if (argc < 3) {
    return 2;
  }
  const std::string how = argv[2];
  if (how == "handler") {
    std::set_new_handler(&own_handler);
  }
  plimsoll::appprof::Options options;
  options.listen = "127.0.0.1:0";
  options.dump_dir = argv[1];
  if (const auto started = plimsoll::appprof::start(options); !started) {
    std::fprintf(stderr, "%s\n", started.error.c_str());
    return 1;
  }
  if (how == "late-handler") {
    std::set_new_handler(&own_handler);
  }
  g_held.reserve(size_t{1} << 20);
  const rlimit limit{size_t{1} << 30, size_t{1} << 30};
  ::setrlimit(RLIMIT_AS, &limit);
  try {
    if (how == "malloc" || how == "late-handler") {
      std::puts(hold_all_with_malloc() ? "no memory" : "");
    } else if (how == "small") {
      hold_all_with_small_blocks();
    } else {
      hold_all_with_new();
    }
  } catch (const std::bad_alloc&) {
    std::puts("bad_alloc");
  }
  return 0;
}
