// A hierarchy of control groups, as folders.
#pragma once

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/temporary_directory.h"

namespace plimsoll::testing {

class FakeGroupTree {
 public:
  // PIDs by the group's name ("" for the root, "/a/b").
  explicit FakeGroupTree(const std::map<std::string, std::vector<uint32_t>>& groups = {}) {
    for (const auto& [name, pids] : groups) {
      add(name, pids);
    }
  }

  void add(const std::string& name, const std::vector<uint32_t>& pids) const {
    std::filesystem::create_directories(root() + name);
    std::ofstream(root() + name + "/cgroup.procs") << fmt::format("{}\n", fmt::join(pids, "\n"));
  }
  void remove(const std::string& name) const { std::filesystem::remove_all(root() + name); }

  const std::string& root() const { return folder_.path(); }

 private:
  TemporaryDirectory folder_;
};

}  // namespace plimsoll::testing
