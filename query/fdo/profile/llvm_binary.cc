#include "query/fdo/profile/llvm_binary.h"

#include <array>
#include <set>
#include <unordered_map>

#include "query/fdo/profile/binary_writer.h"
#include "query/fdo/profile/profile_math.h"
#include "query/fdo/profile/sorted.h"

// The format has no description but LLVM's sources: llvm/include/llvm/ProfileData/SampleProf.h, llvm/lib/ProfileData/SampleProfWriter.cpp.
namespace plimsoll::fdo {
namespace {

constexpr uint64_t kExtBinaryMagic = 0x5350524f46343204;  // "SPROF42", and 4 for the extensible format
constexpr uint64_t kExtBinaryVersion = 103;

enum class Section : uint64_t {
  kSummary = 1,
  kNames = 2,
  kFunctionOffsets = 4,
  kFunctions = 32,
};

// In the upper half of a section's flags: what is special to its kind.
constexpr uint64_t kNamesHaveUniqueSuffixes = uint64_t{1} << 34U;
constexpr std::string_view kUniqueSuffix = ".__uniq.";

class ExtBinaryWriter {
 public:
  std::string write(const SampleProfile& profile);

 private:
  void write_summary(const ProfileSummary& summary);
  void write_names();
  void write_offset(LineOffset offset);
  void write_body(std::string_view name, const FunctionSamples& function);
  std::string assembled() const;

  std::set<std::string_view> names_;
  std::unordered_map<std::string_view, uint64_t> numbers_;
  BinaryWriter summary_;
  BinaryWriter name_table_;
  BinaryWriter functions_;
  BinaryWriter offsets_;
};

void ExtBinaryWriter::write_summary(const ProfileSummary& summary) {
  for (const uint64_t number : {summary.total_count, summary.max_count, summary.max_function_count,
                                summary.lines, summary.functions, uint64_t{summary.entries.size()}}) {
    summary_.uleb128(number);
  }
  for (const SummaryEntry& entry : summary.entries) {
    summary_.uleb128(entry.cutoff);
    summary_.uleb128(entry.min_count);
    summary_.uleb128(entry.lines);
  }
}

void ExtBinaryWriter::write_names() {
  name_table_.uleb128(names_.size());
  for (const std::string_view name : names_) {
    numbers_.emplace(name, numbers_.size());
    name_table_.text(name);
    name_table_.fixed('\0');
  }
}

void ExtBinaryWriter::write_offset(LineOffset offset) {
  functions_.uleb128(offset.line);
  functions_.uleb128(offset.discriminator);
}

void ExtBinaryWriter::write_body(std::string_view name, const FunctionSamples& function) {
  functions_.uleb128(numbers_.at(name));
  functions_.uleb128(function.total);
  functions_.uleb128(function.body.size());
  for (const auto& [offset, samples] : function.body) {
    write_offset(offset);
    functions_.uleb128(samples.count);
    functions_.uleb128(samples.calls.size());
    for (const auto& [callee, count] : hottest_first(samples.calls)) {
      functions_.uleb128(numbers_.at(*callee));
      functions_.uleb128(*count);
    }
  }
  uint64_t callees = 0;
  for (const auto& [offset, at_offset] : function.inlined) {
    callees += at_offset.size();
  }
  functions_.uleb128(callees);
  for (const auto& [offset, at_offset] : function.inlined) {
    for (const auto& [callee_name, callee] : at_offset) {
      write_offset(offset);
      write_body(callee_name, callee);
    }
  }
}

std::string ExtBinaryWriter::write(const SampleProfile& profile) {
  names_ = names_in(profile);
  write_summary(summary_of(profile));
  write_names();
  offsets_.uleb128(profile.functions.size());
  for (const auto& [name, function] : hottest_first(profile)) {
    offsets_.uleb128(numbers_.at(*name));
    offsets_.uleb128(functions_.size());
    functions_.uleb128(function->head);
    write_body(*name, *function);
  }
  return assembled();
}

std::string ExtBinaryWriter::assembled() const {
  struct Part {
    Section section;
    const BinaryWriter* content;
    uint64_t flags = 0;
  };
  const bool has_unique_suffixes = std::ranges::any_of(
      names_, [](std::string_view name) { return name.find(kUniqueSuffix) != std::string_view::npos; });
  const std::array<Part, 4> parts{{
      {Section::kSummary, &summary_},
      {Section::kNames, &name_table_, has_unique_suffixes ? kNamesHaveUniqueSuffixes : 0},
      {Section::kFunctionOffsets, &offsets_},
      {Section::kFunctions, &functions_},
  }};
  BinaryWriter file;
  file.uleb128(kExtBinaryMagic);
  file.uleb128(kExtBinaryVersion);
  file.fixed(uint64_t{parts.size()});
  constexpr size_t kEntryBytes = 4 * sizeof(uint64_t);
  uint64_t offset = file.size() + parts.size() * kEntryBytes;
  for (const Part& part : parts) {
    file.fixed(static_cast<uint64_t>(part.section));
    file.fixed(part.flags);
    file.fixed(offset);
    file.fixed(uint64_t{part.content->size()});
    offset += part.content->size();
  }
  for (const Part& part : parts) {
    file.text(part.content->bytes());
  }
  return file.bytes();
}

}  // namespace

std::string write_llvm_binary(const SampleProfile& profile) {
  return ExtBinaryWriter().write(profile);
}

}  // namespace plimsoll::fdo
