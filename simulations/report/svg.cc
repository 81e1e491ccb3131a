#include "simulations/report/svg.h"

#include <cmath>

#include "base/text_file.h"
#include "text/format.h"

namespace tephra {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

// Hundredths of a px are finer than any screen.
std::string Px(double value) { return Decimal(std::llround(value * 100), 100); }

bool StartsLetter(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// In parts of the size of the font. Letters of three bytes and more are mostly as wide as high.
double WidthOf(char c) {
  return !StartsLetter(c) ? 0.0 : static_cast<unsigned char>(c) >= 0xe0 ? 1.0 : 0.6;
}

void AppendValid(std::string_view text, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const std::string_view three = text.substr(i, 3);
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (three == "\xef\xbf\xbe" || three == "\xef\xbf\xbf") {  // U+FFFE, U+FFFF
      out += kReplacement;
      i += 2;
    } else if (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n') {
      out += kReplacement;
    } else {
      out += c;
    }
  }
}

}  // namespace

std::string XmlText(std::string_view text) {
  std::string out;
  for (std::size_t bad = FirstInvalidUtf8(text); bad != std::string_view::npos;
       bad = FirstInvalidUtf8(text)) {
    AppendValid(text.substr(0, bad), out);
    out += kReplacement;
    text.remove_prefix(bad + 1);
  }
  AppendValid(text, out);
  return out;
}

double TextWidth(std::string_view text, double size) {
  double width = 0;
  for (const char c : text) width += WidthOf(c) * size;
  return width;
}

std::string TextWithin(const std::string& text, double size, double width) {
  constexpr double kEllipsis = 0.8;
  constexpr int kLeastLetters = 3;
  if (TextWidth(text, size) <= width) return text;
  double left = width - kEllipsis * size;
  std::size_t end = 0;
  int letters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (StartsLetter(text[i])) {
      left -= WidthOf(text[i]) * size;
      if (left < 0) break;
      ++letters;
    }
    end = i + 1;
  }
  return letters < kLeastLetters ? "" : text.substr(0, end) + "\u2026";
}

Svg::Svg(std::ostream& out, double width, double height, std::string_view title,
         std::string_view style)
    : out_(out) {
  out_ << "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"" << Px(width)
       << "\" height=\"" << Px(height) << "\" viewBox=\"0 0 " << Px(width) << " " << Px(height)
       << "\">\n<title>" << XmlText(title) << "</title>\n<style>" << XmlText(style) << "</style>\n";
}

Svg::~Svg() { out_ << "</svg>\n"; }

void Svg::BeginGroup(std::string_view tooltip) {
  out_ << "<g><title>" << XmlText(tooltip) << "</title>\n";
}

void Svg::EndGroup() { out_ << "</g>\n"; }

void Svg::Rect(std::string_view kind, const Box& box, std::string_view tooltip) {
  out_ << "<rect class=\"" << kind << "\" x=\"" << Px(box.x) << "\" y=\"" << Px(box.y)
       << "\" width=\"" << Px(box.width) << "\" height=\"" << Px(box.height) << "\"";
  if (tooltip.empty()) {
    out_ << "/>\n";
  } else {
    out_ << "><title>" << XmlText(tooltip) << "</title></rect>\n";
  }
}

void Svg::Text(std::string_view kind, double x, double y, double size, std::string_view text) {
  out_ << "<text class=\"" << kind << "\" x=\"" << Px(x) << "\" y=\"" << Px(y) << "\" font-size=\""
       << Px(size) << "\">" << XmlText(text) << "</text>\n";
}

void Svg::TextDown(std::string_view kind, double x, double y, double size, std::string_view text) {
  out_ << "<text class=\"" << kind << "\" transform=\"translate(" << Px(x) << " " << Px(y)
       << ") rotate(90)\" font-size=\"" << Px(size) << "\">" << XmlText(text) << "</text>\n";
}

}  // namespace tephra
