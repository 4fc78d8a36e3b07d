#include "store/spans/span_dictionaries.h"

namespace plimsoll::store {

SpanDictionaries::SpanDictionaries() : methods_(1), processes_(1) {
  for (auto& texts : texts_) {
    texts.emplace_back();
  }
  attribute_sets_.push_back(&attribute_ids_.emplace(AttributeSet(), 0).first->first);
}

SpanDictionaries::Sizes SpanDictionaries::sizes() const {
  Sizes sizes;
  for (size_t kind = 0; kind < kSpanTexts; ++kind) {
    sizes.texts[kind] = static_cast<uint32_t>(texts_[kind].size());
  }
  sizes.methods = static_cast<uint32_t>(methods_.size());
  sizes.processes = static_cast<uint32_t>(processes_.size());
  sizes.attribute_sets = static_cast<uint32_t>(attribute_sets_.size());
  return sizes;
}

bool SpanDictionaries::add_text(SpanText kind, std::string_view text) {
  const size_t i = index(kind);
  if (text.empty() || text_ids_[i].contains(text)) {
    return false;
  }
  const auto id = static_cast<uint32_t>(texts_[i].size());
  text_ids_[i].emplace(texts_[i].emplace_back(text), id);
  return true;
}

bool SpanDictionaries::add_method(const SpanMethod& method) {
  const Sizes known = sizes();
  const bool fits = method.service < known.texts[index(SpanText::kService)] &&
                    method.operation < known.texts[index(SpanText::kOperation)] &&
                    method.kind <= traces::SpanKind::kConsumer;
  if (!fits || !method_ids_.emplace(method, known.methods).second) {
    return false;
  }
  methods_.push_back(method);
  return true;
}

bool SpanDictionaries::add_process(const SpanProcess& process) {
  const Sizes known = sizes();
  const bool fits = process.replica < known.texts[index(SpanText::kReplica)] &&
                    process.machine < known.texts[index(SpanText::kMachine)] &&
                    process.version < known.texts[index(SpanText::kVersion)] && process.weight > 0;
  if (!fits || !process_ids_.emplace(process, known.processes).second) {
    return false;
  }
  processes_.push_back(process);
  return true;
}

bool SpanDictionaries::add_attributes(std::span<const SpanAttribute> attributes) {
  const Sizes known = sizes();
  uint32_t last_key = 0;
  for (const SpanAttribute& attribute : attributes) {
    if (attribute.key <= last_key || attribute.key >= known.texts[index(SpanText::kAttributeKey)] ||
        attribute.value == 0 || attribute.value >= known.texts[index(SpanText::kAttributeValue)]) {
      return false;
    }
    last_key = attribute.key;
  }
  const auto [added, is_new] =
      attribute_ids_.emplace(AttributeSet(attributes.begin(), attributes.end()), known.attribute_sets);
  if (is_new) {
    attribute_sets_.push_back(&added->first);
  }
  return is_new && attributes.size() <= kMaxStoredAttributes;
}

// One more than the limit says.
uint32_t SpanDictionaries::other_text(SpanText kind) {
  add_text(kind, kOtherName);
  return text_ids_[index(kind)].at(kOtherName);
}

uint32_t SpanDictionaries::text_id(SpanText kind, std::string_view text, const SpanNameLimits& limits,
                                   bool& is_other) {
  const size_t i = index(kind);
  if (text.empty()) {
    return 0;
  }
  if (const auto found = text_ids_[i].find(text); found != text_ids_[i].end()) {
    return found->second;
  }
  if (texts_[i].size() > limits.texts[i]) {
    is_other = true;
    return other_text(kind);
  }
  add_text(kind, text);
  return static_cast<uint32_t>(texts_[i].size() - 1);
}

uint32_t SpanDictionaries::method_id(const SpanMethod& method, const SpanNameLimits& limits, bool& is_other) {
  SpanMethod wanted = method;
  if (!method_ids_.contains(method) && methods_.size() > limits.methods) {
    is_other = true;
    // As many as there are services and kinds, at most.
    wanted.operation = other_text(SpanText::kOperation);
  }
  add_method(wanted);
  return method_ids_.at(wanted);
}

uint32_t SpanDictionaries::process_id(const SpanProcess& process, const SpanNameLimits& limits,
                                      bool& is_other) {
  SpanProcess wanted = process;
  if (!process_ids_.contains(process) && processes_.size() > limits.processes) {
    is_other = true;
    // As many as there are weights, which are not the application's. A weight is never lost.
    wanted = {other_text(SpanText::kReplica), 0, 0, process.weight};
  }
  add_process(wanted);
  return process_ids_.at(wanted);
}

uint32_t SpanDictionaries::attributes_id(std::span<const SpanAttribute> attributes,
                                         const SpanNameLimits& limits, bool& is_other) {
  AttributeSet wanted(attributes.begin(), attributes.end());
  if (!attribute_ids_.contains(wanted) && attribute_sets_.size() > limits.attribute_sets) {
    is_other = true;
    // A single set: those of some keys each would be as many as there are sets of keys.
    wanted = {{other_text(SpanText::kAttributeKey), other_text(SpanText::kAttributeValue)}};
  }
  add_attributes(wanted);
  return attribute_ids_.at(wanted);
}

}  // namespace plimsoll::store
