#include "base/process_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace plimsoll {
namespace {

TEST(ProcessMemory, IsNoMoreThanTheMachineHas) {
  const auto bytes =
      static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  EXPECT_GT(max_memory_bytes(), 0U);
  EXPECT_LE(max_memory_bytes(), bytes);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
TEST(ProcessMemory, IsNoMoreThanTheAddressSpaceMayHave) {
  constexpr rlim_t kBytes = rlim_t{512} << 20;
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{.rlim_cur = kBytes, .rlim_max = kBytes};
    ::_exit(::setrlimit(RLIMIT_AS, &limit) == 0 && max_memory_bytes() == kBytes ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
#endif

}  // namespace
}  // namespace plimsoll
