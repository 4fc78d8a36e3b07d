// What the service manager hears.
#include "daemon/service/service_notifier.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <map>

#include "daemon/service/ready_socket.h"
#include "tests/temporary_directory.h"

namespace plimsoll {
namespace {

using ::testing::StartsWith;

// Stands in for the service manager: a datagram socket at this address, which may be abstract ('@').
class Listener {
 public:
  explicit Listener(std::string address) : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    address.copy(name.sun_path, sizeof name.sun_path);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
    if (address[0] == '@') {
      name.sun_path[0] = '\0';
    }
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&name), length), 0);
  }

  // The next message; empty: none has come.
  std::string next() const {
    std::array<char, 1024> buffer{};
    const ssize_t length = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    return {buffer.data(), length < 0 ? 0 : static_cast<size_t>(length)};
  }

 private:
  UniqueFd fd_;
};

ServiceNotifier notifier(const std::map<std::string, std::string>& environment) {
  return ServiceNotifier([&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(ServiceNotifier, TellsWhatHappensToAPath) {
  const testing::TemporaryDirectory folder;
  const std::string path = folder / "notify";
  const Listener listener(path);
  ServiceNotifier notifier = plimsoll::notifier({{"NOTIFY_SOCKET", path}});
  notifier.ready();
  EXPECT_EQ(listener.next(), "READY=1");
  notifier.status("two\nlines");
  EXPECT_EQ(listener.next(), "STATUS=two");
  notifier.reloading();
  EXPECT_THAT(listener.next(), StartsWith("RELOADING=1\nMONOTONIC_USEC="));
  notifier.stopping();
  EXPECT_EQ(listener.next(), "STOPPING=1");
}

TEST(ReadySocket, HearsWhetherAServiceIsReady) {
  const auto socket = ReadySocket::open();
  ASSERT_TRUE(socket.has_value()) << socket.error().text();
  ServiceNotifier notifier = plimsoll::notifier({{"NOTIFY_SOCKET", socket->address()}});
  EXPECT_FALSE(socket->take_ready());
  notifier.status("READY=1 soon");
  EXPECT_FALSE(socket->take_ready());
  notifier.ready();
  notifier.status("at work");
  EXPECT_TRUE(socket->take_ready());
  EXPECT_FALSE(socket->take_ready()) << "it was said once";
}

TEST(ReadySocket, HasAnAddressOfItsOwn) {
  const auto first = ReadySocket::open();
  const auto second = ReadySocket::open();
  EXPECT_NE(first->address(), second->address());
}

TEST(ServiceNotifier, TellsAnAbstractSocket) {
  const std::string address = fmt::format("@plimsoll-test-{}", ::getpid());
  const Listener listener(address);
  notifier({{"NOTIFY_SOCKET", address}}).ready();
  EXPECT_EQ(listener.next(), "READY=1");
}

TEST(ServiceNotifier, IsSilentWhereNobodyListens) {
  for (const std::string address : {"", "@", "relative", "/nonexistent/socket", "/too-long-for-a-socket"}) {
    const bool is_long = address.starts_with("/too");
    ServiceNotifier notifier =
        plimsoll::notifier({{"NOTIFY_SOCKET", is_long ? address + std::string(200, 'x') : address}});
    notifier.ready();
    notifier.alive();
  }
  EXPECT_EQ(notifier({}).alive_until_ns(), INT64_MAX);
}

TEST(ServiceNotifier, GivesSignsOfLifeOnlyWhenTheyAreDue) {
  const std::string address = fmt::format("@plimsoll-test-{}", ::getpid());
  const Listener listener(address);
  ServiceNotifier notifier =
      plimsoll::notifier({{"NOTIFY_SOCKET", address}, {"WATCHDOG_USEC", "3600000000"}});
  notifier.alive();
  EXPECT_EQ(listener.next(), "WATCHDOG=1");
  notifier.alive();
  EXPECT_EQ(listener.next(), "");
  EXPECT_LT(notifier.alive_until_ns(), INT64_MAX);
}

TEST(ServiceNotifier, LeavesTheWatchdogOfAnotherProcessAlone) {
  for (const auto& [name, value] : {std::pair("WATCHDOG_PID", "1"), std::pair("WATCHDOG_USEC", "soon"),
                                    std::pair("WATCHDOG_USEC", "9223372036854775807")}) {
    std::map<std::string, std::string> environment{{"NOTIFY_SOCKET", "@nobody"},
                                                   {"WATCHDOG_USEC", "1000000"}};
    environment[name] = value;
    EXPECT_EQ(notifier(environment).alive_until_ns(), INT64_MAX) << name << "=" << value;
  }
}

}  // namespace
}  // namespace plimsoll
