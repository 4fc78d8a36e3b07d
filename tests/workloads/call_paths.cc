// call_paths ROUNDS FILE|-|break PART...: the ways in which programs call and are called, for judging an unwinder. With FILE
// it records its own call paths there (call_recorder.h), for which it must be built with -finstrument-functions; with
// "break" it executes int3 before the first part, for a debugger. Parts: see the end.
#include "tests/workloads/call_paths.h"

#include <alloca.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <coroutine>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/workloads/call_recorder.h"

using plimsoll::testing::forget_recorded_above;
using plimsoll::testing::recorded_depth;
using plimsoll::testing::RecordedCall;
using plimsoll::testing::sample_here;

namespace {

volatile int sink = 0;
volatile int three = 3;  // of which compilers know nothing

[[gnu::noinline]] int leaf(int value) {
  sample_here();
  return value * 7 + sink;
}

[[gnu::noinline]] int recurse(int depth) {
  if (depth <= 0) {
    return leaf(depth);
  }
  const int below = recurse(depth - 1);
  sink = below;
  return below + depth;
}

int odd(int depth);
[[gnu::noinline]] int even(int depth) {
  return depth == 0 ? leaf(1) : odd(depth - 1) + 1;
}
[[gnu::noinline]] int odd(int depth) {
  return depth == 0 ? leaf(2) : even(depth - 1) * 2;
}

// The last call becomes a jump where the compiler may do so.
[[gnu::noinline]] int tail_called(int value) {
  return leaf(value + 1);
}

[[gnu::noinline]] int many_arguments(int a, int b, int c, int d, int e, int f, int g, int h, int i,
                                     double j) {
  return leaf(a + b + c + d + e + f + g + h + i + static_cast<int>(j)) + a * i;
}

int compare_ints(const void* left, const void* right) {
  if (*static_cast<const int*>(left) == 50) {
    sample_here();
  }
  return *static_cast<const int*>(left) - *static_cast<const int*>(right);
}

void part_calls() {
  recurse(5);
  even(6);
  sink = tail_called(1) + tail_called(three);
  sink = many_arguments(1, 2, 3, 4, 5, 6, 7, 8, three, 1.5);
  std::array<int, 100> numbers{};
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<int>(i * 37 % 100);
  }
  std::qsort(numbers.data(), numbers.size(), sizeof(int), compare_ints);
  const int wanted = 50;
  sink = std::bsearch(&wanted, numbers.data(), numbers.size(), sizeof(int), compare_ints) != nullptr ? 1 : 0;
}

void part_libc() {
  std::array<char, 200> text{};
  std::snprintf(text.data(), text.size(), "%d %s %g %10.3Lf", three, "text", 1.25e10 / three, 2.5L);
  sink = static_cast<int>(std::strlen(text.data())) + static_cast<int>(std::strtod("1.7e-3", nullptr));
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  std::vector<void*> blocks;
  for (const size_t size : {16U, 600U, 40'000U, 300'000U}) {
    blocks.push_back(std::malloc(size * static_cast<size_t>(three)));
  }
  std::for_each(blocks.begin(), blocks.end(), std::free);
  std::fputs(text.data(), stdout);
  std::fflush(stdout);
  sink = std::getenv("HOME") != nullptr ? std::atoi("12") : 0;
}

[[gnu::noinline]] int variable_frame(size_t size) {
  auto* bytes = static_cast<volatile char*>(alloca(size));
  bytes[size - 1] = static_cast<char>(leaf(static_cast<int>(size)));
  return bytes[size - 1];
}

[[gnu::noinline]] int aligned_frame(int value) {
  alignas(64) volatile int numbers[16] = {};
  numbers[static_cast<size_t>(value) % 16] = leaf(value);
  return numbers[3] + numbers[static_cast<size_t>(value) % 16];
}

// Its frame can be found through a register that points at its arguments alone.
[[gnu::noinline]] int aligned_variable_frame(size_t size, int a, int b, int c, int d, int e, int f, int g) {
  alignas(128) volatile int numbers[32] = {};
  auto* bytes = static_cast<volatile char*>(alloca(size));
  bytes[size / 2] = static_cast<char>(aligned_frame(g));
  numbers[static_cast<size_t>(f) % 32] = leaf(a + b + c + d + e) + bytes[size / 2];
  return numbers[1] + recurse(2);
}

