#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "elf/build_facts.h"

namespace plimsoll::elf {
namespace {

constexpr size_t kMaxJsonBytes = 16 << 10;
constexpr size_t kMaxFieldBytes = 120;  // two of them and a word make a fact

std::string field(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  const auto* const text = found == object.end() ? nullptr : found->get_ptr<const std::string*>();
  return text == nullptr ? std::string() : printable(std::string_view(*text).substr(0, kMaxFieldBytes));
}

// "fedora 33" for "cpe:/o:fedoraproject:fedora:33".
std::string system_of_cpe(std::string_view cpe) {
  constexpr std::string_view kPrefix = "cpe:/o:";
  if (!cpe.starts_with(kPrefix)) {
    return {};
  }
  cpe.remove_prefix(kPrefix.size());
  cpe.remove_prefix(std::min(cpe.find(':'), cpe.size() - 1) + 1);
  std::string system(cpe);
  std::ranges::replace(system, ':', ' ');
  return system;
}

std::string joined(const std::string& first, const std::string& second) {
  return first + (first.empty() || second.empty() ? "" : " ") + second;
}

}  // namespace

BuildFacts package_facts(std::string_view json) {
  if (json.empty() || json.size() > kMaxJsonBytes) {
    return {};
  }
  // The note's text ends with a zero byte.
  const auto object = nlohmann::json::parse(json.substr(0, json.find('\0')), nullptr, false);
  if (!object.is_object()) {
    return {};
  }
  std::string system = joined(field(object, "os"), field(object, "osVersion"));
  if (system.empty()) {
    system = system_of_cpe(field(object, "osCpe"));
  }
  BuildFacts facts;
  facts.revision = field(object, "version");
  facts.builder = joined(field(object, "type"), system);
  return facts;
}

}  // namespace plimsoll::elf
