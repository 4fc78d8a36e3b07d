#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <atomic>
#include <future>
#include <latch>
#include <new>
#include <random>
#include <thread>

#include "base/time.h"
#include "base/unique_fd.h"
#include "http/client.h"
#include "http/listener.h"
#include "http/message.h"

namespace plimsoll::http {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

constexpr int64_t kGuardNs = 20 * kNsPerSecond;

Response text_response(std::string body) {
  return {.status = 200, .content_type = "text/plain", .body = std::move(body), .headers = {}};
}

Response echo(const Request& request) {
  Response response = text_response(request.body);
  if (const auto type = request.header("content-type"); !type.empty()) {
    response.headers.emplace_back("X-Type", type);
  }
  return response;
}

Route route(std::string method, std::string path, std::function<Response(const Request&)> handle,
            size_t max_body_bytes = 0) {
  const bool is_prefix = path.size() > 1 && path.ends_with('/');
  return {std::move(method), std::move(path), is_prefix, max_body_bytes, std::move(handle)};
}

std::unique_ptr<Listener> started(std::vector<Route> routes, ListenerOptions options = {}) {
  auto listener = Listener::start(std::move(options), std::move(routes));
  EXPECT_TRUE(listener.has_value()) << listener.error().text();
  return *std::move(listener);
}

Client client_of(const Listener& listener, size_t max_response_bytes = 64UL << 20) {
  return Client({.base_url = listener.address(), .max_response_bytes = max_response_bytes});
}

// A client that can misbehave.
class RawConnection {
 public:
  explicit RawConnection(const Listener& listener, const char* from = "127.0.0.1")
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval guard{.tv_sec = kGuardNs / kNsPerSecond, .tv_usec = 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &guard, sizeof(guard));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::inet_addr(from);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    address.sin_port = ::htons(listener.port());
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }

  void send(std::string_view bytes) {
    EXPECT_EQ(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), bytes.size());
  }

  // Everything until the server closes.
  std::string receive_all() {
    std::string all;
    char buffer[4096];
    for (ssize_t size = 0; (size = ::recv(fd_.get(), buffer, sizeof(buffer), 0)) > 0;) {
      all.append(buffer, static_cast<size_t>(size));
    }
    return all;
  }

  // How much came of at least `bytes`, or until the server closes.
  size_t receive(size_t bytes) {
    std::vector<char> buffer(1 << 20);
    size_t received = 0;
    for (ssize_t size = 1; size > 0 && received <= bytes;) {
      size = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
      received += size > 0 ? static_cast<size_t>(size) : 0;
    }
    return received;
  }

  // The server has ended the connection; what it sent before is left unread.
  bool is_at_its_end() const {
    pollfd polled{fd_.get(), POLLRDHUP, 0};
    return ::poll(&polled, 1, 0) > 0 && (polled.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  }

  void close_with_reset() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    fd_ = UniqueFd();
  }

 private:
  UniqueFd fd_;
};

