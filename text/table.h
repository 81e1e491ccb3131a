// Table: rows of cells, each column as wide as its widest cell. Pure values.
#pragma once

#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace tephra {

class Table {
 public:
  // One letter per column: 'r' aligns right, other letters left. Lines start with `indent` spaces.
  Table(std::vector<std::string> header, std::string align, int indent = 2);
  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // Adds a cell to the last row.
  void Append(std::string cell) { rows_.back().push_back(std::move(cell)); }
  int rows() const { return static_cast<int>(rows_.size()) - 1; }  // without the header
  bool empty() const { return rows_.size() == 1; }
  void Print(std::ostream& out) const;

 private:
  std::string align_;
  int indent_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tephra
