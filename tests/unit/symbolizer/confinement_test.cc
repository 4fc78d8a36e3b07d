// Each test confines a process of its own.
#include "symbolizer/process/confinement.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <string>

#include "base/file.h"

namespace plimsoll::symbolizer {
namespace {

using ::testing::ExitedWithCode;
using ::testing::KilledBySignal;

constexpr int kTableDescriptor = 3;
constexpr uint64_t kMemoryBytes = uint64_t{64} << 20;
constexpr uint64_t kTableBytes = 4096;

// Does it in confinement; 0: it could.
[[noreturn]] void confined(const std::function<bool()>& act) {
  const ProcessLimits limits{kMemoryBytes, kTableBytes, 1};
  const Status done = confine(limits, ::getppid(), kTableDescriptor);
  ::_exit(!done ? 2 : act() ? 0 : 1);
}

bool allocates(size_t bytes) {
  const auto memory = std::make_unique<std::string>(bytes, 'x');
  return memory->size() == bytes;
}

class Confinement : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef PLIMSOLL_WITHOUT_SYSTEM_CALL_FILTER
    GTEST_SKIP() << "builds with sanitizers make other system calls, and need far more memory";
#endif
  }
};

TEST_F(Confinement, FilesCanBeReadAndMapped) {
  EXPECT_EXIT(confined([] { return MappedFile::open("/proc/self/exe", uint64_t{1} << 30).has_value(); }),
              ExitedWithCode(0), "");
}

TEST_F(Confinement, NoFileCanBeWritten) {
  EXPECT_EXIT(confined([] { return ::open("/tmp/plimsoll-confined", O_WRONLY | O_CREAT, 0600) >= 0; }),
              KilledBySignal(SIGSYS), "");
  EXPECT_EXIT(confined([] { return ::open("/dev/null", O_RDWR) >= 0; }), KilledBySignal(SIGSYS), "");
  EXPECT_EXIT(confined([] { return ::unlink("/tmp/plimsoll-confined") == 0; }), KilledBySignal(SIGSYS), "");
}

TEST_F(Confinement, OnlyTheTableAndTheReplyCanBeWrittenTo) {
  EXPECT_EXIT(confined([] { return ::write(STDERR_FILENO, "", 0) == 0; }), ExitedWithCode(0), "");
  EXPECT_EXIT(confined([] { return ::write(kTableDescriptor + 1, "", 0) == 0; }), KilledBySignal(SIGSYS), "");
}

TEST_F(Confinement, NobodyElseCanBeReached) {
  EXPECT_EXIT(confined([] { return ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0; }), KilledBySignal(SIGSYS), "");
  EXPECT_EXIT(confined([] { return ::kill(::getppid(), 0) == 0; }), KilledBySignal(SIGSYS), "");
  EXPECT_EXIT(confined([] { return ::execl("/bin/true", "true", nullptr) == 0; }), KilledBySignal(SIGSYS),
              "");
  EXPECT_EXIT(confined([] { return ::fork() >= 0; }), KilledBySignal(SIGSYS), "");
}

TEST_F(Confinement, NoMemoryBecomesCode) {
  EXPECT_EXIT(confined([] {
                return ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
                       MAP_FAILED;
              }),
              KilledBySignal(SIGSYS), "");
}

TEST_F(Confinement, MemoryEndsAtItsLimit) {
  EXPECT_EXIT(confined([] { return allocates(kMemoryBytes / 4); }), ExitedWithCode(0), "");
  EXPECT_EXIT(confined([] { return allocates(kMemoryBytes * 2); }), ExitedWithCode(kOutOfMemoryStatus), "");
}

TEST_F(Confinement, CpuTimeEndsAtItsLimit) {
  EXPECT_EXIT(confined([] {
                const std::atomic<bool> goes_on = true;
                while (goes_on) {
                }
                return true;
              }),
              KilledBySignal(SIGXCPU), "");
}

TEST_F(Confinement, WhoeverAskedMustStillBeThere) {
  EXPECT_EXIT(::_exit(confine({}, 1 + ::getppid(), kTableDescriptor) ? 0 : 3), ExitedWithCode(3), "");
}

TEST(CpuTime, GrowsWithTheFilesUpToABound) {
  const ProcessLimits limits{.cpu_seconds = 10};
  EXPECT_EQ(cpu_seconds_for(limits, 0), 10);
  EXPECT_EQ(cpu_seconds_for(limits, uint64_t{80} << 20), 20);
  EXPECT_EQ(cpu_seconds_for(limits, UINT64_MAX), kMaxCpuSeconds);
}

}  // namespace
}  // namespace plimsoll::symbolizer
