// What a listener asks its access_control, and when.
#include "http/access_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <new>

#include "http/client.h"
#include "http/listener.h"

namespace plimsoll::http {
namespace {

using ::testing::ElementsAre;

// Lets in whoever has a token, and keeps what became of requests.
class RecordingAccessControl : public AccessControl {
 public:
  std::optional<Response> admit(Request& request, const Route& route) override {
    EXPECT_TRUE(request.body.empty());
    const std::string_view token = request.header("Authorization");
    if (token.empty() && route.right != Right::kNone) {
      Response refusal = error_response(fail(ErrorCode::kDenied, "no token").error());
      refusal.status = 401;
      return refusal;
    }
    request.caller = {Role::kRead, std::string(token)};
    return std::nullopt;
  }
  void answered(const Request& request, const Route* route, unsigned status) override {
    const std::lock_guard lock(mutex_);
    seen_.push_back(fmt::format("{} {} {} {}", request.caller.name,
                                route == nullptr ? "nothing" : route->path, request.path, status));
  }
  std::vector<std::string> seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> seen_;
};

class AccessControlTest : public ::testing::Test {
 protected:
  static Response name_caller(const Request& request) { return {.body = request.caller.name}; }
  Route route(const std::string& path, Right right, Threads threads) {
    Route route;
    route.method = "POST";
    route.path = path;
    route.is_prefix = path.ends_with('/');
    route.max_body_bytes = 8UL << 20;
    route.handle = &name_caller;
    route.threads = threads;
    route.right = right;
    return route;
  }
  std::string ask(const std::string& path, const std::string& token, const std::string& body = {}) {
    Client client({.base_url = listener_->address(), .credentials = {.token = token}});
    const auto answer = client.send("POST", path, body);
    return answer ? fmt::format("{} {}", answer->status, answer->ok() ? answer->body : "")
                  : answer.error().text();
  }

  RecordingAccessControl access_control_;
  std::unique_ptr<Listener> listener_ = *Listener::start(
      {.access_control = &access_control_},
      {route("/open", Right::kNone, Threads::kConnections),
       route("/read", Right::kRead, Threads::kConnections), route("/long/", Right::kUpload, Threads::kLong)});
};

TEST_F(AccessControlTest, HandlersLearnWhoAsks) {
  EXPECT_EQ(ask("/read", "alice-alice-alice"), "200 Bearer alice-alice-alice");
  EXPECT_EQ(ask("/long/1", "alice-alice-alice", "body"), "200 Bearer alice-alice-alice");
  EXPECT_EQ(ask("/open", ""), "200 ");
}

TEST_F(AccessControlTest, NoHandlerHearsOfWhomItRefuses) {
  EXPECT_EQ(ask("/read", ""), "401 ");
  EXPECT_EQ(ask("/long/1", "", "body"), "401 ");
  EXPECT_EQ(ask("/long/1", "", std::string(4UL << 20, 'x')), "401 ") << "before the body is sent";
}

TEST_F(AccessControlTest, HearsOnceWhatBecameOfEachRequest) {
  ask("/read", "alice-alice-alice");
  ask("/long/1", "");
  ask("/long/1", "alice-alice-alice", "body");
  ask("/read", "alice-alice-alice", std::string(9UL << 20, 'x'));
  ask("/elsewhere", "alice-alice-alice");
  listener_->stop();
  EXPECT_THAT(access_control_.seen(),
              ElementsAre("Bearer alice-alice-alice /read /read 200", " /long/ /long/1 401",
                          "Bearer alice-alice-alice /long/ /long/1 200",
                          "Bearer alice-alice-alice /read /read 413", " nothing /elsewhere 404"));
}

class Clumsy : public AccessControl {
 public:
  std::optional<Response> admit(Request& /*request*/, const Route& /*route*/) override {
    return std::nullopt;
  }
  void answered(const Request& /*request*/, const Route* /*route*/, unsigned /*status*/) override {
    throw std::bad_alloc();
  }
};

TEST(AccessControl, ThatThrowsKeepsNoListenerFromStopping) {
  Clumsy clumsy;
  Route route;
  route.method = "GET";
  route.path = "/";
  route.handle = [](const Request& /*request*/) { return Response{}; };
  const auto listener = *Listener::start({.access_control = &clumsy}, {route});
  EXPECT_FALSE(Client({.base_url = listener->address()}).send("GET", "/"));
  listener->stop();
}

}  // namespace
}  // namespace plimsoll::http
