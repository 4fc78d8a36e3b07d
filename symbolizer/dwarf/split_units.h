// The split DWARF of a linked file: what its skeletons refer to, from a package or from files of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbolizer/dwarf/split_package.h"
#include "symbolizer/dwarf/unit_set.h"

namespace plimsoll::symbolizer {

// A file of split DWARF (.dwo), as the linked file names it.
struct SplitName {
  std::string_view directory;  // the compiler's
  std::string_view name;       // absolute, or from there
  uint64_t id = 0;
};
// Its bytes, which outlive all that is made of them; empty where it is not at hand.
using FindSplit = std::function<Bytes(const SplitName& name)>;

// Keeps all that it has opened: names are borrowed from it. One thread.
class SplitUnits {
 public:
  SplitUnits(FindSplit find, uint64_t max_decompressed_bytes)
      : find_(std::move(find)), max_decompressed_bytes_(max_decompressed_bytes) {}

  // Errors are those of SplitPackage::open().
  Status open_package(Bytes package);

  struct Found {
    const UnitSet* units = nullptr;
    const UnitSet::Member* unit = nullptr;  // the skeleton's other half
  };
  // kNotFound where it is not at hand, or another build's.
  Result<Found> find(const UnitSet::Member& skeleton, const DwarfSections& linked, CodeBudget& budget);

 private:
  struct Opened {
    std::unique_ptr<DwarfImage> image;  // null: from the package
    std::unique_ptr<DwarfSections> sections;
    std::unique_ptr<UnitSet> units;
  };
  Result<Opened> open(const UnitAttributes& skeleton);

  FindSplit find_;
  uint64_t max_decompressed_bytes_;
  std::optional<SplitPackage> package_;
  std::vector<Opened> opened_;
};

}  // namespace plimsoll::symbolizer
