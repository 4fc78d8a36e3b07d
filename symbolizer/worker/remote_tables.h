// Symbol tables that others make: what Symbolizer asks of them.
#pragma once

#include <optional>
#include <string_view>

#include "symbolizer/process/table_process.h"
#include "symbolizer/worker/wanted_binary.h"

namespace plimsoll::symbolizer {

// Called by the thread of one Symbolizer; others may change meanwhile what it answers.
class RemoteTables {
 public:
  RemoteTables() = default;
  RemoteTables(const RemoteTables&) = delete;
  RemoteTables& operator=(const RemoteTables&) = delete;
  virtual ~RemoteTables() = default;

  // Whether any worker would take an offer.
  virtual bool has_workers() const = 0;
  // Whether a file of it is there that may_offer() does not know of yet, but soon will.
  virtual bool is_coming(std::string_view identity) const = 0;
  // Whether others could make the table of that binary. Costs a look into memory for most; for a few some calls of stat().
  virtual bool may_offer(const WantedBinary& wanted) = 0;
  // One after the other in the order in which they are to be made; again with each pass.
  virtual void offer(const WantedBinary& wanted) = 0;

  // Whether take() has a table.
  virtual bool has(std::string_view identity) const = 0;
  // Before a search for its symbols. False: another has the binary, which is to be left alone for now.
  virtual bool begin_here(std::string_view identity) = 0;
  // Between begin_here() and end_here(). Of full DWARF, whole, and of that build; nothing where none has come.
  virtual std::optional<MappedTable> take(std::string_view identity) = 0;
  virtual void end_here(std::string_view identity) = 0;
};

}  // namespace plimsoll::symbolizer
