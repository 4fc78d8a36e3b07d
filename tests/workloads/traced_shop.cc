// A shop of three services that call each other over HTTP and send their spans to a Plimsoll server, for tests of diagnosis:
//
//   traced_shop front --session ADDR --catalog ADDR,ADDR,...    GET /item?id=N: a token of session, then the stock of catalog replica N
//   traced_shop session [--random-ms N]                         GET /token: random bytes
//   traced_shop catalog                                         GET /stock: a look into a slow database
//
// and of each: --instance NAME --traces ADDR [--threads N]. Listens on a free port. Prints "address ADDR" on standard error; SIGTERM ends it once
// all spans are sent: exit status 0 if they were.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "appprof/examples/otlp_spans.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "http/client.h"
#include "http/listener.h"

namespace plimsoll::testing {
namespace {

using examples::SpanContext;
using examples::SpanKind;
using examples::Tracer;

// Of the database.
constexpr std::chrono::milliseconds kLookUp(8);

// Sends spans in the background, in batches, as OpenTelemetry's processors do.
class SpanSender {
 public:
  SpanSender(examples::Resource resource, const std::string& address)
      : resource_(std::move(resource)), client_({.base_url = address}), sending_([this] { run(); }) {}
  SpanSender(const SpanSender&) = delete;
  SpanSender& operator=(const SpanSender&) = delete;
  ~SpanSender() { std::ignore = finish(); }

  void add(examples::Span span) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(span));
    changed_.notify_one();
  }

