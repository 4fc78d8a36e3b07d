#include "query/fdo/profile/gcov.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "query/fdo/profile/binary_writer.h"
#include "query/fdo/profile/profile_math.h"
#include "query/fdo/profile/sorted.h"

// The format is described by its reader, gcc/auto-profile.cc.
namespace plimsoll::fdo {
namespace {

constexpr uint32_t kGcovMagic = 0x67636461;  // "gcda"
constexpr uint32_t kGcovVersion = 2;
constexpr uint32_t kNamesTag = 0xaa000000;      // GCOV_TAG_AFDO_FILE_NAMES
constexpr uint32_t kFunctionsTag = 0xac000000;  // GCOV_TAG_AFDO_FUNCTION
constexpr uint32_t kModulesTag =
    0xae000000;                        // GCOV_TAG_MODULE_GROUPING: of LIPO, which no compiler has any more
constexpr uint32_t kIndirectCall = 7;  // the kind of a line's histogram; gcc skips it

// As gcc names functions: cut at the first dot. Constructors and destructors that gcc calls by one name in its debug information (C4,
// D4) are never linked: left as they are they become undefined symbols (https://gcc.gnu.org/PR64346).
std::string gcc_name(std::string_view name) {
  std::string cut(name.substr(0, name.find('.', 1)));
  for (const char* abstract : {"C4E", "D4E"}) {
    if (const size_t at = cut.rfind(abstract); cut.starts_with("_ZN") && at != std::string::npos) {
      cut[at + 1] = '2';
    }
  }
  return cut;
}

// As gcc looks lines up: without discriminators.
LineOffset gcc_offset(LineOffset offset) {
  return {.line = offset.line, .discriminator = 0};
}

// Adds `from` to `into`, by gcc's names and offsets.
void fold(FunctionSamples& into, const FunctionSamples& from) {
  into.head = saturating_add(into.head, from.head);
  std::map<LineOffset, BodySamples> body;
  for (const auto& [offset, samples] : from.body) {
    BodySamples& folded = body[gcc_offset(offset)];
    folded.count = std::max(folded.count, samples.count);
    for (const auto& [name, count] : samples.calls) {
      uint64_t& calls = folded.calls[gcc_name(name)];
      calls = saturating_add(calls, count);
    }
  }
  for (const auto& [offset, samples] : body) {
    BodySamples& added = into.body[offset];
    added.count = saturating_add(added.count, samples.count);
    for (const auto& [name, count] : samples.calls) {
      added.calls[name] = saturating_add(added.calls[name], count);
    }
  }
  for (const auto& [offset, callees] : from.inlined) {
    for (const auto& [name, callee] : callees) {
      fold(into.inlined[gcc_offset(offset)][gcc_name(name)], callee);
    }
  }
}

class GcovWriter {
 public:
  std::string write(const SampleProfile& profile);

 private:
  void write_function(std::string_view name, const FunctionSamples& function);
  void write_offset(LineOffset offset) { functions_.fixed(offset.line << 16U); }

  std::unordered_map<std::string_view, uint32_t> numbers_;
  BinaryWriter functions_;
};

void GcovWriter::write_function(std::string_view name, const FunctionSamples& function) {
  uint32_t callees = 0;
  for (const auto& [offset, at_offset] : function.inlined) {
    callees += static_cast<uint32_t>(at_offset.size());
  }
  functions_.fixed(numbers_.at(name));
  functions_.fixed(static_cast<uint32_t>(function.body.size()));
  functions_.fixed(callees);
  for (const auto& [offset, samples] : function.body) {
    write_offset(offset);
    functions_.fixed(static_cast<uint32_t>(samples.calls.size()));
    functions_.fixed(samples.count);
    for (const auto& [callee, count] : hottest_first(samples.calls)) {
      functions_.fixed(kIndirectCall);
      functions_.fixed(uint64_t{numbers_.at(*callee)});
      functions_.fixed(*count);
    }
  }
  for (const auto& [offset, at_offset] : function.inlined) {
    for (const auto& [callee_name, callee] : at_offset) {
      write_offset(offset);
      write_function(callee_name, callee);
    }
  }
}

std::string GcovWriter::write(const SampleProfile& profile) {
  SampleProfile folded;
  for (const auto& [name, function] : profile.functions) {
    fold(folded.functions[gcc_name(name)], function);
  }
  std::set<std::string_view> sorted_names = names_in(folded);
  sorted_names.insert("");  // the number of no name is 0
  BinaryWriter names;
  names.fixed(static_cast<uint32_t>(sorted_names.size()));
  for (const std::string_view name : sorted_names) {
    numbers_.emplace(name, static_cast<uint32_t>(numbers_.size()));
    names.fixed(static_cast<uint32_t>(name.size() + 1));
    names.text(name);
    names.fixed('\0');
  }
  functions_.fixed(static_cast<uint32_t>(folded.functions.size()));
  for (const auto& [name, function] : folded.functions) {
    functions_.fixed(function.head);
    write_function(name, function);
  }
  BinaryWriter file;
  for (const uint32_t word : {kGcovMagic, kGcovVersion, uint32_t{0}}) {
    file.fixed(word);
  }
  const auto write_section = [&](uint32_t tag, const BinaryWriter& content) {
    file.fixed(tag);
    file.fixed(static_cast<uint32_t>(content.size()));
    file.text(content.bytes());
  };
  write_section(kNamesTag, names);
  write_section(kFunctionsTag, functions_);
  for (const uint32_t word : {kModulesTag, uint32_t{0}, uint32_t{0}}) {
    file.fixed(word);
  }
  return file.bytes();
}

}  // namespace

std::string write_gcov(const SampleProfile& profile) {
  return GcovWriter().write(profile);
}

}  // namespace plimsoll::fdo
