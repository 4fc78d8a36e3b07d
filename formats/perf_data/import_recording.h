// A recording of perf (perf.data), as a raw profile: what the daemon would have sent of it, made by the same code (capture/).
//
//   auto file = open_recording(path);
//   auto imported = import_recording(file->reader, {.content_id = file->content_id, ...});
//
// docs/perf-data.md says what is read and what becomes of it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "capture/identity/kernel.h"
#include "formats/perf_data/block_reader.h"
#include "formats/perf_data/event_tally.h"
#include "formats/perf_data/limits.h"
#include "formats/perf_data/recorded_images.h"
#include "proto/profile.pb.h"

namespace plimsoll::perf_data {

struct RecordingOptions {
  std::string content_id =
      {};  // tells the file's content: the profile's ID is made from it and from the labels below
  std::string machine = "import";  // for a recording that does not name its machine
  std::string job = {};            // of all its processes; empty: each one's own
  std::string platform = {};       // for a recording that does not name its processor
  int64_t modified_ns = 0;   // wall clock, of the file: when the recording ended, where it does not tell
  int64_t given_end_ns = 0;  // when the recording ended, whatever else says; 0: not given
  int64_t now_ns = 0;        // by which times are checked; 0: they are not
  RecordedImages::Folders folders = {};  // whose binaries may be read, for their segments and unwind tables
  std::function<void(uint64_t done_bytes, uint64_t all_bytes)> progress = {};
  // Symbols of the running kernel, asked for where its build ID is the recorded one; null: no symbols.
  std::function<const identity::KernelMap*()> running_kernel = {};
};

struct ImportedRecording {
  wire::RawProfile profile;
  std::vector<EventTally::Summary>
      events;  // of the recording; the profile has up to three more where it has branches
  // Binaries without a recorded build ID that were written over or replaced since, ten at most.
  std::vector<std::string> replaced_binaries;
  // What could not be read, and so is missing in the profile: a line each. None of a sound recording.
  std::vector<std::string> damage;
};

// Reads the recording once from end to end (twice where it was written into a pipe) in bounded memory: Limits, and the
// profile itself. Of a recording that is damaged or cut off, takes what is sound; kCorrupt where that has no sample.
Result<ImportedRecording> import_recording(BlockReader& file, const RecordingOptions& options,
                                           const Limits& limits = {});

struct OpenRecording {
  BlockReader reader;
  std::string content_id;
  int64_t modified_ns = 0;
};

// A regular file, which is read once for its content's ID. The fields of the same name in RecordingOptions want what this tells.
Result<OpenRecording> open_recording(const std::string& path);
// One that is open, and `name` for errors.
Result<OpenRecording> open_recording(std::shared_ptr<const UniqueFd> fd, const std::string& name);

}  // namespace plimsoll::perf_data