bool wait_until(const std::function<bool()>& holds) {
  const int64_t deadline_ns = monotonic_now_ns() + kGuardNs;
  while (!holds()) {
    if (monotonic_now_ns() > deadline_ns) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

TEST(Http, AHandlerLearnsThatItsClientHasGone) {
  std::latch entered(1);
  std::promise<bool> noticed;
  const auto listener = started({route("GET", "/slow", [&](const Request& request) {
    EXPECT_FALSE(request.is_abandoned());
    entered.count_down();
    noticed.set_value(wait_until(request.is_abandoned));
    return text_response("too late");
  })});
  {
    RawConnection client(*listener);
    client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
    entered.wait();
  }
  EXPECT_TRUE(noticed.get_future().get());
}

TEST(Http, AHeadThatNeverEndsIsGivenUp) {
  const auto listener = started({route("GET", "/", echo)}, {.timeout_s = 0, .head_timeout_s = 1});
  RawConnection silent(*listener);
  RawConnection slow(*listener);
  slow.send("GET / HTTP/1.1\r\nHost: a\r\nX: ");
  EXPECT_EQ(silent.receive_all(), "");
  EXPECT_EQ(slow.receive_all(), "");
}

TEST(Http, ABodyThatComesTooSlowlyIsGivenUp) {
  const auto listener =
      started({route("PUT", "/", echo, 1000)}, {.timeout_s = 0, .grace_s = 1, .min_bytes_per_s = 1'000'000});
  RawConnection slow(*listener);
  slow.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc");
  EXPECT_EQ(slow.receive_all(), "");
}

TEST(Http, AnAnswerThatNobodyReadsIsGivenUp) {
  const std::string large(64 << 20, 'x');
  const auto listener = started({route("GET", "/", [&](const Request&) { return text_response(large); })},
                                {.timeout_s = 0, .grace_s = 1, .min_bytes_per_s = 1U << 30U});
  RawConnection idle(*listener);
  idle.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(wait_until([&] { return idle.is_at_its_end(); }));
}

TEST(Http, AnswersThatNobodyReadsAreBoundedInSum) {
  const std::string large(40 << 20, 'x');
  const auto listener = started({route("GET", "/large", [&](const Request&) { return text_response(large); }),
                                 route("GET", "/small", echo)},
                                {.max_unread_bytes = 100UL << 20});
  std::vector<std::unique_ptr<RawConnection>> idle;
  for (size_t i = 0; i < 2; ++i) {
    idle.push_back(std::make_unique<RawConnection>(*listener));
    idle.back()->send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(wait_until([&] { return listener->unread_bytes() == (i + 1) * large.size(); }));
  }
  const auto third = client_of(*listener).send("GET", "/large");
  ASSERT_TRUE(third);
  EXPECT_EQ(third->status, 503);
  EXPECT_EQ(third->header("Retry-After"), "1");
  EXPECT_EQ(client_of(*listener).send("GET", "/small")->status, 200);
  // Whoever reads makes room.
  EXPECT_GT(idle.back()->receive(large.size()), large.size());
  EXPECT_TRUE(wait_until([&] { return listener->unread_bytes() == large.size(); }));
  EXPECT_EQ(client_of(*listener).send("GET", "/large")->status, 200);
}

TEST(Http, AnAnswerLargerThanAllThatMayBeUnreadIsSentAlone) {
  const std::string large(4 << 20, 'x');
  const auto listener = started({route("GET", "/", [&](const Request&) { return text_response(large); })},
                                {.max_unread_bytes = 1UL << 20});
  EXPECT_EQ(client_of(*listener).send("GET", "/")->body.size(), large.size());
  EXPECT_TRUE(wait_until([&] { return listener->unread_bytes() == 0; }));
  EXPECT_EQ(client_of(*listener).send("GET", "/")->body.size(), large.size());
}

TEST(Http, WhoReadsSlowestGivesWayToTheNext) {
  const std::string large(40 << 20, 'x');
  const auto listener = started({route("GET", "/", [&](const Request&) { return text_response(large); })},
                                {.max_unread_bytes = 1UL << 20});
  RawConnection idle(*listener);
  idle.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(wait_until([&] { return listener->unread_bytes() == large.size(); }));
  EXPECT_TRUE(wait_until([&] { return client_of(*listener).send("GET", "/")->status == 200; }));
  EXPECT_TRUE(idle.is_at_its_end());
}

TEST(Http, AHandlerMayTakeItsTime) {
  const auto listener =
      started({route("GET", "/slow",
                     [](const Request&) {
                       const int64_t until_ns = monotonic_now_ns() + 3 * kNsPerSecond;
                       EXPECT_TRUE(wait_until([&] { return monotonic_now_ns() > until_ns; }));
                       return text_response("done");
                     })},
              {.timeout_s = 0, .head_timeout_s = 1, .grace_s = 1});
  EXPECT_EQ(client_of(*listener).send("GET", "/slow")->body, "done");
}

TEST(Http, CarriesBinaryBodiesThereAndBack) {
  const auto listener = started({route("PUT", "/echo", echo, 4 << 20)});
  Client client = client_of(*listener);
  std::string body(3 << 20, '\0');
  std::mt19937 random(1);
  std::ranges::generate(body, [&] { return static_cast<char>(random()); });
  for (const std::string& sent : {std::string("\0a\r\n\r\n\xff", 7), std::string(), body}) {
    const auto response = client.send("PUT", "/echo", sent, "application/x-protobuf");
    ASSERT_TRUE(response.has_value()) << response.error().text();
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->content_type, "text/plain");
    EXPECT_EQ(response->header("x-TYPE"), "application/x-protobuf");
    EXPECT_TRUE(response->body == sent);
  }
  EXPECT_TRUE(wait_until([&] { return listener->buffered_bytes() == 0; }));
}

TEST(Http, DecodesPathAndQueryAndKeepsRepeatsInOrder) {
  Request seen;
  const auto listener = started({route("GET", "/files/", [&](const Request& request) {
    seen = request;
    return text_response("");
  })});
  const std::string path = "/files/" + url_encode("a b/\xC3\xBC") + "?where=" + url_encode("job=~a&b+") +
                           "&limit=5&where=x%20y+z&flag";
  ASSERT_TRUE(client_of(*listener).send("GET", path).has_value());
  EXPECT_EQ(seen.path, "/files/a b/\xC3\xBC");
  EXPECT_THAT(seen.query, ElementsAre(Pair("where", "job=~a&b+"), Pair("limit", "5"), Pair("where", "x y z"),
                                      Pair("flag", "")));
  EXPECT_THAT(seen.peer, StartsWith("127.0.0.1:"));
  EXPECT_THAT(seen.header("HOST"), listener->address());
  EXPECT_THAT(seen.header("absent"), IsEmpty());
}

TEST(Http, PrefersExactPathsAndLongerPrefixes) {
  const auto named = [](std::string name) { return [name](const Request&) { return text_response(name); }; };
  const auto listener = started({route("GET", "/a/", named("short")), route("GET", "/a/b/", named("long")),
                                 route("GET", "/a/b", named("exact")), route("GET", "/", named("root"))});
  Client client = client_of(*listener);
  EXPECT_EQ(client.send("GET", "/a/x")->body, "short");
  EXPECT_EQ(client.send("GET", "/a/b/c")->body, "long");
  EXPECT_EQ(client.send("GET", "/a/b")->body, "exact");
  EXPECT_EQ(client.send("GET", "/")->body, "root");
  EXPECT_EQ(client.send("GET", "/b")->status, 404);
}

TEST(Http, SaysWhoseAddressAnUnknownPathIsMeantFor) {
  const auto listener =
      started({route("GET", "/a", echo)}, {.path_hints = {{"/fleet/", "daemons take the other address"}}});
  Client client = client_of(*listener);
  EXPECT_EQ(error_of(*client.send("PUT", "/fleet/v1/register"), "asking").hint,
            "daemons take the other address");
  EXPECT_EQ(error_of(*client.send("GET", "/fleets"), "asking").hint, "");
}

TEST(Http, AnswersUnknownPathsAndMethodsWithOurErrorDocument) {
  const auto listener = started({route("GET", "/a", echo), route("PUT", "/a", echo, 10)});
  Client client = client_of(*listener);
  const auto absent = client.send("GET", "/absent");
  EXPECT_EQ(absent->status, 404);
  EXPECT_EQ(absent->content_type, "application/json");
  EXPECT_EQ(error_of(*absent, "asking").code, ErrorCode::kNotFound);
  EXPECT_EQ(error_of(*absent, "asking").message, "asking: no such path: /absent");

  const auto wrong_method = client.send("DELETE", "/a");
  EXPECT_EQ(wrong_method->status, 405);
  EXPECT_EQ(wrong_method->header("Allow"), "GET, HEAD, PUT");
  EXPECT_EQ(client.send("POST", "/a", "with a body")->status, 405);

  const auto head = client.send("HEAD", "/a");
  EXPECT_EQ(head->status, 200);
  EXPECT_THAT(head->body, IsEmpty());
}

TEST(Http, RefusesBodiesOverTheLimitOfTheirRoute) {
  std::atomic<int> calls = 0;
  const auto listener = started({route(
      "PUT", "/small",
      [&](const Request& request) {
        ++calls;
        return echo(request);
      },
      1000)});
  Client client = client_of(*listener);
  EXPECT_EQ(client.send("PUT", "/small", std::string(1000, 'a'))->status, 200);
  for (const size_t size : {1001UL, 60'000UL, 10UL << 20}) {
    const auto refused = client.send("PUT", "/small", std::string(size, 'a'));
    ASSERT_TRUE(refused.has_value()) << size << refused.error().text();
    EXPECT_EQ(refused->status, 413);
    EXPECT_EQ(refused->header("Connection"), "close");
    EXPECT_EQ(error_of(*refused, "sending").code, ErrorCode::kTooLarge);
  }
  EXPECT_EQ(calls, 1);
}

TEST(Http, RefusesADeclaredLengthBeforeTheBodyComes) {
  const auto listener = started({route("PUT", "/small", echo, 1000)});
  RawConnection connection(*listener);
  connection.send("PUT /small HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n");
  EXPECT_THAT(connection.receive_all(), StartsWith("HTTP/1.1 413 "));
}

TEST(Http, RefusesChunkedBodiesThatPassTheLimit) {
  const auto listener = started({route("PUT", "/small", echo, 1000)});
  const std::string head = "PUT /small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string chunk = "200\r\n" + std::string(512, 'a') + "\r\n";

  RawConnection small(*listener);
  small.send(head.substr(0, head.size() - 2) + "Connection: close\r\n\r\n" + chunk + "0\r\n\r\n");
  EXPECT_THAT(small.receive_all(), EndsWith("\r\n\r\n" + std::string(512, 'a')));

  RawConnection large(*listener);
  large.send(head + chunk + chunk + chunk + "0\r\n\r\n");
  EXPECT_THAT(large.receive_all(), StartsWith("HTTP/1.1 413 "));
}

TEST(Http, BoundsTheBytesOfAllBodiesTogether) {
  const auto listener = started({route("PUT", "/echo", echo, 1000)}, {.max_buffered_bytes = 1000});
  RawConnection holder(*listener);
  holder.send("PUT /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 800\r\n\r\n");
  holder.send(std::string(700, 'a'));
  ASSERT_TRUE(wait_until([&] { return listener->buffered_bytes() > 0; }));

  Client client = client_of(*listener);
  const auto refused = client.send("PUT", "/echo", std::string(400, 'b'));
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->header("Retry-After"), "1");
  EXPECT_EQ(error_of(*refused, "sending").code, ErrorCode::kUnavailable);

  RawConnection chunked(*listener);
  chunked.send("PUT /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n200\r\n" +
               std::string(512, 'c') + "\r\n0\r\n\r\n");
  EXPECT_THAT(chunked.receive_all(), StartsWith("HTTP/1.1 503 "));

  holder.send(std::string(100, 'a'));
  EXPECT_THAT(holder.receive_all(), StartsWith("HTTP/1.1 200 "));
  ASSERT_TRUE(wait_until([&] { return listener->buffered_bytes() == 0; }));
  EXPECT_EQ(client.send("PUT", "/echo", std::string(400, 'b'))->status, 200);
}

TEST(Http, MapsEveryErrorThereAndBack) {
  const std::vector<std::pair<ErrorCode, unsigned>> expected{
      {ErrorCode::kInvalid, 400},  {ErrorCode::kCorrupt, 400},     {ErrorCode::kUnsupported, 415},
      {ErrorCode::kTooLarge, 413}, {ErrorCode::kNotFound, 404},    {ErrorCode::kConflict, 409},
      {ErrorCode::kDenied, 403},   {ErrorCode::kUnavailable, 503}, {ErrorCode::kExhausted, 503},
      {ErrorCode::kIo, 500},
  };
  for (const auto& [code, status] : expected) {
    const Response response = error_response(Error{code, "no \"x\"\n", "events[0]", "do y"});
    EXPECT_EQ(response.status, status);
    const Error error = error_of(response, "trying");
    EXPECT_EQ(error.code, code);
    EXPECT_EQ(error.message, "trying: no \"x\"\n");
    EXPECT_EQ(error.field, "events[0]");
    EXPECT_EQ(error.hint, "do y");
  }
  EXPECT_THAT(error_response(Error{ErrorCode::kIo, "\xff\xfe", {}, {}}).body, HasSubstr("\xEF\xBF\xBD"));
}

TEST(Http, ReadsErrorsOfOthersByTheirStatus) {
  const std::vector<std::pair<unsigned, ErrorCode>> expected{
      {400, ErrorCode::kInvalid},     {401, ErrorCode::kDenied}, {418, ErrorCode::kInvalid},
      {429, ErrorCode::kUnavailable}, {500, ErrorCode::kIo},     {502, ErrorCode::kUnavailable},
  };
  for (const auto& [status, code] : expected) {
    for (const char* body : {"", "<html>\x1b[31m", "[]", "{\"error\": 3}", "{\"error\": {\"message\": 4}}",
                             "{\"error\": {\"code\": 1, \"message\": \"m\"}}"}) {
      EXPECT_EQ(error_of({.status = status, .body = body}, "trying").code, code) << status << body;
    }
  }
  EXPECT_THAT(error_of({.status = 502, .body = "\x1b[31m"}, "trying").message, Not(HasSubstr("\x1b")));
}

// It may be there later: the request was not at fault, and nor was the handler.
TEST(Http, AHandlerWithoutMemoryIsToBeAskedAgain) {
  Route takes_long = route("GET", "/long", [](const Request&) -> Response { throw std::bad_alloc(); });
  takes_long.threads = Threads::kLong;
  const auto listener = started(
      {route("GET", "/short", [](const Request&) -> Response { throw std::bad_alloc(); }), takes_long});
  Client client = client_of(*listener);
  for (const char* path : {"/short", "/long", "/short", "/long"}) {
    const auto answer = client.send("GET", path);
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->status, 503) << path;
    EXPECT_EQ(error_of(*answer, path).code, ErrorCode::kUnavailable) << path;
    EXPECT_EQ(retry_after_s(*answer), 1) << path;
  }
}

