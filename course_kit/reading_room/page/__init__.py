"""What a reader of the reading room sees: one page, made of a template, styles and scripts."""
