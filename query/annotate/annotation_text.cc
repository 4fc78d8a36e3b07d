#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "query/annotate/annotation_forms.h"
#include "query/table/table.h"

namespace plimsoll::annotate {
namespace {

constexpr size_t kMaxShownBranches = 3;
constexpr size_t kMaxShownFiles = 8;
constexpr size_t kShareWidth = 8;
constexpr size_t kCountWidth = 10;
constexpr size_t kEventWidth = kShareWidth + 1 + kCountWidth;

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// Without the spaces around it.
std::string source_text(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(' '), text.size());
  const size_t end = text.find_last_not_of(' ');
  return end == std::string_view::npos ? std::string() : printable(text.substr(begin, end + 1 - begin));
}

// The arrows of a function by the instruction that they stand behind.
class Arrows {
 public:
  explicit Arrows(const AnnotatedFunction& function) {
    for (const AnnotatedBranch& branch : function.branches) {
      add(function, branch.from, branch, "->", branch.to);
      add(function, branch.to, branch, "<-", branch.from);
    }
    for (auto& [address, arrows] : at_) {
      std::ranges::sort(arrows, [](const Arrow& a, const Arrow& b) {
        return std::tie(b.value, a.text) < std::tie(a.value, b.text);
      });
    }
  }

  // "  -> 401150 1.2 k, <- main+0x10 30"; empty: none.
  std::string text_at(uint64_t address) const {
    const auto found = at_.find(address);
    if (found == at_.end()) {
      return {};
    }
    std::vector<std::string> texts;
    for (const Arrow& arrow : found->second) {
      if (texts.size() == kMaxShownBranches) {
        texts.push_back(fmt::format("{} more", found->second.size() - kMaxShownBranches));
        break;
      }
      texts.push_back(arrow.text);
    }
    return fmt::format("  {}", fmt::join(texts, ", "));
  }

 private:
  struct Arrow {
    double value;
    std::string text;
  };

  void add(const AnnotatedFunction& function, uint64_t at, const AnnotatedBranch& branch,
           std::string_view direction, uint64_t other) {
    if (std::ranges::binary_search(function.instructions, at, {}, &AnnotatedInstruction::address)) {
      const bool is_within =
          std::ranges::binary_search(function.instructions, other, {}, &AnnotatedInstruction::address);
      const std::string name = is_within || branch.other_name.empty()
                                   ? fmt::format("{:x}", other)
                                   : fmt::format("<{}>", printable(branch.other_name));
      at_[at].push_back(
          {branch.value, fmt::format("{} {} {}", direction, name, query::readable(branch.value, "count"))});
    }
  }

  std::map<uint64_t, std::vector<Arrow>> at_;
};

class AnnotationText {
 public:
  AnnotationText(const Annotation& annotation, Order order) : annotation_(annotation), order_(order) {}

