#include "tests/e2e/quota_group.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/e2e/program.h"

namespace plimsoll::testing {
namespace {

bool write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  return file.good();
}

}  // namespace

QuotaGroup::QuotaGroup(const std::string& name, int quota_percent)
    : path_("/plimsoll_" + name + std::to_string(::getpid())) {
  const std::string mounts = "/sys/fs/cgroup";
  const bool is_v1 = std::filesystem::exists(mounts + "/cpuacct");
  folders_ =
      is_v1 ? std::vector{mounts + "/cpu" + path_, mounts + "/cpuacct" + path_} : std::vector{mounts + path_};
  bool made = true;
  for (const std::string& folder : folders_) {
    std::error_code error;
    made = std::filesystem::create_directory(folder, error) && made;
  }
  const std::string quota_us = std::to_string(quota_percent * 1000);
  made_ = made && (is_v1 ? write(folders_[0] + "/cpu.cfs_quota_us", quota_us)
                         : write(folders_[0] + "/cpu.max", quota_us + " 100000"));
}

QuotaGroup::~QuotaGroup() {
  for (const std::string& folder : folders_) {
    ::rmdir(folder.c_str());
  }
}

std::vector<std::string> QuotaGroup::running(const std::vector<std::string>& argv) const {
  std::string script;
  for (const std::string& folder : folders_) {
    script += "echo $$ > " + folder + "/cgroup.procs && ";
  }
  std::vector<std::string> command{"/bin/sh", "-c", script + "exec \"$@\"", "sh"};
  command.push_back(argv[0].find('/') == std::string::npos ? program(argv[0]) : argv[0]);
  command.insert(command.end(), argv.begin() + 1, argv.end());
  return command;
}

std::vector<std::string> QuotaGroup::busy(const std::string& seconds) const {
  return running({"known_split", seconds, "work"});
}

}  // namespace plimsoll::testing
