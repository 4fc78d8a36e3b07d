#include "query/registry/registry_document.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/version.h"
#include "query/registry/view.h"
#include "query/snapshot/dimension.h"

namespace plimsoll::query {
namespace {

using RegistryJson = nlohmann::ordered_json;

std::string_view kind_name(ValueKind kind) {
  switch (kind) {
    case ValueKind::kText:
      return "text";
    case ValueKind::kEvent:
      return "event";
    case ValueKind::kEvents:
      return "events";
    case ValueKind::kRatio:
      return "ratio";
    case ValueKind::kDimension:
      return "dimension";
    case ValueKind::kDimensions:
      return "dimensions";
    case ValueKind::kPredicate:
      return "predicate";
    case ValueKind::kRegex:
      return "regex";
    case ValueKind::kTime:
      return "time";
    case ValueKind::kDuration:
      return "duration";
    case ValueKind::kCount:
      return "count";
    case ValueKind::kNumber:
      return "number";
    case ValueKind::kShare:
      return "share";
    case ValueKind::kChoice:
      return "choice";
    case ValueKind::kFlag:
      return "flag";
    case ValueKind::kFunction:
      return "function";
    case ValueKind::kJob:
      return "job";
    case ValueKind::kMachine:
      return "machine";
    case ValueKind::kDraw:
      return "draw";
    case ValueKind::kStatement:
      return "statement";
  }
  return "text";
}

std::string_view answer_name(AnswerKind kind) {
  switch (kind) {
    case AnswerKind::kTable:
      return "table";
    case AnswerKind::kFlame:
      return "tree";
    case AnswerKind::kSql:
      return "sql";
    case AnswerKind::kFile:
      break;
  }
  return "file";
}

std::string_view source_name(DimensionSource source) {
  switch (source) {
    case DimensionSource::kOrigin:
      return "machine";
    case DimensionSource::kWorkload:
      return "workload";
    case DimensionSource::kThread:
      return "thread";
    case DimensionSource::kLabels:
      return "labels";
    case DimensionSource::kFrame:
      return "frame";
    case DimensionSource::kStack:
      break;
  }
  return "stack";
}

RegistryJson document_of(const ParameterSpec& parameter) {
  return {{"name", parameter.name},
          {"kind", kind_name(parameter.kind)},
          {"flag", flag_of(parameter)},
          {"placeholder", placeholder_of(parameter)},
          {"help", parameter.help},
          {"default", parameter.default_value},
          {"repeatable", parameter.is_repeatable},
          {"positional", parameter.is_positional},
          {"choices", parameter.choices}};
}

RegistryJson document_of(const View& view) {
  RegistryJson document{{"name", view.name},
                        {"command", view.command},
                        {"taken_by", view.taken_by},
                        {"summary", view.summary},
                        {"details", view.details},
                        {"audience", view.audience == Audience::kReaders ? "readers" : "operators"},
                        {"answer", answer_name(view.answer_kind)},
                        {"is_question", view.answer != nullptr},
                        {"parameters", RegistryJson::array()},
                        {"columns", RegistryJson::array()},
                        {"examples", RegistryJson::array()}};
  for (const ParameterSpec& parameter : view.parameters) {
    document["parameters"].push_back(document_of(parameter));
  }
  for (const ColumnSpec& column : view.columns) {
    document["columns"].push_back(
        {{"name", column.name}, {"unit", column.unit}, {"meaning", column.meaning}});
  }
  for (const Example& example : view.examples) {
    document["examples"].push_back({{"command", example.command}, {"meaning", example.meaning}});
  }
  return document;
}

}  // namespace

std::string registry_document() {
  RegistryJson document{
      {"version", version()}, {"views", RegistryJson::array()}, {"dimensions", RegistryJson::array()}};
  for (const View& view : views()) {
    document["views"].push_back(document_of(view));
  }
  for (const Dimension& dimension : dimensions()) {
    document["dimensions"].push_back({{"name", dimension.name},
                                      {"meaning", dimension.meaning},
                                      {"source", source_name(dimension.source)}});
  }
  return document.dump() + "\n";
}

}  // namespace plimsoll::query
