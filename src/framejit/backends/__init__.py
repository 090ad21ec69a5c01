"""Backends: what turns a captured graph into something that runs."""
