#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "query/operations/experiments.h"

namespace plimsoll::query {
namespace {

using DefinitionJson = nlohmann::json;  // objects are sorted by key, as definitions are

std::unexpected<Error> unfit_value(const std::string& key, std::string_view wanted) {
  return with_field(fail(ErrorCode::kInvalid, "{} must be {}", printable(key), wanted), printable(key));
}

// Nothing: it is neither a text nor a number.
std::optional<std::string> text_of_value(const DefinitionJson& value) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
  if (value.is_number_unsigned()) {
    return fmt::format("{}", value.get<uint64_t>());
  }
  if (value.is_number_integer()) {
    return fmt::format("{}", value.get<int64_t>());
  }
  return value.is_number() ? std::optional(fmt::format("{}", value.get<double>())) : std::nullopt;
}

Status read_single(const std::string& key, const DefinitionJson& value,
                   store::ExperimentDefinition& definition) {
  const auto text = text_of_value(value);
  if (!text) {
    return unfit_value(key, "a text");
  }
  if (key == "feature") {
    definition.feature = *text;
  } else if (key == "owner") {
    definition.owner = *text;
  } else if (!text->empty()) {
    definition.parameters.emplace_back(key, *text);
  }
  return {};
}

Status read_list(const std::string& key, const DefinitionJson& values,
                 store::ExperimentDefinition& definition) {
  if (!is_list_of_experiment(key) && values.size() > 1) {
    return unfit_value(key, "one text, and no list");
  }
  for (const DefinitionJson& value : values) {
    if (Status read = read_single(key, value, definition); !read) {
      return read;
    }
  }
  return {};
}

}  // namespace

std::string definition_json(const store::ExperimentDefinition& definition) {
  DefinitionJson document = DefinitionJson::object();
  if (!definition.feature.empty()) {
    document["feature"] = definition.feature;
  }
  if (!definition.owner.empty()) {
    document["owner"] = definition.owner;
  }
  for (const auto& [name, value] : definition.parameters) {
    if (is_list_of_experiment(name)) {
      document[name].push_back(value);
    } else {
      document[name] = value;
    }
  }
  return document.dump(-1, ' ', false, DefinitionJson::error_handler_t::replace);
}

Result<store::ExperimentDefinition> definition_from_json(std::string name, std::string_view json) {
  const DefinitionJson document = DefinitionJson::parse(json, nullptr, false);
  if (!document.is_object()) {
    return with_hint(
        fail(ErrorCode::kInvalid, "the definition of experiment {} is not a JSON object", printable(name)),
        R"(send one such as {"control": ["revision=41"], "test": ["revision=42"]})");
  }
  store::ExperimentDefinition definition{.name = std::move(name)};
  for (const auto& [key, value] : document.items()) {
    if (value.is_null()) {
      continue;
    }
    const Status read =
        value.is_array() ? read_list(key, value, definition) : read_single(key, value, definition);
    if (!read) {
      return propagate(read);
    }
  }
  return definition;
}

}  // namespace plimsoll::query
