// Svg: a picture written element by element, in px. Texts are escaped, and cut to the room that
// they have.
//
// Source: W3C, Scalable Vector Graphics 1.1; Extensible Markup Language 1.0, section 2.2 (which
// characters there are). One owner thread. Equal calls give equal bytes.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

namespace tephra {

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

// As text between tags or in quotes. What XML has no character for becomes U+FFFD.
std::string XmlText(std::string_view text);

// The width of the text in a usual font of that size, by rule of thumb: no font is at hand.
double TextWidth(std::string_view text, double size);

// The text cut to the width, with an ellipsis where something is missing; empty where not even
// three letters and that would fit.
std::string TextWithin(const std::string& text, double size, double width);

class Svg {
 public:
  // `style` is CSS; the class names in the calls below mean something to it.
  Svg(std::ostream& out, double width, double height, std::string_view title,
      std::string_view style);
  Svg(const Svg&) = delete;
  ~Svg();  // writes the end

  // What is drawn between the two has a tooltip in common.
  void BeginGroup(std::string_view tooltip);
  void EndGroup();
  // An empty tooltip: none.
  void Rect(std::string_view kind, const Box& box, std::string_view tooltip = {});
  // From the point on the base line to the right.
  void Text(std::string_view kind, double x, double y, double size, std::string_view text);
  // Turned by a quarter: from the point down, `x` being the base line.
  void TextDown(std::string_view kind, double x, double y, double size, std::string_view text);

 private:
  std::ostream& out_;
};

}  // namespace tephra
