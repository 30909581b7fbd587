# Writes the page of the live view as an array in C: PAGE/index.html, in which {{style}} stands for
# page.css and {{script}} for all *.js files, in the order of their names.
#   cmake -DPAGE=FOLDER -DOUTPUT=HEADER -P KandelaPage.cmake
file(READ ${PAGE}/index.html html)
file(READ ${PAGE}/page.css style)
file(GLOB scripts ${PAGE}/*.js)
list(SORT scripts)
set(script)
foreach(file ${scripts})
  file(READ ${file} text)
  string(APPEND script "${text}")
endforeach()
string(REPLACE "{{style}}" "${style}" html "${html}")
string(REPLACE "{{script}}" "${script}" html "${html}")
file(WRITE ${OUTPUT}.html "${html}")
set(INPUT ${OUTPUT}.html)
set(NAME page_bytes)
include(${CMAKE_CURRENT_LIST_DIR}/KandelaBytes.cmake)
