// Several machines' networks on one machine: a network namespace each, joined by a bridge in one of their own.
#pragma once

#include <string>
#include <vector>

namespace plimsoll::testing {

// Nothing of it reaches the network of this machine. Removed at the end, by when nothing may run in it any more.
class TestNetwork {
 public:
  // With so many machines besides the hub, where the bridge is.
  explicit TestNetwork(int machines);
  TestNetwork(const TestNetwork&) = delete;
  TestNetwork& operator=(const TestNetwork&) = delete;
  ~TestNetwork();

  // False where this user may not make such networks.
  bool is_made() const { return made_; }

  // Of its namespace.
  std::string file(int machine) const { return "/run/netns/" + name(machine); }

  // Machine 0 is the hub.
  std::string address(int machine) const;
  // The command line of a program that runs in a machine's network. `argv[0]` without a slash is one of our programs.
  std::vector<std::string> running(int machine, const std::vector<std::string>& argv) const;

  // From now on nothing gets to or from that machine; nobody is told.
  bool cut(int machine) const;
  bool restore(int machine) const;

 private:
  std::string name(int machine) const;
  bool make_machine(int machine);

  std::string prefix_;
  std::vector<std::string> made_namespaces_;
  bool made_ = false;
};

// As long as it lives, the thread that made it is in a machine's network, as are the threads and programs that this one starts. Destroyed by
// that thread, once those have ended, and before the network.
class NetworkScope {
 public:
  // Nothing where the network is not made.
  NetworkScope(const TestNetwork& network, int machine);
  NetworkScope(const NetworkScope&) = delete;
  NetworkScope& operator=(const NetworkScope&) = delete;
  ~NetworkScope();

  bool is_entered() const { return before_ >= 0; }

 private:
  int before_ = -1;  // where the thread was, as a descriptor; -1: it is there still
};

}  // namespace plimsoll::testing
