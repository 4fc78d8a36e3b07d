// What a copy of rows moves from one store to another: parts, each with dictionaries of its own.
//
// A part is a block of a data directory, merged or not, or an epoch in ClickHouse. It keeps its number and all IDs within it, so that names, and rows of
// profiles that come later, go on meaning the same.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/model/aggregation.h"
#include "store/model/batch.h"
#include "store/model/bindings.h"
#include "store/model/dictionaries.h"
#include "store/model/profile_record.h"

namespace plimsoll::store {

struct DescribedBinary {
  uint32_t binary = 0;
  BinaryAccount account = {};
};

// All of a part but its names.
struct CopiedPart {
  int64_t number = 0;
  bool takes_more = false;          // profiles: the newest part alone
  bool is_rolled_up = false;        // its origins are hours (store/rollup)
  int64_t rolled_up_ns = 0;         // wall clock; 0: unknown
  uint64_t rolled_up_profiles = 0;  // that the hours were made of; 0: unknown
  int64_t first_written_ns = 0;     // wall clock; 0: it has no profile yet
  int64_t after = 0;                // archive sequence: of the last profile before it
  int64_t last = 0;                 // archive sequence of its last profile; `after` where it has none
  Dictionaries entries = {};        // events of origins aside
  std::vector<ProfileRecord> profiles = {};  // of each origin, from ID 1 on
  std::vector<KernelSymbols> kernel_symbols = {};
  std::vector<BinaryMachine> binary_machines = {};
  std::vector<SetAside> set_aside = {};
  std::vector<DescribedBinary> accounts = {};  // of the binaries that were searched for symbols
  std::shared_ptr<const RowSource> rows = nullptr;
};

// A part as it is now: another version, and it may have changed since.
struct PartState {
  int64_t number = 0;
  std::string version = {};  // without white space
};

// Is given names of some locations, each location once. A part gives them in the order of their IDs.
using UseNames = std::function<Status(std::span<const Binding> names)>;
// Calls `use` with all names of a part.
using ReadNames = std::function<Status(const UseNames& use)>;

// Reads a store that no process writes to meanwhile. One thread.
class PartSource {
 public:
  PartSource() = default;
  PartSource(const PartSource&) = delete;
  PartSource& operator=(const PartSource&) = delete;
  virtual ~PartSource() = default;

  // The newest last. Numbers ascend, and may have gaps: of blocks that were merged the last one's number stays.
  virtual Result<std::vector<PartState>> parts() = 0;

  // Memory: its dictionaries and the symbols of its kernels. kCorrupt where any of it is damaged; damage of rows is found when they are read.
  virtual Result<CopiedPart> read(int64_t number) = 0;
  // Memory: the names of some ten thousand locations.
  virtual Status read_names(int64_t number, const UseNames& use) = 0;
};

// Takes parts, and gives them back, so that they can be checked. One thread.
class PartTarget : public PartSource {
 public:
  // The part is there as a whole and on disk when it returns; after a failure, or the end of the process, it is not listed. It follows the
  // newest one that is there. `rows` are those of the part.
  virtual Status write(CopiedPart part, RowCursor& rows, const ReadNames& read_names) = 0;

  // The oldest one or the newest one.
  virtual Status drop(int64_t number) = 0;
};

}  // namespace plimsoll::store
