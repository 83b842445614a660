"""Views for people: events, tables and summaries as text that fits the terminal."""
