// Recursive descent, a function for each rule of the grammar in docs/burst-search.md. Depth, length and numbers of parts are bounded.
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/suggest.h"
#include "traces/bursts/search/query.h"
#include "traces/bursts/search/query_literals.h"
#include "traces/bursts/search/query_tokens.h"

namespace plimsoll::traces {
namespace {

constexpr std::string_view kOuter = "outer.";
constexpr std::array<std::pair<std::string_view, Operator>, 7> kOperators{{{"=", Operator::kEqual},
                                                                           {"!=", Operator::kNotEqual},
                                                                           {"<", Operator::kLess},
                                                                           {"<=", Operator::kLessEqual},
                                                                           {">", Operator::kGreater},
                                                                           {">=", Operator::kGreaterEqual},
                                                                           {"~", Operator::kContains}}};
constexpr std::array<std::string_view, 5> kRelations{"with", "during", "overlapping", "then", "after"};

bool is_word(const Token& token, std::string_view word) {
  return token.kind == TokenKind::kWord && token.text == word;
}

bool is_sign(const Token& token, std::string_view sign) {
  return token.kind == TokenKind::kSign && token.text == sign;
}

std::optional<Relation> relation_of(const Token& token) {
  for (size_t i = 0; i < kRelations.size(); ++i) {
    if (is_word(token, kRelations[i])) {
      return static_cast<Relation>(i);
    }
  }
  return std::nullopt;
}

std::optional<Operator> operator_of(const Token& token) {
  for (const auto& [sign, op] : kOperators) {
    if (is_sign(token, sign)) {
      return op;
    }
  }
  return std::nullopt;
}

bool is_minimum(Operator op) {
  return op == Operator::kGreater || op == Operator::kGreaterEqual;
}

bool is_number_type(FieldType type) {
  return type != FieldType::kText && type != FieldType::kAny;
}

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Result<SearchQuery> run() {
    auto set = parse_query(std::nullopt, 0);
    if (!set) {
      return propagate(set);
    }
    if (now().kind != TokenKind::kEnd) {
      return expected("with, during, overlapping, then, after, not or the end");
    }
    return SearchQuery{.set = std::move(*set), .sets = sets_, .kinds = kinds_};
  }

 private:
  // The kind of the item that `outer` refers to.
  using Outer = std::optional<ItemKind>;

  const Token& now() const { return tokens_[at_]; }
  Token take() {
    Token token = tokens_[at_];
    at_ += token.kind == TokenKind::kEnd ? 0 : 1;
    return token;
  }

  std::unexpected<Error> expected(std::string_view what) const { return expected_at(now(), what); }
  static std::unexpected<Error> expected_at(const Token& token, std::string_view what) {
    return fail(ErrorCode::kInvalid, "column {}: expected {}, found {}", token.column, what, shown(token));
  }
  static std::unexpected<Error> wrong_at(const Token& token, std::string_view what) {
    return fail(ErrorCode::kInvalid, "column {}: {}", token.column, what);
  }

  // query = set { clause }
  Result<SearchSet> parse_query(const Outer& outer, size_t depth) {
    auto set = parse_set(outer);
    if (!set) {
      return set;
    }
    while (is_word(now(), "not") || relation_of(now())) {
      if (set->clauses.size() == kMaxQueryParts) {
        return wrong_at(now(), fmt::format("over {} clauses", kMaxQueryParts));
      }
      auto clause = parse_clause(set->kind, depth);
      if (!clause) {
        return propagate(clause);
      }
      set->clauses.push_back(std::move(*clause));
    }
    return set;
  }

  // set = ["own"] kind ["{" test { "," test } "}"]
  Result<SearchSet> parse_set(const Outer& outer) {
    SearchSet set;
    set.id = sets_++;
    if (sets_ > kMaxQuerySets) {
      return wrong_at(now(), fmt::format("over {} sets", kMaxQuerySets));
    }
    if (is_word(now(), "own")) {
      if (!outer) {
        return wrong_at(now(), "\"own\" requires an item before it, whose request it means");
      }
      take();
      set.tests.push_back({.field = {Field::kRequest, {}},
                           .op = Operator::kEqual,
                           .is_number = true,
                           .is_outer = true,
                           .is_of_machine = false,
                           .outer = {Field::kRequest, {}},
                           .values = {}});
    }
    const Token name = take();
    const auto kind = name.kind == TokenKind::kWord ? item_kind_named(name.text) : std::nullopt;
    if (!kind) {
      return expected_kind(name);
    }
    set.kind = *kind;
    kinds_ |= kinds_of(*kind);
    if (!is_sign(now(), "{")) {
      return set;
    }
    do {
      take();
      if (set.tests.size() == kMaxQueryParts) {
        return wrong_at(now(), fmt::format("over {} tests", kMaxQueryParts));
      }
      auto test = parse_test(set.kind, outer);
      if (!test) {
        return propagate(test);
      }
      set.tests.push_back(std::move(*test));
    } while (is_sign(now(), ","));
    if (!is_sign(now(), "}")) {
      return expected("\",\" or \"}\"");
    }
    take();
    return set;
  }