TEST(Http, TurnsWhatAHandlerThrowsIntoStatus500) {
  const auto listener =
      started({route("GET", "/throw", [](const Request&) -> Response { throw std::logic_error("no"); }),
               route("GET", "/strange", [](const Request&) -> Response { throw 3; }),
               route("GET", "/status", [](const Request&) { return Response{.status = 99}; }),
               route("GET", "/header", [](const Request&) {
                 Response response = text_response("fine");
                 response.headers.emplace_back("X-Split", "a\r\nX-Injected: b");
                 return response;
               })});
  Client client = client_of(*listener);
  for (const char* path : {"/throw", "/strange", "/status"}) {
    EXPECT_EQ(error_of(*client.send("GET", path), path).code, ErrorCode::kIo) << path;
  }
  const auto split = client.send("GET", "/header");
  EXPECT_EQ(split->body, "fine");
  EXPECT_THAT(split->header("X-Injected"), IsEmpty());
}

TEST(Http, ServesManyClientsAtOnce) {
  std::atomic<uint64_t> received_bytes = 0;
  const auto listener = started({route(
                                    "POST", "/sum",
                                    [&](const Request& request) {
                                      received_bytes += request.body.size();
                                      return text_response(std::to_string(request.body.size()));
                                    },
                                    1 << 20)},
                                {.threads = 4});
  std::atomic<uint64_t> sent_bytes = 0;
  std::vector<std::jthread> threads;
  for (unsigned seed = 0; seed < 8; ++seed) {
    threads.emplace_back([&, seed] {
      Client client = client_of(*listener);
      std::mt19937 random(seed);
      for (int i = 0; i < 50; ++i) {
        const std::string body(random() % 100'000, 'a');
        const auto response = client.send("POST", "/sum", body);
        ASSERT_TRUE(response.has_value()) << response.error().text();
        EXPECT_EQ(response->body, std::to_string(body.size()));
        sent_bytes += body.size();
      }
    });
  }
  threads.clear();
  EXPECT_GT(sent_bytes, 0);
  EXPECT_EQ(received_bytes, sent_bytes);
}

TEST(Http, RefusesAddressesBeyondLoopbackUnlessAllowed) {
  for (const char* address : {"0.0.0.0:0", "[::]:0", "192.0.2.1:0"}) {
    const auto refused = Listener::start({.address = address}, {});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kDenied);
    EXPECT_THAT(refused.error().message, HasSubstr(address));
    EXPECT_THAT(refused.error().hint, HasSubstr("127.0.0.1"));
  }
  const auto allowed =
      started({route("GET", "/", echo)}, {.address = "0.0.0.0:0", .allow_beyond_loopback = true});
  EXPECT_EQ(Client({.base_url = "http://127.0.0.1:" + std::to_string(allowed->port()) + "/"})
                .send("GET", "/")
                ->status,
            200);
}

