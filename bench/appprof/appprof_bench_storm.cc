// Runs a program that serves profiles on a Unix socket, while clients request all of them, each as soon as the request before is answered:
//
// appprof_bench_storm SOCKET COMMAND...: ends with the command, and with its status.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>

#include "tests/fetch_unix.h"

namespace {

constexpr size_t kClients = 8;  // as many connections as the library serves at once

constexpr std::array<const char*, 10> kTargets{
    "/debug/pprof/heap",           "/debug/pprof/allocs",  "/debug/pprof/contention?seconds=1",
    "/debug/pprof/mutex",          "/debug/pprof/block",   "/debug/pprof/profile?seconds=1",
    "/debug/pprof/wall?seconds=1", "/debug/pprof/threads", "/pprof/heap",
    "/debug/pprof/symbol?0x401000"};

[[noreturn]] void request_forever(const std::string& socket, size_t client) {
  for (size_t request = client;; ++request) {
    const std::string answer = plimsoll::testing::fetch_unix(socket, kTargets[request % kTargets.size()]);
    if (plimsoll::testing::status_of(answer) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // it does not listen yet
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    return 2;
  }
  const pid_t command = ::fork();
  if (command == 0) {
    ::execvp(argv[2], argv + 2);
    ::_exit(127);
  }
  for (size_t client = 0; client < kClients; ++client) {
    std::thread([socket = std::string(argv[1]), client] { request_forever(socket, client); }).detach();
  }
  int status = 0;
  if (command < 0 || ::waitpid(command, &status, 0) != command) {
    ::_exit(1);
  }
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);  // with clients that still wait
}
