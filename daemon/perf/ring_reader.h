// Empties the kernel's ring buffers in time, whatever their records are worked on for: a thread copies what is there
// as soon as one of them is half full, so that the kernel finds room while the collector compiles an unwind table or
// waits for its turn on a busy machine.
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
#include "daemon/perf/ring_buffer.h"

namespace plimsoll::perf {

// One thread uses it, besides its own. Memory: max_bytes at most; what has no room there stays in its ring, where the
// kernel counts what it has no room for.
class RingReader {
 public:
  // Of records, some. Theirs is the memory that the records of take() lie in.
  struct Chunk {
    struct Unmap {
      void operator()(std::byte* memory) const;
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

  // Before start(). `fd`: of the event that the ring is of; borrowed.
  void add(RingBuffer ring, int fd);
  // Of its thread; does nothing when it runs.
  void start();

  // Appends what was copied before and what is in the rings now, of each ring in its order. All records of before are
  // there, unless those that were not given back leave no room: false.
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
