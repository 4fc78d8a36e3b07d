#include "query/views/flame_columns.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "query/table/coverage_json.h"

namespace plimsoll::query {
namespace {

using ColumnsJson = nlohmann::ordered_json;

std::string dumped(const ColumnsJson& json) {
  return json.dump(-1, ' ', false, ColumnsJson::error_handler_t::replace);
}

// "NAME":[1,2,3]
template <typename Items, typename Number>
void append_list(std::string& text, std::string_view name, const Items& items, const Number& number) {
  fmt::format_to(std::back_inserter(text), R"("{}":[)", name);
  bool is_first = true;
  for (const auto& item : items) {
    fmt::format_to(std::back_inserter(text), "{}{}", is_first ? "" : ",", number(item));
    is_first = false;
  }
  text += "]";
}

std::string number_or_null(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? fmt::format("{}", *value) : "null";
}

void append_nodes(const Flame& flame, std::string& text) {
  text += R"("nodes":{)";
  append_list(text, "name", flame.nodes, [](const FlameNode& node) { return node.name; });
  text += ",";
  append_list(text, "depth", flame.nodes, [](const FlameNode& node) { return node.depth; });
  text += ",";
  append_list(text, "self", flame.nodes, [](const FlameNode& node) { return node.self; });
  text += ",";
  append_list(text, "total", flame.nodes, [](const FlameNode& node) { return node.total; });
  text += ",";
  append_list(text, "kind", flame.frames,
              [](const FlameFrame& frame) { return static_cast<int>(frame.kind); });
  text += ",";
  append_list(text, "inlined", flame.frames,
              [](const FlameFrame& frame) { return frame.is_inlined ? 1 : 0; });
  text += ",";
  append_list(text, "binary", flame.frames, [](const FlameFrame& frame) { return frame.binary; });
  text += ",";
  append_list(text, "file", flame.frames, [](const FlameFrame& frame) { return frame.file; });
  text += ",";
  append_list(text, "line", flame.frames, [](const FlameFrame& frame) { return frame.line; });
  text += "}";
}

void append_margins(const Flame& flame, std::string& text) {
  std::vector<size_t> nodes;
  std::vector<const statistics::Estimate*> shares;
  for (size_t node = 0; node < flame.nodes.size(); ++node) {
    if (const auto share = flame.nodes[node].share) {
      nodes.push_back(node);
      shares.push_back(&flame.shares[*share]);
    }
  }
  using Estimate = statistics::Estimate;
  text += R"("margins":{)";
  append_list(text, "node", nodes, [](size_t node) { return node; });
  text += ",";
  append_list(text, "share", shares, [](const Estimate* share) { return number_or_null(share->value); });
  text += ",";
  append_list(text, "margin", shares, [](const Estimate* share) { return number_or_null(share->margin); });
  text += ",";
  append_list(text, "low", shares, [](const Estimate* share) { return number_or_null(share->low); });
  text += ",";
  append_list(text, "high", shares, [](const Estimate* share) { return number_or_null(share->high); });
  text += ",";
  append_list(text, "kind", shares, [](const Estimate* share) {
    return fmt::format(R"("{}")", statistics::margin_kind_name(share->margin_kind));
  });
  text += "}";
}

Status not_columns(std::string_view what) {
  return fail(ErrorCode::kCorrupt, "the response has no flat tree: {}", what);
}

// Lists of a document, each looked at before it is used.
class ColumnsReader {
 public:
  ColumnsReader(const ColumnsJson& document, Flame& flame) : document_(document), flame_(flame) {}

  Status read() {
    Status done = read_texts("names", flame_.names);
    done = done ? read_texts("binaries", flame_.binaries) : done;
    done = done ? read_texts("files", flame_.files) : done;
    done = done ? read_texts("kinds", kinds_) : done;
    done = done ? read_nodes() : done;
    return done ? read_margins() : done;
  }

 private:
  Status read_texts(const char* name, std::vector<std::string>& texts) const {
    const auto list = document_.find(name);
    if (list == document_.end() || !list->is_array()) {
      return not_columns(name);
    }
    for (const ColumnsJson& text : *list) {
      if (!text.is_string()) {
        return not_columns(name);
      }
      texts.push_back(text.get<std::string>());
    }
    return {};
  }

  // Null: absent, of another length, or not of numbers.
  static const ColumnsJson* list_in(const ColumnsJson& object, const char* name, size_t size) {
    const auto list = object.find(name);
    return list != object.end() && list->is_array() && list->size() == size ? &*list : nullptr;
  }

  // What is no number below the limit is the limit, which no index may be.
  static uint32_t index_at(const ColumnsJson& list, size_t at, size_t limit) {
    const bool is_index = list[at].is_number_unsigned() && list[at].get<uint64_t>() < limit;
    return is_index ? list[at].get<uint32_t>() : static_cast<uint32_t>(limit);
  }

