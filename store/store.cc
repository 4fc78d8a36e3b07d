#include "store/store.h"

#include "store/contents/local_source.h"
#include "store/local_symbols.h"

namespace plimsoll::store {

std::unique_ptr<Source> open_source(const std::string& data_dir) {
  return std::make_unique<LocalSource>(data_dir);
}

std::unique_ptr<Symbols> symbols_of(Ingest& ingest) {
  return std::make_unique<LocalSymbols>(ingest);
}

}  // namespace plimsoll::store
