#include "bench/query/names.h"

#include <fmt/format.h>

#include <vector>

#include "bench/store/raw_profiles.h"
#include "store/frames/bindings.h"

namespace plimsoll::bench {

Status bind_from(uint32_t first, const StackTree& tree, const store::Dictionaries& dictionaries,
                 store::Ingest& ingest) {
  std::vector<store::Binding> bindings;
  for (uint32_t id = first; id < dictionaries.locations.size(); ++id) {
    const store::LocationEntry& location = dictionaries.locations[id];
    store::Binding& binding = bindings.emplace_back(store::Binding{.location = id, .frames = {}});
    const uint32_t in_tree =
        RawProfiles::location_of(dictionaries.binaries[location.owner].identity, location.address);
    for (const uint32_t function : tree.functions_of(in_tree)) {
      binding.frames.push_back(
          {.function = fmt::format("library{}::function_{}", function % 97, function), .is_inlined = true});
    }
    binding.frames.back().is_inlined = false;
  }
  if (bindings.empty()) {
    return {};
  }
  const auto blocks = ingest.blocks();
  return blocks ? ingest.write_catalogue(blocks->back(),
                                         [&](sqlite::Database& catalogue) {
                                           return store::BindingWriter(catalogue).bind(bindings, 1);
                                         })
                : propagate(blocks);
}

}  // namespace plimsoll::bench
