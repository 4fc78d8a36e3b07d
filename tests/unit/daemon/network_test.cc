// Addresses of network namespaces, the kernel's tables of sockets, and connections that lead where they are to lead.
#include "daemon/scrape/network.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "daemon/scrape/listening_processes.h"
#include "daemon/scrape/tcp_table.h"
#include "tests/unit/capture/identity/fake_proc.h"

namespace plimsoll::scrape::network_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// As the kernel writes it: both tables have the addresses.
const std::string kFibTrie =
    "Main:\n"
    "  +-- 0.0.0.0/0 3 0 5\n"
    "     |-- 0.0.0.0\n"
    "        /0 universe UNICAST\n"
    "     +-- 172.17.0.0/16 2 0 2\n"
    "        |-- 172.17.0.0\n"
    "           /16 link UNICAST\n"
    "        |-- 172.17.0.5\n"
    "           /32 host LOCAL\n"
    "        |-- 172.17.255.255\n"
    "           /32 link BROADCAST\n"
    "     +-- 127.0.0.0/8 2 0 2\n"
    "        |-- 127.0.0.0\n"
    "           /8 host LOCAL\n"
    "        |-- 127.0.0.1\n"
    "           /32 host LOCAL\n"
    "Local:\n"
    "     |-- 172.17.0.5\n"
    "        /32 host LOCAL\n"
    "     |-- 10.1.2.3\n"
    "        /32 host LOCAL\n";
const std::string kIfInet6 =
    "00000000000000000000000000000001 01 80 10 80       lo\n"
    "fe80000000000000004200fffe110005 02 40 20 80     eth0\n"
    "20010db8000000000000000000000005 102 40 00 80     eth0\n";

TEST(NetworkAddresses, AreTheNamespacesOwnWithoutLoopback) {
  EXPECT_THAT(parse_own_ipv4(kFibTrie), ElementsAre("172.17.0.5", "10.1.2.3"));
  EXPECT_THAT(parse_own_ipv6(kIfInet6), ElementsAre("2001:db8::5"));
}

TEST(NetworkAddresses, AreLimited) {
  std::string ipv4;
  std::string ipv6;
  for (int i = 0; i < 2000; ++i) {
    ipv4 += fmt::format("|-- 10.0.{}.{}\n/32 host LOCAL\n", i / 256, i % 256);
    ipv6 += fmt::format("20010db8{:024x} 02 40 00 80 eth0\n", i);
  }
  EXPECT_EQ(parse_own_ipv4(ipv4).size(), 1000);
  EXPECT_EQ(parse_own_ipv6(ipv6).size(), 1000);
}

TEST(NetworkAddresses, DamagedTextHasNone) {
  for (const char* text : {"", "\n", "/32 host LOCAL", "|-- 10.0.0.1", "|-- 10.0.0.1\n/32 link LOCAL\n",
                           "2001 1 40 00 80 eth0", "20010db800000000000000000000000x 01 40 00 80 eth0"}) {
    EXPECT_THAT(parse_own_ipv6(text), IsEmpty()) << text;
    EXPECT_THAT(parse_own_ipv4(text), IsEmpty()) << text;
  }
}

std::string reached(const std::string& host, const std::string& loopback, bool is_ours) {
  return reached_host({.address = "", .host = host, .loopback_host = loopback}, is_ours,
                      {"172.17.0.5", "2001:db8::5"});
}

TEST(NetworkReach, IsLoopbackAtHomeAndAnOwnAddressElsewhere) {
  EXPECT_EQ(reached("127.0.0.1", "127.0.0.1", true), "127.0.0.1");
  EXPECT_EQ(reached("0.0.0.0", "127.0.0.1", true), "127.0.0.1");
  EXPECT_EQ(reached("172.17.0.5", "", true), "172.17.0.5");
  EXPECT_EQ(reached("127.0.0.1", "127.0.0.1", false), "");
  EXPECT_EQ(reached("0.0.0.0", "127.0.0.1", false), "172.17.0.5");
  EXPECT_EQ(reached("::", "::1", false), "172.17.0.5");
  EXPECT_EQ(reached("2001:db8::5", "", false), "2001:db8::5");
  EXPECT_EQ(reached("192.0.2.1", "", false), "") << "no address of its own";
}

// Process 40 in a namespace of its own, as a container is.
class Container : public ::testing::Test {
 protected:
  Container() {
    proc_.file("net/tcp", "");
    namespace_of("self", "net:[1]");
    enter(40, "net:[2]");
    proc_.file("40/net/fib_trie", kFibTrie);
  }

