// Binds locations to names: those that have none yet, and again those for which better symbols have appeared.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/door/symbols.h"
#include "symbolizer/worker/symbol_cache.h"
#include "symbolizer/worker/symbol_loader.h"

namespace plimsoll::symbolizer {

struct LookedUp;

struct SymbolizeReport {
  uint64_t locations = 0;  // looked up for the first time
  uint64_t named = 0;      // of these
  uint64_t renamed = 0;    // looked up again
  std::vector<std::string>
      improved;  // "binary: 12 locations looked up again in better symbols (symtab, was none)"
  std::vector<std::string> missing;  // "no symbols for BINARY: reason", "partial symbols for ..."

  SymbolizeReport& operator+=(SymbolizeReport other);
};

// One thread at a time. Keeps the symbols of binaries that it read lately open.
class Symbolizer {
 public:
  explicit Symbolizer(SymbolLoader loader);
  // With the symbol tables of that data directory, whose lock the caller holds; `worker`: what starts the process that makes
  // them (TableProcess).
  static Result<Symbolizer> open(const std::string& data_dir, SymbolRoots roots, TableWorker worker,
                                 LoadOptions options = {});

  // One pass over a block: looks up every ELF, kernel and module location that never was; and, if `look_for_better`, where a stat()
  // of the files that a search depended on says that it may now end better, searches again, and then looks up all
  // locations of that build ID again. The stats are of every binary without the best symbols: not for every pass. The
  // block is held only to read and to write, not while files are read. Names are written every few seconds, and locations that have
  // come since then take their turns (order_by_turns()). Once it is told to stop, it leaves out what another
  // search would be needed for: the next pass finds it as it was.
  Result<SymbolizeReport> run(store::BlockSymbols& block, bool look_for_better);

  // Whether its last pass over that block, of that generation, left binaries to others (RemoteTables), which another pass is to ask for.
  bool has_left(int64_t block, int64_t generation = 0) const;

 private:
  // Some seconds of a pass; whether that was the last of it.
  Result<bool> run_slice(store::BlockSymbols& block, bool look_for_better,
                         std::set<std::string>& searched_again, SymbolizeReport& report);
  // Whether another has made its table.
  bool has_come(const store::PendingBinary& binary) const;
  bool is_due(const store::PendingBinary& binary, bool look_for_better,
              const std::set<std::string>& searched_again) const;
  // To others, in that order, what a search could make better. What they have made already comes first from then on.
  void offer_all(std::vector<store::PendingBinary>& pending, bool look_for_better);
  void offer(const store::PendingBinary& binary, bool look_for_better);
  // False: another has it, or may soon take it.
  bool begin_here(const store::PendingBinary& binary, bool look_for_better);
  Status look_up(store::BlockSymbols& block, store::PendingBinary binary, std::vector<LookedUp>& all);
  // Null where it was told to stop.
  Result<std::shared_ptr<BinarySymbols>> symbols_of(store::BlockSymbols& block,
                                                    const store::PendingBinary& binary);
  // What the files of a kernel or module tell, found by its build ID.
  BinarySymbols files_of_kernel(const store::PendingBinary& binary);

  SymbolLoader loader_;
  SymbolCache cache_;
  using BlockKey = std::pair<int64_t, int64_t>;     // number and generation
  std::map<BlockKey, std::set<std::string>> left_;  // by block: binaries that others have, by key()
  std::map<BlockKey, int64_t> bound_up_to_;  // by block: every location up to this ID has been looked up
};

}  // namespace plimsoll::symbolizer
