#include "daemon/scrape/announcements.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <compare>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/printable.h"
#include "base/unique_fd.h"
#include "daemon/scrape/network.h"

namespace plimsoll::scrape {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxFiles = 1000;     // read
constexpr size_t kMaxNames = 100'000;  // looked at
constexpr size_t kMaxProblems = 10;
constexpr size_t kMaxFileBytes = size_t{16} << 10;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// Since boot. As many ticks as have room in nanoseconds.
constexpr uint64_t kMaxStartTicks = uint64_t{INT64_MAX} / 1'000'000'000;
int64_t ns_of_ticks(uint64_t ticks) {
  return static_cast<int64_t>(ticks * 1'000'000'000 / static_cast<uint64_t>(::sysconf(_SC_CLK_TCK)));
}

// Sorted, those that are read first come first.
struct AnnouncedFile {
  int rank = 0;
  uint32_t pid = 0;
  std::optional<int64_t> started_ns = {};  // that the name has
  std::string name = {};
  auto operator<=>(const AnnouncedFile&) const = default;
};

// Of "PID.json" or "PID-START_TICKS.json", each number written in one way: there is one such name for a process and its start.
std::optional<AnnouncedFile> file_of_name(const std::string& name) {
  constexpr std::string_view kEnding = ".json";
  const auto take_number = [](std::string_view text, auto& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() && !text.starts_with('0');
  };
  std::string_view numbers = name;
  if (!numbers.ends_with(kEnding)) {
    return std::nullopt;
  }
  numbers.remove_suffix(kEnding.size());
  AnnouncedFile file{.name = name};
  const size_t dash = std::min(numbers.find('-'), numbers.size());
  if (!take_number(numbers.substr(0, dash), file.pid)) {
    return std::nullopt;
  }
  if (dash < numbers.size()) {
    uint64_t ticks = 0;
    if (!take_number(numbers.substr(dash + 1), ticks) || ticks > kMaxStartTicks) {
      return std::nullopt;
    }
    file.started_ns = ns_of_ticks(ticks);
  }
  return file;
}

// The numbers of a line of /proc/PID/status; none where the process has ended.
std::vector<uint32_t> status_numbers(const identity::ProcFs& proc_fs, uint32_t pid, std::string_view line) {
  const auto status = proc_fs.status(pid);
  const size_t at = status ? status->find(line) : std::string::npos;
  std::vector<uint32_t> numbers;
  if (at == std::string::npos) {
    return numbers;
  }
  const char* text = status->c_str() + at + line.size();
  for (char* end = nullptr; *text != '\n'; text = end) {
    const auto number = static_cast<uint32_t>(std::strtoul(text, &end, 10));
    if (end == text) {
      break;
    }
    numbers.push_back(number);
  }
  return numbers;
}

// The user that a live process acts as.
std::optional<uint32_t> user_of(const identity::ProcFs& proc_fs, uint32_t pid) {
  // Real, effective, saved, of files.
  const std::vector<uint32_t> users = status_numbers(proc_fs, pid, "\nUid:");
  return users.size() > 1 ? std::optional(users[1]) : std::nullopt;
}

// Processes of other PID namespaces, by what they know of themselves: their number there, and their start.
class NestedProcesses {
 public:
  explicit NestedProcesses(const identity::ProcFs& proc_fs) : proc_fs_(proc_fs) {}

  // Their numbers here. Reads the status of all processes when it is first called.
  std::vector<uint32_t> find(uint32_t pid, int64_t started_ns) {
    if (!is_read_) {
      read();
    }
    const auto found = processes_.find({pid, started_ns});
    return found != processes_.end() ? found->second : std::vector<uint32_t>();
  }

 private:
  void read() {
    is_read_ = true;
    for (const uint32_t pid : proc_fs_.pids()) {
      // In the namespace that /proc is of, and in those nested in it, down to the process's own.
      const std::vector<uint32_t> numbers = status_numbers(proc_fs_, pid, "\nNSpid:");
      if (numbers.size() > 1) {
        processes_[{numbers.back(), proc_fs_.started_ns(pid)}].push_back(pid);
      }
    }
  }

  const identity::ProcFs& proc_fs_;
  bool is_read_ = false;
  std::map<std::pair<uint32_t, int64_t>, std::vector<uint32_t>> processes_;
};

// Whether it is in the name of a live process, of this PID namespace or a nested one, and that process's user or root owns it.
bool is_of_live_process(const std::string& folder, const AnnouncedFile& file, const identity::ProcFs& proc_fs,
                        NestedProcesses& nested) {
  struct stat status{};
  if (::lstat(fmt::format("{}/{}", folder, file.name).c_str(), &status) != 0) {
    return false;
  }
  const auto is_owned_by_user_of = [&](uint32_t pid) {
    const auto user = user_of(proc_fs, pid);
    return user && (status.st_uid == 0 || status.st_uid == *user);
  };
  const bool is_here = !file.started_ns || *file.started_ns == proc_fs.started_ns(file.pid);
  return (is_here && is_owned_by_user_of(file.pid)) ||
         (file.started_ns &&
          std::ranges::any_of(nested.find(file.pid, *file.started_ns), is_owned_by_user_of));
}

// As many as are read. Processes that were killed leave their files, and any user may write any number of names: where there are too
// many, those that are in the name of a live process come first, of which a user has as many as processes, or two for each.
std::vector<AnnouncedFile> announced_files(const std::string& folder, const identity::ProcFs& proc_fs,
                                           NestedProcesses& nested, std::vector<std::string>& problems) {
  std::vector<AnnouncedFile> files;
  const std::unique_ptr<DIR, CloseFolder> open_folder(::opendir(folder.c_str()));
  if (open_folder == nullptr && errno != ENOENT) {
    problems.push_back(fmt::format("the folder of announcements {} cannot be read: {}", printable(folder),
                                   std::generic_category().message(errno)));
  }
  while (open_folder != nullptr && files.size() < kMaxNames) {
    const dirent* entry = ::readdir(open_folder.get());
    if (entry == nullptr) {
      break;
    }
    if (auto file = file_of_name(entry->d_name)) {
      files.push_back(std::move(*file));
    }
  }
  if (files.size() > kMaxFiles) {
    problems.push_back(
        fmt::format("{} of {} announcements in {} are not read: remove those of processes that have ended",
                    files.size() - kMaxFiles, files.size(), printable(folder)));
    for (AnnouncedFile& file : files) {
      file.rank = is_of_live_process(folder, file, proc_fs, nested) ? 0 : 1;
    }
  }
  std::ranges::sort(files);
  files.resize(std::min(files.size(), kMaxFiles));
  return files;
}

struct OwnedText {
  std::string text;
  uint32_t owner = 0;
};

// Of a file that its owner alone may write.
Result<OwnedText> read_owned(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status{};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) {
    return fail(ErrorCode::kDenied, "it cannot be opened");
  }
  if (!S_ISREG(status.st_mode) || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail(ErrorCode::kDenied, "it is no file that its owner alone may write");
  }
  OwnedText owned{std::string(kMaxFileBytes + 1, '\0'), status.st_uid};
  const ssize_t size = ::read(file.get(), owned.text.data(), owned.text.size());
  if (size < 0 || static_cast<size_t>(size) > kMaxFileBytes) {
    return fail(ErrorCode::kTooLarge, "it has more than {} bytes", kMaxFileBytes);
  }
  owned.text.resize(static_cast<size_t>(size));
  return owned;
}

// Whether the file's owner may speak for the process, and the process listens at the address.
Status check_announced(const identity::ProcFs& proc_fs, uint32_t pid, uint32_t owner,
                       const AnnouncedProcess& process) {
  const auto user = user_of(proc_fs, pid);
  if (!user) {
    return fail(ErrorCode::kNotFound, "it is of a process that has ended");
  }
  if (owner != 0 && owner != *user) {
    return fail(ErrorCode::kDenied, "its owner is user {}, the process is of user {}", owner, *user);
  }
  const auto endpoint = config::parse_scrape_endpoint(process.base_url);
  return endpoint ? check_endpoint(proc_fs, pid, *endpoint) : propagate(endpoint);
}

// kNotFound: it is of a process that has ended, whose number here or in another PID namespace the file's name has.
Result<AnnouncedProcess> read_announcement(const std::string& path, const AnnouncedFile& named,
                                           const identity::ProcFs& proc_fs, NestedProcesses& nested) {
  const auto file = read_owned(path);
  auto process = file ? parse_announcement(file->text) : propagate(file);
  if (!process && proc_fs.stat(named.pid)) {
    return process;
  }
  Status checked = fail(ErrorCode::kNotFound, "it is of a process that has ended");
  // Under a thousand other names a process would be looked at a thousand times.
  if (!process || process->pid != named.pid ||
      process->started_ns != named.started_ns.value_or(process->started_ns)) {
    return propagate(checked);
  }
  const bool is_here = process->started_ns == proc_fs.started_ns(named.pid);
  for (const uint32_t here : is_here ? std::vector{named.pid} : nested.find(named.pid, process->started_ns)) {
    checked = check_announced(proc_fs, here, file->owner, *process);
    if (checked) {
      process->pid = here;
      return process;
    }
  }
  return propagate(checked);
}

bool is_numeric(const std::string& host) {
  in6_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

// "http://127.0.0.1:41234" or "unix:/run/job.sock", and nothing more.
Result<config::ScrapeEndpoint> parse_announced_address(const std::string& address) {
  auto endpoint = config::parse_scrape_endpoint(address);
  // A name may be of several addresses.
  const bool is_address =
      endpoint && endpoint->path == "/" &&
      (endpoint->socket_path.empty() ? is_numeric(endpoint->host) : address == endpoint->program());
  if (!is_address) {
    return fail(ErrorCode::kInvalid,
                "the address is no http://HOST:PORT of a numeric host, and no unix:/SOCKET");
  }
  return endpoint;
}

}  // namespace

Result<AnnouncedProcess> parse_announcement(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  const auto number = [&](const char* name) {
    const auto found = json.is_object() ? json.find(name) : json.end();
    return found != json.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
  };
  if (number("format") != 1) {
    return fail(ErrorCode::kInvalid, "it is no announcement of format 1");
  }
  AnnouncedProcess process;
  const uint64_t pid = number("pid");
  const uint64_t start_ticks = number("start_ticks");
  if (pid == 0 || pid > INT32_MAX || start_ticks > kMaxStartTicks) {
    return fail(ErrorCode::kInvalid, "pid or start_ticks is not one");
  }
  process.pid = static_cast<uint32_t>(pid);
  process.started_ns = ns_of_ticks(start_ticks);
  const auto address = json.find("address");
  const auto endpoint = address != json.end() && address->is_string()
                            ? parse_announced_address(address->get<std::string>())
                            : fail(ErrorCode::kInvalid, "the address is missing");
  if (!endpoint) {
    return propagate(endpoint);
  }
  process.base_url = endpoint->base_url;
  const auto token = json.find("requires_token");
  process.requires_token = token != json.end() && *token == true;
  if (const auto kinds = json.find("kinds"); kinds != json.end() && kinds->is_array()) {
    for (const Json& kind : *kinds) {
      const std::string name = kind.is_string() ? kind.get<std::string>() : std::string();
      // Each once: twice would count twice.
      if (!config::path_of_announced_kind(name).empty() &&
          std::ranges::find(process.kinds, name) == process.kinds.end()) {
        process.kinds.push_back(name);
      }
    }
  }
  return process;
}

Announcements read_announcements(const std::string& folder, const identity::ProcFs& proc_fs) {
  Announcements found;
  NestedProcesses nested(proc_fs);
  std::set<uint32_t> seen;
  for (const AnnouncedFile& file : announced_files(folder, proc_fs, nested, found.problems)) {
    const std::string path = fmt::format("{}/{}", folder, file.name);
    auto process = read_announcement(path, file, proc_fs, nested);
    if (process && seen.insert(process->pid).second) {
      found.processes.push_back(std::move(*process));
    } else if (!process && process.error().code != ErrorCode::kNotFound &&
               found.problems.size() < kMaxProblems) {
      found.problems.push_back(
          fmt::format("the announcement {} is not used: {}", printable(path), process.error().text()));
    }
  }
  return found;
}

}  // namespace plimsoll::scrape
