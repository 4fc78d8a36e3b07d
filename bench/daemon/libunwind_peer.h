// libunwind over captured samples: its remote interface, with accessors that read the same registers, stack copies and
// files as our unwinder, and its cache of rules on and large enough. What perf does, but that perf caches nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "bench/daemon/capture.h"

namespace plimsoll::bench {

class LibunwindPeer {
 public:
  LibunwindPeer();
  ~LibunwindPeer();
  LibunwindPeer(const LibunwindPeer&) = delete;
  LibunwindPeer& operator=(const LibunwindPeer&) = delete;

  // Replaces what is in `instructions`: the leaf's instruction pointer, then return addresses, as libunwind gives them.
  void unwind(const CapturedSample& captured, std::vector<uint64_t>& instructions);

 private:
  struct File;
  struct Image;
  struct Space;
  const File& file_of(const identity::BinaryInfo& binary);
  Space& space_of(const identity::Process& process);

  std::map<const identity::BinaryInfo*, std::unique_ptr<File>> files_;
  std::map<const identity::Mappings*, std::unique_ptr<Space>> spaces_;
};

}  // namespace plimsoll::bench
