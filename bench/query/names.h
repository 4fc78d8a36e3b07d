// What the code of generated profiles is called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "bench/store/stack_tree.h"
#include "store/catalogue/catalogue.h"
#include "store/ingest.h"
#include "store/model/dictionaries.h"

namespace plimsoll::bench {

// Names locations as the tree calls them, as the symbolizer does once rows are there.
class Namer {
 public:
  // Both must outlive it.
  Namer(const StackTree& tree, store::Ingest& ingest) : tree_(tree), ingest_(ingest) {}

  // Those that have come since the last call, block by block.
  Status bind_new();

 private:
  // The block that it has come to.
  struct Block {
    store::Catalogue catalogue;
    store::Dictionaries dictionaries = {};
    size_t bound = 1;  // locations
  };

  Status bind_new(const store::BlockFolder& folder);

  const StackTree& tree_;
  store::Ingest& ingest_;
  int64_t number_ = 0;
  std::unique_ptr<Block> block_;
};

}  // namespace plimsoll::bench
