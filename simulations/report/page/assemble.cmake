# Puts report.html, its style, its scripts and the chart library together, and writes the two parts
# before and after the figures as C++: cmake -DPAGE=... -DLIBRARY=... -DOUT=... -P assemble.cmake
file(READ ${PAGE}/report.html html)
file(READ ${LIBRARY}/dygraph.min.css library_style)
file(READ ${PAGE}/report.css style)
file(READ ${LIBRARY}/dygraph.min.js scripts)
foreach(name words charts gantt_drawing gantt tables report)
  file(READ ${PAGE}/${name}.js script)
  string(APPEND scripts "\n${script}")
endforeach()
# The browser would look for a file beside the page.
string(REGEX REPLACE "//# sourceMappingURL=[^\n]*" "" scripts "${scripts}")
string(REGEX REPLACE "/\\*# sourceMappingURL=[^*]*\\*/" "" library_style "${library_style}")

foreach(mark STYLE FIGURES SCRIPTS)
  string(FIND "${html}" "<!--${mark}-->" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "report.html has no <!--${mark}-->")
  endif()
endforeach()
string(FIND "${scripts}" "</script" closing)
if(NOT closing EQUAL -1)
  message(FATAL_ERROR "a script of the page has </script in it")
endif()
string(REPLACE "<!--STYLE-->" "<style>\n${library_style}\n${style}</style>" html "${html}")
string(REPLACE "<!--SCRIPTS-->" "<script>\n${scripts}</script>" html "${html}")
string(FIND "${html}" "<!--FIGURES-->" place)
string(SUBSTRING "${html}" 0 ${place} head)
string(LENGTH "<!--FIGURES-->" length)
math(EXPR place "${place} + ${length}")
string(SUBSTRING "${html}" ${place} -1 tail)

file(WRITE ${OUT} "#include \"simulations/report/page_text.h\"\n
namespace tephra {\n
const std::string_view kPageHead = R\"~page~(${head})~page~\";
const std::string_view kPageTail = R\"~page~(${tail})~page~\";\n
}  // namespace tephra\n")