TEST(Http, RefusesWrongAddressesRoutesAndOptions) {
  for (const char* address : {"", "7070", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70707", ":7070", "::1:7070",
                              "[::1]", "127.0.0.1:7070 "}) {
    const auto refused = Listener::start({.address = address}, {});
    ASSERT_FALSE(refused.has_value()) << address;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid) << address;
  }
  EXPECT_FALSE(Listener::start({}, {route("GET", "relative", echo)}).has_value());
  EXPECT_FALSE(Listener::start({}, {route("GET", "/a", nullptr)}).has_value());
  EXPECT_FALSE(Listener::start({}, {route("GET", "/a", echo), route("GET", "/a", echo)}).has_value());
  EXPECT_FALSE(Listener::start({}, {{"GET", "/a", true, 0, echo}}).has_value());
  EXPECT_FALSE(Listener::start({.threads = 0}, {}).has_value());
  EXPECT_FALSE(Listener::start({.max_buffered_bytes = 9}, {route("PUT", "/a", echo, 10)}).has_value());
}

TEST(Http, NamesTheAddressThatIsTaken) {
  const auto first = started({});
  const auto second = Listener::start({.address = first->address()}, {});
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  EXPECT_THAT(second.error().message, HasSubstr(first->address()));
}

TEST(Http, ServesWithOneThread) {
  const auto listener = started({route("GET", "/", echo)}, {.threads = 1});
  EXPECT_EQ(client_of(*listener).send("GET", "/")->status, 200);
}

