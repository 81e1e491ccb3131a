// CsvReader: reads a CSV file with a header (RFC 4180) row by row, in constant memory. Columns are
// found by name. Every error names file, line, column, value and what was expected.
//
// A row has as many fields as the header and ends with an end of line, so a file that was truncated
// within a row is refused. One owner thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "topology/base/status.h"

namespace tephra {

class CsvReader {
 public:
  // `columns` must be in the header, in any order; other columns are ignored.
  static absl::StatusOr<CsvReader> Open(const std::string& path,
                                        const std::vector<std::string>& columns);
  CsvReader(CsvReader&&) noexcept;
  CsvReader& operator=(CsvReader&&) noexcept;
  ~CsvReader();

  // The next row; false after the last.
  absl::StatusOr<bool> Next();
  // Where the row starts.
  int line() const;
  const std::string& path() const;
  // By the index of the column in Open's list; Next was true.
  const std::string& Text(std::size_t column) const;
  absl::StatusOr<std::int64_t> Whole(std::size_t column, std::int64_t least,
                                     std::int64_t most) const;
  absl::StatusOr<double> Real(std::size_t column) const;
  // The index of a column by name for Text, whether listed in Open or not; INVALID_ARGUMENT where
  // the header has no such column.
  absl::StatusOr<std::size_t> Column(const std::string& name);
  absl::Status Wrong(std::size_t column, const std::string& expected) const;

 private:
  struct Parser;
  explicit CsvReader(std::unique_ptr<Parser> parser);
  std::unique_ptr<Parser> parser_;
};

}  // namespace tephra
