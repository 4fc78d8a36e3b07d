// The symbols of a data directory that this process writes.
#pragma once

#include "store/door/symbols.h"
#include "store/ingest.h"

namespace plimsoll::store {

// Each call on a block is one transaction of its catalogue, in which names are durable.
class LocalSymbols : public Symbols {
 public:
  // `ingest` must outlive it and its blocks.
  explicit LocalSymbols(Ingest& ingest) : ingest_(ingest) {}

  Result<std::vector<std::unique_ptr<BlockSymbols>>> blocks() override;

 private:
  Ingest& ingest_;
};

}  // namespace plimsoll::store
