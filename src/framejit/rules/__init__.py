"""Tables of callables that capture knows by name."""