[[gnu::noinline]] int large_frame(int value) {
  volatile char bytes[10'000];
  bytes[static_cast<size_t>(value)] = static_cast<char>(leaf(value));
  return bytes[static_cast<size_t>(value)];
}

// Saves its registers only where it needs them.
[[gnu::noinline]] int seldom_calls(int value) {
  if (value % 2 == 0) {
    return value + 1;
  }
  int sum = 0;
  for (int i = 0; i < value % 5; ++i) {
    sum += leaf(i) * value;
  }
  return sum;
}

void part_frames() {
  for (const size_t size : {8U, 100U, 3000U}) {
    sink = variable_frame(size) + aligned_variable_frame(size, 1, 2, 3, 4, 5, three, 7);
  }
  sink = aligned_frame(three) + large_frame(three) + seldom_calls(3) + seldom_calls(4) + seldom_calls(14);
}

struct Cleanup {
  ~Cleanup() { sink = leaf(1); }
};

// Ends with a call that does not return: its return address lies behind the function.
[[noreturn, gnu::noinline]] void fail_with(int value) {
  sample_here();
  throw std::runtime_error(std::to_string(value));
}

[[gnu::noinline]] int throw_through(int depth) {
  const Cleanup cleanup;
  if (depth == 0) {
    fail_with(depth);
  }
  if (depth < 0) {
    return depth;
  }
  const std::string owned(static_cast<size_t>(depth) * 20, 'x');
  return throw_through(depth - 1) + static_cast<int>(owned.size());
}

[[gnu::noinline]] int catch_all(int depth) {
  try {
    return throw_through(depth);
  } catch (const std::runtime_error& error) {
    sink = recurse(2) + static_cast<int>(std::strlen(error.what()));
    throw;
  }
}

[[gnu::noinline]] int catch_and_throw_another(int depth) {
  try {
    return catch_all(depth);
  } catch (const std::exception&) {
    const Cleanup cleanup;
    sample_here();
    try {
      throw_through(1);
    } catch (...) {
      sink = leaf(4);
    }
    throw 5;
  }
}

_Unwind_Reason_Code look_at_frame(_Unwind_Context* /*context*/, void* count) {
  if (++*static_cast<int*>(count) == 2) {
    sample_here();
  }
  return _URC_NO_REASON;
}

void part_exceptions() {
  for (const int depth : {0, 1, 4}) {
    try {
      sink = catch_and_throw_another(depth);
    } catch (int value) {
      sink = leaf(value);
    }
  }
  int frames = 0;
  ::_Unwind_Backtrace(look_at_frame, &frames);
}

// Functions that fault on a page, which the handler makes readable: the first at its first instruction, whose predecessor
// belongs to another function; the others where their frames are half made, or no more.
extern "C" void fault_at_entry(const char* page);
extern "C" void fault_in_prologue(const char* page);
extern "C" void fault_after_epilogue(const char* page);
__asm__(
    ".text\n"
    ".type fault_at_entry, @function\nfault_at_entry:\n.cfi_startproc\n"
    "movb (%rdi), %al\nret\n.cfi_endproc\n.size fault_at_entry, .-fault_at_entry\n"
    ".type fault_in_prologue, @function\nfault_in_prologue:\n.cfi_startproc\n"
    "push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbx, 0\nmovb (%rdi), %al\n"
    "xor %ebx, %ebx\npop %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbx\nret\n"
    ".cfi_endproc\n.size fault_in_prologue, .-fault_in_prologue\n"
    ".type fault_after_epilogue, @function\nfault_after_epilogue:\n.cfi_startproc\n"
    "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\nmov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
    "leave\n.cfi_def_cfa %rsp, 8\nmovb (%rdi), %al\nret\n.cfi_endproc\n"
    ".size fault_after_epilogue, .-fault_after_epilogue\n");
using Faulting = void (*)(const char*);

void* faulting_page() {
  static void* const page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page;
}

[[gnu::noinline]] void fault(Faulting function) {
  const char* const page = static_cast<const char*>(faulting_page());
  ::mprotect(faulting_page(), 4096, PROT_NONE);
  const RecordedCall call(reinterpret_cast<void (*)()>(function));
  function(page);
}

void on_fault(int /*signal*/) {
  sink = recurse(3);
  ::mprotect(faulting_page(), 4096, PROT_READ);
}

void on_signal(int /*signal*/) {
  sink = recurse(3);
}

void on_signal_that_faults(int /*signal*/) {
  fault(fault_in_prologue);
}

[[gnu::noinline]] int raise_in_depth(int depth, int signal_number) {
  if (depth == 0) {
    return ::raise(signal_number);
  }
  return raise_in_depth(depth - 1, signal_number) + depth;
}

void handle(int signal_number, void (*handler)(int), int flags) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigaction(signal_number, &action, nullptr);
}

