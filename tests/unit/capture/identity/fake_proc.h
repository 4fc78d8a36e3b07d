// A /proc of a test's own making.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "capture/identity/proc_fs.h"

namespace plimsoll::identity {

// All is read before the time of any record, which is since boot.
inline ProcFs::Clocks standing_clocks() {
  return {.records_ns = [] { return 0; }, .boot_ns = [] { return 0; }};
}

class FakeProc {
 public:
  struct Process {
    std::string comm;
    std::string executable;
    std::string cgroup;
    std::string maps;
    bool is_kernel_thread = false;
    int threads = 1;
    int started_ticks = 100;  // since boot
  };

  FakeProc() { std::filesystem::create_directories(root_); }
  FakeProc(const FakeProc&) = delete;
  FakeProc& operator=(const FakeProc&) = delete;
  ~FakeProc() { std::filesystem::remove_all(root_); }

  const std::string& root() const { return root_; }

  void file(const std::string& path, std::string_view content) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path, std::ios::binary) << content;
  }

  void process(uint32_t pid, const Process& process) const {
    const std::string folder = std::to_string(pid) + "/";
    file(folder + "comm", process.comm + "\n");
    file(folder + "cgroup", process.cgroup);
    file(folder + "maps", process.maps);
    // As the kernel writes it, up to the time of the start; a name may hold parentheses and spaces.
    file(folder + "stat", std::to_string(pid) + " (" + process.comm + ") S 2 0 0 0 -1 " +
                              (process.is_kernel_thread ? "2129984" : "4194560") + " 0 0 0 0 0 0 0 0 20 0 " +
                              std::to_string(process.threads) + " 0 " +
                              std::to_string(process.started_ticks) + " 0 0\n");
    if (!process.executable.empty()) {
      std::filesystem::create_symlink(process.executable, root_ + "/" + folder + "exe");
    }
  }

  void gone(uint32_t pid) const { std::filesystem::remove_all(root_ + "/" + std::to_string(pid)); }

 private:
  const std::string root_ = ::testing::TempDir() + "proc." + std::to_string(::getpid());
};

}  // namespace plimsoll::identity