  std::string run() {
    add_head();
    for (const AnnotatedFunction& function : annotation_.functions) {
      add_function(function);
    }
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  void add_head() {
    line("{} in {} (build ID {})", printable(annotation_.function), printable(annotation_.binary),
         printable(annotation_.build_id));
    for (const AnnotatedEvent& event : annotation_.events) {
      const double share = event.binary.value > 0 ? event.function.value / event.binary.value : 0;
      line("{}: {} of {:.0f} samples, {} of the binary", printable(event.name),
           query::readable(event.function.value, event.unit), event.function.samples,
           query::readable(share, "share"));
    }
    add_files();
    for (const std::string& note : annotation_.notes) {
      line("note: {}", printable(note));
    }
  }

  void add_files() {
    std::vector<std::string> paths;
    for (size_t i = 1; i < annotation_.files.size() && i <= kMaxShownFiles; ++i) {
      paths.push_back(printable(annotation_.files[i].path));
    }
    if (!paths.empty()) {
      const size_t more = annotation_.files.size() - 1 - paths.size();
      line("source files: {}{}", fmt::join(paths, ", "), more > 0 ? fmt::format(", {} more", more) : "");
    }
  }

  void add_function(const AnnotatedFunction& function) {
    const auto& instructions = function.instructions;
    if (instructions.empty()) {
      return;
    }
    line("\n{} ({}), {:#x} to {:#x}, {} instructions; \"*\": {:.0f} % or more of the samples",
         printable(function.name), printable(function.linkage_name), instructions.front().address,
         instructions.back().address + instructions.back().bytes, instructions.size(), 100 * kHotShare);
    address_width_ = std::max<size_t>(7, fmt::format("{:x}", instructions.back().address).size());
    add_header();
    const Listing listing = listing_of(annotation_, function, order_);
    const Arrows arrows(function);
    for (size_t row = 0; row < listing.rows.size(); ++row) {
      if (listing.rows[row].is_heading) {
        add_heading(listing, row);
      } else {
        add_instruction(listing, row, instructions[listing.rows[row].instruction], arrows);
      }
    }
  }

  void add_header() {
    std::string names = "  ";
    std::string columns = "  ";
    for (const AnnotatedEvent& event : annotation_.events) {
      fmt::format_to(std::back_inserter(names), "{:>{}} ", query::clipped(printable(event.name), kEventWidth),
                     kEventWidth);
      fmt::format_to(std::back_inserter(columns), "{:>{}} {:>{}} ", "share", kShareWidth, "count",
                     kCountWidth);
    }
    line("{}", names);
    line("{} {:>{}}  instruction", columns, "address", address_width_);
  }

  std::string cells(std::span<const Count> counts) const {
    std::string text;
    for (size_t event = 0; event < counts.size(); ++event) {
      const AnnotatedEvent& of = annotation_.events[event];
      const double value = counts[event].value;
      if (value == 0 && counts[event].samples == 0) {
        text.append(kEventWidth + 1, ' ');
        continue;
      }
      fmt::format_to(std::back_inserter(text), "{:>{}} {:>{}} ",
                     query::readable(share_of(of, value), "share"), kShareWidth,
                     query::readable(value, of.unit), kCountWidth);
    }
    return text;
  }

  static double share_of(const AnnotatedEvent& event, double value) {
    return event.function.value > 0 ? value / event.function.value : 0;
  }

  bool is_hot(std::span<const Count> counts) const {
    for (size_t event = 0; event < counts.size(); ++event) {
      if (share_of(annotation_.events[event], counts[event].value) >= kHotShare) {
        return true;
      }
    }
    return false;
  }

  void add_heading(const Listing& listing, size_t row) {
    const ListingRow& heading = listing.rows[row];
    const SourceFile& file = annotation_.files[heading.place.file];
    std::string place = file.path.empty() || heading.place.line == 0
                            ? std::string("(no line)")
                            : fmt::format("{}:{}", printable(file_name(file.path)), heading.place.line);
    if (heading.depth > 0) {
      place = fmt::format("inlined {}, {}", printable(annotation_.names[heading.place.function]), place);
    }
    const auto source = file.lines.find(heading.place.line);
    line("  {} {:>{}}  {:{}}{}{}", cells(listing.counts_of(row)), "", address_width_, "", 2 * heading.depth,
         place, source == file.lines.end() ? "" : fmt::format("  {}", source_text(source->second)));
  }

  void add_instruction(const Listing& listing, size_t row, const AnnotatedInstruction& instruction,
                       const Arrows& arrows) {
    const auto counts = listing.counts_of(row);
    line("{} {} {:>{}x}  {:{}}{}{}", is_hot(counts) ? '*' : ' ', cells(counts), instruction.address,
         address_width_, "", 2 * listing.rows[row].depth + 4, printable(instruction.text),
         arrows.text_at(instruction.address));
  }

  const Annotation& annotation_;
  const Order order_;
  std::string text_;
  size_t address_width_ = 0;
};

}  // namespace

std::string to_text(const Annotation& annotation, Order order) {
  return AnnotationText(annotation, order).run();
}

}  // namespace plimsoll::annotate
