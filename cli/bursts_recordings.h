// Recordings of bursts that a command is given: files, or those that a server or a data directory keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/views/commands.h"
#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::cli {

// Files, or a source with the parameters machine, draw, since and until of the view `bursts`.
struct BurstsInput {
  std::vector<std::string> files;
  TableOptions stored;
  // Whether functions in stacks are named: by these binaries of this machine, and by the symbol tables of a data directory.
  bool names_functions = false;
  std::vector<std::string> binaries = {};
};

using BurstRecordingPointer = std::shared_ptr<const traces::BurstRecording>;

struct ListedRecording {
  std::string name;  // the file, or the ID in hexadecimal
  std::string machine;
  int64_t begin_ns = 0;  // of its first burst, as planned
  uint64_t events = 0;   // that read() brings into memory; 0: they are there already
};

// One thread.
class BurstRecordings {
 public:
  BurstRecordings() = default;
  BurstRecordings(const BurstRecordings&) = delete;
  BurstRecordings& operator=(const BurstRecordings&) = delete;
  virtual ~BurstRecordings() = default;

  // Files in their order; stored ones by machine, then by begin.
  const std::vector<ListedRecording>& listed() const { return listed_; }
  // The error names the recording. Null: it has been dropped since it was listed, which notes() say.
  virtual Result<BurstRecordingPointer> read(size_t number) = 0;
  // Bursts that are asked for begin before one and end after the other.
  int64_t from_ns() const { return from_ns_; }
  int64_t to_ns() const { return to_ns_; }
  const std::vector<std::string>& notes() const { return notes_; }

 protected:
  std::vector<ListedRecording> listed_;
  int64_t from_ns_ = INT64_MIN;
  int64_t to_ns_ = INT64_MAX;
  std::vector<std::string> notes_;
};

// kInvalid where neither or both are given, and for files of one machine or of different burst-configs.
Result<std::unique_ptr<BurstRecordings>> open_burst_recordings(const BurstsInput& input);

}  // namespace plimsoll::cli