TEST(Client, ExplainsWhatFailed) {
  const auto listener = started({});
  Client client = client_of(*listener);
  listener->stop();
  const auto closed = client.send("GET", "/a");
  ASSERT_FALSE(closed.has_value());
  EXPECT_EQ(closed.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(closed.error().message, HasSubstr("http://" + listener->address() + "/a"));
  EXPECT_THAT(closed.error().hint, HasSubstr(listener->address()));

  for (const char* url : {"ftp://127.0.0.1:1", "http://", "http://a b:1"}) {
    EXPECT_EQ(Client({.base_url = url}).send("GET", "/").error().code, ErrorCode::kInvalid) << url;
  }
  EXPECT_EQ(client.send("GE T", "/").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(client.send("GET", "@example.com/").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(client.send("GET", "/a b").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(client.send("PUT", "/", "", "a\r\nb: c").error().code, ErrorCode::kInvalid);
}

TEST(Client, BoundsTheResponseAndTheTime) {
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  const auto listener =
      started({route("GET", "/large", [](const Request&) { return text_response(std::string(1001, 'a')); }),
               route("GET", "/slow", [released](const Request&) {
                 released.wait();
                 return text_response("");
               })});
  Client client = client_of(*listener, 1000);
  EXPECT_EQ(client.send("GET", "/large").error().code, ErrorCode::kTooLarge);
  EXPECT_TRUE(client_of(*listener, 1001).send("GET", "/large").has_value());

  Client hasty({.base_url = listener->address(), .timeout_ms = 50});
  const auto late = hasty.send("GET", "/slow");
  release.set_value();
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(late.error().hint, HasSubstr("50 ms"));
}

TEST(Client, MovesAndKeepsItsConnection) {
  std::vector<std::string> peers;
  const auto listener = started({route("GET", "/", [&](const Request& request) {
    peers.push_back(request.peer);
    return text_response("");
  })});
  Client first = client_of(*listener);
  ASSERT_TRUE(first.send("GET", "/").has_value());
  Client second = std::move(first);
  ASSERT_TRUE(second.send("GET", "/").has_value());
  ASSERT_EQ(peers.size(), 2);
  EXPECT_EQ(peers[0], peers[1]);
}

TEST(Http, IsNotHeldUpByHalfSentRequests) {
  const auto listener = started({route("PUT", "/echo", echo, 1000)});
  std::vector<std::unique_ptr<RawConnection>> stalled;
  for (const char* part : {"", "PU", "PUT /echo HTTP/1.1\r\nHost:",
                           "PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab",
                           "PUT /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"}) {
    for (int i = 0; i < 4; ++i) {
      stalled.push_back(std::make_unique<RawConnection>(*listener));
      stalled.back()->send(part);
    }
  }
  Client client = client_of(*listener);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(client.send("PUT", "/echo", "x")->body, "x");
  }
}

TEST(Http, ClosesConnectionsOnWhichNothingMoves) {
  const auto listener = started({route("PUT", "/echo", echo, 1000)}, {.timeout_s = 1});
  RawConnection connection(*listener);
  connection.send("PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab");
  const int64_t begin_ns = monotonic_now_ns();
  connection.receive_all();
  EXPECT_LT(monotonic_now_ns() - begin_ns, kGuardNs);
}

TEST(Http, OutlivesClientsThatGoAwayAndNoise) {
  const auto listener = started(
      {route("GET", "/large", [](const Request&) { return text_response(std::string(8 << 20, 'a')); })});
  for (int i = 0; i < 5; ++i) {
    RawConnection connection(*listener);
    connection.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    connection.close_with_reset();
    RawConnection noise(*listener);
    noise.send("\x16\x03\x01\x02 not http\r\n\r\n");
    EXPECT_THAT(noise.receive_all(), Not(HasSubstr("200 OK")));
  }
  EXPECT_EQ(client_of(*listener).send("GET", "/large")->body.size(), 8 << 20);
}

Route long_route(std::string method, std::string path, std::function<Response(const Request&)> handle,
                 size_t max_body_bytes) {
  Route result = route(std::move(method), std::move(path), std::move(handle), max_body_bytes);
  result.threads = Threads::kLong;
  return result;
}

TEST(Http, AnswersShortRequestsWhileLongOnesAreHandled) {
  std::latch entered(2);
  std::latch release(1);
  const auto listener = started({long_route(
                                     "PUT", "/long",
                                     [&](const Request& request) {
                                       entered.count_down();
                                       release.wait();
                                       return echo(request);
                                     },
                                     1000),
                                 route("GET", "/short", [](const Request&) { return text_response("now"); })},
                                {.threads = 1, .pools = {.long_threads = 2}});
  const auto send_long = [&](std::string body) {
    return std::async(std::launch::async,
                      [&, body] { return client_of(*listener).send("PUT", "/long", body); });
  };
  auto first = send_long("a");
  auto second = send_long("b");
  entered.wait();
  EXPECT_EQ(client_of(*listener).send("GET", "/short")->body, "now");
  release.count_down();
  EXPECT_EQ(first.get()->body, "a");
  EXPECT_EQ(second.get()->body, "b");
}

TEST(Http, RefusesMoreLongRequestsThanMayWait) {
  std::atomic_flag entered;
  std::latch release(1);
  const auto listener = started({long_route(
                                    "PUT", "/long",
                                    [&](const Request& request) {
                                      entered.test_and_set();
                                      entered.notify_all();
                                      release.wait();
                                      return text_response(std::to_string(request.body.size()));
                                    },
                                    4 << 20)},
                                {.pools = {.long_threads = 1, .max_requests = 1}});
  auto running = std::async(std::launch::async,
                            [&] { return client_of(*listener).send("PUT", "/long", "the only one"); });
  entered.wait(false);
  Client client = client_of(*listener);
  for (const size_t size : {0UL, 100'000UL, 3UL << 20}) {
    const auto refused = client.send("PUT", "/long", std::string(size, 'a'));
    ASSERT_TRUE(refused.has_value()) << size << refused.error().text();
    EXPECT_EQ(refused->status, 429);
    EXPECT_EQ(refused->header("Retry-After"), "1");
    // What is small is read to its end, so that the connection stays of use.
    EXPECT_EQ(refused->header("Connection"), size > 1'000'000 ? "close" : "");
    EXPECT_EQ(error_of(*refused, "sending").code, ErrorCode::kUnavailable);
  }
  EXPECT_LT(listener->buffered_bytes(), 100);
  release.count_down();
  EXPECT_EQ(running.get()->body, "12");
  ASSERT_TRUE(wait_until([&] { return client.send("PUT", "/long", "again")->ok(); }));
}

TEST(Http, OneCallerLeavesPlacesForOthers) {
  std::latch release(1);
  const auto listener =
      started({long_route(
                  "PUT", "/long",
                  [&](const Request& request) {
                    release.wait();
                    return echo(request);
                  },
                  1000)},
              {.pools = {.long_threads = 1, .max_requests = 4, .serves_callers_in_turn = true}});
  std::vector<std::future<Result<Response>>> waiting;
  const auto send = [&] {
    waiting.push_back(
        std::async(std::launch::async, [&] { return client_of(*listener).send("PUT", "/long", "four"); }));
  };
  send();
  send();
  ASSERT_TRUE(wait_until([&] { return listener->buffered_bytes() == 8; })) << "both have a place";
  EXPECT_EQ(client_of(*listener).send("PUT", "/long", "more")->status, 429);
  RawConnection other(*listener, "127.0.0.2");
  other.send("PUT /long HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nfour");
  EXPECT_TRUE(wait_until([&] { return listener->buffered_bytes() == 12; })) << "another address finds one";
  release.count_down();
  for (auto& answer : waiting) {
    EXPECT_EQ(answer.get()->body, "four");
  }
}

TEST(Http, AsksWhomItServedToComeInTurnWhileOthersWait) {
  std::atomic_flag entered;
  std::latch release(1);
  const auto listener = started({long_route(
                                    "PUT", "/long",
                                    [&](const Request& request) {
                                      entered.test_and_set();
                                      entered.notify_all();
                                      release.wait();
                                      return echo(request);
                                    },
                                    1000)},
                                {.pools = {.long_threads = 1, .max_requests = 2}});
  const auto send = [&](std::string body) {
    return std::async(std::launch::async,
                      [&, body] { return client_of(*listener).send("PUT", "/long", body); });
  };
  auto first = send("first");
  entered.wait(false);
  auto second = send("second");
  ASSERT_TRUE(wait_until([&] { return listener->buffered_bytes() == 11; })) << "both bodies are there";
  release.count_down();
  EXPECT_EQ(first.get()->header("Retry-After"), "1");
  EXPECT_EQ(second.get()->header("Retry-After"), "") << "nobody waits any more";
}

TEST(Http, CountsLongRequestsWhileTheyAreReceived) {
  const auto listener = started({long_route("PUT", "/long", echo, 1000)}, {.pools = {.max_requests = 1}});
  auto slow = std::make_unique<RawConnection>(*listener);
  slow->send("PUT /long HTTP/1.1\r\nHost: a\r\nContent-Length: 800\r\n\r\n");
  slow->send(std::string(700, 'a'));
  ASSERT_TRUE(wait_until([&] { return listener->buffered_bytes() > 0; }));
  Client client = client_of(*listener);
  EXPECT_EQ(client.send("PUT", "/long", "b")->status, 429);
  slow.reset();
  ASSERT_TRUE(wait_until([&] { return client.send("PUT", "/long", "b")->ok(); }));
}

Route question(std::string path, std::function<Response(const Request&)> handle) {
  Route result = long_route("GET", std::move(path), std::move(handle), 0);
  result.is_question = true;
  return result;
}

WorkCounts long_counts(const Listener& listener) {
  return listener.counts().pools.at(0).counts;
}

// Questions that wait until they are abandoned or released.
struct SlowQuestions {
  Route route() {
    return question("/slow", [this](const Request& request) {
      ++begun;
      const bool has_ended = wait_until([&] { return released.load() || request.is_abandoned(); });
      EXPECT_TRUE(has_ended);
      return text_response(request.is_abandoned() ? "too late" : "slow");
    });
  }
  static constexpr const char* kAsk = "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n";

  std::atomic<int> begun = 0;
  std::atomic<bool> released = false;
};

TEST(Http, AQuestionEndsWithItsClientAndNoneBeginsWithoutOne) {
  SlowQuestions slow;
  const auto listener = started({slow.route(), question("/quick", echo)}, {.pools = {.long_threads = 1}});
  auto running = std::make_unique<RawConnection>(*listener);
  running->send(SlowQuestions::kAsk);
  ASSERT_TRUE(wait_until([&] { return slow.begun == 1; }));
  {
    RawConnection waiting(*listener);
    waiting.send(SlowQuestions::kAsk);
    ASSERT_TRUE(wait_until([&] { return long_counts(*listener).waiting == 1; }));
  }
  EXPECT_EQ(long_counts(*listener).cancelled, 0);
  running.reset();
  EXPECT_EQ(client_of(*listener).send("GET", "/quick")->status, 200);
  EXPECT_EQ(long_counts(*listener).cancelled, 2);
  EXPECT_EQ(slow.begun, 1);
}

TEST(Http, QuestionsWhoseClientsHaveGoneMakeRoomForOthers) {
  SlowQuestions slow;
  const auto listener = started({slow.route()}, {.pools = {.long_threads = 1, .max_requests = 2}});
  RawConnection running(*listener);
  running.send(SlowQuestions::kAsk);
  ASSERT_TRUE(wait_until([&] { return slow.begun == 1; }));
  {
    RawConnection waiting(*listener);
    waiting.send(SlowQuestions::kAsk);
    ASSERT_TRUE(wait_until([&] { return long_counts(*listener).waiting == 1; }));
  }
  RawConnection next(*listener);
  next.send(SlowQuestions::kAsk);
  EXPECT_TRUE(wait_until([&] {
    const WorkCounts counts = long_counts(*listener);
    return counts.cancelled == 1 && counts.waiting == 1;
  })) << "it has the place of the one before";
  slow.released = true;
}

TEST(Http, ACallerHasNeitherAllThreadsNorAllPlaces) {
  SlowQuestions slow;
  const auto listener =
      started({slow.route(), question("/quick", echo)},
              {.pools = {.long_threads = 2, .max_requests = 4, .serves_callers_in_turn = true}});
  std::vector<std::unique_ptr<RawConnection>> greedy;
  for (int i = 0; i < 2; ++i) {
    greedy.push_back(std::make_unique<RawConnection>(*listener, "127.0.0.2"));
    greedy.back()->send(SlowQuestions::kAsk);
  }
  ASSERT_TRUE(wait_until([&] { return slow.begun == 1 && long_counts(*listener).waiting == 1; }))
      << "with a thread free";
  RawConnection more(*listener, "127.0.0.2");
  more.send("GET /quick HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(more.receive_all(), AllOf(HasSubstr(" 429 "), HasSubstr("Retry-After: "),
                                        HasSubstr("too many requests of 127.0.0.2 to /quick")));
  EXPECT_EQ(client_of(*listener).send("GET", "/quick")->status, 200) << "of another caller";
  EXPECT_EQ(long_counts(*listener).refused, 1);
  slow.released = true;
}

TEST(Http, QuestionsThatFindNoPlaceAreToComeBack) {
  SlowQuestions slow;
  const auto listener = started(
      {slow.route()}, {.pools = {.long_threads = 1, .max_requests = 1, .serves_callers_in_turn = true}});
  RawConnection running(*listener, "127.0.0.2");
  running.send(SlowQuestions::kAsk);
  ASSERT_TRUE(wait_until([&] { return slow.begun == 1; }));
  const auto refused = client_of(*listener).send("GET", "/slow");
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->header("Retry-After"), "1");
  slow.released = true;
}

TEST(Http, GivesUpQuestionsAndServesAllElse) {
  SlowQuestions slow;
  const auto listener =
      started({slow.route(), long_route("GET", "/order", echo, 0), route("GET", "/health", echo)},
              {.pools = {.long_threads = 1}});
  auto running = std::async(std::launch::async, [&] { return client_of(*listener).send("GET", "/slow"); });
  ASSERT_TRUE(wait_until([&] { return slow.begun == 1; }));
  auto waiting = std::async(std::launch::async, [&] { return client_of(*listener).send("GET", "/slow"); });
  ASSERT_TRUE(wait_until([&] { return long_counts(*listener).waiting == 1; }));
  listener->give_up_questions();
  EXPECT_EQ(running.get()->body, "too late");
  EXPECT_EQ(waiting.get()->status, 503);
  EXPECT_THAT(client_of(*listener).send("GET", "/slow")->body, HasSubstr("the server is stopping"));
  EXPECT_EQ(slow.begun, 1);
  EXPECT_EQ(client_of(*listener).send("GET", "/order")->status, 200);
  EXPECT_EQ(client_of(*listener).send("GET", "/health")->status, 200);
}

TEST(Http, AnOrderIsCarriedOutThoughItsClientHasGone) {
  SlowQuestions slow;
  std::promise<void> done;
  const auto listener = started({slow.route(), long_route(
                                                   "POST", "/order",
                                                   [&](const Request&) {
                                                     done.set_value();
                                                     return text_response("done");
                                                   },
                                                   100)},
                                {.pools = {.long_threads = 1}});
  RawConnection running(*listener);
  running.send(SlowQuestions::kAsk);
  ASSERT_TRUE(wait_until([&] { return slow.begun == 1; }));
  {
    RawConnection order(*listener);
    order.send("POST /order HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n!");
    ASSERT_TRUE(wait_until([&] { return long_counts(*listener).waiting == 1; }));
  }
  slow.released = true;
  done.get_future().get();
}

TEST(Http, LetsLongRequestsFinishWhenItStops) {
  std::latch entered(1);
  std::latch release(1);
  const auto listener = started({long_route(
                                    "PUT", "/long",
                                    [&](const Request& request) {
                                      if (request.body == "first") {
                                        entered.count_down();
                                        release.wait();
                                      }
                                      return echo(request);
                                    },
                                    1000)},
                                {.pools = {.long_threads = 1}});
  const auto send_long = [&](std::string body) {
    return std::async(std::launch::async,
                      [&, body] { return client_of(*listener).send("PUT", "/long", body); });
  };
  auto first = send_long("first");
  entered.wait();
  auto stopping = std::async(std::launch::async, [&] { listener->stop(); });
  release.count_down();
  EXPECT_EQ(first.get()->body, "first");
  stopping.get();
}

TEST(Http, LetsRunningRequestsFinishWhenItStops) {
  std::latch entered(1);
  std::promise<void> release;
  const auto listener = started({route("GET", "/wait", [&](const Request&) {
    entered.count_down();
    release.get_future().wait();
    return text_response(std::string(1 << 20, 'a'));
  })});
  auto reply = std::async(std::launch::async, [&] { return client_of(*listener).send("GET", "/wait"); });
  entered.wait();
  auto stopped = std::async(std::launch::async, [&] { listener->stop(); });
  release.set_value();
  listener->stop();
  stopped.get();
  const auto response = reply.get();
  ASSERT_TRUE(response.has_value()) << response.error().text();
  EXPECT_EQ(response->body.size(), 1 << 20);
  EXPECT_FALSE(client_of(*listener).send("GET", "/wait").has_value());
}

TEST(Http, StopsUnderLoadWithoutHalfReplies) {
  const auto listener = started({route("POST", "/echo", echo, 1 << 20)}, {.threads = 4});
  std::latch warm(4);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      Client client = client_of(*listener);
      const std::string body(50'000, 'a');
      for (int sent = 0;; ++sent) {
        const auto response = client.send("POST", "/echo", body);
        if (sent == 3) {
          warm.count_down();
        }
        if (!response || response->status == 503) {
          EXPECT_GE(sent, 3);
          break;
        }
        ASSERT_EQ(response->body.size(), body.size());
      }
    });
  }
  warm.wait();
  listener->stop();
}

