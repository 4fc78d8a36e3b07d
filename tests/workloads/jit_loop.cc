// A program that makes machine code and runs it, as JIT compilers do, and says so in /tmp/perf-PID.map:
//
//   jit_loop SECONDS
//
// The code is a function "jitted_busy_loop" that keeps a frame pointer and counts down. x86-64 only: elsewhere it says so
// and ends with status 77.
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#if defined(__x86_64__)

namespace {

constexpr std::array<uint8_t, 17> kCode{
    0x55,                          // push rbp
    0x48, 0x89, 0xe5,              // mov rbp, rsp
    0xb9, 0x00, 0x00, 0x10, 0x00,  // mov ecx, 0x100000
    0xff, 0xc9,                    // dec ecx
    0x75, 0xfc,                    // jnz to the instruction before
    0x5d,                          // pop rbp
    0xc3,                          // ret
    0xcc, 0xcc,
};

double now_s() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: jit_loop SECONDS\n");
    return 2;
  }
  const double end_s = now_s() + std::strtod(argv[1], nullptr);
  void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("mmap");
    return 1;
  }
  std::memcpy(memory, kCode.data(), kCode.size());
  if (::mprotect(memory, 4096, PROT_READ | PROT_EXEC) != 0) {
    std::perror("mprotect");
    return 1;
  }
  const std::string path = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
  std::FILE* map = std::fopen(path.c_str(), "w");
  if (map == nullptr) {
    std::perror(path.c_str());
    return 1;
  }
  std::fprintf(map, "%lx %zx jitted_busy_loop\n", reinterpret_cast<unsigned long>(memory), kCode.size());
  std::fclose(map);
  std::puts("ready");
  std::fflush(stdout);
  using Loop = void (*)();
  const auto loop = reinterpret_cast<Loop>(memory);
  while (now_s() < end_s) {
    loop();
  }
  ::unlink(path.c_str());
  return 0;
}

#else

int main() {
  std::fprintf(stderr, "jit_loop: makes code for x86-64 only\n");
  return 77;
}

#endif
