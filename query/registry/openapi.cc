#include "query/registry/openapi.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

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
  std::erase_if(path, [](char c) { return c == '{' || c == '}'; });
  for (char& c : path) {
    c = c == '/' || c == '-' ? '_' : c;
  }
  return path;
}

std::string lower(std::string method) {
  for (char& c : method) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return method;
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
  Json parameters = parameters_of(order.parameters);
  for (Json& parameter : parameters) {
    if (order.path.find(fmt::format("{{{}}}", parameter["name"].get<std::string>())) != std::string::npos) {
      parameter["in"] = "path";
      parameter["required"] = true;
    }
  }
  const bool is_post = order.method == "POST";
  Json operation{{"operationId", id_of(is_post ? order.path : lower(order.method) + "/" + order.path)},
                 {"summary", order.help},
                 {"parameters", std::move(parameters)},
                 {"responses", responses_of(view)}};
  if (order.method == "PUT") {
    operation["requestBody"] = {{"required", true},
                                {"content", {{"application/json", {{"schema", {{"type", "object"}}}}}}}};
  }
  return operation;
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
      paths["/api/v1/" + order.path][lower(order.method)] = order_of(view, order);
    }
  }
  const Json document{
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "Plimsoll"},
        {"version", std::string(version())},
        {"description",
         "Questions about the profiles of a fleet. POST, PUT and DELETE require Content-Type "
         "application/json."}}},
      {"security", Json::array({Json::object(), {{"token", Json::array()}}})},
      {"paths", std::move(paths)},
      {"components",
       {{"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}, {"schemas", schemas()}}}};
  return document.dump(2) + "\n";
}

}  // namespace plimsoll::query
