"""Other people's weights and formats, both ways.

A folder that another library wrote becomes a `Trained`, whose settings, weights and tokenisers are as if it had been
made here; and a `Trained` becomes a folder that the other library reads. Nothing here needs that library.
"""