  static std::unexpected<Error> expected_kind(const Token& name) {
    std::vector<std::string_view> known;
    for (size_t i = 0; i < kItemKinds; ++i) {
      known.push_back(name_of(static_cast<ItemKind>(i)));
    }
    const auto nearest = nearest_word(name.text, known);
    auto failure = expected_at(name, fmt::format("a kind of item ({})", all_item_kinds()));
    return nearest ? with_hint(std::move(failure), fmt::format("did you mean {}?", *nearest)) : failure;
  }

  static Result<FieldInfo> field_at(const Token& token, std::string_view name, ItemKind kind) {
    if (token.kind != TokenKind::kWord || name.empty()) {
      return expected_at(token, fmt::format("an attribute of {}: {}", name_of(kind), fields_of(kind)));
    }
    const auto info = field_named(name, kind);
    return info ? Result<FieldInfo>(*info)
                : Result<FieldInfo>(expected_at(
                      token, fmt::format("an attribute of {}: {}", name_of(kind), fields_of(kind))));
  }

  static FieldName name_of_field(const FieldInfo& info) {
    return {.field = info.field,
            .attribute = info.field == Field::kAttribute ? std::string(info.name) : std::string()};
  }

  // test = attribute operator ( value { "|" value } | "outer." attribute )
  Result<SearchTest> parse_test(ItemKind kind, const Outer& outer) {
    const Token name = take();
    const auto info = field_at(name, name.text, kind);
    if (!info) {
      return propagate(info);
    }
    const auto op = operator_of(now());
    if (!op) {
      return expected("=, !=, <, <=, >, >= or ~");
    }
    const Token sign = take();
    SearchTest test;
    test.field = name_of_field(*info);
    test.op = *op;
    test.is_number = is_number_type(info->type);
    Status rest;
    if (now().kind == TokenKind::kWord && now().text.starts_with(kOuter)) {
      rest = parse_outer(*info, outer, test);
    } else {
      rest = parse_values(info->type, test);
    }
    if (!rest) {
      return propagate(rest);
    }
    const bool is_order = *op != Operator::kEqual && *op != Operator::kNotEqual && *op != Operator::kContains;
    if (is_order && !test.is_number) {
      return expected_at(sign, "=, != or ~ for a text");
    }
    if (*op == Operator::kContains && test.is_number) {
      return expected_at(sign, "=, !=, <, <=, > or >= for a number");
    }
    return test;
  }

  Status parse_outer(const FieldInfo& info, const Outer& outer, SearchTest& test) {
    const Token token = take();
    if (!outer) {
      return wrong_at(token, "there is no outer item: this is the first set");
    }
    const auto other = field_at(token, std::string_view(token.text).substr(kOuter.size()), *outer);
    if (!other) {
      return propagate(other);
    }
    const bool is_one_type =
        other->type == info.type || other->type == FieldType::kAny || info.type == FieldType::kAny;
    if (!is_one_type) {
      return wrong_at(token, fmt::format("{} and {} cannot be compared: they are of different types",
                                         info.name, other->name));
    }
    test.is_outer = true;
    const bool is_one_kind = info.field == other->field || info.type == FieldType::kThread;
    test.is_of_machine = is_one_kind && is_of_machine(info.field) && is_of_machine(other->field);
    test.is_number = is_number_type(info.type) || is_number_type(other->type);
    test.outer = name_of_field(*other);
    return {};
  }

  Status parse_values(FieldType type, SearchTest& test) {
    bool is_first = true;
    do {
      if (!is_first) {
        take();
      }
      if (test.values.size() == kMaxQueryParts) {
        return wrong_at(now(), fmt::format("over {} values", kMaxQueryParts));
      }
      const Token token = take();
      const bool is_number = token.kind == TokenKind::kNumber && type != FieldType::kText;
      const bool may_be_text = type == FieldType::kText || type == FieldType::kAny;
      const bool is_text = token.kind == TokenKind::kText || token.kind == TokenKind::kWord;
      const auto number = is_number ? number_in(token.text, type) : std::nullopt;
      if (!number && !(may_be_text && is_text)) {
        return expected_at(token, expected_for(type));
      }
      if (!is_first && number.has_value() != test.is_number) {
        return wrong_at(token, "values of one test are all numbers or all texts");
      }
      test.is_number = number.has_value();
      test.values.push_back({.number = number.value_or(0), .text = number ? std::string() : token.text});
      is_first = false;
    } while (is_sign(now(), "|"));
    return {};
  }

