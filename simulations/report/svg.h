// Svg: writes a picture element by element, in px. Texts are escaped, and shortened to fit.
//
// Source: W3C, Scalable Vector Graphics 1.1; Extensible Markup Language 1.0, section 2.2
// (characters). One owner thread. Equal calls give equal bytes.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

namespace tephra {

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

// Escapes a text for use between tags or in quotes. Characters that XML does not allow become
// U+FFFD.
std::string XmlText(std::string_view text);

// The approximate width of the text in a common font of this size.
double TextWidth(std::string_view text, double size);

// The text shortened to the width, with an ellipsis; empty if not even three letters fit.
std::string TextWithin(const std::string& text, double size, double width);

class Svg {
 public:
  // `style` is CSS for the class names in the calls below.
  Svg(std::ostream& out, double width, double height, std::string_view title,
      std::string_view style);
  Svg(const Svg&) = delete;
  ~Svg();  // writes the closing tag

  // All elements between the two calls share a tooltip.
  void BeginGroup(std::string_view tooltip);
  void EndGroup();
  // No tooltip if it is empty.
  void Rect(std::string_view kind, const Box& box, std::string_view tooltip = {});
  // Starts at the point on the base line and runs to the right.
  void Text(std::string_view kind, double x, double y, double size, std::string_view text);
  // Rotated by 90 degrees: runs down from the point; `x` is the base line.
  void TextDown(std::string_view kind, double x, double y, double size, std::string_view text);

 private:
  std::ostream& out_;
};

}  // namespace tephra
