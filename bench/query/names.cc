#include "bench/query/names.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "bench/store/raw_profiles.h"
#include "store/dictionaries/dictionary_reader.h"
#include "store/frames/binding_writer.h"
#include "store/model/bindings.h"

namespace plimsoll::bench {

Status Namer::bind_new() {
  const auto blocks = ingest_.blocks();
  if (!blocks) {
    return propagate(blocks);
  }
  for (const store::BlockFolder& folder : *blocks) {
    if (folder.number < number_) {
      continue;
    }
    if (const Status bound = bind_new(folder); !bound) {
      return bound;
    }
  }
  return {};
}

Status Namer::bind_new(const store::BlockFolder& folder) {
  if (folder.number != number_) {
    auto catalogue = store::Catalogue::open(folder.catalogue_path(), sqlite::OpenMode::kRead);
    if (!catalogue) {
      return propagate(catalogue);
    }
    block_ = std::make_unique<Block>(std::move(*catalogue));
    number_ = folder.number;
  }
  if (const Status read = store::extend(block_->dictionaries, block_->catalogue.database()); !read) {
    return read;
  }
  const store::Dictionaries& dictionaries = block_->dictionaries;
  std::vector<store::Binding> bindings;
  for (; block_->bound < dictionaries.locations.size(); ++block_->bound) {
    const store::LocationEntry& location = dictionaries.locations[block_->bound];
    store::Binding& binding =
        bindings.emplace_back(store::Binding{.location = static_cast<uint32_t>(block_->bound), .frames = {}});
    const uint32_t in_tree =
        RawProfiles::location_of(dictionaries.binaries[location.owner].identity, location.address);
    for (const uint32_t function : tree_.functions_of(in_tree)) {
      binding.frames.push_back(
          {.function = fmt::format("library{}::function_{}", function % 97, function), .is_inlined = true});
    }
    binding.frames.back().is_inlined = false;
  }
  return bindings.empty() ? Status() : ingest_.write_catalogue(folder, [&](sqlite::Database& catalogue) {
    return store::BindingWriter(catalogue).bind(bindings, 1);
  });
}

}  // namespace plimsoll::bench
