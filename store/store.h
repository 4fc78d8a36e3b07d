// The door of the store: what the rest of the program may ask of it.
//
//   Source    rows and what they refer to, for questions          store/door/source.h
//   Symbols   addresses without names, and names for them         store/door/symbols.h
//   Sink      takes rows, a batch of profiles at once             store/door/sink.h
//   SpanSink, SpanSource   spans of request traces                store/door/spans.h
//   BurstSink, BurstSource   recordings of bursts                 store/door/bursts.h
//   Fleet     machines, draws, and who has access, for reading    store/fleet.h
//
// What is handed over is in store/model. A caller sees no database and opens no file of the store.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "store/door/bursts.h"
#include "store/door/source.h"
#include "store/door/spans.h"
#include "store/door/symbols.h"
#include "store/fleet.h"

namespace plimsoll::store {

class DataDirectory;
class Ingest;
struct RowsAddress;

// Whether the address, if there is one, and those of shards can be understood, and the file with its password be read. Asks no server.
Status check_rows(const RowsAddress& rows);

// Of a data directory, or of where its rows are (RowsAddress), beside the process that writes it, or in it. The directory may come later: it
// is opened by the first question.
std::unique_ptr<Source> open_source(const std::string& data_dir);

// Of the directory that this process writes; `ingest` must outlive it.
std::unique_ptr<Symbols> symbols_of(Ingest& ingest);

// Of the directory that this process writes, with the bounds of docs/traces.md. One at a time. Blocks are as small as an eighth of
// `max_bytes`, if given, so that what is dropped at once is not much of all; but of 16 MiB at least.
Result<std::unique_ptr<SpanSink>> open_span_sink(const DataDirectory& directory,
                                                 uint64_t max_bytes = UINT64_MAX);

// Of a data directory, beside the process that writes it, or in it.
std::unique_ptr<SpanSource> open_span_source(const std::string& data_dir);

// Of the directory that this process writes. One at a time.
Result<std::unique_ptr<BurstSink>> open_burst_sink(const DataDirectory& directory);

// Of a data directory, beside the process that writes it, or in it.
std::unique_ptr<BurstSource> open_burst_source(const std::string& data_dir);

}  // namespace plimsoll::store
