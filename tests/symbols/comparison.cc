#include "tests/symbols/comparison.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "base/file.h"
#include "elf/elf_file.h"
#include "tests/symbols/llvm_symbolizer.h"

namespace plimsoll::testing {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{4} << 30U;
constexpr size_t kExamples = 3;

std::string what_differs(const ChainFrame& ours, const ChainFrame& theirs) {
  std::string parts;
  const auto add = [&parts](bool differs, const char* part) {
    parts += differs ? (parts.empty() ? "" : ", ") + std::string(part) : std::string();
  };
  add(ours.function != theirs.function, "function");
  add(ours.file != theirs.file, "file");
  add(ours.line != theirs.line, ours.line == 0     ? "line (ours is 0)"
                                : theirs.line == 0 ? "line (theirs is 0)"
                                                   : "line");
  return parts;
}

struct CodeRange {
  uint64_t begin;
  uint64_t end;
};

std::vector<CodeRange> code_of(const elf::ElfFile& file) {
  std::vector<CodeRange> code;
  for (const elf::Section& section : file.sections()) {
    if ((section.flags & SHF_EXECINSTR) != 0 && section.size_bytes != 0) {
      code.push_back({section.address, section.address + section.size_bytes});
    }
  }
  return code;
}

}  // namespace

std::string difference(const Chain& ours, const Chain& theirs) {
  if (ours == theirs) {
    return {};
  }
  if (ours.empty() || theirs.empty()) {
    return ours.empty() ? "unknown to us" : "unknown to them";
  }
  if (ours.size() != theirs.size()) {
    return ours.size() < theirs.size() ? "fewer frames than theirs" : "more frames than theirs";
  }
  size_t frame = 0;
  while (ours[frame] == theirs[frame]) {
    ++frame;
  }
  const char* const where = ours.size() == 1           ? "the only frame"
                            : frame == 0               ? "the innermost frame"
                            : frame + 1 == ours.size() ? "the outermost frame"
                                                       : "a frame between";
  return fmt::format("{} of {}", what_differs(ours[frame], theirs[frame]), where);
}

void Agreement::add(uint64_t address, const Chain& ours, const Chain& theirs) {
  ++compared_;
  unknown_to_them_ += theirs.empty() ? 1 : 0;
  const std::string found = difference(ours, theirs);
  if (found.empty()) {
    ++equal_;
    return;
  }
  Class& differing = classes_[found];
  ++differing.count;
  if (differing.examples.size() < kExamples) {
    differing.examples.push_back({address, ours, theirs});
  }
}

double Agreement::share() const {
  return compared_ == 0 ? 0 : static_cast<double>(equal_) / static_cast<double>(compared_);
}

std::string Agreement::summary() const {
  std::string text = fmt::format("{:.3f} % of {} chains are equal", share() * 100, compared_);
  const char* separator = ": ";
  for (const auto& [name, differing] : classes_) {
    text += fmt::format("{}{} x {}", separator, differing.count, name);
    separator = "; ";
  }
  return text;
}

std::string Agreement::details() const {
  std::string text = problems_.empty() ? "" : fmt::format("  problems: {}\n", problems_);
  for (const auto& [name, differing] : classes_) {
    text += fmt::format("  {} x {}\n", differing.count, name);
    for (const Example& example : differing.examples) {
      text += fmt::format("    {:#x}\n      ours:   {}\n      theirs: {}\n", example.address,
                          text_of(example.ours), text_of(example.theirs));
    }
  }
  return text;
}

Result<std::vector<uint64_t>> random_addresses(const std::string& binary, size_t count, uint64_t seed) {
  const auto image = MappedFile::open(binary, kMaxFileBytes);
  const auto file = image ? elf::ElfFile::parse(image->bytes()) : propagate(image);
  if (!file) {
    return propagate(file);
  }
  const std::vector<CodeRange> code = code_of(*file);
  std::vector<double> weights;
  std::ranges::transform(code, std::back_inserter(weights),
                         [](const CodeRange& range) { return static_cast<double>(range.end - range.begin); });
  if (code.empty()) {
    return fail(ErrorCode::kNotFound, "{} has no executable section", binary);
  }
  std::mt19937_64 random(seed);
  std::discrete_distribution<size_t> section(weights.begin(), weights.end());
  std::vector<uint64_t> addresses(count);
  std::ranges::generate(addresses, [&] {
    const CodeRange& range = code[section(random)];
    return std::uniform_int_distribution<uint64_t>(range.begin, range.end - 1)(random);
  });
  return addresses;
}

Result<Agreement> compare_with_libdw(const BinaryFiles& files, size_t addresses, uint64_t seed) {
  const auto ours = BinaryTable::build(files, symbolizer::ReaderChoice::kOursAlone);
  const auto theirs =
      ours ? BinaryTable::build(files, symbolizer::ReaderChoice::kSecondAlone) : propagate(ours);
  const auto asked = theirs ? random_addresses(files.binary, addresses, seed) : propagate(theirs);
  if (!asked) {
    return propagate(asked);
  }
  Agreement agreement(theirs->problems());
  for (const uint64_t address : *asked) {
    agreement.add(address, ours->chain_at(address), theirs->chain_at(address));
  }
  return agreement;
}

Result<Agreement> compare_with_llvm(const AskedFiles& files, size_t addresses, uint64_t seed) {
  const auto table = BinaryTable::build(files.ours);
  const auto asked = table ? random_addresses(files.ours.binary, addresses, seed) : propagate(table);
  if (!asked) {
    return propagate(asked);
  }
  Agreement agreement(table->problems());
  const auto compared = ask_llvm_symbolizer(files.theirs.empty() ? files.ours.binary : files.theirs, *asked,
                                            [&](uint64_t address, const Chain& theirs) {
                                              agreement.add(address, table->chain_at(address), theirs);
                                            });
  return compared ? Result<Agreement>(std::move(agreement)) : propagate(compared);
}

}  // namespace plimsoll::testing
