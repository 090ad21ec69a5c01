"""From a trace and its exit to a program of the machine."""