  void namespace_of(const std::string& process, const std::string& name) const {
    std::filesystem::create_directories(proc_.root() + "/" + process + "/ns");
    std::filesystem::create_symlink(name, proc_.root() + "/" + process + "/ns/net");
  }
  void enter(uint32_t pid, const std::string& network) const {
    namespace_of(std::to_string(pid), network);
    proc_.file(fmt::format("{}/comm", pid), "search\n");
    std::filesystem::create_directories(fmt::format("{}/{}/fd", proc_.root(), pid));
    std::filesystem::create_symlink(fmt::format("socket:[{}]", 1000 + pid),
                                    fmt::format("{}/{}/fd/3", proc_.root(), pid));
  }
  // Its socket, at that address and port 6060.
  void listens(uint32_t pid, const std::string& kernel_address) const {
    proc_.file(fmt::format("{}/net/tcp", pid),
               fmt::format("0: {}:17AC x 0A a b c d e {}\n", kernel_address, 1000 + pid));
  }
  std::vector<std::string> found() const {
    const auto all = find_listening_processes({{.program = "search", .ports = "6060", .paths = {"/a"}}},
                                              identity::ProcFs(proc_.root()),
                                              [](uint32_t /*pid*/) { return std::string(); });
    std::vector<std::string> lines = all.problems;
    for (const ListeningProcess& process : all.processes) {
      lines.push_back(fmt::format("{} {}", process.pid, process.base_url));
    }
    return lines;
  }

  identity::FakeProc proc_;
};

TEST_F(Container, IsReachedAtAnAddressOfItsOwn) {
  listens(40, "00000000");
  EXPECT_THAT(found(), ElementsAre("40 http://172.17.0.5:6060"));
  listens(40, "0302010A");
  EXPECT_THAT(found(), ElementsAre("40 http://10.1.2.3:6060"));
}

TEST_F(Container, MayListenOnThePortOfAnother) {
  listens(40, "00000000");
  enter(50, "net:[3]");
  listens(50, "00000000");
  proc_.file("50/net/fib_trie", "|-- 172.17.0.6\n/32 host LOCAL\n");
  EXPECT_THAT(found(), ElementsAre("40 http://172.17.0.5:6060", "50 http://172.17.0.6:6060"));
}

TEST_F(Container, OnItsLoopbackIsOutOfReach) {
  listens(40, "0100007F");
  EXPECT_THAT(found(), ElementsAre(HasSubstr("process 40 is not reached from this network namespace")));
  const identity::ProcFs proc_fs(proc_.root());
  const Status loopback = check_reach(proc_fs, 40, "127.0.0.1");
  ASSERT_FALSE(loopback);
  EXPECT_THAT(loopback.error().hint, HasSubstr("Unix socket"));
}

TEST_F(Container, IsNotReachedAtAddressesOfOthers) {
  const identity::ProcFs proc_fs(proc_.root());
  EXPECT_TRUE(check_reach(proc_fs, 40, "172.17.0.5"));
  proc_.file("40/net/if_inet6", kIfInet6);
  EXPECT_TRUE(check_reach(proc_fs, 40, "2001:db8:0:0::5")) << "in other words";
  namespace_of("50", "net:[1]");
  EXPECT_TRUE(check_reach(proc_fs, 50, "0:0::1")) << "loopback of this namespace";
  for (const char* host : {"192.0.2.1", "172.17.0.0", "172.17.255.255", "0.0.0.0", "169.254.169.254"}) {
    const Status reach = check_reach(proc_fs, 40, host);
    ASSERT_FALSE(reach) << host;
    EXPECT_EQ(reach.error().code, ErrorCode::kDenied);
  }
}

TEST(TcpTable, HasBothEndsAndTheInode) {
  const auto sockets = parse_tcp_table(
      "  sl  local_address rem_address   st\n"
      "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1001 1 0\n"
      "   1: 0100007F:1F90 0100007F:D2F0 01 00000000:00000000 00:00000000 00000000  1000        0 0 1 0\n");
  ASSERT_EQ(sockets.size(), 2);
  EXPECT_TRUE(sockets[0].is_listening);
  EXPECT_EQ(sockets[0].inode, 1001);
  EXPECT_FALSE(sockets[1].is_listening);
  EXPECT_EQ(sockets[1].local, "0100007F:1F90");
  EXPECT_EQ(sockets[1].remote, "0100007F:D2F0");
}

