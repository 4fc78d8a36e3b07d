// The dictionaries of a block of spans: bounded, since names come from applications.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/model/span.h"

namespace plimsoll::store {

// Kinds of names. Their numbers are part of the format.
enum class SpanText : uint8_t {
  kService,
  kOperation,
  kReplica,
  kMachine,
  kVersion,
  kAttributeKey,
  kAttributeValue
};
inline constexpr size_t kSpanTexts = 7;

// In the place of a name that there are too many of.
inline constexpr std::string_view kOtherName = "[other]";

struct SpanMethod {
  uint32_t service = 0;
  uint32_t operation = 0;
  traces::SpanKind kind = traces::SpanKind::kUnspecified;
  auto operator<=>(const SpanMethod&) const = default;
};

struct SpanProcess {
  uint32_t replica = 0;
  uint32_t machine = 0;
  uint32_t version = 0;
  double weight = 1;  // requests that each of its spans stands for
  auto operator<=>(const SpanProcess&) const = default;
};

// IDs of a key and of a value.
struct SpanAttribute {
  uint32_t key = 0;
  uint32_t value = 0;
  auto operator<=>(const SpanAttribute&) const = default;
};

// Of one block. "[other]" is always possible.
struct SpanNameLimits {
  // By SpanText.
  std::array<uint32_t, kSpanTexts> texts = {2'000, 20'000, 50'000, 50'000, 5'000, 64, 20'000};
  uint32_t methods = 100'000;
  uint32_t processes = 100'000;
  uint32_t attribute_sets = 50'000;
};

// Of one set: further attributes are left out.
inline constexpr size_t kMaxStoredAttributes = 64;

// IDs are dense, from 1, and mean the same for as long as the block is there; entries are only added. 0 is the empty name, and no method or
// process. One thread at a time.
class SpanDictionaries {
 public:
  struct Sizes {
    std::array<uint32_t, kSpanTexts> texts = {1, 1, 1, 1, 1, 1, 1};  // entry 0 included
    uint32_t methods = 1;
    uint32_t processes = 1;
    uint32_t attribute_sets = 1;  // set 0 is the empty one
    bool operator==(const Sizes&) const = default;
  };

  SpanDictionaries();
  // Names are referred to by address.
  SpanDictionaries(SpanDictionaries&&) = default;
  SpanDictionaries& operator=(SpanDictionaries&&) = default;
  SpanDictionaries(const SpanDictionaries&) = delete;
  SpanDictionaries& operator=(const SpanDictionaries&) = delete;
  ~SpanDictionaries() = default;

  // The entry's ID; adds it, or what stands for it beyond the limits: then `is_other` becomes true. About 100 ns.
  uint32_t text_id(SpanText kind, std::string_view text, const SpanNameLimits& limits, bool& is_other);
  uint32_t method_id(const SpanMethod& method, const SpanNameLimits& limits, bool& is_other);
  uint32_t process_id(const SpanProcess& process, const SpanNameLimits& limits, bool& is_other);

  // By ascending key, each once, at most kMaxStoredAttributes.
  uint32_t attributes_id(std::span<const SpanAttribute> attributes, const SpanNameLimits& limits,
                         bool& is_other);

  // Of the next ID, as they are read. False where they refer to what is not there, or are there already.
  bool add_text(SpanText kind, std::string_view text);
  bool add_method(const SpanMethod& method);
  bool add_process(const SpanProcess& process);
  bool add_attributes(std::span<const SpanAttribute> attributes);

  // Borrowed for as long as the dictionaries live.
  std::string_view text(SpanText kind, uint32_t id) const { return texts_[index(kind)][id]; }
  const SpanMethod& method(uint32_t id) const { return methods_[id]; }
  const SpanProcess& process(uint32_t id) const { return processes_[id]; }
  std::span<const SpanAttribute> attributes(uint32_t id) const { return *attribute_sets_[id]; }

  Sizes sizes() const;

 private:
  static size_t index(SpanText kind) { return static_cast<size_t>(kind); }
  uint32_t other_text(SpanText kind);

  std::array<std::deque<std::string>, kSpanTexts> texts_;
  std::array<std::unordered_map<std::string_view, uint32_t>, kSpanTexts> text_ids_;
  std::vector<SpanMethod> methods_;
  std::map<SpanMethod, uint32_t> method_ids_;
  std::vector<SpanProcess> processes_;
  std::map<SpanProcess, uint32_t> process_ids_;
  using AttributeSet = std::vector<SpanAttribute>;
  std::map<AttributeSet, uint32_t> attribute_ids_;
  std::vector<const AttributeSet*> attribute_sets_;  // keys of attribute_ids_
};

}  // namespace plimsoll::store