  // clause = ["not"] relation ...
  Result<SearchClause> parse_clause(ItemKind subject, size_t depth) {
    if (depth == kMaxQueryDepth) {
      return wrong_at(now(), fmt::format("clauses are nested over {} deep", kMaxQueryDepth));
    }
    SearchClause clause;
    if (is_word(now(), "not")) {
      take();
      clause.is_negated = true;
    }
    const auto relation = relation_of(now());
    if (!relation) {
      return expected("with, during, overlapping, then or after");
    }
    take();
    clause.relation = *relation;
    if (auto read = parse_before_operand(clause); !read) {
      return propagate(read);
    }
    auto set = parse_operand(clause.relation, subject, depth);
    if (!set) {
      return propagate(set);
    }
    clause.set = std::move(*set);
    if (clause.relation == Relation::kWith) {
      if (auto read = parse_after_operand(clause); !read) {
        return propagate(read);
      }
    }
    return clause;
  }

  // Of with: [operator number]; of then and after: ["within" time].
  Status parse_before_operand(SearchClause& clause) {
    if (const auto op = operator_of(now()); op && clause.relation == Relation::kWith) {
      clause.count_op = *op;
      if (clause.count_op == Operator::kContains) {
        return expected("=, !=, <, <=, > or >=");
      }
      take();
      const Token token = take();
      const auto count =
          token.kind == TokenKind::kNumber ? number_in(token.text, FieldType::kCount) : std::nullopt;
      if (!count) {
        return expected_at(token, "how many items, such as 3");
      }
      clause.count = *count;
    }
    const bool has_limit = clause.relation == Relation::kThen || clause.relation == Relation::kAfter;
    if (has_limit && is_word(now(), "within")) {
      take();
      return parse_time(clause.within_ns);
    }
    return {};
  }

  // operand = "(" query ")" | set; of then: set { "then" ["within" time] operand }, each relative to the one before.
  Result<SearchSet> parse_operand(Relation relation, ItemKind subject, size_t depth) {
    if (is_sign(now(), "(")) {
      take();
      auto set = parse_query(subject, depth + 1);
      if (!set) {
        return set;
      }
      if (!is_sign(now(), ")")) {
        return expected("with, during, overlapping, then, after, not or \")\"");
      }
      take();
      return continue_sequence(relation, std::move(*set), depth);
    }
    auto set = parse_set(subject);
    return set ? continue_sequence(relation, std::move(*set), depth) : std::move(set);
  }

  Result<SearchSet> continue_sequence(Relation relation, SearchSet set, size_t depth) {
    if (relation == Relation::kThen && is_word(now(), "then")) {
      auto next = parse_clause(set.kind, depth + 1);
      if (!next) {
        return propagate(next);
      }
      set.clauses.push_back(std::move(*next));
    }
    return set;
  }

  // Of with: ["same" attribute] ["each" "within" time]
  Status parse_after_operand(SearchClause& clause) {
    const Token begin = now();
    if (is_word(now(), "same")) {
      take();
      const Token name = take();
      const auto info = field_at(name, name.text, clause.set.kind);
      if (!info) {
        return propagate(info);
      }
      clause.has_same = true;
      clause.same = name_of_field(*info);
    }
    if (is_word(now(), "each")) {
      take();
      if (!is_word(now(), "within")) {
        return expected("within");
      }
      take();
      if (auto time = parse_time(clause.gap_ns); !time) {
        return time;
      }
    }
    const bool is_grouped = clause.has_same || clause.gap_ns >= 0;
    if (is_grouped && (!is_minimum(clause.count_op) ||
                       clause.count + (clause.count_op == Operator::kGreater ? 1 : 0) == 0)) {
      return wrong_at(begin, "\"same\" and \"each within\" require a minimum number of items, such as >= 3");
    }
    return {};
  }

  Status parse_time(int64_t& time_ns) {
    const Token token = take();
    const auto time =
        token.kind == TokenKind::kNumber ? number_in(token.text, FieldType::kTime) : std::nullopt;
    // An hour is more than any burst lasts; sums with it do not overflow.
    constexpr uint64_t kMaxNs = uint64_t{3600} * 1'000'000'000;
    if (!time || *time > kMaxNs) {
      return expected_at(token, "a time up to 3600s with its unit, such as 5ms");
    }
    time_ns = static_cast<int64_t>(*time);
    return {};
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  size_t sets_ = 0;
  ItemKinds kinds_ = 0;
};

}  // namespace

std::string_view name_of(Relation relation) {
  return kRelations[static_cast<size_t>(relation)];
}

Result<SearchQuery> parse_search(std::string_view text) {
  if (text.size() > kMaxQueryBytes) {
    return fail(ErrorCode::kInvalid, "a search has at most {} bytes", kMaxQueryBytes);
  }
  auto tokens = tokens_of(text);
  if (!tokens) {
    return propagate(tokens);
  }
  return Parser(std::move(*tokens)).run();
}

}  // namespace plimsoll::traces
