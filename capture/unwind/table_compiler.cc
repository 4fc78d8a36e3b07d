#include "capture/unwind/table_compiler.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

namespace plimsoll::unwind {
namespace {

constexpr size_t kMaxNumbers = size_t{1} << 24;  // as many as three bytes can tell apart

// Whether the caller's value is what the frame has, for a register that the common form cannot tell anything else of.
bool is_unchanged(const UnwindRow& row, size_t number) {
  return row.registers[number].kind == Rule::Kind::kSame;
}

// The row in the common form, where that says all of it.
std::optional<FrameRule> common_form(const UnwindRow& row) {
  const Rule& return_address = row.registers[kRip];
  constexpr auto kReturnAddressOffset = -static_cast<int64_t>(sizeof(uint64_t));
  if (row.is_signal_frame || row.cfa.kind != Rule::Kind::kOffset || row.cfa.offset > INT32_MAX ||
      row.cfa.offset < INT32_MIN || return_address.kind != Rule::Kind::kAtOffset ||
      return_address.offset != kReturnAddressOffset) {
    return std::nullopt;
  }
  FrameRule rule{.kind = FrameRule::Kind::kCommon,
                 .cfa_register = row.cfa.reg,
                 .cfa_offset = static_cast<int32_t>(row.cfa.offset)};
  for (size_t number = 0; number < kRip; ++number) {
    if (is_unchanged(row, number)) {
      continue;
    }
    const Rule& saved = row.registers[number];
    const auto* const place = std::ranges::find(kCalleeSaved, number);
    if (place == kCalleeSaved.end() || saved.kind != Rule::Kind::kAtOffset || saved.offset > INT16_MAX ||
        saved.offset < INT16_MIN) {
      return std::nullopt;
    }
    const auto index = static_cast<size_t>(place - kCalleeSaved.begin());
    rule.saved |= static_cast<uint8_t>(1U << index);
    rule.saved_offset[index] = static_cast<int16_t>(saved.offset);
  }
  return rule;
}

}  // namespace

size_t FrameRuleHash::operator()(const FrameRule& rule) const {
  std::array<uint64_t, 3> words{};
  static_assert(sizeof rule <= sizeof words);
  std::memcpy(words.data(), &rule, sizeof rule);
  constexpr uint64_t kGeneric = 0x9e3779b97f4a7c15;
  uint64_t hash = 0;
  for (const uint64_t word : words) {
    hash = (hash ^ word) * kGeneric;
    hash ^= hash >> 32U;
  }
  return hash;
}

TableCompiler::TableCompiler(const UnwindTable::Limits& limits) : limits_(limits) {
  limits_.max_rules = std::min(limits_.max_rules, kMaxNumbers);
  intern({.kind = FrameRule::Kind::kNotCovered});
  intern({.kind = FrameRule::Kind::kDamaged});
}

uint32_t TableCompiler::intern(const FrameRule& rule) {
  const auto [entry, is_new] = numbers_.try_emplace(rule, static_cast<uint32_t>(table_.rules_.size()));
  if (is_new) {
    is_too_large_ = is_too_large_ || table_.rules_.size() >= limits_.max_rules;
    table_.rules_.push_back(rule);
  }
  return entry->second;
}

uint32_t TableCompiler::number_of_odd(const UnwindRow& row) {
  const auto [entry, is_new] = odd_numbers_.try_emplace(row, 0);
  if (is_new) {
    is_too_large_ = is_too_large_ || table_.generic_rows_.size() >= limits_.max_generic_rows;
    entry->second = intern(
        {.kind = FrameRule::Kind::kGeneric, .cfa_offset = static_cast<int32_t>(table_.generic_rows_.size())});
    table_.generic_rows_.push_back(row);
  }
  return entry->second;
}

uint32_t TableCompiler::number_of(const UnwindRow& row) {
  if (row.cfa.kind == Rule::Kind::kUndefined) {
    return kDamagedRule;  // a program that never says where the frame is
  }
  auto common = common_form(row);
  if (common && is_go_ && common->saved == 0) {
    common->kind = FrameRule::Kind::kGo;
  }
  return common ? intern(*common) : number_of_odd(row);
}

void TableCompiler::begin_function(uint64_t begin, uint64_t end, bool is_go) {
  if (table_.functions_ != 0 && end_ < begin) {
    append(end_, kNotCoveredRule);
  }
  ++table_.functions_;
  end_ = end;
  is_go_ = is_go;
}

void TableCompiler::add(uint64_t begin, const UnwindRow& row) {
  if (!is_too_large_ && begin < end_) {
    append(begin, number_of(row));
  }
}

void TableCompiler::add_rule(uint64_t begin, uint32_t number) {
  if (begin < end_) {
    append(begin, number);
  }
}

void TableCompiler::set_number(size_t row, uint32_t number) {
  table_.rule_numbers_[row] = static_cast<uint16_t>(number);
  if (number > UINT16_MAX && table_.more_of_number_.empty()) {
    table_.more_of_number_.resize(table_.rule_numbers_.size());
  }
  if (!table_.more_of_number_.empty()) {
    table_.more_of_number_.resize(table_.rule_numbers_.size());
    table_.more_of_number_[row] = static_cast<uint8_t>(number >> 16U);
  }
}

size_t TableCompiler::bytes() const {
  constexpr size_t kMaxRowBytes = 2 * sizeof(uint16_t) + sizeof(uint8_t);
  return table_.pages_.size() * sizeof(UnwindTable::Page) + table_.offsets_.size() * kMaxRowBytes;
}

void TableCompiler::append(uint64_t address, uint32_t number) {
  const bool is_first = table_.offsets_.empty();
  if (is_too_large_ || (!is_first && number == last_number_)) {
    return;
  }
  last_number_ = number;
  if (!is_first && address == last_address_) {
    set_number(table_.offsets_.size() - 1, number);
    return;
  }
  last_address_ = address;
  if (bytes() >= limits_.max_bytes) {
    is_too_large_ = true;
    return;
  }
  const uint64_t page = address >> 16U;
  if (table_.pages_.empty() || table_.pages_.back().number != page) {
    table_.pages_.push_back({page, static_cast<uint32_t>(table_.offsets_.size())});
  }
  table_.offsets_.push_back(static_cast<uint16_t>(address));
  table_.rule_numbers_.push_back(0);
  set_number(table_.rule_numbers_.size() - 1, number);
}

Result<UnwindTable> TableCompiler::finish() {
  if (table_.functions_ != 0) {
    append(end_, kNotCoveredRule);
  }
  if (is_too_large_) {
    return fail(
        ErrorCode::kTooLarge,
        "call frame information needs a table of over {} bytes, {} different rules, or {} generic rows",
        limits_.max_bytes, limits_.max_rules, limits_.max_generic_rows);
  }
  table_.expressions_ = expressions_.bytes();
  table_.pages_.shrink_to_fit();
  table_.offsets_.shrink_to_fit();
  table_.rule_numbers_.shrink_to_fit();
  table_.more_of_number_.shrink_to_fit();
  table_.rules_.shrink_to_fit();
  table_.generic_rows_.shrink_to_fit();
  return std::move(table_);
}

}  // namespace plimsoll::unwind
