// A shop of three services, each a program of its own, with a load generator: RPC over TCP, pools of threads
// to which requests are handed over, locks, and marks. Each program knows what its threads did for which
// request, and prints it at its end.
//
//   burst_shop front --store IP:PORT --properties IP:PORT     GetItem: calls both
//   burst_shop store                                          Read: a block, from a slow disk
//   burst_shop properties                                     GetProperty, GetProperties: a slow look-up each
//   burst_shop load --front IP:PORT [--clients N] [--first-request ID] [--story NAME]
//
// and of each: [--listen IP] [--config-bits N] [--machine NAME]. A service prints "port N" on standard error
// when it serves.
//
// A load with a story makes every third request one of its kind: index-again (one block is read again and
// again), property-each (one RPC per property), lock-wait (an RPC while a lock is held). SIGTERM ends a
// program; then standard output has the lines of ThreadTruth::print(), and "span" with a row of a table of
// spans each.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/time.h"
#include "tests/workloads/burst_connection.h"
#include "tests/workloads/burst_shop_options.h"
#include "tests/workloads/burst_truth.h"

namespace plimsoll::testing {
namespace {

struct SpanRow {
  uint64_t request = 0;
  uint64_t id = 0;
  uint64_t parent = 0;  // 0: none
  ShopCall call = ShopCall::kGetItem;
  bool is_client = false;
  std::string_view callee;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t bytes = 0;
  uint64_t block = 0;
};

std::string_view name_of(ShopCall call) {
  switch (call) {
    case ShopCall::kGetItem:
      return "GetItem";
    case ShopCall::kSearchIndex:
      return "SearchIndex";
    case ShopCall::kListItem:
      return "ListItem";
    case ShopCall::kRefresh:
      return "Refresh";
    case ShopCall::kRead:
      return "Read";
    case ShopCall::kGetProperty:
      return "GetProperty";
    case ShopCall::kGetProperties:
      return "GetProperties";
  }
  return "";
}

void sleep_us(int64_t us) {
  std::this_thread::sleep_for(std::chrono::microseconds(us));
}

// What a thread of a service has for itself.
struct ShopThread {
  ShopThread(const ShopOptions& options, const std::string& name)
      : truth(options.config_bits, fmt::format("{}{}-{}", options.role[0], ::getpid(), name)) {}

  ThreadTruth truth;
  std::vector<SpanRow> spans;
  Connection store;
  Connection properties;
};

struct Job {
  ShopFrame frame;
  Connection* connection = nullptr;
  int64_t start_wall_ns = 0;
};

class JobQueue {
 public:
  void push(const Job& job) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(job);
    changed_.notify_one();
  }
  // Nothing once it is closed.
  std::optional<Job> pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_closed_ || !jobs_.empty(); });
    if (jobs_.empty()) {
      return std::nullopt;
    }
    const Job job = jobs_.front();
    jobs_.pop_front();
    return job;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;  // protected by mutex_, as the next
  bool is_closed_ = false;
};

// A service: a thread reads the requests of each connection, workers answer them.
class Service {
 public:
  explicit Service(ShopOptions options) : options_(std::move(options)), is_front_(options_.role == "front") {}

  // The port it listens on; 0: it cannot.
  uint16_t start() {
    listener_ = listen_at(options_.listen);
    const uint16_t port = port_of(listener_);
    for (unsigned i = 0; port != 0 && i < kWorkers; ++i) {
      threads_.emplace_back([this, i] { work(i); });
    }
    if (port != 0) {
      threads_.emplace_back([this] { accept_all(); });
    }
    return port;
  }

