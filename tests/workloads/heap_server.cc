// A program on gperftools with known allocations and lock waits, which hands out its profiles:
//
//   /pprof/heap        MallocExtension::GetHeapSample(): what tcmalloc samples (TCMALLOC_SAMPLE_PARAMETER)
//   /pprof/contention  the waits of its own lock, as it measured them, in the legacy text
//   /truth             "lock_wait_ns N contentions N", as measured
//   /contend           waits a few times more
//
// heap_server [any]: prints "port N" on standard error, serves until it is killed; on loopback, or on any address.
#include <arpa/inet.h>
#include <execinfo.h>
#include <gperftools/malloc_extension.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using Blocks = std::vector<std::unique_ptr<char[]>>;

// Inlined, so that the call stands in the function that profiles are to show.
[[gnu::always_inline]] inline void allocate(Blocks& blocks, size_t total_bytes, size_t block_bytes) {
  for (size_t done = 0; done < total_bytes; done += block_bytes) {
    blocks.push_back(std::make_unique<char[]>(block_bytes));
  }
}

// 64 MiB in blocks of 64 KiB.
[[gnu::noinline]] void allocate_large_blocks(Blocks& blocks) {
  allocate(blocks, size_t{64} << 20, size_t{64} << 10);  // line: allocate_large_blocks
}

// 16 MiB in blocks of 1 KiB.
[[gnu::noinline]] void allocate_small_blocks(Blocks& blocks) {
  allocate(blocks, size_t{16} << 20, size_t{1} << 10);  // line: allocate_small_blocks
}

namespace {

using Clock = std::chrono::steady_clock;

const auto g_started = Clock::now();

// A lock that keeps an account of who waited for it, how often and how long.
class MeasuredMutex {
 public:
  struct Waits {
    int64_t ns = 0;
    int64_t count = 0;
  };

  [[gnu::noinline]] void lock() {
    if (mutex_.try_lock()) {
      return;
    }
    const auto began = Clock::now();
    ++waiters_;
    mutex_.lock();
    record(std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - began).count());
  }
  void unlock() { mutex_.unlock(); }
  // Returns once a thread waits in lock().
  void wait_for_waiter() {
    while (waiters_ == 0) {
      std::this_thread::yield();
    }
    --waiters_;
  }

  Waits total() const {
    Waits total;
    for (const auto& [stack, waits] : waits_) {
      total.ns += waits.ns;
      total.count += waits.count;
    }
    return total;
  }

  std::string legacy_text() const {
    const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - g_started);
    std::ostringstream text;
    text << "--- contentionz 1 ---\ncycles/second = 1000000000\nsampling period = 1\nms since reset = "
         << age.count() << "\ndiscarded samples = 0\n";
    for (const auto& [stack, waits] : waits_) {
      text << "  " << waits.ns << " " << waits.count << " @";
      for (const void* address : stack) {
        text << " " << address;
      }
      text << "\n";
    }
    std::ifstream maps("/proc/self/maps");
    text << "--- Memory map: ---\n" << maps.rdbuf();
    return text.str();
  }

 private:
  // Holding the lock.
  [[gnu::noinline]] void record(int64_t ns) {
    std::array<void*, 32> addresses{};
    const int depth = ::backtrace(addresses.data(), static_cast<int>(addresses.size()));
    Waits& waits = waits_[std::vector<void*>(addresses.begin(), addresses.begin() + depth)];
    waits.ns += ns;
    ++waits.count;
  }

  std::mutex mutex_;
  std::atomic<int> waiters_{0};
  std::map<std::vector<void*>, Waits> waits_;
};

MeasuredMutex g_mutex;

}  // namespace

[[gnu::noinline]] void wait_for_the_lock() {
  g_mutex.lock();  // line: wait_for_the_lock
  g_mutex.unlock();
}

namespace {

// Ten waits, each of some milliseconds, in another thread.
void contend() {
  for (int i = 0; i < 10; ++i) {
    g_mutex.lock();
    std::thread waiter(wait_for_the_lock);
    g_mutex.wait_for_waiter();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    g_mutex.unlock();
    waiter.join();
  }
}

std::string answer(const std::string& path) {
  if (path == "/pprof/heap") {
    std::string text;
    MallocExtension::instance()->GetHeapSample(&text);
    return text;
  }
  if (path == "/pprof/contention") {
    return g_mutex.legacy_text();
  }
  if (path == "/contend") {
    contend();
  }
  std::ostringstream text;
  text << "lock_wait_ns " << g_mutex.total().ns << " contentions " << g_mutex.total().count << "\n";
  return text.str();
}

// "GET PATH HTTP/1.1" in one packet, as small requests come.
void serve(int client) {
  std::array<char, 4096> request{};
  const ssize_t size = ::recv(client, request.data(), request.size() - 1, 0);
  std::istringstream line(std::string(request.data(), size < 0 ? 0 : static_cast<size_t>(size)));
  std::string method;
  std::string path;
  line >> method >> path;
  const std::string body = answer(path);
  const std::string response =
      "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
      body;
  for (size_t sent = 0; sent < response.size();) {
    const ssize_t more = ::send(client, response.data() + sent, response.size() - sent, MSG_NOSIGNAL);
    if (more <= 0) {
      break;
    }
    sent += static_cast<size_t>(more);
  }
  ::close(client);
}

// A listening socket on that address, whose port it prints.
int listen_on(in_addr_t host) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(host);
  socklen_t length = sizeof address;
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), length) != 0 || ::listen(listener, 8) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    std::perror("listening");
    return -1;
  }
  std::fprintf(stderr, "port %d\n", ntohs(address.sin_port));
  return listener;
}

}  // namespace

// gperftools takes its first sample of the main thread only after 16 MiB: something allocates before it has read the
// sampling period (docs/application-profiles.md).
void pass_what_is_not_sampled() {
  Blocks blocks;
  allocate(blocks, size_t{17} << 20, size_t{64} << 10);
}

int main(int argc, char** argv) {
  const bool is_any = argc > 1 && std::strcmp(argv[1], "any") == 0;
  pass_what_is_not_sampled();
  Blocks large;
  Blocks small;
  allocate_large_blocks(large);
  allocate_small_blocks(small);
  contend();
  const int listener = listen_on(is_any ? INADDR_ANY : INADDR_LOOPBACK);
  while (listener >= 0) {
    const int client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0) {
      serve(client);
    }
  }
  return 1;
}
