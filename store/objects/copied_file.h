// Files of the data directory while they are copied to an object store.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace plimsoll::store {

// By which a change of a file is seen: its time of modification.
int64_t version_of(const struct stat& file);

// A copy of a database in the data directory, which goes with it. What a process that ended has left under its name goes first.
class TemporaryCopy {
 public:
  TemporaryCopy(const std::string& data_dir, const std::string& name);
  TemporaryCopy(const TemporaryCopy&) = delete;
  TemporaryCopy& operator=(const TemporaryCopy&) = delete;
  ~TemporaryCopy() { remove(); }

  const std::string& path() const { return path_; }

 private:
  void remove() const;

  std::string path_;
};

}  // namespace plimsoll::store
