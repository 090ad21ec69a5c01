"""CPython's Objects/, symbolically: one model per Python type family."""