// Where it could not, this would take as long as the request may.
TEST(Http, GivesUpARequestThatIsCancelled) {
  std::promise<void> arrived;
  std::promise<void> cancelled;
  const auto listener = started({route("GET", "/slow", [&](const Request&) {
    arrived.set_value();
    cancelled.get_future().wait();
    return text_response("late");
  })});
  const UniqueFd cancel(::eventfd(0, EFD_CLOEXEC));
  Client client({.base_url = listener->address(), .timeout_ms = 3'600'000, .cancel_fd = cancel.get()});
  std::thread canceller([&] {
    arrived.get_future().wait();
    ::eventfd_write(cancel.get(), 1);
  });
  const auto response = client.send("GET", "/slow");
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(response.error().text(), HasSubstr("it was cancelled"));
  canceller.join();
  cancelled.set_value();
}

struct RetryCase {
  const char* header;
  int64_t seconds;
};

TEST(RetryAfter, IsTheSecondsThatAnAnswerAsksFor) {
  for (const RetryCase& c : {
           RetryCase{"120", 120},
           RetryCase{"0", 0},
           RetryCase{"86401", 86'400},
           RetryCase{"99999999999999999999", 0},
           RetryCase{"-5", 0},
           RetryCase{"Wed, 21 Oct 2015 07:28:00 GMT", 0},
           RetryCase{"12 s", 0},
           RetryCase{"", 0},
       }) {
    Response response = text_response("");
    response.headers.emplace_back("retry-after", c.header);
    EXPECT_EQ(retry_after_s(response), c.seconds) << c.header;
  }
  EXPECT_EQ(retry_after_s(text_response("")), 0) << "no such header";
}

}  // namespace
}  // namespace plimsoll::http
