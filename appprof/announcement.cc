#include "appprof/announcement.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "appprof/mappings.h"

namespace plimsoll::appprof {
namespace {

std::string quoted(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(c));
      json += escape;
    } else {
      json += c;
    }
  }
  return json + "\"";
}

std::string list_of(const std::vector<std::string>& texts) {
  std::string json;
  for (const std::string& text : texts) {
    json += (json.empty() ? "" : ", ") + quoted(text);
  }
  return "[" + json + "]";
}

}  // namespace

std::string to_json(const Announcement& announcement) {
  std::ostringstream json;
  json << "{\"format\": 1, \"pid\": " << announcement.pid << ", \"start_ticks\": " << announcement.start_ticks
       << ", \"address\": " << quoted(announcement.address)
       << ", \"requires_token\": " << (announcement.requires_token ? "true" : "false")
       << ", \"kinds\": " << list_of(announcement.kinds)
       << ", \"problems\": " << list_of(announcement.problems) << ", \"labels\": {";
  for (size_t i = 0; i < announcement.labels.size(); ++i) {
    json << (i == 0 ? "" : ", ") << quoted(announcement.labels[i].first) << ": "
         << quoted(announcement.labels[i].second);
  }
  json << "}}\n";
  return json.str();
}

std::string announcement_path(const std::string& folder, pid_t pid, uint64_t start_ticks) {
  return folder + "/" + std::to_string(pid) + "-" + std::to_string(start_ticks) + ".json";
}

std::string announce(const std::string& folder, const Announcement& announcement) {
  const std::string path = announcement_path(folder, announcement.pid, announcement.start_ticks);
  const std::string draft = path + ".new";
  const std::string json = to_json(announcement);
  ::unlink(draft.c_str());  // of an earlier process of this number
  // The folder may be writable for all: never through a link that another user has put there.
  const int file = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  const bool is_written =
      file >= 0 && ::write(file, json.data(), json.size()) == static_cast<ssize_t>(json.size());
  if (file >= 0) {
    ::close(file);
  }
  if (!is_written || ::rename(draft.c_str(), path.c_str()) != 0) {
    const std::string why = "cannot announce in " + path + ": " + ::strerrordesc_np(errno);
    ::unlink(draft.c_str());
    return why;
  }
  return {};
}

std::string default_announcement_folder() {
  const char* folder = ::secure_getenv("PLIMSOLL_APPPROF_DIR");
  return folder != nullptr && *folder != '\0' ? folder : "/run/plimsoll/appprof";
}

uint64_t own_start_ticks() {
  const std::string stat = read_file("/proc/self/stat");
  const size_t close = stat.rfind(')');  // a name may have blanks and brackets
  if (close == std::string::npos) {
    return 0;
  }
  std::istringstream fields(stat.substr(close + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) {
    fields >> skipped;
  }
  uint64_t ticks = 0;
  fields >> ticks;
  return ticks;
}

}  // namespace plimsoll::appprof
