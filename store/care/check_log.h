// What a check has found so far. For store/care alone.
#pragma once

#include <string>
#include <string_view>

#include "store/care/check.h"

namespace plimsoll::store {

class CheckLog {
 public:
  CheckLog(std::string data_dir, const ShowProgress& show);

  const std::string& data_dir() const { return data_dir_; }
  CheckReport& report() { return report_; }

  // `path`: absolute, or below the data directory.
  void add(const std::string& path, std::string what, std::string remedy);
  void add(const std::string& path, const Error& error, std::string_view remedy);
  // Nothing is lost by it.
  void note(const std::string& path, std::string what, std::string remedy);

  void start(const std::string& path);
  void add_bytes(uint64_t bytes);

 private:
  std::string name_of(const std::string& path) const;
  void add(Finding finding);

  std::string data_dir_;
  const ShowProgress& show_;
  CareProgress progress_;
  CheckReport report_;
};

// What to do about most damage.
inline constexpr std::string_view kRestoreFile = "restore it from a backup of this directory";
inline constexpr std::string_view kRestoreBlock =
    "rebuild this block from the raw profiles in archive.db (\"plimsoll store repair --rebuild\"), or "
    "restore it, or "
    "the whole directory, from a backup";

}  // namespace plimsoll::store
