#include "server/replica/forwarder.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

#include "base/deadline.h"
#include "base/file.h"
#include "base/stop_scope.h"
#include "base/unique_fd.h"
#include "http/client.h"
#include "http/encoding.h"
#include "http/ignoring_case.h"
#include "query/registry/view.h"

namespace plimsoll::server {
namespace {

constexpr const char* kForwardedHeader = "Plimsoll-Forwarded";
constexpr std::string_view kApi = "/api/v1/";
// Definitions of experiments are the longest orders.
constexpr size_t kMaxForwardedOrderBytes = 64UL << 10;
// Longer answers are sent from the disk as they came, uncompressed.
constexpr uint64_t kMaxBodyBytes = uint64_t{1} << 20;
// Without a time limit of the configuration.
constexpr int64_t kMaxForwardedMs = int64_t{3600} * 1000;
// Orders write a few rows, and wait for no machine.
constexpr int64_t kMaxOrderMs = int64_t{60} * 1000;

constexpr std::array<std::string_view, 3> kForwardedOfRequest{"Authorization", "If-None-Match", "Accept"};
constexpr std::array<std::string_view, 7> kForwardedOfAnswer{
    "ETag",        "Content-Disposition",    "Cache-Control",    "Vary",
    "Retry-After", "X-Content-Type-Options", "WWW-Authenticate",
};

class AnswerFile : public http::BodySink {
 public:
  explicit AnswerFile(UniqueFd fd) : fd_(std::make_shared<UniqueFd>(std::move(fd))) {}

  Status take(Bytes piece) override {
    while (!piece.empty()) {
      const ssize_t written = ::write(fd_->get(), piece.data(), piece.size());
      if (written < 0 && errno != EINTR) {
        return fail_errno(errno, "keeping the answer of the primary server");
      }
      const size_t taken = written < 0 ? 0 : static_cast<size_t>(written);
      bytes_ += taken;
      piece = piece.subspan(taken);
    }
    return {};
  }
  http::FilePart part() const { return {.fd = fd_, .offset = 0, .bytes = bytes_}; }

 private:
  std::shared_ptr<UniqueFd> fd_;
  uint64_t bytes_ = 0;
};

// Whether a segment is "." or "..", which the client would take out of the path: what comes out is the path of another route, whose right
// has not been checked here.
bool leaves_route(std::string_view path) {
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const std::string_view segment = path.substr(0, slash);
    if (segment == "." || segment == "..") {
      return true;
    }
    path = slash == std::string_view::npos ? "" : path.substr(slash + 1);
  }
  return false;
}

// The same path and parameters that the listener has decoded.
std::string target_of(const http::Request& request) {
  std::string target;
  std::string_view rest = request.path;
  while (!rest.empty()) {
    const size_t slash = rest.find('/');
    target += http::url_encode(rest.substr(0, slash));
    if (slash == std::string_view::npos) {
      break;
    }
    target += '/';
    rest = rest.substr(slash + 1);
  }
  char separator = '?';
  for (const auto& [name, value] : request.query) {
    target += fmt::format("{}{}={}", separator, http::url_encode(name), http::url_encode(value));
    separator = '&';
  }
  return target;
}

http::Fields headers_of(const http::Request& request) {
  http::Fields headers{{kForwardedHeader, "1"}};
  for (const std::string_view name : kForwardedOfRequest) {
    if (const std::string_view value = request.header(name); !value.empty()) {
      headers.emplace_back(name, value);
    }
  }
  return headers;
}

// Of the answer, what is meant for the client and not for this connection.
http::Response answer_of(http::Response received) {
  http::Response answer;
  answer.status = received.status;
  answer.content_type = std::move(received.content_type);
  answer.body = std::move(received.body);
  for (auto& [name, value] : received.headers) {
    const bool is_for_client = std::ranges::any_of(kForwardedOfAnswer, [&name](std::string_view known) {
      return http::is_same_ignoring_case(name, known);
    });
    if (is_for_client) {
      answer.headers.emplace_back(std::move(name), std::move(value));
    }
  }
  return answer;
}

// A short one in memory, which is compressed; another one from its file.
Status add_body(const http::FilePart& part, const http::Request& request, http::Response& answer) {
  if (part.bytes > kMaxBodyBytes) {
    answer.file = part;
    return {};
  }
  auto body = read_at(*part.fd, "the answer of the primary server", 0, part.bytes);
  if (!body) {
    return propagate(body);
  }
  answer.body = *std::move(body);
  http::compress(request, answer);
  return {};
}

http::Threads forwarding_threads(query::Effort effort) {
  switch (effort) {
    case query::Effort::kShort:
      return http::Threads::kControl;
    case query::Effort::kLong:
      return http::Threads::kLong;
    case query::Effort::kUnbounded:
      return http::Threads::kBackground;
  }
  return http::Threads::kLong;
}

class RouteList {
 public:
  explicit RouteList(std::shared_ptr<const Forwarder> forwarder) : forwarder_(std::move(forwarder)) {}