void part_signals() {
  handle(SIGSEGV, on_fault, 0);
  handle(SIGUSR1, on_signal, 0);
  handle(SIGUSR2, on_signal_that_faults, 0);
  for (const Faulting function : {fault_at_entry, fault_in_prologue, fault_after_epilogue}) {
    fault(function);
  }
  sink = raise_in_depth(3, SIGUSR1) + raise_in_depth(2, SIGUSR2);
}

// As part_signals(), but the handlers have a stack of their own.
void part_altstack() {
  constexpr size_t kPage = 4096;
  constexpr size_t kBytes = 64 * kPage;
  // Nothing can be read around it.
  void* const memory = ::mmap(nullptr, kBytes + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* const inner = static_cast<char*>(memory) + kPage;
  ::mprotect(inner, kBytes, PROT_READ | PROT_WRITE);
  const stack_t alternative{inner, 0, kBytes};
  ::sigaltstack(&alternative, nullptr);
  handle(SIGUSR1, on_signal, SA_ONSTACK);
  sink = raise_in_depth(3, SIGUSR1);
  const stack_t none{nullptr, SS_DISABLE, 0};
  ::sigaltstack(&none, nullptr);
  ::munmap(memory, kBytes + 2 * kPage);
}

jmp_buf jump_target;
sigjmp_buf signal_jump_target;

[[noreturn, gnu::noinline]] void jump_from(int depth) {
  if (depth == 0) {
    sample_here();
    ::longjmp(jump_target, 1);
  }
  jump_from(depth - 1);
}

void on_signal_that_jumps(int /*signal*/) {
  sample_here();
  ::siglongjmp(signal_jump_target, 1);
}

void part_jumps() {
  const size_t depth = recorded_depth();
  if (setjmp(jump_target) == 0) {
    jump_from(6);
  }
  forget_recorded_above(depth);
  sink = leaf(1);
  handle(SIGUSR1, on_signal_that_jumps, 0);
  if (sigsetjmp(signal_jump_target, 1) == 0) {
    sink = raise_in_depth(4, SIGUSR1);
  }
  forget_recorded_above(depth);
  sink = leaf(2);
}

int call_from_library(int value) {
  return leaf(value) + recurse(2);
}

void part_library() {
  sink = library_calls_back(call_from_library, three);
  sink = library_recursion(4, call_from_library);
}

void part_dlopen() {
  std::string path(4096, '\0');
  path.resize(static_cast<size_t>(::readlink("/proc/self/exe", path.data(), path.size())));
  path = path.substr(0, path.rfind('/')) + "/libcall_paths_plugin.so";
  void* const library = ::dlopen(path.c_str(), RTLD_LAZY);
  const auto function = reinterpret_cast<decltype(&library_recursion)>(
      library == nullptr ? nullptr : ::dlsym(library, "library_recursion"));
  if (function == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    std::exit(1);
  }
  sink = function(3, call_from_library);
  ::dlclose(library);
}

struct Shape {
  virtual ~Shape() = default;
  virtual int area(int scale) const = 0;
};
struct Square : Shape {
  int area(int scale) const override { return leaf(scale) * scale; }
};
struct Named {
  virtual ~Named() = default;
  virtual int name() const { return 0; }
};
struct NamedCircle : Named, Shape {  // called through a thunk as a Shape
  int area(int scale) const override { return recurse(scale) * 3; }
};

struct Numbers {
  struct promise_type {
    int current = 0;
    Numbers get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int value) {
      current = leaf(value);
      return {};
    }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> handle;
};

Numbers count_to(int end) {
  for (int i = 0; i < end; ++i) {
    co_yield recurse(i);
  }
}

template <int N>
[[gnu::noinline]] int templated(int value) {
  if constexpr (N == 0) {
    return leaf(value);
  } else {
    return templated<N - 1>(value + N) + N;
  }
}

void part_modern() {
  const std::unique_ptr<Shape> square = std::make_unique<Square>();
  const std::unique_ptr<Shape> circle = std::make_unique<NamedCircle>();
  sink = square->area(three) + circle->area(three) + templated<6>(three);
  const std::function<int(int)> function = [&](int value) { return leaf(value) + square->area(value); };
  sink = function(2);
  const Numbers numbers = count_to(3);
  while (!numbers.handle.done()) {
    numbers.handle.resume();
  }
  numbers.handle.destroy();
  std::vector<int> values{5, 3, 9, 1, 7, 2, 8};
  std::ranges::sort(values, [](int left, int right) {
    if (left == 9) {
      sample_here();
    }
    return left < right;
  });
}

void part_library_of_cxx() {
  std::ostringstream stream;
  stream << "number " << three << ' ' << 2.5 << std::hex << 255;
  std::map<std::string, int> counts;
  for (int i = 0; i < 20; ++i) {
    ++counts["word " + std::to_string(i * 7 % 11)];
  }
  sink = static_cast<int>(counts.size() + stream.str().size());
}

[[gnu::noinline]] int recurse_with_large_frames(int depth) {
  volatile char bytes[200];
  bytes[depth % 200] = static_cast<char>(depth);
  const int below = depth == 0 ? leaf(0) : recurse_with_large_frames(depth - 1);
  return below + bytes[depth % 200];
}

void part_deep() {
  sink = recurse_with_large_frames(120) + recurse(60);
}

void* thread_start(void* value) {
  sink = recurse(*static_cast<int*>(value));
  return nullptr;
}

void part_threads() {
  int depth = 4;
  pthread_t thread{};
  ::pthread_create(&thread, nullptr, thread_start, &depth);
  std::thread other([] { sink = even(5); });
  ::pthread_join(thread, nullptr);
  other.join();
}

[[gnu::noinline]] void wait_for(pid_t child) {
  ::waitpid(child, nullptr, 0);
}

void part_processes() {
  const pid_t forked = ::fork();
  if (forked == 0) {
    sink = recurse(2);
    ::_exit(0);
  }
  wait_for(forked);
  const pid_t sharing = ::vfork();
  if (sharing == 0) {
    sink = recurse(3);
    ::_exit(0);
  }
  wait_for(sharing);
}

struct Part {
  const char* name;
  void (*run)();
};
constexpr std::array<Part, 14> kParts{{{"calls", part_calls},
                                       {"libc", part_libc},
                                       {"frames", part_frames},
                                       {"exceptions", part_exceptions},
                                       {"signals", part_signals},
                                       {"altstack", part_altstack},
                                       {"jumps", part_jumps},
                                       {"library", part_library},
                                       {"dlopen", part_dlopen},
                                       {"modern", part_modern},
                                       {"library_of_cxx", part_library_of_cxx},
                                       {"deep", part_deep},
                                       {"threads", part_threads},
                                       {"processes", part_processes}}};

bool run_part(const char* name) {
  const auto* const part =
      std::ranges::find_if(kParts, [&](const Part& known) { return std::strcmp(known.name, name) == 0; });
  if (part == kParts.end()) {
    std::fprintf(stderr, "no part is called %s\n", name);
    return false;
  }
  part->run();
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: call_paths ROUNDS FILE|-|break PART...\n");
    return 2;
  }
  const std::string file = argv[2];
  if (file != "-" && file != "break" && !plimsoll::testing::record_paths_to(file.c_str())) {
    std::perror(file.c_str());
    return 1;
  }
  if (file == "break") {
    __asm__ volatile("int3");
  }
  for (int round = 0; round < std::atoi(argv[1]); ++round) {
    for (int i = 3; i < argc; ++i) {
      if (!run_part(argv[i])) {
        return 2;
      }
    }
  }
  return 0;
}
