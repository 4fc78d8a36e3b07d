#include "query/registry/openapi.h"

#include <nlohmann/json.hpp>

#include "base/version.h"
#include "query/registry/view.h"

namespace plimsoll::query {
namespace {

using Json = nlohmann::ordered_json;

Json schema_of(const ParameterSpec& parameter) {
  Json schema{{"type", "string"}};
  switch (parameter.kind) {
    case ValueKind::kCount:
      schema = {{"type", "integer"}, {"minimum", 1}};
      break;
    case ValueKind::kNumber:
      schema = {{"type", "number"}};
      break;
    case ValueKind::kChoice:
      schema["enum"] = parameter.choices;
      break;
    case ValueKind::kFlag:
      schema["enum"] = {"yes", "no"};
      break;
    case ValueKind::kTime:
      schema["description"] = "RFC 3339, or an age such as 1h";
      break;
    case ValueKind::kDuration:
      schema["examples"] = {"30s", "5m", "1h"};
      break;
    case ValueKind::kShare:
      schema["examples"] = {"3%", "0.03"};
      break;
    default:
      break;
  }
  if (!parameter.default_value.empty()) {
    schema["default"] = parameter.default_value;
  }
  return schema;
}

Json parameter_of(const ParameterSpec& parameter) {
  Json described{{"name", parameter.name}, {"in", "query"}, {"description", parameter.help}};
  if (parameter.is_repeatable) {
    described["schema"] = {{"type", "array"}, {"items", schema_of(parameter)}};
    described["explode"] = true;
  } else {
    described["schema"] = schema_of(parameter);
  }
  return described;
}

Json content_of(const View& view) {
  Json media;
  if (view.answer_kind == AnswerKind::kTable && !view.columns.empty()) {
    std::string columns;
    for (const ColumnSpec& column : view.columns) {
      columns += "- `" + column.name + "`" + (column.unit.empty() ? "" : " [" + column.unit + "]") + ": " +
                 column.meaning + "\n";
    }
    media["schema"] = {{"$ref", "#/components/schemas/Table"}, {"description", "Columns:\n" + columns}};
  }
  return {{std::string(content_type_of(view.answer_kind)), media}};
}

Json responses_of(const View& view) {
  return {{"200", {{"description", "The answer"}, {"content", content_of(view)}}},
          {"default",
           {{"description", "An error"},
            {"content", {{"application/json", {{"schema", {{"$ref", "#/components/schemas/Error"}}}}}}}}}};
}

std::string id_of(std::string path) {
  for (char& c : path) {
    c = c == '/' || c == '-' ? '_' : c;
  }
  return path;
}

Json parameters_of(const std::vector<ParameterSpec>& specs) {
  Json parameters = Json::array();
  for (const ParameterSpec& spec : specs) {
    parameters.push_back(parameter_of(spec));
  }
  return parameters;
}

Json operation_of(const View& view) {
  Json operation{{"operationId", id_of(view.name)}, {"summary", view.summary}};
  if (!view.details.empty()) {
    operation["description"] = view.details;
  }
  operation["parameters"] = parameters_of(view.parameters);
  operation["responses"] = responses_of(view);
  return operation;
}

Json order_of(const View& view, const OrderSpec& order) {
  return {{"operationId", id_of(order.path)},
          {"summary", order.help},
          {"parameters", parameters_of(order.parameters)},
          {"responses", responses_of(view)}};
}

Json schemas() {
  const Json text{{"type", "string"}};
  const Json texts{{"type", "array"}, {"items", text}};
  return {{"Table",
           {{"type", "object"},
            {"properties",
             {{"event", text},
              {"notes", texts},
              {"columns",
               {{"type", "array"},
                {"items", {{"type", "object"}, {"properties", {{"name", text}, {"unit", text}}}}}}},
              {"rows", {{"type", "array"}, {"items", {{"type", "object"}}}}},
              {"coverage", {{"type", "object"}}}}}}},
          {"Error",
           {{"type", "object"},
            {"properties",
             {{"error",
               {{"type", "object"},
                {"properties", {{"code", text}, {"message", text}, {"field", text}, {"hint", text}}}}}}}}}};
}

}  // namespace

std::string openapi_document() {
  Json paths = Json::object();
  for (const View& view : views()) {
    paths["/api/v1/" + view.name][view.answer ? "get" : "post"] = operation_of(view);
    for (const OrderSpec& order : view.orders) {
      paths["/api/v1/" + order.path]["post"] = order_of(view, order);
    }
  }
  const Json document{
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "Plimsoll"},
        {"version", std::string(version())},
        {"description",
         "Questions about the profiles of a fleet. A POST requires Content-Type application/json."}}},
      {"security", Json::array({Json::object(), {{"token", Json::array()}}})},
      {"paths", std::move(paths)},
      {"components",
       {{"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}, {"schemas", schemas()}}}};
  return document.dump(2) + "\n";
}

}  // namespace plimsoll::query
