#include "tests/e2e/test_network.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/e2e/program.h"

namespace plimsoll::testing {
namespace {

// One of them at least is where a distribution puts it.
constexpr const char* kIp = "/sbin/ip";
constexpr const char* kNsenter = "/usr/bin/nsenter";

bool ip(const std::string& arguments) {
  std::vector<std::string> argv{kIp};
  size_t begin = 0;
  while (begin < arguments.size()) {
    const size_t end = std::min(arguments.find(' ', begin), arguments.size());
    argv.push_back(arguments.substr(begin, end - begin));
    begin = end + 1;
  }
  return run(argv).status == 0;
}

}  // namespace

TestNetwork::TestNetwork(int machines) : prefix_(fmt::format("plim{}-", ::getpid())) {
  const auto add_namespace = [&](int machine) {
    if (!ip("netns add " + name(machine))) {
      return false;
    }
    made_namespaces_.push_back(name(machine));
    return ip(fmt::format("-n {} link set lo up", name(machine)));
  };
  made_ = ::access(kIp, X_OK) == 0 && add_namespace(0) &&
          ip(fmt::format("-n {} link add hub type bridge", name(0))) &&
          ip(fmt::format("-n {} address add {}/24 dev hub", name(0), address(0))) &&
          ip(fmt::format("-n {} link set hub up", name(0)));
  for (int machine = 1; made_ && machine <= machines; ++machine) {
    made_ = add_namespace(machine) && make_machine(machine);
  }
}

TestNetwork::~TestNetwork() {
  for (const std::string& made : made_namespaces_) {
    ip("netns delete " + made);
  }
}

bool TestNetwork::make_machine(int machine) {
  const std::string& hub = name(0);
  return ip(fmt::format("-n {} link add to{} type veth peer name eth0 netns {}", hub, machine,
                        name(machine))) &&
         ip(fmt::format("-n {} link set to{} master hub", hub, machine)) &&
         ip(fmt::format("-n {} link set to{} up", hub, machine)) &&
         ip(fmt::format("-n {} address add {}/24 dev eth0", name(machine), address(machine))) &&
         ip(fmt::format("-n {} link set eth0 up", name(machine)));
}

std::string TestNetwork::name(int machine) const {
  return prefix_ + std::to_string(machine);
}

std::string TestNetwork::address(int machine) const {
  return fmt::format("10.77.0.{}", machine + 1);
}

// Unlike "ip netns exec" it leaves /sys as it is, where control groups are.
std::vector<std::string> TestNetwork::running(int machine, const std::vector<std::string>& argv) const {
  std::vector<std::string> command{kNsenter, "--net=" + file(machine)};
  command.push_back(argv[0].find('/') == std::string::npos ? program(argv[0]) : argv[0]);
  command.insert(command.end(), argv.begin() + 1, argv.end());
  return command;
}

bool TestNetwork::cut(int machine) const {
  return ip(fmt::format("-n {} link set to{} nomaster", name(0), machine));
}

bool TestNetwork::restore(int machine) const {
  return ip(fmt::format("-n {} link set to{} master hub", name(0), machine));
}

NetworkScope::NetworkScope(const TestNetwork& network, int machine) {
  if (!network.is_made()) {
    return;
  }
  before_ = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  const int there = ::open(network.file(machine).c_str(), O_RDONLY | O_CLOEXEC);
  if (before_ >= 0 && ::setns(there, CLONE_NEWNET) != 0) {
    ::close(before_);
    before_ = -1;
  }
  ::close(there);
}

NetworkScope::~NetworkScope() {
  if (before_ >= 0) {
    // What the test does next must not be in a network that is gone.
    if (::setns(before_, CLONE_NEWNET) != 0) {
      std::abort();
    }
    ::close(before_);
  }
}

}  // namespace plimsoll::testing