  // Its callers have ended before.
  void stop() {
    stop_listening(listener_);
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
      for (Connection& connection : connections_) {
        connection.shut_down();
      }
    }
    queue_.close();
    // accept_all() is one of them, and has begun the last reader by its own end.
    for (std::thread& thread : threads_) {
      thread.join();
    }
    for (std::thread& reader : readers_) {
      reader.join();
    }
  }

  void print() const {
    for (const auto& thread : shop_threads_) {
      thread->truth.print();
      for (const SpanRow& span : thread->spans) {
        print_span(span);
      }
    }
  }

 private:
  static constexpr unsigned kWorkers = 6;
  static constexpr uint32_t kSmallBytes = 4096;
  static constexpr uint32_t kLargeBytes = 1'200'000;
  static constexpr uint64_t kIndexBlock = 17;

  ShopThread& new_thread(const std::string& name) {
    auto thread = std::make_unique<ShopThread>(options_, name);
    const std::lock_guard lock(mutex_);
    shop_threads_.push_back(std::move(thread));
    return *shop_threads_.back();
  }

  void accept_all() {
    for (unsigned i = 0;; ++i) {
      auto accepted = accept_from(listener_);
      const std::lock_guard lock(mutex_);
      if (!accepted || is_stopping_) {
        return;
      }
      connections_.push_back(std::move(*accepted));
      readers_.emplace_back([this, i, &connection = connections_.back()] { read_requests(i, connection); });
    }
  }

  void read_requests(unsigned index, Connection& connection) {
    constexpr int64_t kParseUs = 100;
    ShopThread& self = new_thread(fmt::format("r{}", index));
    self.truth.idle();
    Job job;
    while (connection.receive(job.frame)) {
      job.connection = &connection;
      job.start_wall_ns = wall_now_ns();
      if (is_front_) {
        self.truth.start(job.frame.request);
      } else {
        self.truth.take(job.frame.request);
      }
      work_.run_us(kParseUs);
      // Before it is handed over: the worker may be done with it before this thread runs again.
      self.truth.leave();
      queue_.push(job);
    }
  }

  void work(unsigned index) {
    ShopThread& self = new_thread(fmt::format("w{}", index));
    if (is_front_) {
      self.store = connect_to(options_.store).value_or(Connection());
      self.properties = connect_to(options_.properties).value_or(Connection());
    }
    self.truth.idle();
    while (const std::optional<Job> job = queue_.pop()) {
      if (is_front_) {
        serve(self, *job);
      } else {
        look_up(self, *job);
      }
    }
  }

  // A back end.
  void look_up(ShopThread& self, const Job& job) {
    constexpr int64_t kReadUs = 500;
    constexpr int64_t kPropertyUs = 50;
    constexpr int64_t kSlowUs = 1000;
    const bool is_read = job.frame.call == ShopCall::kRead;
    self.truth.take(job.frame.request);
    work_.run_us(is_read ? kReadUs : kPropertyUs);
    sleep_us(kSlowUs);
    // Before the reply: the caller may stop the request before this thread runs again.
    self.truth.leave();
    self.spans.push_back({.request = job.frame.request,
                          .id = ~job.frame.span,
                          .parent = job.frame.span,
                          .call = job.frame.call,
                          .is_client = false,
                          .callee = {},
                          .start_ns = job.start_wall_ns,
                          .end_ns = wall_now_ns(),
                          .bytes = 0,
                          .block = 0});
    job.connection->send(job.frame, job.frame.bytes);
  }

  // The front end.
  void serve(ShopThread& self, const Job& job) {
    self.truth.take(job.frame.request);
    switch (job.frame.call) {
      case ShopCall::kSearchIndex:
        search_index(self, job.frame);
        break;
      case ShopCall::kListItem:
        list_item(self, job.frame);
        break;
      case ShopCall::kRefresh:
        refresh(self, job.frame);
        break;
      default:
        get_item(self, job.frame);
        break;
    }
    job.connection->send(job.frame, 0);
    self.truth.stop();
    self.spans.push_back({.request = job.frame.request,
                          .id = job.frame.request,
                          .parent = 0,
                          .call = job.frame.call,
                          .is_client = false,
                          .callee = {},
                          .start_ns = job.start_wall_ns,
                          .end_ns = wall_now_ns(),
                          .bytes = 0,
                          .block = 0});
  }

  void get_item(ShopThread& self, const ShopFrame& frame) {
    constexpr int64_t kComputeUs = 1000;
    constexpr int64_t kLockedUs = 200;
    constexpr uint64_t kOneIsSlow = 8;
    work_.run_us(kComputeUs);
    // Reads as much as a search that is at fault, and is as slow; but each block once.
    if (frame.request % kOneIsSlow == 0) {
      for (uint64_t block = 0; block < 3; ++block) {
        call(self, self.store, frame, ShopCall::kRead, kIndexBlock + block, kLargeBytes);
      }
      sleep_us(kSlowSearchUs);
    }
    call(self, self.store, frame, ShopCall::kRead, 1000 + frame.request % 1000, kSmallBytes);
    lock(self);
    work_.run_us(kLockedUs);
    stock_mutex_.unlock();
    call(self, self.properties, frame, ShopCall::kGetProperties, 0, kSmallBytes);
    work_.run_us(kComputeUs);
  }

  void search_index(ShopThread& self, const ShopFrame& frame) {
    constexpr int kReads = 8;
    constexpr int64_t kComputeUs = 300;
    for (int i = 0; i < kReads; ++i) {
      call(self, self.store, frame, ShopCall::kRead, kIndexBlock, kLargeBytes);
      work_.run_us(kComputeUs);
    }
    sleep_us(kSlowSearchUs);
  }

  void list_item(ShopThread& self, const ShopFrame& frame) {
    constexpr int kProperties = 40;
    constexpr int64_t kComputeUs = 100;
    for (int i = 0; i < kProperties; ++i) {
      call(self, self.properties, frame, ShopCall::kGetProperty, 0, kSmallBytes);
      work_.run_us(kComputeUs);
    }
  }

  void refresh(ShopThread& self, const ShopFrame& frame) {
    lock(self);
    call(self, self.properties, frame, ShopCall::kGetProperties, 0, kSmallBytes);
    stock_mutex_.unlock();
  }

  // Marks waits alone that are waits.
  void lock(const ShopThread& self) {
    if (!stock_mutex_.try_lock()) {
      self.truth.lock_wait(&stock_mutex_);
      stock_mutex_.lock();
    }
    self.truth.lock_got(&stock_mutex_);
  }

  void call(ShopThread& self, Connection& to, const ShopFrame& frame, ShopCall call, uint64_t block,
            uint32_t bytes) {
    const ShopFrame asked{.request = frame.request,
                          .span = (uint64_t{1} << 62) | next_span_++,
                          .block = block,
                          .call = call,
                          .bytes = bytes};
    const int64_t start_ns = wall_now_ns();
    ShopFrame reply;
    to.send(asked, 0);
    to.receive(reply);
    to.skip(reply.bytes);
    self.spans.push_back({.request = frame.request,
                          .id = asked.span,
                          .parent = frame.request,
                          .call = call,
                          .is_client = true,
                          .callee = call == ShopCall::kRead ? "store" : "properties",
                          .start_ns = start_ns,
                          .end_ns = wall_now_ns(),
                          .bytes = bytes,
                          .block = block});
  }

  // Columns as in kSpanColumns of running_shop.cc.
  void print_span(const SpanRow& span) const {
    fmt::print("span {:032x},{:016x},{},{},{},{},{},{},{},{},{},{}\n", span.request, span.id,
               span.parent == 0 ? std::string() : fmt::format("{:016x}", span.parent), options_.role,
               name_of(span.call), options_.machine, span.start_ns, span.end_ns,
               span.is_client ? "client" : "server", span.callee,
               span.is_client ? fmt::format("{}", span.bytes) : std::string(),
               span.block == 0 ? std::string() : fmt::format("{}", span.block));
  }

  static constexpr int64_t kSlowSearchUs = 60'000;

  ShopOptions options_;
  const bool is_front_;
  const Work work_;
  Listener listener_;
  JobQueue queue_;
  std::mutex stock_mutex_;
  std::atomic<uint64_t> next_span_ = 1;
  std::mutex mutex_;
  // Protected by mutex_, but what is in them.
  std::list<Connection> connections_;
  std::vector<std::unique_ptr<ShopThread>> shop_threads_;
  bool is_stopping_ = false;
  std::vector<std::thread> readers_;  // of accept_all() until it ends
  std::vector<std::thread> threads_;
};

