"""Tables in five forms, figures in three formats, and one self-contained HTML page."""
