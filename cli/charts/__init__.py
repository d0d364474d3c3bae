"""Charts of figures over time: what is on them (pure), as pictures, in the terminal, on a page."""