// Clients that send a request after the other.
class Load {
 public:
  explicit Load(const ShopOptions& options) : options_(options), next_request_(options.first_request) {}

  void start() {
    for (unsigned i = 0; i < options_.clients; ++i) {
      threads_.emplace_back([this, i] { run(i); });
    }
  }
  void stop() {
    is_stopping_ = true;
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }
  void print() const {
    for (const auto& thread : shop_threads_) {
      thread->truth.print();
    }
    fmt::print("requests {}\n", next_request_ - options_.first_request);
  }

 private:
  ShopCall kind_of(uint64_t request) const {
    constexpr uint64_t kOneIsPlanted = 3;
    if (options_.story.empty() || request % kOneIsPlanted != 0) {
      return ShopCall::kGetItem;
    }
    return options_.story == "index-again"     ? ShopCall::kSearchIndex
           : options_.story == "property-each" ? ShopCall::kListItem
                                               : ShopCall::kRefresh;
  }

  void run(unsigned index) {
    auto connection = connect_to(options_.front);
    auto created = std::make_unique<ShopThread>(options_, fmt::format("c{}", index));
    const ShopThread& self = *created;
    {
      const std::lock_guard lock(mutex_);
      shop_threads_.push_back(std::move(created));
    }
    while (connection && !is_stopping_) {
      const uint64_t request = next_request_++;
      const ShopFrame frame{.request = request, .span = 0, .block = 0, .call = kind_of(request), .bytes = 0};
      ShopFrame reply;
      self.truth.idle();
      if (!connection->send(frame, 0) || !connection->receive(reply)) {
        return;
      }
    }
  }

  ShopOptions options_;
  std::atomic<uint64_t> next_request_;
  std::atomic<bool> is_stopping_ = false;
  std::mutex mutex_;
  std::vector<std::unique_ptr<ShopThread>> shop_threads_;  // protected by mutex_
  std::vector<std::thread> threads_;
};

template <typename Program>
int run_until_told(Program& program, const sigset_t& ending) {
  int received = 0;
  ::sigwait(&ending, &received);
  program.stop();
  program.print();
  return 0;
}

int run_shop(int argc, char** argv) {
  const auto parsed = parse_shop_options(argc, argv);
  if (!parsed) {
    fmt::print(stderr, "usage: see tests/workloads/burst_shop.cc\n");
    return 2;
  }
  const ShopOptions& options = *parsed;
  stay_on_two_cpus();
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  // For all threads.
  ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  if (options.role == "load") {
    Load load(options);
    load.start();
    return run_until_told(load, ending);
  }
  Service service(options);
  const uint16_t port = service.start();
  if (port == 0) {
    fmt::print(stderr, "cannot listen at {}\n", options.listen);
    return 1;
  }
  fmt::print(stderr, "port {}\n", port);
  return run_until_told(service, ending);
}

}  // namespace
}  // namespace plimsoll::testing

int main(int argc, char** argv) {
  return plimsoll::testing::run_shop(argc, argv);
}