  void add_question(std::string_view path, http::Right right, http::Threads threads) {
    http::Route& route = add("GET", path, right, threads);
    route.is_question = true;
  }
  void add_order(std::string_view method, std::string_view path) {
    http::Route& route = add(method, path, http::Right::kOrder, http::Threads::kControl);
    route.max_body_bytes = kMaxForwardedOrderBytes;
  }
  std::vector<http::Route> take() { return std::move(routes_); }

 private:
  // `path` is below /api/v1/; one that ends with '/' has more below it.
  http::Route& add(std::string_view method, std::string_view path, http::Right right, http::Threads threads) {
    http::Route& route = routes_.emplace_back();
    route.method = method;
    route.path = fmt::format("{}{}", kApi, path);
    route.is_prefix = path.ends_with('/');
    route.right = right;
    route.threads = threads;
    route.handle = [forwarder = forwarder_](const http::Request& request) {
      return forwarder->forward(request);
    };
    return route;
  }

  const std::shared_ptr<const Forwarder> forwarder_;
  std::vector<http::Route> routes_;
};

}  // namespace

Status Forwarder::check_order() const {
  return settings_.is_stopping && settings_.is_stopping()
             ? with_hint(fail(ErrorCode::kUnavailable, "this query server is stopping"),
                         "look whether the order was carried out before you give it again")
             : Status();
}

http::Response Forwarder::forward(const http::Request& request) const {
  if (!request.header(kForwardedHeader).empty()) {
    return http::error_response(
        with_hint(fail(ErrorCode::kInvalid, "{} {} was sent on by another query server", request.method,
                       request.path),
                  "primary.server there must name the server that has the data directory")
            .error());
  }
  if (leaves_route(request.path)) {
    return http::error_response(fail(ErrorCode::kNotFound, "no such path: {}", request.path).error());
  }
  const bool is_question = request.method == "GET";
  Deadline deadline("the request", settings_.max_time, request.is_abandoned);
  const StopCheck check = is_question ? StopCheck([&deadline] { return deadline.check(); })
                                      : StopCheck([this] { return check_order(); });
  const StopScope scope(check);
  const int64_t max_time_ms = settings_.max_time.count();
  const int64_t timeout_ms = !is_question      ? kMaxOrderMs
                             : max_time_ms > 0 ? max_time_ms + 1000
                                               : kMaxForwardedMs;
  // A connection of its own: an order that was lost with a kept one would be sent a second time.
  http::Client client({.base_url = settings_.server,
                       .timeout_ms = timeout_ms,
                       .max_response_bytes = is_question ? static_cast<size_t>(settings_.max_bytes)
                                                         : static_cast<size_t>(kMaxBodyBytes),
                       .reuses_connections = false,
                       .ends_with_stop_scope = true,
                       .credentials = {.ca = settings_.ca}});
  const auto failed = [this](const Error& error) {
    return http::error_response(
        propagate(Status(std::unexpected(error)), "asking the primary server {}", settings_.server).error());
  };
  if (!is_question) {
    auto received = client.send(request.method, target_of(request), request.body,
                                request.header("Content-Type"), headers_of(request));
    if (!received) {
      return failed(received.error());
    }
    if (received->ok() && settings_.ordered) {
      settings_.ordered();
    }
    return answer_of(*std::move(received));
  }
  auto file = unnamed_file(settings_.folder);
  if (!file) {
    return failed(file.error());
  }
  AnswerFile sink(*std::move(file));
  auto received = client.receive(target_of(request), sink, headers_of(request));
  if (!received) {
    return failed(received.error());
  }
  http::Response answer = answer_of(*std::move(received));
  if (answer.status == 200) {
    if (const Status added = add_body(sink.part(), request, answer); !added) {
      return failed(added.error());
    }
  }
  return answer;
}

std::vector<http::Route> forward_routes(ForwarderSettings settings) {
  RouteList routes(std::make_shared<const Forwarder>(std::move(settings)));
  for (const query::View& view : query::views()) {
    if (!view.answer) {
      routes.add_order("POST", view.name);
    } else if (view.reads_directory) {
      routes.add_question(
          view.name, view.audience == query::Audience::kReaders ? http::Right::kRead : http::Right::kOrder,
          forwarding_threads(view.effort));
    }
    for (const query::OrderSpec& order : view.orders) {
      // "experiments/{name}"
      routes.add_order(order.method, std::string_view(order.path).substr(0, order.path.find('{')));
    }
  }
  routes.add_question("annotate", http::Right::kRead, http::Threads::kLong);
  routes.add_question("fdo/autofdo", http::Right::kPullProfile, http::Threads::kLong);
  routes.add_question("bursts/recordings/", http::Right::kRead, http::Threads::kLong);
  routes.add_question("functions/", http::Right::kRead, http::Threads::kLong);
  return routes.take();
}

}  // namespace plimsoll::server
