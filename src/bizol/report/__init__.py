"""From numbers to what people look at: tables in five forms, figures in three, one self-contained page."""
