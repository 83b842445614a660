"""look.html: what a model attends to, as one offline page."""
