// What /proc says of processes. The root is a parameter, so that tests hand in a folder of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/printable.h"
#include "base/result.h"
#include "base/time.h"

namespace plimsoll::identity {

// A file, whatever it is called by now. Inode 0: none.
struct FileId {
  uint32_t device_major = 0;
  uint32_t device_minor = 0;
  uint64_t inode = 0;
  auto operator<=>(const FileId&) const = default;
};

// One line of /proc/PID/maps.
struct MapsEntry {
  uint64_t start = 0;
  uint64_t end = 0;
  bool executable = false;
  uint64_t file_offset = 0;
  FileId file;
  std::string path;  // as the process sees it; " (deleted)" removed and told by `deleted`
  bool deleted = false;
};

// Lines that are not as the kernel writes them are left out.
std::vector<MapsEntry> parse_maps(std::string_view text);

using plimsoll::printable;

// Of /proc/PID/stat.
struct ProcessStat {
  int64_t started_ns = 0;  // since boot, in steps of 10 ms
  uint32_t threads = 1;    // a first thread that ended before the others counts
  bool is_kernel_thread = false;
};

struct NamedThread {
  uint32_t tid = 0;
  std::string name;
};

// What is known of processes besides the records about them: what /proc says, of those of this machine; nothing, of those of
// a recording. Names are printable(), empty where the process is gone or out of reach.
class ProcessSource {
 public:
  virtual ~ProcessSource() = default;
  virtual std::vector<uint32_t> pids() const = 0;
  virtual std::string comm(uint32_t pid) const = 0;
  // At most 10,000, without the first, which has the name of the process.
  virtual std::vector<NamedThread> threads(uint32_t pid) const = 0;
  virtual std::string executable(uint32_t pid) const = 0;
  // Nothing where the process is gone.
  virtual std::optional<ProcessStat> stat(uint32_t pid) const = 0;
  // The text of /proc/PID/cgroup; empty where the process is gone.
  virtual std::string cgroup(uint32_t pid) const = 0;
  virtual Result<std::vector<MapsEntry>> maps(uint32_t pid) const = 0;
  // False: only the records tell of a process; its executable is the first file that they say it mapped.
  virtual bool tells_executables() const { return true; }
  // False in a PID namespace of our own: records tell of all processes outside as of PID 0.
  virtual bool sees_all_processes() const { return true; }
  // By the clock of the records. 0: what is read is as old as they are.
  virtual int64_t now_ns() const { return 0; }
  // A time of the records as time since boot.
  virtual int64_t since_boot_ns(int64_t record_time_ns) const { return record_time_ns; }
};

class ProcFs : public ProcessSource {
 public:
  struct Clocks {
    std::function<int64_t()> records_ns = monotonic_now_ns;
    std::function<int64_t()> boot_ns = boot_now_ns;
  };

  explicit ProcFs(std::string root = "/proc") : ProcFs(std::move(root), Clocks{}) {}
  ProcFs(std::string root, Clocks clocks) : root_(std::move(root)), clocks_(std::move(clocks)) {}

  std::vector<uint32_t> pids() const override;
  std::string comm(uint32_t pid) const override;
  std::vector<NamedThread> threads(uint32_t pid) const override;
  std::string executable(uint32_t pid) const override;
  std::optional<ProcessStat> stat(uint32_t pid) const override;
  bool sees_all_processes() const override;
  // kUnsupported where the PIDs in it are those of another PID namespace than ours, which the kernel's records tell of.
  Status check_namespace() const;
  int64_t now_ns() const override { return clocks_.records_ns(); }
  int64_t since_boot_ns(int64_t record_time_ns) const override {
    return record_time_ns + clocks_.boot_ns() - clocks_.records_ns();
  }

  // The PID of its parent; 0 where the process is gone.
  uint32_t parent(uint32_t pid) const;

  std::string cgroup(uint32_t pid) const override;
  // The first 128 KiB of the text of /proc/PID/environ, variables each ended by a zero byte: what the program was started
  // with, unless it overwrote that itself; empty where the process is gone or out of reach. Holds secrets.
  std::string environment(uint32_t pid) const;
  // Of /proc/PID/status.
  Result<std::string> status(uint32_t pid) const;
  Result<std::vector<MapsEntry>> maps(uint32_t pid) const override;

  // When the process started, since boot; 0 where it is gone.
  int64_t started_ns(uint32_t pid) const;

  // The text of a file of /proc/net ("tcp", "tcp6", "unix"): of the network namespace of this program, or of that process's.
  Result<std::string> network_file(std::string_view name, std::optional<uint32_t> pid = {}) const;
  // The process's network namespace where it is another than this program's, as "net:[4026532008]"; empty also where that cannot be read.
  std::string other_network(uint32_t pid) const;
  // Whether its root is the folder that is this program's, so that absolute paths mean the same; also where that cannot be read.
  bool shares_root(uint32_t pid) const;
  // Inodes of the sockets that the process has open; none where it is gone or out of reach.
  std::vector<uint64_t> socket_inodes(uint32_t pid) const;

  // Where a file of the process's mount namespace can be opened.
  std::string path_in_root(uint32_t pid, std::string_view path) const;
  // Its executable, though its path may lead elsewhere by now.
  std::string executable_link(uint32_t pid) const { return entry(pid, "exe"); }
  // Its memory as a file, whose offsets are addresses.
  std::string memory_path(uint32_t pid) const { return entry(pid, "mem"); }

 private:
  std::string entry(uint32_t pid, std::string_view name) const;
  static std::vector<uint32_t> numbered_entries(const std::string& folder);
  std::string root_;
  Clocks clocks_;
};

}  // namespace plimsoll::identity
