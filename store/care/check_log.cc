#include "store/care/check_log.h"

#include <filesystem>

#include "store/directory/disk_usage.h"

namespace plimsoll::store {

CheckLog::CheckLog(std::string data_dir, const ShowProgress& show)
    : data_dir_(std::move(data_dir)), show_(show) {
  progress_.bytes_of_all = static_cast<uint64_t>(allocated_bytes(data_dir_).value_or(0)) +
                           // Its pages, then its profiles.
                           static_cast<uint64_t>(allocated_bytes(data_dir_ + "/archive.db").value_or(0));
}

std::string CheckLog::name_of(const std::string& path) const {
  const std::string folder = data_dir_ + "/";
  return path.starts_with(folder) ? path.substr(folder.size()) : path;
}

void CheckLog::add(Finding finding) {
  report_.is_damaged = report_.is_damaged || finding.is_damage;
  if (report_.findings.size() < kMaxFindings) {
    report_.findings.push_back(std::move(finding));
  } else {
    ++report_.more_findings;
  }
}

void CheckLog::add(const std::string& path, std::string what, std::string remedy) {
  add(Finding{name_of(path), std::move(what), std::move(remedy)});
}

void CheckLog::add(const std::string& path, const Error& error, std::string_view remedy) {
  add(Finding{name_of(path), error.message, error.hint.empty() ? std::string(remedy) : error.hint});
}

void CheckLog::note(const std::string& path, std::string what, std::string remedy) {
  add(Finding{name_of(path), std::move(what), std::move(remedy), false});
}

void CheckLog::start(const std::string& path) {
  progress_.file = name_of(path);
  add_bytes(0);
}

void CheckLog::add_bytes(uint64_t bytes) {
  report_.bytes += bytes;
  progress_.bytes_done += bytes;
  if (show_) {
    show_(progress_);
  }
}

}  // namespace plimsoll::store
