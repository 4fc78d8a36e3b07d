// A program that leaks, beside a cache that fills and requests that come and go: appprof_leak LISTEN. It prints "address URL" and "day 0" on
// standard error; each SIGUSR1 lets a day pass, after which it prints "day N".
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "appprof/appprof.h"

namespace {

using Records = std::vector<std::unique_ptr<char[]>>;

constexpr int kRecordsPerMiB = 1024;

Records g_leaked, g_cached, g_served;

}  // namespace

[[gnu::noinline]] void leak_records() {
  for (int i = 0; i < 8 * kRecordsPerMiB; ++i) {
    g_leaked.emplace_back(new char[1024]);  // line: leak_records
  }
}
[[gnu::noinline]] void fill_cache(int day) {
  for (int i = 0; day < 3 && i < 16 * kRecordsPerMiB; ++i) {
    g_cached.emplace_back(new char[1024]);
  }
}
[[gnu::noinline]] void serve_requests() {
  g_served.clear();
  for (int i = 0; i < 16 * kRecordsPerMiB; ++i) {
    g_served.emplace_back(new char[1024]);
  }
}

int main(int argc, char** argv) {
  sigset_t days;
  sigemptyset(&days);
  sigaddset(&days, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &days, nullptr);  // of all threads that are started
  plimsoll::appprof::Options options;
  options.listen = argc > 1 ? argv[1] : "127.0.0.1:0";
  options.heap_period_bytes = 65'536;
  if (const auto started = plimsoll::appprof::start(options); !started) {
    std::fprintf(stderr, "%s\n", started.error.c_str());
    return 1;
  }
  for (Records* records : {&g_leaked, &g_cached, &g_served}) {
    records->reserve(size_t{1} << 20);
  }
  std::fprintf(stderr, "address %s\n", plimsoll::appprof::address().c_str());
  for (int day = 0;; ++day) {
    // A new thread draws its first sample at the period that holds.
    std::thread([day] {
      leak_records();
      fill_cache(day);
      serve_requests();
    }).join();
    std::fprintf(stderr, "day %d\n", day);
    int number = 0;
    sigwait(&days, &number);
  }
}
