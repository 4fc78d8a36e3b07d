#include "store/draws/experiment.h"

#include "base/printable.h"

namespace plimsoll::store {
namespace {

std::unexpected<Error> unfit_name(std::string_view name, std::string_view why) {
  return with_hint(
      with_field(fail(ErrorCode::kInvalid, "experiment name \"{}\" {}", printable(name.substr(0, 100)), why),
                 "name"),
      "a name has 1 to 64 bytes of printable text without '/', and does not end in .toml, as files do");
}

Status check_text(std::string_view field, std::string_view text) {
  return printable(text) == text
             ? Status()
             : with_field(fail(ErrorCode::kInvalid, "{} has control characters or is not UTF-8: {}", field,
                               printable(text)),
                          std::string(field));
}

}  // namespace

std::vector<std::string> ExperimentDefinition::values_of(std::string_view parameter) const {
  std::vector<std::string> values;
  for (const auto& [parameter_name, value] : parameters) {
    if (parameter_name == parameter) {
      values.push_back(value);
    }
  }
  return values;
}

Status check_experiment_name(std::string_view name) {
  if (name.empty()) {
    return unfit_name(name, "is empty");
  }
  if (name.size() > kMaxExperimentNameBytes) {
    return unfit_name(name, "is too long");
  }
  if (printable(name) != name) {
    return unfit_name(name, "has control characters or is not UTF-8");
  }
  if (name.find('/') != std::string_view::npos) {
    return unfit_name(name, "has a '/'");
  }
  if (name.starts_with('.') || name.starts_with('-') || name.starts_with(' ') || name.ends_with(' ')) {
    return unfit_name(name, "begins with '.' or '-', or begins or ends with a space");
  }
  return name.ends_with(".toml") ? Status(unfit_name(name, "ends in .toml")) : Status();
}

Status check_experiment_texts(const ExperimentDefinition& definition) {
  if (Status fits = check_experiment_name(definition.name); !fits) {
    return fits;
  }
  Status printed = check_text("feature", definition.feature);
  printed = printed ? check_text("owner", definition.owner) : printed;
  size_t bytes = definition.feature.size();
  for (const auto& [name, value] : definition.parameters) {
    bytes += name.size() + value.size();
    if (name.empty() || printable(name) != name) {
      return fail(ErrorCode::kInvalid, "\"{}\" is no name of a parameter", printable(name));
    }
    printed = printed ? check_text(name, value) : printed;
  }
  if (!printed) {
    return printed;
  }
  if (definition.owner.size() > kMaxExperimentOwnerBytes) {
    return with_field(
        fail(ErrorCode::kTooLarge, "the owner has more than {} bytes", kMaxExperimentOwnerBytes), "owner");
  }
  if (definition.parameters.size() > kMaxExperimentParameters || bytes > kMaxExperimentBytes) {
    return fail(ErrorCode::kTooLarge,
                "the definition of experiment {} has more than {} filters and other values, or {} bytes",
                definition.name, kMaxExperimentParameters, kMaxExperimentBytes);
  }
  return {};
}

}  // namespace plimsoll::store
