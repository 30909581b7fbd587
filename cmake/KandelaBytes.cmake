# Writes a file as an array in C:
#   cmake -DINPUT=FILE -DOUTPUT=HEADER -DNAME=NAME -P KandelaBytes.cmake
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "static const unsigned char ${NAME}[] = {\n${bytes}};\n")
