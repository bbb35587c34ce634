# Makes documentation of plain comments, for Doxygen. A backslash is one, no command.
/\/\//s,\\,\\\\,g
s,^( *)// ?,\1/// ,
s,; +// ,; ///< ,
