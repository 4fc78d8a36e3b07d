// All units of one file's DWARF, prepared to be read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "symbolizer/dwarf/unit_code.h"

namespace plimsoll::symbolizer {

// What units of split DWARF take from elsewhere: addresses and ranges of the linked file, bases of its skeleton.
struct SkeletonOf {
  const DwarfSections* sections = nullptr;
  UnitBases bases;
  uint64_t low_pc = 0;
};

// Immutable once made. Borrows the sections.
class UnitSet {
 public:
  struct Member {
    UnitHeader header;
    Unit unit;
    UnitAttributes attributes;
  };

  // Units that cannot be read are left out; `damage` then says of the first why. `supplement` and `skeleton` may be null.
  static std::unique_ptr<UnitSet> read(const DwarfSections& sections, const DwarfSections* supplement,
                                       const SkeletonOf* skeleton, CodeBudget& budget, std::string& damage);

  const std::vector<Member>& members() const { return members_; }
  // Where the own entries of the units begin that were left out, by offset.
  const std::vector<uint64_t>& left_out() const { return left_out_; }
  // The unit whose entries the offset lies among; null: none.
  const Unit* find(uint64_t offset) const;

 private:
  explicit UnitSet(Bytes abbrev) : abbreviations_(abbrev) {}

  AbbreviationTables abbreviations_;
  std::vector<Member> members_;  // by offset
  std::vector<uint64_t> left_out_;
};

}  // namespace plimsoll::symbolizer
