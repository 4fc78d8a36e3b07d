// A server whose profiles and request traces can be joined by trace ID (docs/appprof.md, "Profiles of a request").
//
//   traced_server LISTEN PROFILES SPANS
//
// Answers GET requests on LISTEN (127.0.0.1:PORT; port 0: any) with a report each, of which it keeps the newest in memory. Profiles of it are
// served on PROFILES; spans of its requests are appended to the file SPANS, which `plimsoll import` reads. Prints "serving PORT" and
// "profiles URL" on standard error.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "appprof/appprof.h"
#include "appprof/examples/otlp_spans.h"

namespace appprof = plimsoll::appprof;
namespace examples = plimsoll::examples;

namespace {

using Report = std::vector<std::string>;

class ReportServer {
 public:
  ReportServer(const std::string& spans_path, std::string instance)
      : resource_{"reports", std::move(instance), host_name()},
        spans_(spans_path, std::ios::app),
        tracer_(std::mt19937_64(std::random_device{}()),
                [this](examples::Span span) { write(std::move(span)); }) {}

  bool can_write() const { return spans_.good(); }

  // One request, in this thread. The answer.
  std::string answer(const std::string& path, const std::string& traceparent) {
    const examples::Tracer::Scope span(tracer_, "GET " + path, examples::SpanKind::kServer,
                                       examples::parse_traceparent(traceparent));
    const examples::SpanContext& context = span.context();
    // Marks for bursts (docs/bursts.md): this thread works for the request.
    const appprof::RequestScope burst(appprof::request_id(to_traceparent(context)));
    // Samples that are taken until the end of the request carry its trace ID. A process keeps 1,024 sets of labels: only requests whose trace is
    // kept have one.
    std::optional<appprof::Label> label;
    if (context.is_sampled) {
      label.emplace("trace_id", context.trace_id);
    }
    return keep(make_report(context));
  }

 private:
  static std::string host_name() {
    char name[256] = {};
    ::gethostname(name, sizeof(name) - 1);
    return name;
  }

  [[gnu::noinline]] Report make_report(const examples::SpanContext& caller) {
    const examples::Tracer::Scope span(tracer_, "make report", examples::SpanKind::kInternal, caller);
    constexpr size_t kPages = 256;
    constexpr size_t kPageBytes = 65'536;
    Report report;
    for (size_t page = 0; page < kPages; ++page) {
      report.emplace_back(kPageBytes, 'x');
    }
    return report;
  }

  std::string keep(Report report) {
    constexpr size_t kMaxReports = 4;
    const std::string summary = std::to_string(report.size()) + " pages\n";
    const std::lock_guard lock(mutex_);
    reports_.push_back(std::move(report));
    if (reports_.size() > kMaxReports) {
      reports_.pop_front();
    }
    return summary;
  }

  // A document a line, before the request is answered.
  void write(examples::Span span) {
    std::vector<examples::Span> spans;
    spans.push_back(std::move(span));
    const std::lock_guard lock(mutex_);
    spans_ << to_otlp_json(resource_, spans) << '\n' << std::flush;
  }

  examples::Resource resource_;
  std::mutex mutex_;
  std::ofstream spans_;         // protected by mutex_
  std::deque<Report> reports_;  // protected by mutex_
  examples::Tracer tracer_;     // last: it calls this object
};

// The head of a request, as far as it is needed here.
struct RequestHead {
  std::string path;
  std::string traceparent;
};

std::optional<RequestHead> read_head(int connection) {
  constexpr size_t kMaxBytes = 8192;
  std::string text;
  while (text.find("\r\n\r\n") == std::string::npos && text.size() < kMaxBytes) {
    char piece[1024];
    const ssize_t got = ::read(connection, piece, sizeof(piece));
    if (got <= 0) {
      return std::nullopt;
    }
    text.append(piece, static_cast<size_t>(got));
  }
  constexpr std::string_view kGet = "GET ";
  const size_t path_end = text.find(' ', kGet.size());
  if (text.compare(0, kGet.size(), kGet) != 0 || path_end == std::string::npos) {
    return std::nullopt;
  }
  RequestHead head{text.substr(kGet.size(), path_end - kGet.size()), {}};
  constexpr std::string_view kName = "traceparent:";
  for (size_t line = text.find("\r\n"); line != std::string::npos; line = text.find("\r\n", line)) {
    line += 2;
    if (::strncasecmp(text.c_str() + line, kName.data(), kName.size()) == 0) {
      const size_t value = text.find_first_not_of(' ', line + kName.size());
      head.traceparent = text.substr(value, text.find("\r\n", value) - value);
    }
  }
  return head;
}

void serve(int listening, ReportServer& server) {
  for (;;) {
    const int connection = ::accept(listening, nullptr, nullptr);
    if (connection < 0) {
      continue;
    }
    if (const auto head = read_head(connection)) {
      const std::string body = server.answer(head->path, head->traceparent);
      const std::string answer =
          "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: " +
          std::to_string(body.size()) + "\r\n\r\n" + body;
      // A client that is gone misses its answer.
      ::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
    }
    ::close(connection);
  }
}

// The port, or 0 with errno.
uint16_t listen_on(const std::string& address, int& listening) {
  const size_t colon = address.rfind(':');
  sockaddr_in bound{};
  bound.sin_family = AF_INET;
  socklen_t size = sizeof(bound);
  if (colon == std::string::npos ||
      ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &bound.sin_addr) != 1) {
    return 0;
  }
  bound.sin_port = htons(static_cast<uint16_t>(std::strtoul(address.c_str() + colon + 1, nullptr, 10)));
  listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listening < 0) {
    return 0;
  }
  auto* const plain = reinterpret_cast<sockaddr*>(&bound);
  const bool is_listening = ::bind(listening, plain, size) == 0 && ::listen(listening, SOMAXCONN) == 0 &&
                            ::getsockname(listening, plain, &size) == 0;
  return is_listening ? ntohs(bound.sin_port) : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: traced_server LISTEN PROFILES SPANS\n");
    return 2;
  }
  appprof::Options options;
  options.listen = argv[2];
  options.labels = {{"job", "reports"}};
  const appprof::Started started = appprof::start(options);
  int listening = -1;
  const uint16_t port = listen_on(argv[1], listening);
  if (!started || port == 0) {
    std::fprintf(stderr, "%s\n", started ? "cannot listen" : started.error.c_str());
    return 1;
  }
  ReportServer server(argv[3], "reports-" + std::to_string(port));
  if (!server.can_write()) {
    std::fprintf(stderr, "cannot write %s\n", argv[3]);
    return 1;
  }
  std::fprintf(stderr, "profiles %s\nserving %u\n", appprof::address().c_str(), unsigned{port});
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] { serve(listening, server); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}
