#include "store/merging/merged_names.h"

#include <cstdint>
#include <vector>

#include "store/catalogue/catalogue.h"
#include "store/copy/part_names.h"

namespace plimsoll::store {
namespace {

constexpr size_t kInVainOfPiece = 20'000;

class NamesOfUnion {
 public:
  NamesOfUnion(size_t locations, const UseNames& use)
      : is_named_(locations), was_looked_up_(locations), use_(use) {}

  Status add(const NamedMember& member) {
    auto catalogue = Catalogue::open(member.catalogue_path, sqlite::OpenMode::kRead);
    return catalogue ? read_part_names(catalogue->database(),
                                       [&](std::span<const Binding> names) {
                                         return add(names, member.locations.span());
                                       })
                     : propagate(catalogue);
  }

  // Once, after all members.
  Status add_those_in_vain() {
    std::vector<Binding> in_vain;
    Status added;
    for (uint32_t location = 1; location < was_looked_up_.size() && added; ++location) {
      if (was_looked_up_[location] && !is_named_[location]) {
        in_vain.push_back({.location = location, .frames = {}});
      }
      if (in_vain.size() == kInVainOfPiece) {
        added = use_(in_vain);
        in_vain.clear();
      }
    }
    return added && !in_vain.empty() ? use_(in_vain) : added;
  }

 private:
  Status add(std::span<const Binding> names, std::span<const uint32_t> ids) {
    std::vector<Binding> added;
    for (const Binding& name : names) {
      if (name.location >= ids.size()) {
        return fail(ErrorCode::kCorrupt, "names are of location {}, which is not there", name.location);
      }
      const uint32_t location = ids[name.location];
      was_looked_up_[location] = true;
      if (!name.frames.empty() && !is_named_[location]) {
        is_named_[location] = true;
        added.push_back({.location = location, .frames = name.frames});
      }
    }
    return added.empty() ? Status() : use_(added);
  }

  std::vector<bool> is_named_;
  std::vector<bool> was_looked_up_;
  const UseNames& use_;
};

}  // namespace

Status read_merged_names(std::span<const NamedMember> members, size_t locations, const UseNames& use,
                         size_t& failed) {
  NamesOfUnion names(locations, use);
  // The last one first: what it has named the others do not name again.
  for (size_t place = members.size(); place > 0; --place) {
    if (const Status added = names.add(members[place - 1]); !added) {
      failed = place - 1;
      return added;
    }
  }
  return names.add_those_in_vain();
}

}  // namespace plimsoll::store
