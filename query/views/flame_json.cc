#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>

#include "base/printable.h"
#include "query/table/coverage_json.h"
#include "query/views/flame.h"
#include "query/views/flame_columns.h"

namespace plimsoll::query {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A share's fields, each with a comma behind it.
std::string share_text(const statistics::Estimate& share) {
  const auto field = [](const char* name, const std::optional<double>& value) {
    return value ? fmt::format(R"("{}":{},)", name, *value) : std::string();
  };
  return field("total_share", share.value) + field("total_share_margin", share.margin) +
         field("total_share_low", share.low) + field("total_share_high", share.high) +
         fmt::format(R"("total_margin_kind":"{}",)", statistics::margin_kind_name(share.margin_kind));
}

// nlohmann writes by recursion, which a stack of thousands of frames must not drive: the tree is written here.
void append_tree(const Flame& flame, std::string& text) {
  for (size_t i = 0; i < flame.nodes.size(); ++i) {
    const FlameNode& node = flame.nodes[i];
    text += fmt::format(R"({{"name":{},"self":{},"total":{},{}"children":[)", text_of(flame.names[node.name]),
                        node.self, node.total, node.share ? share_text(flame.shares[*node.share]) : "");
    const uint32_t next_depth = i + 1 < flame.nodes.size() ? flame.nodes[i + 1].depth : 0;
    for (uint32_t depth = node.depth + 1; depth > next_depth; --depth) {
      text += "]}";
    }
    text += next_depth > 0 && next_depth <= node.depth ? "," : "";
  }
}

// Reads a tree node by node, with a stack of its own.
class TreeReader {
 public:
  explicit TreeReader(Flame& flame) : flame_(flame) {}

  Status read(const Json& tree) {
    std::vector<std::pair<const Json*, uint32_t>> pending{{&tree, 0}};
    while (!pending.empty()) {
      const auto [json, depth] = pending.back();
      pending.pop_back();
      if (!has_shape(*json) || flame_.nodes.size() >= kMaxFlameNodes) {
        return fail(ErrorCode::kCorrupt, "node {} of the response is not in a tree", flame_.nodes.size());
      }
      flame_.nodes.push_back({number((*json)["name"].get<std::string>()), (*json)["self"].get<double>(),
                              (*json)["total"].get<double>(), depth, read_share(*json)});
      const Json& children = (*json)["children"];
      for (auto child = children.rbegin(); child != children.rend(); ++child) {
        pending.emplace_back(&*child, depth + 1);
      }
    }
    return {};
  }

 private:
  static bool has_shape(const Json& json) {
    const auto has = [&](const char* name, auto is_type) {
      return json.contains(name) && is_type(json[name]);
    };
    const auto is_number = [](const Json& value) { return value.is_number(); };
    return json.is_object() && has("name", [](const Json& value) { return value.is_string(); }) &&
           has("self", is_number) && has("total", is_number) &&
           has("children", [](const Json& value) { return value.is_array(); });
  }

  // Nothing: the node has none, or one of a kind that is not known here.
  std::optional<uint32_t> read_share(const Json& json) {
    const auto kind = json.contains("total_margin_kind") && json["total_margin_kind"].is_string()
                          ? statistics::margin_kind_called(json["total_margin_kind"].get<std::string>())
                          : std::nullopt;
    if (!kind) {
      return std::nullopt;
    }
    const auto field = [&](const char* name) {
      return json.contains(name) && json[name].is_number() ? std::optional(json[name].get<double>())
                                                           : std::nullopt;
    };
    statistics::Estimate& share = flame_.shares.emplace_back();
    share.value = field("total_share");
    share.margin = field("total_share_margin");
    share.low = field("total_share_low");
    share.high = field("total_share_high");
    share.margin_kind = *kind;
    return static_cast<uint32_t>(flame_.shares.size() - 1);
  }

  uint32_t number(const std::string& name) {
    const auto [entry, is_new] = numbers_.try_emplace(name, static_cast<uint32_t>(flame_.names.size()));
    if (is_new) {
      flame_.names.push_back(name);
    }
    return entry->second;
  }

  Flame& flame_;
  std::unordered_map<std::string, uint32_t> numbers_;
};

}  // namespace

std::string to_json(const Flame& flame) {
  if (flame.form == FlameForm::kColumns) {
    return to_columns_json(flame);
  }
  std::string text =
      fmt::format(R"({{"event":{},"unit":{},"notes":{},"coverage":{},"tree":)", text_of(flame.event),
                  text_of(flame.unit), text_of(flame.notes), text_of(coverage_json(flame.coverage)));
  append_tree(flame, text);
  return visible_json(text + "}\n");
}

Result<Flame> flame_from_json(std::string_view text) {
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto is_text = [&](const char* name) {
    return document.contains(name) && document[name].is_string();
  };
  const bool has_shape = document.is_object() && is_text("event") && is_text("unit") &&
                         document.contains("notes") && document["notes"].is_array() &&
                         document.contains("coverage") &&
                         (document.contains("tree") || document.contains("nodes"));
  if (!has_shape) {
    return fail(ErrorCode::kCorrupt, "the response is not a JSON tree");
  }
  Flame flame;
  flame.event = document["event"].get<std::string>();
  flame.unit = document["unit"].get<std::string>();
  flame.coverage = coverage_from(document["coverage"]);
  for (const Json& note : document["notes"]) {
    flame.notes.push_back(note.is_string() ? note.get<std::string>() : std::string());
  }
  const auto read =
      document.contains("nodes") ? read_columns(document, flame) : TreeReader(flame).read(document["tree"]);
  if (!read) {
    return propagate(read);
  }
  return flame;
}

}  // namespace plimsoll::query
