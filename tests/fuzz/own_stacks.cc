#include "tests/fuzz/own_stacks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <ucontext.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "base/unique_fd.h"

namespace plimsoll::fuzz {
namespace {

uint64_t stack_end() {
  pthread_attr_t attributes;
  void* low = nullptr;
  size_t size_bytes = 0;
  ::pthread_getattr_np(::pthread_self(), &attributes);
  ::pthread_attr_getstack(&attributes, &low, &size_bytes);
  ::pthread_attr_destroy(&attributes);
  return reinterpret_cast<uint64_t>(low) + size_bytes;
}

// Of a stack of this thread, whose frames must not have returned.
Capture captured(const ucontext_t& context) {
  const auto& general = context.uc_mcontext.gregs;
  Capture capture;
  const std::array<int, perf::kUserRegisters> order{REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI,
                                                    REG_RBP, REG_RSP, REG_RIP, REG_R8,  REG_R9,  REG_R10,
                                                    REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  for (size_t i = 0; i < order.size(); ++i) {
    capture.registers[i] = static_cast<uint64_t>(general[order[i]]);
  }
  const uint64_t start = capture.registers[kRsp];
  capture.stack.resize(std::min<size_t>(kStackBytes, stack_end() - start));
  // As the kernel reads it: a sanitizer would not let this thread read all of its own frames.
  const UniqueFd memory(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(::pread(memory.get(), capture.stack.data(), capture.stack.size(), static_cast<off_t>(start)),
            static_cast<ssize_t>(capture.stack.size()));
  return capture;
}

std::vector<Capture>* captures_of_handler = nullptr;
std::vector<Capture>* captures_of_callback = nullptr;

// The frames of the caller, as they are at the call.
[[gnu::noinline]] void capture_here(std::vector<Capture>& captures) {
  ucontext_t context;
  ::getcontext(&context);
  captures.push_back(captured(context));
}

[[gnu::noinline]] uint64_t capture_in_depth(size_t depth, std::vector<Capture>& captures) {
  volatile char bytes[64];
  bytes[depth % sizeof bytes] = 1;
  if (depth == 0) {
    capture_here(captures);
    return captures.size();
  }
  const uint64_t below = capture_in_depth(depth - 1, captures);
  return below * 3 + static_cast<uint64_t>(bytes[depth % sizeof bytes]);
}

int compare_and_capture(const void* left, const void* right) {
  if (captures_of_callback->empty()) {
    capture_in_depth(3, *captures_of_callback);
  }
  return *static_cast<const int*>(left) - *static_cast<const int*>(right);
}

void capture_in_callback(std::vector<Capture>& captures) {
  std::vector<Capture> one;
  captures_of_callback = &one;
  std::array<int, 8> numbers{5, 2, 8, 1, 9, 3, 7, 4};
  std::qsort(numbers.data(), numbers.size(), sizeof(int), compare_and_capture);
  captures_of_callback = nullptr;
  captures.insert(captures.end(), one.begin(), one.end());
}

void on_signal(int /*signal*/) {
  capture_in_depth(2, *captures_of_handler);
}

void capture_in_handler(std::vector<Capture>& captures) {
  captures_of_handler = &captures;
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = on_signal;
  ::sigaction(SIGUSR1, &action, &before);
  ::raise(SIGUSR1);
  ::sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace

std::vector<Capture> sound_captures() {
  std::vector<Capture> captures;
  capture_in_depth(0, captures);
  capture_in_depth(20, captures);
  capture_in_depth(600, captures);  // beyond the copy
  capture_in_callback(captures);
  capture_in_handler(captures);
  std::thread([&] { capture_in_depth(4, captures); }).join();
  try {
    throw std::runtime_error("caught");
  } catch (const std::runtime_error&) {
    capture_in_depth(1, captures);
  }
  return captures;
}

// As far as it goes, whatever the stack holds.
void expect_possible(const UserStack& stack, uint64_t rip, const identity::Mappings& mappings) {
  ASSERT_LE(stack.addresses.size(), unwind::Walker::kMaxFrames);
  for (const uint64_t address : stack.addresses) {
    ASSERT_NE(mappings.find(address), nullptr);
  }
  if (stack.addresses.empty()) {
    // The latter where the copy was empty.
    ASSERT_TRUE(stack.problem == wire::NOT_IN_A_MAPPING || stack.problem == wire::NO_USER_STACK);
    ASSERT_EQ(mappings.find(rip), nullptr);
  } else {
    ASSERT_EQ(stack.addresses.front(), rip);
  }
}

}  // namespace plimsoll::fuzz
