// The door for recordings of bursts: a sink takes them, a source lists them and gives them back.
//
// A recording is the bytes of traces/bursts/recording/burst_file.h under an ID of 16 bytes that its sender has chosen. Senders send again when
// an answer is lost: a sink keeps each ID once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "store/model/time_spans.h"
#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::store {

inline constexpr size_t kBurstIdBytes = 16;

// What is known of a recording without reading it.
struct StoredBursts {
  std::string id = {};
  std::string machine = {};
  std::string draw = {};  // that assigned it, as the recording says; empty: none
  uint64_t config_bits = 0;
  traces::ClockState clock = {};
  // Planned times by the machine's wall clock, from the first burst's begin to the last one's end.
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  uint64_t bursts = 0;
  uint64_t events = 0;
  uint64_t lost = 0;  // events, by the kernel's count
  uint64_t bytes = 0;
  int64_t received_ns = 0;

  bool operator==(const StoredBursts&) const = default;
};

// Of a recording that was decoded; without ID, bytes and time of arrival. kInvalid: it has no bursts.
Result<StoredBursts> summary_of(const traces::BurstRecording& recording);

// Any thread.
class BurstSink {
 public:
  BurstSink() = default;
  BurstSink(const BurstSink&) = delete;
  BurstSink& operator=(const BurstSink&) = delete;
  virtual ~BurstSink() = default;

  // Keeps `encoded`, which was decoded completely and is what `summary` says: durable and visible when it returns, or not there. False: it was
  // there already. kConflict: the ID has other content. After a failure it may be there all the same; it is sent again then, which changes
  // nothing. One that was dropped is stored again.
  virtual Result<bool> add(std::string_view id, const StoredBursts& summary, Bytes encoded) = 0;

  // Drops what was received before that time by the wall clock, and the oldest beyond so many bytes. The newest stays. How many were dropped.
  virtual Result<uint64_t> drop_old(int64_t before_ns, uint64_t max_bytes) = 0;

  // Drops the one received first, for a disk that is nearly full. False: there is none but the newest, which stays.
  virtual Result<bool> drop_oldest() = 0;
};

struct BurstQuestion {
  // Recordings whose bursts touch it.
  TimeSpan times = {};
  std::string machine = {};  // empty: of all machines
  std::string draw = {};     // empty: of all draws, and of none
  // Only as many, of those that began last; 0: all.
  size_t newest = 0;
  // kTooLarge beyond, where all are asked for.
  size_t max_recordings = 100'000;
};

// Any thread.
class BurstSource {
 public:
  BurstSource() = default;
  BurstSource(const BurstSource&) = delete;
  BurstSource& operator=(const BurstSource&) = delete;
  virtual ~BurstSource() = default;

  // By their begin, then by machine and ID. None where no recording ever came.
  virtual Result<std::vector<StoredBursts>> list(const BurstQuestion& question) = 0;

  // The bytes that were added. kNotFound: there is none of that ID, or it has been dropped. They carry a checksum: decode_bursts() finds
  // damage.
  virtual Result<std::string> read(std::string_view id) = 0;
};

}  // namespace plimsoll::store
