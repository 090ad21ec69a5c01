"""The symbolic interpreter of canonical bytecode."""