  // Sends the rest. Whether all was taken.
  Status finish() {
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
      changed_.notify_one();
    }
    if (sending_.joinable()) {
      sending_.join();
    }
    return sent_;
  }

 private:
  void run() {
    constexpr size_t kBatch = 64;
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return is_ending_ || waiting_.size() >= kBatch; });
      if (waiting_.empty()) {
        return;
      }
      const std::vector<examples::Span> batch = std::exchange(waiting_, {});
      lock.unlock();
      const Status sent = send(batch);
      lock.lock();
      sent_ = sent_ ? sent : sent_;
    }
  }

  // Again where the server says that it may help.
  Status send(const std::vector<examples::Span>& batch) {
    constexpr int kMaxTries = 50;
    const std::string document = to_otlp_json(resource_, batch);
    for (int tried = 1;; ++tried) {
      const auto answer = client_.send("POST", "/v1/traces", document, "application/json");
      if (answer && answer->ok()) {
        return {};
      }
      const bool may_help = !answer || answer->status == 429 || answer->status == 503;
      if (!may_help || tried == kMaxTries) {
        return answer ? Status(std::unexpected(http::error_of(*answer, "sending spans"))) : propagate(answer);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  examples::Resource resource_;
  http::Client client_;  // of the thread that sends
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<examples::Span> waiting_;  // protected by mutex_, as the next
  bool is_ending_ = false;
  Status sent_;          // of run(), until it has ended
  std::thread sending_;  // last: it uses the others
};

// Random bytes. With an interval as Linux' /dev/random gave them until 5.6: there are as many as came in meanwhile, and readers block until more
// do. A pipe, into which a thread writes.
class RandomSource {
 public:
  static constexpr size_t kTokenBytes = 16;

  // 0: never blocks.
  static Result<std::unique_ptr<RandomSource>> open(std::chrono::milliseconds interval) {
    UniqueFd kernel(::open("/dev/urandom", O_RDONLY | O_CLOEXEC));
    std::array<int, 2> ends = {-1, -1};
    if (!kernel.valid() || ::pipe2(ends.data(), O_CLOEXEC) != 0) {
      return fail_errno(errno, "opening the source of random bytes");
    }
    return std::unique_ptr<RandomSource>(
        new RandomSource(std::move(kernel), UniqueFd(ends[0]), UniqueFd(ends[1]), interval));
  }
  RandomSource(const RandomSource&) = delete;
  RandomSource& operator=(const RandomSource&) = delete;
  ~RandomSource() = default;

  // Blocks. Any thread.
  Status read_token() {
    std::array<char, kTokenBytes> token{};
    const int from = interval_.count() == 0 ? kernel_.get() : readers_end_.get();
    return ::read(from, token.data(), token.size()) == static_cast<ssize_t>(token.size())
               ? Status()
               : fail_errno(errno, "reading random bytes");
  }

 private:
  RandomSource(UniqueFd kernel, UniqueFd readers_end, UniqueFd gathered_end,
               std::chrono::milliseconds interval)
      : kernel_(std::move(kernel)),
        readers_end_(std::move(readers_end)),
        gathered_end_(std::move(gathered_end)),
        interval_(interval) {
    if (interval.count() != 0) {
      gathering_ = std::jthread([this](const std::stop_token& stop) { gather(stop); });
    }
  }

  void gather(const std::stop_token& stop) const {
    constexpr int kMaxTokens = 16;
    const std::array<char, kTokenBytes> token{};
    for (auto next = std::chrono::steady_clock::now(); !stop.stop_requested(); next += interval_) {
      int bytes = 0;
      const bool has_room = ::ioctl(readers_end_.get(), FIONREAD, &bytes) == 0 &&
                            bytes < kMaxTokens * static_cast<int>(kTokenBytes);
      if (has_room && ::write(gathered_end_.get(), token.data(), token.size()) < 0) {
        return;
      }
      std::this_thread::sleep_until(next);
    }
  }

  UniqueFd kernel_;
  UniqueFd readers_end_;
  UniqueFd gathered_end_;
  std::chrono::milliseconds interval_;
  std::jthread gathering_;  // last: it uses the others
};

struct Options {
  std::string service = {};
  std::string instance = {};
  std::string traces = {};
  std::string session = {};
  std::vector<std::string> catalogs = {};
  unsigned threads = 48;
  std::chrono::milliseconds random_interval{0};
};

class Shop {
 public:
  Shop(Options options, SpanSender& sender, RandomSource& random)
      : options_(std::move(options)),
        random_(random),
        tracer_(random_of(options_.instance),
                [&sender](examples::Span span) { sender.add(std::move(span)); }) {}

  std::vector<http::Route> routes() {
    const auto route = [this](const char* path, auto method) {
      return http::Route{
          .method = "GET",
          .path = path,
          .handle = [this, path,
                     method](const http::Request& request) { return handle(request, path, method); },
          .threads = http::Threads::kControl};
    };
    if (options_.service == "front") {
      return {route("/item", &Shop::get_item)};
    }
    return {options_.service == "session" ? route("/token", &Shop::get_token)
                                          : route("/stock", &Shop::get_stock)};
  }

 private:
  using Method = Status (Shop::*)(const http::Request& request, const SpanContext& span);

  // The same IDs in each run.
  static std::mt19937_64 random_of(const std::string& instance) {
    std::seed_seq seed(instance.begin(), instance.end());
    return std::mt19937_64(seed);
  }

  // Begins once there is a thread for it: what a request waits for that is not part of the span.
  http::Response handle(const http::Request& request, const char* path, Method method) {
    const Tracer::Scope span(tracer_, fmt::format("GET {}", path), SpanKind::kServer,
                             examples::parse_traceparent(request.header("traceparent")));
    const Status done = (this->*method)(request, span.context());
    return done ? http::Response{.body = "{}\n"} : http::error_response(done.error());
  }

  Status get_item(const http::Request& request, const SpanContext& span) {
    size_t id = 0;
    for (const auto& [key, value] : request.query) {
      if (key == "id") {
        std::from_chars(value.data(), value.data() + value.size(), id);
      }
    }
    const Status token = call(options_.session, "/token", span);
    return token ? call(options_.catalogs[id % options_.catalogs.size()], "/stock", span) : token;
  }

  Status get_token(const http::Request& /*request*/, const SpanContext& span) {
    const Tracer::Scope reading(tracer_, "read random", SpanKind::kInternal, span);
    return random_.read_token();
  }

  Status get_stock(const http::Request& /*request*/, const SpanContext& /*span*/) {
    std::this_thread::sleep_for(kLookUp);
    return {};
  }

  Status call(const std::string& address, const char* path, const SpanContext& caller) {
    const Tracer::Scope span(tracer_, fmt::format("GET {}", path), SpanKind::kClient, caller);
    // A connection of each thread to each address.
    thread_local std::map<std::string, http::Client> clients;
    http::Client& client =
        clients.try_emplace(address, http::ClientOptions{.base_url = address}).first->second;
    const auto answer = client.send("GET", path, {}, {}, {{"traceparent", to_traceparent(span.context())}});
    if (!answer) {
      return propagate(answer);
    }
    return answer->ok() ? Status() : std::unexpected(http::error_of(*answer, address));
  }

  Options options_;
  RandomSource& random_;
  Tracer tracer_;
};

unsigned number_in(std::string_view text) {
  unsigned number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::vector<std::string> list_in(std::string_view text) {
  std::vector<std::string> list;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    list.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return list;
}

Result<Options> parse(int argc, char** argv) {
  Options options{.service = argc > 1 ? argv[1] : ""};
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--instance") {
      options.instance = value;
    } else if (name == "--traces") {
      options.traces = value;
    } else if (name == "--session") {
      options.session = value;
    } else if (name == "--catalog") {
      options.catalogs = list_in(value);
    } else if (name == "--threads") {
      options.threads = number_in(value);
    } else if (name == "--random-ms") {
      options.random_interval = std::chrono::milliseconds(number_in(value));
    } else {
      return fail(ErrorCode::kInvalid, "unknown option {}", name);
    }
  }
  const bool is_front = options.service == "front";
  const bool is_whole = is_front ? !options.session.empty() && !options.catalogs.empty()
                                 : options.service == "session" || options.service == "catalog";
  if (!is_whole || options.instance.empty() || options.traces.empty()) {
    return fail(ErrorCode::kInvalid, "usage: see tests/workloads/traced_shop.cc");
  }
  return options;
}

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

Status serve(const Options& options) {
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  // For all threads.
  ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  SpanSender sender({options.service, options.instance, host_name()}, options.traces);
  const auto random = RandomSource::open(options.random_interval);
  if (!random) {
    return propagate(random);
  }
  Shop shop(options, sender, **random);
  const auto listener = http::Listener::start({.pools = {.control_threads = options.threads}}, shop.routes());
  if (!listener) {
    return propagate(listener);
  }
  fmt::print(stderr, "address {}\n", (*listener)->address());
  int received = 0;
  ::sigwait(&ending, &received);
  (*listener)->stop();
  return sender.finish();
}

int run_shop(int argc, char** argv) {
  const auto options = parse(argc, argv);
  const Status served = options ? serve(*options) : propagate(options);
  if (!served) {
    fmt::print(stderr, "{}\n", served.error().text());
  }
  return served ? 0 : 1;
}

}  // namespace
}  // namespace plimsoll::testing

int main(int argc, char** argv) {
  return plimsoll::testing::run_shop(argc, argv);
}
