// Empties the kernel's ring buffers in time: a thread copies their records into memory as soon as one ring is half full, so
// that the kernel finds room while the collector compiles an unwind table or waits for its turn on a busy machine.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/sampling/ring_buffer.h"

namespace plimsoll::perf {

// One thread may call. Takes `max_bytes` of memory at most: records that do not fit stay in their ring, and where that is full
// too the kernel counts what it loses.
class RingReader {
 public:
  // Memory that records are copied into. It is used again once all records in it were given back.
  struct Chunk {
    struct Unmap {
      void operator()(std::byte* mapped) const;
    };
    std::unique_ptr<std::byte, Unmap> memory;
    size_t used = 0;
    size_t held = 0;  // records that were not given back; protected by the reader's mutex
  };

  struct Record {
    size_t ring = 0;  // in the order of add()
    Bytes bytes;      // valid until it is given back
    Chunk* chunk = nullptr;
  };

  static Result<std::unique_ptr<RingReader>> make(size_t max_bytes);
  RingReader(const RingReader&) = delete;
  RingReader& operator=(const RingReader&) = delete;
  ~RingReader();

  // Call before start(). `fd`, which is borrowed, is the event whose ring it is.
  void add(RingBuffer ring, int fd);
  // Starts the thread, unless it runs already.
  void start();

  // Appends all records that there are, those of one ring in their order. False: some are left in the rings, since there is no memory for
  // them until others are given back.
  bool take(std::vector<Record>& records);
  void give_back(std::vector<Record>& records);

  // Readable when a ring was half full since the last take().
  int ready_fd() const { return ready_.get(); }

  // As RingBuffer::dropped_bytes(), of all rings.
  uint64_t dropped_bytes();

 private:
  RingReader(size_t max_bytes, UniqueFd ready, UniqueFd stopping);
  void run();
  bool read_all();                 // with the mutex held; false where there was no room for all
  bool read(size_t ring);          // likewise
  Chunk* chunk_for(size_t bytes);  // likewise; null: there is no room
  void add_chunk();

  const size_t max_chunks_;
  const UniqueFd ready_;  // eventfds
  const UniqueFd stopping_;
  std::vector<int> fds_;

  std::mutex mutex_;
  std::vector<RingBuffer> rings_;  // protected by mutex_, as all below
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<Chunk*> free_;
  Chunk* current_ = nullptr;
  std::vector<Record> records_;  // that were copied and not taken

  std::thread thread_;
};

}  // namespace plimsoll::perf