TEST(TcpTable, WritesAddressesInTheMachinesOrder) {
  EXPECT_EQ(host_of_kernel_text("0100007F"), "127.0.0.1");
  EXPECT_EQ(host_of_kernel_text("0000000000000000FFFF0000050011AC"), "172.17.0.5");
  EXPECT_EQ(host_of_kernel_text("00000000000000000000000001000000"), "::1");
  for (const char* text : {"", "0", "0100007G", "0100007F0", "-100007F"}) {
    EXPECT_EQ(host_of_kernel_text(text), "") << text;
  }
  in_addr ipv4{};
  ::inet_pton(AF_INET, "172.17.0.5", &ipv4);
  EXPECT_EQ(kernel_text(ipv4), "050011AC");
  EXPECT_EQ(kernel_text_in_ipv6(kernel_text(ipv4)), "0000000000000000FFFF0000050011AC");
}

sockaddr_storage ipv4_address(const char* host, uint16_t port) {
  sockaddr_in ipv4{};
  ipv4.sin_family = AF_INET;
  ipv4.sin_port = htons(port);
  ::inet_pton(AF_INET, host, &ipv4.sin_addr);
  sockaddr_storage storage{};
  std::memcpy(&storage, &ipv4, sizeof ipv4);
  return storage;
}

TEST(TcpTable, HasAConnectionInEitherFamily) {
  const sockaddr_storage local = ipv4_address("172.17.0.5", 6060);
  const sockaddr_storage remote = ipv4_address("172.17.0.1", 54000);
  EXPECT_TRUE(has_connection("0: 050011AC:17AC 010011AC:D2F0 01 a b c d e 7\n", local, remote));
  EXPECT_TRUE(
      has_connection("0: 0000000000000000FFFF0000050011AC:17AC 0000000000000000FFFF0000010011AC:D2F0 03 a "
                     "b c d e 0\n",
                     local, remote));
  EXPECT_FALSE(has_connection("0: 010011AC:D2F0 050011AC:17AC 01 a b c d e 7\n", local, remote))
      << "this end";
  EXPECT_FALSE(has_connection("0: 050011AC:17AC 010011AC:D2F1 01 a b c d e 7\n", local, remote));
  EXPECT_FALSE(has_connection("0: 050011AC:17AC 010011AC:D2F0 0A a b c d e 7\n", local, remote));
}

// A socket of this process that listens on loopback.
class NetworkPeer : public Container {
 protected:
  NetworkPeer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_storage any_port = ipv4_address("127.0.0.1", 0);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&any_port), sizeof(sockaddr_in)), 0);
    EXPECT_EQ(::listen(listener_.get(), 16), 0);
    sockaddr_in bound{};
    socklen_t size = sizeof bound;
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&bound), &size), 0);
    port_ = ntohs(bound.sin_port);
  }

  const UniqueFd listener_;
  uint16_t port_ = 0;
};

TEST_F(NetworkPeer, IsInTheNamespaceThatTheConnectionLeadsTo) {
  const auto connection =
      connect_to_network_of(identity::ProcFs(), static_cast<uint32_t>(::getpid()), "127.0.0.1", port_, {});
  EXPECT_TRUE(connection) << connection.error().text();
}

TEST_F(NetworkPeer, OfAnotherNamespaceIsRefused) {
  listens(40, "0100007F");
  const auto connection = connect_to_network_of(identity::ProcFs(proc_.root()), 40, "127.0.0.1", port_, {});
  ASSERT_FALSE(connection);
  EXPECT_EQ(connection.error().code, ErrorCode::kDenied);
  EXPECT_THAT(connection.error().message,
              HasSubstr("does not lead into the network namespace of process 40"));
}

// The owner of a namespace can fill its table with connections from each port.
TEST_F(NetworkPeer, WhoseConnectionWasThereBeforeIsRefused) {
  std::string table;
  for (int port = 1; port <= UINT16_MAX; ++port) {
    table += fmt::format("0: 0100007F:{:04X} 0100007F:{:04X} 01 a b c d e 7\n", port_, port);
  }
  proc_.file("40/net/tcp", table);
  const auto connection = connect_to_network_of(identity::ProcFs(proc_.root()), 40, "127.0.0.1", port_, {});
  ASSERT_FALSE(connection);
  EXPECT_THAT(connection.error().message, HasSubstr("has a connection of its addresses already"));
}

TEST_F(NetworkPeer, ThatDoesNotListenIsUnavailable) {
  const auto connection =
      connect_to_network_of(identity::ProcFs(), static_cast<uint32_t>(::getpid()), "127.0.0.1", 1, {});
  ASSERT_FALSE(connection);
  EXPECT_EQ(connection.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(connection.error().message, HasSubstr("connecting to 127.0.0.1, port 1"));
  EXPECT_FALSE(
      connect_to_network_of(identity::ProcFs(), static_cast<uint32_t>(::getpid()), "localhost", port_, {}));
}

}  // namespace
}  // namespace plimsoll::scrape::network_test