  Status read_nodes() {
    const ColumnsJson& nodes = document_["nodes"];
    const auto depths = nodes.is_object() ? nodes.find("depth") : nodes.end();
    if (!nodes.is_object() || depths == nodes.end() || !depths->is_array() || depths->empty() ||
        depths->size() > kMaxFlameNodes) {
      return not_columns("nodes");
    }
    const size_t count = depths->size();
    std::array<const ColumnsJson*, 9> lists{};
    constexpr std::array kLists{"name",    "depth",  "self", "total", "kind",
                                "inlined", "binary", "file", "line"};
    for (size_t i = 0; i < kLists.size(); ++i) {
      lists[i] = list_in(nodes, kLists[i], count);
      if (lists[i] == nullptr) {
        return not_columns(kLists[i]);
      }
    }
    const auto& [names, depth, selves, totals, kinds, inlined, binaries, files, lines] = lists;
    uint32_t deepest = 0;  // that the next node may be
    for (size_t at = 0; at < count; ++at) {
      FlameNode node{.name = index_at(*names, at, flame_.names.size()),
                     .depth = index_at(*depth, at, deepest + 1)};
      FlameFrame frame{.binary = index_at(*binaries, at, flame_.binaries.size()),
                       .file = index_at(*files, at, flame_.files.size()),
                       .line = index_at(*lines, at, UINT32_MAX)};
      const uint32_t kind = index_at(*kinds, at, kFrameKinds);
      const bool is_sound = node.name < flame_.names.size() && node.depth <= deepest &&
                            (at == 0) == (node.depth == 0) && frame.binary < flame_.binaries.size() &&
                            frame.file < flame_.files.size() && kind < kFrameKinds &&
                            (*selves)[at].is_number() && (*totals)[at].is_number();
      if (!is_sound) {
        return not_columns(fmt::format("node {}", at));
      }
      node.self = (*selves)[at].get<double>();
      node.total = (*totals)[at].get<double>();
      frame.kind = static_cast<FrameKind>(kind);
      frame.is_inlined = index_at(*inlined, at, 2) == 1;
      deepest = node.depth + 1;
      flame_.nodes.push_back(node);
      flame_.frames.push_back(frame);
    }
    return {};
  }

  Status read_margins() {
    const auto margins = document_.find("margins");
    const auto nodes =
        margins != document_.end() && margins->is_object() ? margins->find("node") : document_.end();
    if (margins == document_.end() || !margins->is_object() || nodes == margins->end() ||
        !nodes->is_array()) {
      return not_columns("margins");
    }
    const auto* const values = list_in(*margins, "share", nodes->size());
    const auto* const halves = list_in(*margins, "margin", nodes->size());
    const auto* const lows = list_in(*margins, "low", nodes->size());
    const auto* const highs = list_in(*margins, "high", nodes->size());
    const auto* const kinds = list_in(*margins, "kind", nodes->size());
    if (values == nullptr || halves == nullptr || lows == nullptr || highs == nullptr || kinds == nullptr) {
      return not_columns("margins");
    }
    const auto number_at = [](const ColumnsJson& list, size_t at) {
      return list[at].is_number() ? std::optional(list[at].get<double>()) : std::nullopt;
    };
    for (size_t at = 0; at < nodes->size(); ++at) {
      const uint32_t node = index_at(*nodes, at, flame_.nodes.size());
      const auto kind = (*kinds)[at].is_string()
                            ? statistics::margin_kind_called((*kinds)[at].get<std::string>())
                            : std::nullopt;
      if (node >= flame_.nodes.size()) {
        return not_columns("margins");
      }
      if (!kind) {
        continue;  // a kind that a newer server knows
      }
      flame_.nodes[node].share = static_cast<uint32_t>(flame_.shares.size());
      statistics::Estimate& share = flame_.shares.emplace_back();
      share.value = number_at(*values, at);
      share.margin = number_at(*halves, at);
      share.low = number_at(*lows, at);
      share.high = number_at(*highs, at);
      share.margin_kind = *kind;
    }
    return {};
  }

  const ColumnsJson& document_;
  Flame& flame_;
  std::vector<std::string> kinds_;
};

}  // namespace

std::string to_columns_json(const Flame& flame) {
  ColumnsJson kinds = ColumnsJson::array();
  for (size_t kind = 0; kind < kFrameKinds; ++kind) {
    kinds.push_back(name_of(static_cast<FrameKind>(kind)));
  }
  std::string text = fmt::format(
      R"({{"event":{},"unit":{},"notes":{},"coverage":{},"names":{},"binaries":{},"files":{},"kinds":{},)",
      dumped(flame.event), dumped(flame.unit), dumped(flame.notes), dumped(coverage_json(flame.coverage)),
      dumped(flame.names), dumped(flame.binaries), dumped(flame.files), dumped(kinds));
  append_nodes(flame, text);
  text += ",";
  append_margins(flame, text);
  return visible_json(text + "}\n");
}

Status read_columns(const nlohmann::ordered_json& document, Flame& flame) {
  flame.form = FlameForm::kColumns;
  return ColumnsReader(document, flame).read();
}

}  // namespace plimsoll::query
