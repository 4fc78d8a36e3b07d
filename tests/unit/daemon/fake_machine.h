// A machine's files as text: a temporary folder with what sysfs has there.
//
//   # a comment
//   bus/event_source/devices/cpu/type: 4
//   bus/event_source/devices/cpu/events/cache-misses: event=0x2e,umask=0x41
//   kernel/tracing/events/          a folder
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/temporary_directory.h"

namespace plimsoll::testing {

class FakeMachine {
 public:
  FakeMachine(const std::string& files, std::string cpuinfo) : cpuinfo_(std::move(cpuinfo)) {
    std::istringstream lines(files);
    for (std::string line; std::getline(lines, line);) {
      const size_t path_at = line.find_first_not_of(' ');
      if (path_at == std::string::npos || line[path_at] == '#') {
        continue;
      }
      line.erase(0, path_at);
      const size_t colon = line.find(": ");
      if (colon == std::string::npos) {
        std::filesystem::create_directories(folder_ / line);
      } else {
        write(line.substr(0, colon), line.substr(colon + 2));
      }
    }
  }

  void write(const std::string& path, const std::string& content) const {
    const std::filesystem::path file(folder_ / path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << content << "\n";
  }
  void remove(const std::string& path) const { std::filesystem::remove(folder_ / path); }

  const std::string& sysfs() const { return folder_.path(); }
  const std::string& cpuinfo() const { return cpuinfo_; }

 private:
  TemporaryDirectory folder_;
  std::string cpuinfo_;
};

}  // namespace plimsoll::testing
