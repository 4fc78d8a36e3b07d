#include "symbolizer/dwarf/split_units.h"

#include <algorithm>

namespace plimsoll::symbolizer {

Status SplitUnits::open_package(Bytes package) {
  auto opened = SplitPackage::open(package, max_decompressed_bytes_);
  if (!opened) {
    return propagate(opened, "the package of split DWARF");
  }
  package_ = std::move(*opened);
  return {};
}

Result<SplitUnits::Opened> SplitUnits::open(const UnitAttributes& skeleton) {
  Opened opened;
  if (const auto packed = package_ ? package_->sections_of(skeleton.dwo_id) : std::nullopt) {
    opened.sections = std::make_unique<DwarfSections>(*packed);
    return opened;
  }
  const Bytes bytes = find_ ? find_({skeleton.directory, skeleton.dwo_name, skeleton.dwo_id}) : Bytes();
  if (bytes.empty()) {
    return fail(ErrorCode::kNotFound, "split DWARF {}: not found", skeleton.dwo_name);
  }
  auto image = DwarfImage::open(bytes, DwarfImage::Kind::kSplit, max_decompressed_bytes_);
  if (!image) {
    return propagate(image, "split DWARF {}", skeleton.dwo_name);
  }
  opened.image = std::make_unique<DwarfImage>(std::move(*image));
  opened.sections = std::make_unique<DwarfSections>(opened.image->sections());
  return opened;
}

Result<SplitUnits::Found> SplitUnits::find(const UnitSet::Member& skeleton, const DwarfSections& linked,
                                           CodeBudget& budget) {
  auto opened = open(skeleton.attributes);
  if (!opened) {
    return propagate(opened);
  }
  const SkeletonOf of{&linked, skeleton.unit.bases, skeleton.unit.low_pc};
  std::string damage;
  opened->units = UnitSet::read(*opened->sections, nullptr, &of, budget, damage);
  // Units of types may stand before it.
  const auto unit = std::ranges::find(opened->units->members(), skeleton.attributes.dwo_id,
                                      [](const UnitSet::Member& member) { return member.attributes.dwo_id; });
  if (unit == opened->units->members().end()) {
    return fail(ErrorCode::kNotFound, "split DWARF {}: {}", skeleton.attributes.dwo_name,
                damage.empty() ? "it is another build's" : damage);
  }
  const Found found{opened->units.get(), &*unit};
  opened_.push_back(std::move(*opened));
  return found;
}

}  // namespace plimsoll::symbolizer
