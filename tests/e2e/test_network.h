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

}  // namespace plimsoll::testing
