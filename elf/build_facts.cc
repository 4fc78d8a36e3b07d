#include "elf/build_facts.h"

#include <algorithm>
#include <charconv>
#include <tuple>
#include <vector>

#include "base/printable.h"
#include "elf/go_build_info.h"

namespace plimsoll::elf {
namespace {

constexpr uint64_t kMaxCommentBytes = 64 << 10;
constexpr size_t kMaxFactBytes = 256;

std::string fact(std::string_view text) {
  return printable(text.substr(0, kMaxFactBytes));
}

bool is_linker(std::string_view text) {
  return text.starts_with("Linker:") || text.starts_with("mold ") || text.starts_with("LLD ");
}

int rank(std::string_view text) {
  if (text.starts_with("The Netwide Assembler") || text.starts_with("yasm ")) {
    return 0;
  }
  if (text.starts_with("GCC:")) {
    return 1;
  }
  return text.find("clang version") != std::string_view::npos ? 2 : 3;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The numbers at the start of a text such as "12.2.0"; empty where it does not begin with two numbers.
std::vector<uint32_t> version_at(std::string_view text) {
  std::vector<uint32_t> numbers;
  while (!text.empty() && is_digit(text.front())) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), numbers.emplace_back());
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (error != std::errc() || text.empty() || text.front() != '.') {
      break;
    }
    text.remove_prefix(1);
  }
  return numbers.size() < 2 ? std::vector<uint32_t>() : numbers;
}

// The first version outside parentheses, in which distributions name their package's.
std::vector<uint32_t> version_in(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    const bool begins_number = is_digit(text[i]) && (i == 0 || text[i - 1] == ' ');
    if (depth == 0 && begins_number) {
      if (auto version = version_at(text.substr(i)); !version.empty()) {
        return version;
      }
    }
  }
  return {};
}

// Takes a part off the front of `text`, up to the separator, which goes as well.
std::string_view take_until(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

// "mod PATH VERSION SUM" of the main module; builds from a working copy have no version.
std::string_view module_version(std::string_view fields) {
  take_until(fields, '\t');
  const std::string_view version = take_until(fields, '\t');
  return version == "(devel)" ? std::string_view() : version;
}

}  // namespace

std::string main_compiler(std::string_view comment) {
  using Candidate = std::tuple<int, std::vector<uint32_t>, std::string_view>;
  Candidate best;
  while (!comment.empty()) {
    const std::string_view text = take_until(comment, '\0');
    if (!text.empty() && !is_linker(text)) {
      best = std::max(best, Candidate(rank(text), version_in(text), text));
    }
  }
  return fact(std::get<std::string_view>(best));
}

BuildFacts go_module_facts(std::string_view module_info) {
  std::string_view version;
  std::string_view revision;
  bool is_modified = false;
  while (!module_info.empty()) {
    std::string_view line = take_until(module_info, '\n');
    const std::string_view kind = take_until(line, '\t');
    if (kind == "mod") {
      version = module_version(line);
    } else if (kind == "build") {
      const std::string_view key = take_until(line, '=');
      revision = key == "vcs.revision" ? line : revision;
      is_modified = is_modified || (key == "vcs.modified" && line == "true");
    }
  }
  BuildFacts facts;
  facts.revision = fact(revision.empty() ? version : revision);
  if (!revision.empty() && is_modified) {
    facts.revision += "+dirty";
  }
  facts.builder = "go";
  return facts;
}

BuildFacts read_build_facts(const LoadedImage& image) {
  BuildFacts facts = package_facts(image.package_metadata());
  if (const auto go = read_go_build_info(image)) {
    const BuildFacts of_go = go_module_facts(go->module_info);
    facts.compiler = fact(go->version);
    facts.revision = facts.revision.empty() ? of_go.revision : facts.revision;
    facts.builder = facts.builder.empty() ? of_go.builder : facts.builder;
  }
  if (facts.compiler.empty()) {
    facts.compiler = main_compiler(image.section_bytes(".comment", kMaxCommentBytes).value_or(std::string()));
  }
  return facts;
}

}  // namespace plimsoll::elf
