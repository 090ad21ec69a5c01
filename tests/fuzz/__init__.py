"""Random Python programs, run eagerly and captured, with everything observable compared."""
