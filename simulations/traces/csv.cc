#include "simulations/traces/csv.h"

#include <csv.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/bad_input.h"
#include "base/quantity.h"
#include "base/text_file.h"

namespace tephra {

struct CsvReader::Parser {
  explicit Parser(LineReader lines) : reader(std::move(lines)) {
    csv_init(&csv, CSV_STRICT | CSV_STRICT_FINI);
  }
  Parser(const Parser&) = delete;
  ~Parser() { csv_free(&csv); }

  static void OnField(void* data, std::size_t size, void* self) {
    auto& parser = *static_cast<Parser*>(self);
    if (parser.used == parser.row.size()) parser.row.emplace_back();
    parser.row[parser.used++].assign(static_cast<const char*>(data), size);
  }
  static void OnRow(int, void* self) { static_cast<Parser*>(self)->complete = true; }

  // One row into `row`; false at the end of the file.
  absl::StatusOr<bool> Read() {
    complete = false;
    used = 0;
    std::size_t size = 0;
    for (bool first = true; !complete; first = false) {
      TEPHRA_ASSIGN_OR_RETURN(const bool more, reader.Next(text));
      if (!more && first) return false;
      if (!more) return BadInput(reader.path(), line, "", start, "a closing quote");
      if (first) line = reader.line(), start = text;
      if (!reader.ended()) {
        return BadInput(reader.path(), reader.line(), "", text,
                        "an end of line (the file may be truncated)");
      }
      text += '\n';
      size += text.size();
      const bool good =
          csv_parse(&csv, text.data(), text.size(), OnField, OnRow, this) == text.size();
      if (!good) {
        text.pop_back();
        return BadInput(reader.path(), reader.line(), "", text, "fields quoted as in RFC 4180");
      }
      if (size > LineReader::kMostLine) {
        return BadInput(reader.path(), line, "", start,
                        "a row of at most " + std::to_string(LineReader::kMostLine) + " bytes");
      }
      if (!complete && start.empty()) return BadInput(reader.path(), line, "", "", "a row");
    }
    return true;
  }

  LineReader reader;
  csv_parser csv;
  std::vector<std::string> header;
  std::vector<std::size_t> places;  // by the caller's column: which field of the row
  std::vector<std::string> row;
  std::size_t used = 0;
  bool complete = false;
  std::string text, start;
  int line = 0;
};

CsvReader::CsvReader(std::unique_ptr<Parser> parser) : parser_(std::move(parser)) {}
CsvReader::CsvReader(CsvReader&&) noexcept = default;
CsvReader& CsvReader::operator=(CsvReader&&) noexcept = default;
CsvReader::~CsvReader() = default;

absl::StatusOr<CsvReader> CsvReader::Open(const std::string& path,
                                          const std::vector<std::string>& columns) {
  TEPHRA_ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  CsvReader reader(std::make_unique<Parser>(std::move(lines)));
  Parser& parser = *reader.parser_;
  TEPHRA_ASSIGN_OR_RETURN(const bool any, parser.Read());
  if (!any) return BadInput(path, 1, "", "", "a header row");
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (parser.row[0].starts_with(kByteOrderMark)) parser.row[0].erase(0, kByteOrderMark.size());
  parser.header.assign(parser.row.begin(),
                       parser.row.begin() + static_cast<std::ptrdiff_t>(parser.used));
  std::vector<std::string> sorted = parser.header;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) return BadInput(path, 1, "header", *twice, "each column only once");
  for (const std::string& column : columns) {
    TEPHRA_ASSIGN_OR_RETURN(const std::size_t index, reader.Column(column));
    (void)index;
  }
  return reader;
}

absl::StatusOr<std::size_t> CsvReader::Column(const std::string& name) {
  const auto& header = parser_->header;
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) {
    std::string all;
    for (const std::string& column : header) all += (all.empty() ? "" : ",") + column;
    return BadInput(path(), 1, "header", all, "a column " + name + NearestWord(name, header));
  }
  parser_->places.push_back(static_cast<std::size_t>(found - header.begin()));
  return parser_->places.size() - 1;
}

absl::StatusOr<bool> CsvReader::Next() {
  Parser& parser = *parser_;
  TEPHRA_ASSIGN_OR_RETURN(const bool more, parser.Read());
  if (!more) return false;
  if (parser.used != parser.header.size()) {
    return BadInput(path(), parser.line, "", parser.start,
                    std::to_string(parser.header.size()) + " fields as in the header, found " +
                        std::to_string(parser.used));
  }
  return true;
}

int CsvReader::line() const { return parser_->line; }
const std::string& CsvReader::path() const { return parser_->reader.path(); }

const std::string& CsvReader::Text(std::size_t column) const {
  return parser_->row[parser_->places[column]];
}

absl::Status CsvReader::Wrong(std::size_t column, const std::string& expected) const {
  return BadInput(path(), line(), parser_->header[parser_->places[column]], Text(column), expected);
}

absl::StatusOr<std::int64_t> CsvReader::Whole(std::size_t column, std::int64_t least,
                                              std::int64_t most) const {
  const auto value = ParseWhole(Text(column));
  if (value && *value >= least && *value <= most) return *value;
  return Wrong(column,
               "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
}

absl::StatusOr<double> CsvReader::Real(std::size_t column) const {
  const std::string& text = Text(column);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value)) return Wrong(column, "a number");
  return value;
}

}  // namespace tephra
