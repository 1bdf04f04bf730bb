"""Lines of rule text → nodes of the syntax tree, or what is wrong with them."""
