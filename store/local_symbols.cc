#include "store/local_symbols.h"

#include <utility>

#include "store/blocks/block_damage.h"
#include "store/frames/binding_writer.h"
#include "store/frames/pending.h"
#include "store/frames/unused_names.h"

namespace plimsoll::store {
namespace {

class LocalBlockSymbols : public BlockSymbols {
 public:
  LocalBlockSymbols(Ingest& ingest, BlockFolder folder) : ingest_(ingest), folder_(std::move(folder)) {}

  int64_t number() const override { return folder_.number; }
  int64_t generation() const override { return folder_.generation; }

  Result<std::vector<PendingBinary>> find_pending(int64_t& bound_up_to) override {
    return in_transaction<std::vector<PendingBinary>>(
        [&](sqlite::Database& catalogue) { return store::find_pending(catalogue, bound_up_to); });
  }

  Status add_locations(bool all, PendingBinary& binary) override {
    return ingest_.write_catalogue(
        folder_, [&](sqlite::Database& catalogue) { return store::add_locations(catalogue, all, binary); });
  }

  Result<std::string> kernel_image(const PendingBinary& binary) override {
    return in_transaction<std::string>(
        [&](sqlite::Database& catalogue) { return store::kernel_image(catalogue, binary); });
  }

  Status bind(std::span<const NamedBinary> binaries) override {
    return ingest_.write_catalogue(folder_, [&](sqlite::Database& catalogue) -> Status {
      BindingWriter writer(catalogue);
      for (const NamedBinary& binary : binaries) {
        if (const Status written = write(binary, writer); !written) {
          return written;
        }
      }
      return drop_unused_names(catalogue);
    });
  }

  bool is_gone() const override { return ingest_.is_dropped(folder_); }
  // One that goes meanwhile is not damaged.
  bool is_unreadable() const override { return store::is_unreadable(folder_) && !is_gone(); }

 private:
  static Status write(const NamedBinary& binary, BindingWriter& writer) {
    if (const Status bound = writer.bind(binary.bindings, binary.account.generation); !bound) {
      return propagate(bound, "storing the symbols of {}", binary.path);
    }
    for (const int64_t id : binary.ids) {
      if (const Status described = writer.describe(id, binary.account); !described) {
        return described;
      }
    }
    return {};
  }

  // What `work` reads within a transaction of its own.
  template <typename Value, typename Work>
  Result<Value> in_transaction(Work work) {
    Result<Value> value;
    const Status done = ingest_.write_catalogue(folder_, [&](sqlite::Database& catalogue) -> Status {
      value = work(catalogue);
      return value ? Status() : propagate(value);
    });
    return done ? std::move(value) : propagate(done);
  }

  Ingest& ingest_;
  const BlockFolder folder_;
};

}  // namespace

Result<std::vector<std::unique_ptr<BlockSymbols>>> LocalSymbols::blocks() {
  const auto folders = ingest_.blocks();
  if (!folders) {
    return propagate(folders);
  }
  std::vector<std::unique_ptr<BlockSymbols>> blocks;
  for (const BlockFolder& folder : *folders) {
    blocks.push_back(std::make_unique<LocalBlockSymbols>(ingest_, folder));
  }
  return blocks;
}

}  // namespace plimsoll::store
