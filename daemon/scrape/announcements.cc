#include "daemon/scrape/announcements.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "base/unique_fd.h"
#include "daemon/scrape/socket_owner.h"

namespace plimsoll::scrape {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxFiles = 1000;
constexpr size_t kMaxProblems = 10;
constexpr size_t kMaxFileBytes = size_t{16} << 10;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// Of "PID.json" or "PID-START_TICKS.json".
std::optional<uint32_t> pid_of_name(std::string_view name) {
  constexpr std::string_view kEnding = ".json";
  uint32_t pid = 0;
  if (!name.ends_with(kEnding) || name.starts_with('0')) {
    return std::nullopt;
  }
  name.remove_suffix(kEnding.size());
  if (const size_t dash = name.find('-'); dash != std::string_view::npos) {
    const std::string_view ticks = name.substr(dash + 1);
    if (ticks.empty() || ticks.find_first_not_of("0123456789") != std::string_view::npos) {
      return std::nullopt;
    }
    name = name.substr(0, dash);
  }
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  return error == std::errc() && end == name.data() + name.size() ? std::optional(pid) : std::nullopt;
}

// Files of processes, by PID and name, as many as are looked at.
std::vector<std::pair<uint32_t, std::string>> announced_files(const std::string& folder) {
  std::vector<std::pair<uint32_t, std::string>> files;
  const std::unique_ptr<DIR, CloseFolder> open_folder(::opendir(folder.c_str()));
  while (open_folder != nullptr && files.size() < kMaxFiles) {
    const dirent* entry = ::readdir(open_folder.get());
    if (entry == nullptr) {
      break;
    }
    if (const auto pid = pid_of_name(entry->d_name)) {
      files.emplace_back(*pid, entry->d_name);
    }
  }
  std::ranges::sort(files);
  return files;
}

// The user that a live process acts as.
std::optional<uint32_t> user_of(const identity::ProcFs& proc_fs, uint32_t pid) {
  const auto status = proc_fs.status(pid);
  constexpr std::string_view kLine = "\nUid:";
  const size_t at = status ? status->find(kLine) : std::string::npos;
  if (at == std::string::npos) {
    return std::nullopt;
  }
  // Real, effective, saved, of files.
  const char* text = status->c_str() + at + kLine.size();
  char* end = nullptr;
  std::strtoul(text, &end, 10);
  return static_cast<uint32_t>(std::strtoul(end, nullptr, 10));
}

// The text, where its owner may speak for the process.
Result<std::string> read_trusted(const std::string& path, uint32_t user) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status{};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) {
    return fail(ErrorCode::kDenied, "it cannot be opened");
  }
  if (!S_ISREG(status.st_mode) || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail(ErrorCode::kDenied, "it is no file that its owner alone may write");
  }
  if (status.st_uid != 0 && status.st_uid != user) {
    return fail(ErrorCode::kDenied, "its owner is user {}, the process is of user {}", status.st_uid, user);
  }
  std::string text(kMaxFileBytes + 1, '\0');
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  if (size < 0 || static_cast<size_t>(size) > kMaxFileBytes) {
    return fail(ErrorCode::kTooLarge, "it has more than {} bytes", kMaxFileBytes);
  }
  text.resize(static_cast<size_t>(size));
  return text;
}

Result<AnnouncedProcess> read_announcement(const std::string& path, uint32_t pid, uint32_t user,
                                           const identity::ProcFs& proc_fs) {
  const auto text = read_trusted(path, user);
  if (!text) {
    return propagate(text);
  }
  auto process = parse_announcement(*text);
  if (!process) {
    return process;
  }
  if (process->pid != pid || process->started_ns != proc_fs.started_ns(pid)) {
    return fail(ErrorCode::kNotFound, "it is of a process that has ended");
  }
  const auto endpoint = config::parse_scrape_endpoint(process->base_url);
  if (auto checked = check_listener(proc_fs, pid, endpoint->host, endpoint->port); !checked) {
    return propagate(checked);
  }
  return process;
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
  const auto ticks_per_second = static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  if (pid == 0 || pid > INT32_MAX || start_ticks > uint64_t{INT64_MAX} / 1'000'000'000) {
    return fail(ErrorCode::kInvalid, "pid or start_ticks is not one");
  }
  process.pid = static_cast<uint32_t>(pid);
  process.started_ns = static_cast<int64_t>(start_ticks * 1'000'000'000 / ticks_per_second);
  const auto address = json.find("address");
  const auto endpoint = address != json.end() && address->is_string()
                            ? config::parse_scrape_endpoint(address->get<std::string>())
                            : fail(ErrorCode::kInvalid, "the address is missing");
  // A name may be of several addresses.
  if (!endpoint || !endpoint->is_loopback || endpoint->host == "localhost" || endpoint->path != "/") {
    return fail(ErrorCode::kInvalid, "the address is no http://HOST:PORT on loopback");
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
  for (const auto& [pid, name] : announced_files(folder)) {
    if (!found.processes.empty() && found.processes.back().pid == pid) {
      continue;  // under another name too
    }
    const std::string path = fmt::format("{}/{}", folder, name);
    const auto user = user_of(proc_fs, pid);
    if (!user) {
      continue;  // it has ended without taking its file back
    }
    auto process = read_announcement(path, pid, *user, proc_fs);
    if (process) {
      found.processes.push_back(std::move(*process));
    } else if (process.error().code != ErrorCode::kNotFound && found.problems.size() < kMaxProblems) {
      found.problems.push_back(
          fmt::format("the announcement {} is not used: {}", printable(path), process.error().text()));
    }
  }
  return found;
}

}  // namespace plimsoll::scrape
